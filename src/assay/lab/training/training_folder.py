"""The folder that a training writes: begun, resumed or finished; and whether the disk holds its checkpoints.

OUT/
  training.json     while it is under way: what is trained, on what (`identity`)
  checkpoints/      while it is under way: the last checkpoint; the model while it is saved
  config.json, model.safetensors, tokenizer.json, …       the model, for `hf:OUT`
  README.md         its card
  assay.json        what was done; written last, so a folder that has it is finished
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.errors import AssayError, DataError, UsageError
from assay.files.atomic import explained, is_full_disk, remove_leftovers, write_atomically
from assay.files.decoding import json_value, whole_number
from assay.files.lock import LOCK, held, is_new
from assay.files.opening import digest_as_stored, read_whole, reason
from assay.models.hf_files import first_line
from assay.runs.folder import changes

DONE, BEGUN, CARD, CHECKPOINTS = "assay.json", "training.json", "README.md", "checkpoints"
MADE_BY = "assay train"

_OTHER = "Choose another folder with --out."
_FILE_NAME = re.compile(r"\w[\w.+ -]{0,199}", re.ASCII)
_CHECKPOINT_FILES = ("trainer_state.json", "optimizer.pt", "scheduler.pt", "rng_state.pth")


@dataclass
class TrainingFolder:
    """An open folder. `begun` is the identity of a training that was begun there; `old` the files it replaces.

    own_files: the model's files that this training wrote. Other files in the folder are the user's.
    """

    path: Path
    begun: Mapping[str, Any] | None
    old: tuple[str, ...] = ()
    own_files: tuple[str, ...] = ()

    @property
    def checkpoints(self) -> Path:
        return self.path / CHECKPOINTS

    @property
    def _saved(self) -> Path:
        return self.checkpoints / "model"

    def begin(self, identity: Mapping[str, Any]) -> Path | None:
        """Note what is trained; returns the checkpoint to go on from, if this very training was begun before."""
        if self.begun is None:
            shutil.rmtree(self.checkpoints, ignore_errors=True)
            for path in (self.path / name for name in {*self.old} - {DONE, BEGUN}):
                if path.is_file():
                    path.unlink()
        else:
            _require_same(self.path, self.begun, identity)
            shutil.rmtree(self._saved, ignore_errors=True)
        self.begun = identity
        self._note()
        (self.path / DONE).unlink(missing_ok=True)  # at no moment is there neither: whose folder would it be?
        return last_checkpoint(self.checkpoints)

    @contextmanager
    def saving(self) -> Iterator[Path]:
        """A folder to save the model in: what is there at the end becomes this folder's own, and is noted as such."""
        self._saved.mkdir(parents=True)
        yield self._saved
        self.own_files = tuple(sorted(file.name for file in self._saved.iterdir()))
        self._note()
        for name in self.own_files:
            (self._saved / name).replace(self.path / name)
        self._saved.rmdir()

    def finish(self, info: Mapping[str, Any], card: str, *, keep_checkpoints: bool) -> dict[str, Any]:
        """Write the card and assay.json, and remove what was there for resuming; returns what assay.json says."""
        write_atomically(self.path / CARD, card.encode())
        content = {**info, "files": {name: digest_as_stored(self.path / name) for name in self.own_files}}
        write_atomically(self.path / DONE, as_json(content))
        (self.path / BEGUN).unlink(missing_ok=True)
        if not keep_checkpoints:
            _remove(self.checkpoints)
        return content

    def held(self, n_kept: int) -> int:
        """Bytes in this folder that make room for the training: it removes them, or writes no more in their place."""
        if self.begun is None:
            return sum(_size(path) for path in (self.checkpoints, *(self.path / name for name in self.old)))
        checkpoints = _checkpoints(self.checkpoints)
        complete = [path for path in checkpoints if _is_whole(path)]
        counted = [path for path in checkpoints if path not in complete] + complete[-max(n_kept, 1) :]
        return sum(_size(path) for path in (*counted, self._saved, *(self.path / name for name in self.own_files)))

    def _note(self) -> None:
        content = {"made_by": MADE_BY, "identity": self.begun, "files": self.own_files}
        write_atomically(self.path / BEGUN, as_json(content))


@contextmanager
def open_out(path: Path, *, resume: bool) -> Iterator[TrainingFolder]:
    """Lock a folder for a training that is new, or goes on where it ended (`resume`), or replaces what is there.

    A folder that holds anything but a training of assay is never touched. When nothing came of a training in a new
    folder, nothing is left of it.
    """
    finished(path)
    _looked_into(path, resume)  # nothing is touched where it complains
    with held(path, "training in this folder"):
        out = _looked_into(path, resume)
        remove_leftovers(path)
        yield out


def _looked_into(path: Path, resume: bool) -> TrainingFolder:
    done, begun = read_noted(path / DONE), read_noted(path / BEGUN)
    ours = MADE_BY in (done.get("made_by"), begun.get("made_by"))
    if not ours and not is_new(path, BEGUN):
        raise UsageError("this folder is not empty and is not a training folder.", _OTHER, code="not-new", file=path)
    if done and not begun and resume:  # with both it was killed just before its end, and goes on
        problem = "this folder holds a finished model."
        remedy = "Choose another folder with --out, or train again with --resume never."
        raise UsageError(problem, remedy, code="not-new", file=path, key="resume")
    if resume:
        return TrainingFolder(path, begun.get("identity"), own_files=tuple(begun.get("files", ())))
    return TrainingFolder(path, None, old=(*done.get("files", ()), *begun.get("files", ()), DONE, BEGUN, CARD))


def finished(path: Path) -> dict[str, Any]:
    """What assay.json says in a folder whose training is finished; empty in any other.

    What the training left there is removed, if it was killed at its very end.
    """
    done = read_noted(path / DONE)
    if done.get("made_by") != MADE_BY or (path / BEGUN).exists():
        return {}
    checkpoints = path / CHECKPOINTS
    keeps_checkpoints = done.get("settings", {}).get("keep_checkpoints")
    if (path / LOCK).exists() or (checkpoints.exists() and not keeps_checkpoints):
        with held(path, "training in this folder"):
            remove_leftovers(path)
            if not keeps_checkpoints:
                _remove(checkpoints)
    return done


def _remove(checkpoints: Path) -> None:
    """Remove what a finished model is not to have in it, if it is there."""
    with explained(checkpoints, "folder"), contextlib.suppress(FileNotFoundError):
        shutil.rmtree(checkpoints)


def last_checkpoint(folder: Path) -> Path | None:
    """The last checkpoint that was written whole; those that were not are removed."""
    for checkpoint in reversed(_checkpoints(folder)):
        if _is_whole(checkpoint):
            return checkpoint
        shutil.rmtree(checkpoint, ignore_errors=True)
    return None


def _checkpoints(folder: Path) -> list[Path]:
    checkpoints = [
        path for path in folder.glob("checkpoint-*") if whole_number(path.name.partition("-")[2]) is not None
    ]
    return sorted(checkpoints, key=lambda path: int(path.name.partition("-")[2]))


def _is_whole(checkpoint: Path) -> bool:
    state = read_noted(checkpoint / _CHECKPOINT_FILES[0], broken={})
    has_files = all((checkpoint / name).is_file() for name in _CHECKPOINT_FILES) and any(
        checkpoint.glob("*.safetensors")
    )
    return has_files and f"checkpoint-{state.get('global_step')}" == checkpoint.name


def require_space(out: TrainingFolder, parameters: int, n_kept: int) -> None:
    """Refuse to begin where the disk cannot hold the checkpoints.

    A checkpoint holds the weights and AdamW's two moments in float32: three numbers a parameter. One more than is kept
    is there while the next is written, and the model itself at the end. What an earlier attempt left counts as free.
    """
    free = shutil.disk_usage(out.path).free

    def needed(n_kept: int) -> int:
        return 4 * parameters * (3 * (max(n_kept, 1) + 1) + 1)

    held = out.held(n_kept)
    if free + held >= needed(n_kept):
        return
    beside = f" besides {held / 1e9:,.2f} GB of an unfinished training" if held else ""
    problem = f"checkpoints of {parameters / 1e6:,.1f} million parameters need {needed(n_kept) / 1e9:,.2f} GB, and "
    problem += f"{free / 1e9:,.2f} GB are free{beside}."
    remedy = "Free some space or choose another disk with --out."
    if n_kept > 1 and free + out.held(1) >= needed(1):
        remedy = "Free some space, choose another disk with --out, or keep fewer with --set keep_checkpoints=1."
    raise UsageError(problem, remedy, code="no-space", file=out.path)


@contextmanager
def explained_full_disk(path: Path, *, resume: bool) -> Iterator[None]:
    """A disk that is full is something to cure, whichever library finds it so."""
    try:
        yield
    except AssayError:
        raise
    except Exception as error:
        if not is_full_disk(error):
            raise
        repeat = "the same command" if resume else "the same command without --resume never"
        remedy = f"Free some space; {repeat} then continues from the last checkpoint."
        raise UsageError(f"the disk is full ({first_line(error)}).", remedy, code="no-space", file=path) from error


def as_json(content: Any, indent: int = 1) -> bytes:
    return (json.dumps(content, indent=indent, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _require_same(path: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    now = json.loads(as_json(now))
    different = sorted(key for key in {**before, **now} if before.get(key) != now.get(key))
    if not different:
        return
    differences = "; ".join(line for key in different for line in changes(key, before.get(key), now.get(key)))
    problem = f"this folder holds another unfinished training ({differences})."
    remedy = "Repeat its command to continue it, choose another --out, or start over with --resume never."
    raise UsageError(problem, remedy, code="other-run", file=path, key=different[0])


def read_noted(path: Path, broken: dict[str, Any] | None = None) -> dict[str, Any]:
    """A JSON object; empty where there is no such file. `broken` stands for one that cannot be read, if given."""
    import msgspec

    try:
        content: Any = json_value(read_whole(path))
        if isinstance(content, dict) and content.get("made_by") == MADE_BY:
            names = msgspec.convert(content, _TrainingRecord).files
            if wrong := next((name for name in names if not _FILE_NAME.fullmatch(name)), None):  # it may be removed
                raise ValueError(f"{wrong!r} is not the name of a model's file")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        if broken is not None:
            return broken
        raise DataError(f"cannot be read ({reason(error)}).", _OTHER, file=path, code="unreadable-file") from None
    return content if isinstance(content, dict) else {}


@dataclass(frozen=True)
class _TrainingRecord:
    """What is used of training.json, and of a training's assay.json."""

    identity: dict[str, Any] | None = None
    files: dict[str, str] | list[str] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)


def _size(path: Path) -> int:
    """Bytes of a file, or of all files of a folder; 0 where there is neither."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())
