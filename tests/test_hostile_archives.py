"""Archives of strangers: nothing is unpacked to disk, no link is followed, and no bomb goes off.

assay reads logs of Inspect (.eval), blocks and arrays of answers (zip files of numpy), and compressed rows and texts
(.gz and .xz: test_hostile_files.py). Links in run folders, as archives hold them, are here and in runs/test_export.py.
"""

from __future__ import annotations

import io
import json
import shutil
import stat
import zipfile
from pathlib import Path

import numpy as np
import pytest

from assay.cli import main
from assay.engine.store import ArrayStore, BadBlockError, BlockStore, digest_of_arrays
from assay.errors import DataError, UsageError
from assay.files import opening
from block_files import write_block_file
from kept_runs import without_digests
from probes.bbq.test_logs import EXAMPLES, inspected, read, write_eval
from raising import raises

KEY = "a" * 64


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# --- logs

LEAVING = (
    *("../evil.json", "../../evil.json", "samples/../../evil_epoch_1.json", "samples/..\\..\\evil_epoch_1.json"),
    *("ABSOLUTE/evil.json", "samples/ABSOLUTE/evil_epoch_1.json"),
)


@pytest.mark.parametrize("how", ["file", "link", "twice"])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_members_of_a_log_are_not_written_and_links_not_followed(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link holds the path that it leads to: that is read as a sample, and is none."""
    work = tmp_path / "a" / "b"
    work.mkdir(parents=True)
    monkeypatch.chdir(work)
    secret = tmp_path / "secret.json"
    secret.write_text(json.dumps(inspected(EXAMPLES[1])), encoding="utf-8")
    log = write_eval(work / "log.eval", [inspected(EXAMPLES[0])])
    assert main(["score", "bbq", "log.eval", "--out", "plain"]) == 0
    with zipfile.ZipFile(log, "a") as archive:
        for name in LEAVING:
            entry = zipfile.ZipInfo(name.replace("ABSOLUTE", str(tmp_path)))
            entry.create_system = 3
            entry.external_attr = (stat.S_IFLNK | 0o777 if how == "link" else stat.S_IFREG | 0o644) << 16
            content = str(secret) if how == "link" else json.dumps(inspected(EXAMPLES[1]))
            for _ in range(2 if how == "twice" else 1):
                archive.writestr(entry, content)
    before = files_in(tmp_path)
    assert main(["score", "bbq", "log.eval", "--skip-bad", "--out", "out"]) == 0
    after = files_in(tmp_path)
    made = {path for path in after if path.startswith("a/b/out/")}
    assert {path: after[path] for path in after.keys() - made} == before
    if how == "link":
        assert after["a/b/out/findings.json"] == after["a/b/plain/findings.json"]


def test_a_log_that_unpacks_to_many_times_its_size_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = [inspected(example, store={"x": "0" * 1_000_000}) for example in EXAMPLES[:3]]
    for number, sample in enumerate(samples):
        sample["id"] = f"Age_{number}"
    log = write_eval(tmp_path / "log.eval", samples)
    assert len(read(log)) == 3
    monkeypatch.setattr(opening, "_FREELY", 1 << 20)
    with raises("unreadable-file", DataError, file=log) as caught:
        read(log)
    assert "200 times its size" in caught.value.problem


# --- blocks and arrays


def packed(arrays: dict[str, np.ndarray], compression: int = zipfile.ZIP_DEFLATED, times: int = 1) -> bytes:
    """Arrays as a zip file; each member is listed so many times."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, values in arrays.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, values)
        for info in [*archive.infolist()] * (times - 1):
            archive.filelist.append(info)
    return buffer.getvalue()


def put_block(root: Path, content: bytes, size: int) -> BlockStore:
    shutil.rmtree(root / "aa", ignore_errors=True)
    write_block_file(BlockStore(root), KEY, 0, size, content)
    return BlockStore(root)


def answers(size: int) -> dict[str, np.ndarray]:
    names = {"status": np.int8, "answer.score": np.float32}
    return {"queries": np.zeros(32, np.uint8), **{name: np.zeros(size, kind) for name, kind in names.items()}}


def test_a_block_that_unpacks_to_more_than_it_has_is_a_damaged_block(tmp_path: Path) -> None:
    stored = packed(answers(1_000_000), zipfile.ZIP_STORED)
    assert put_block(tmp_path, stored, 1_000_000).read(KEY, 0, 1_000_000)
    for bomb in (packed(answers(1_000_000)), packed(answers(1_000_000), zipfile.ZIP_STORED, times=3)):
        with pytest.raises(BadBlockError, match="larger than the file"):
            put_block(tmp_path, bomb, 1_000_000).read(KEY, 0, 1_000_000)


def test_a_block_with_a_pickle_is_a_damaged_block(tmp_path: Path) -> None:
    """numpy would unpickle an array of objects if it were told to."""
    marker = tmp_path / "it ran"

    class Runs:
        def __reduce__(self) -> tuple[object, ...]:
            return exec, (f"open({str(marker)!r}, 'w').close()",)

    content = packed({**answers(1), "answer.score": np.array([Runs()], object)}, zipfile.ZIP_STORED)
    with pytest.raises(BadBlockError, match="not a block"):
        put_block(tmp_path, content, 1).read(KEY, 0, 1)
    assert not marker.exists()
    np.load(io.BytesIO(content), allow_pickle=True)["answer.score"]
    assert marker.exists(), "it would act"


def test_arrays_that_unpack_to_more_than_they_have_are_refused(tmp_path: Path) -> None:
    arrays = {"a": np.zeros(1_000_000)}
    path = tmp_path / f"{digest_of_arrays(arrays)}.npz"
    path.write_bytes(packed(arrays))
    with raises("unreadable-file", UsageError, file=path):
        ArrayStore(tmp_path).load(path.stem)


# --- what an archive of a run can hold: links


@pytest.fixture
def run(kept_runs: Path, tmp_path: Path) -> Path:
    return without_digests(Path(shutil.copytree(kept_runs / "one" / "scored-bbq", tmp_path / "run")))


@pytest.mark.parametrize("linked", ["a table", "the folder of tables"])
def test_a_run_does_not_show_what_its_links_lead_to(linked: str, run: Path, tmp_path: Path) -> None:
    outside = Path(shutil.copytree(run / "tables", tmp_path / "outside"))
    if linked == "a table":
        table = next(path for path in sorted((run / "tables").iterdir()) if path.suffix == ".csv")
        table.unlink()
        table.symlink_to(outside / table.name)
    else:
        shutil.rmtree(run / "tables")
        (run / "tables").symlink_to(outside)
    for form in ("csv", "md", "json"):
        assert main(["report", str(run), "--format", form]) == 3


def test_a_page_is_written_over_a_link_and_not_over_what_it_leads_to(run: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine", encoding="utf-8")
    (run / "report.html").unlink(missing_ok=True)
    (run / "report.html").symlink_to(precious)
    assert main(["report", str(run)]) == 0
    assert precious.read_text(encoding="utf-8") == "mine"
    assert not (run / "report.html").is_symlink()
    assert "<html" in (run / "report.html").read_text(encoding="utf-8")
