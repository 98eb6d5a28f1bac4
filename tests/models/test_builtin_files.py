"""The built-in model's files: found by a bare name, refused when damaged, loaded without torch; memory may be short."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import assay
from assay.asking.queries import MASK, EmbedColumns, FillColumns, StringColumn
from assay.cli import main
from assay.errors import ModelError, UsageError
from assay.models import find_model, load
from assay.models.base import Options
from assay.models.builtin import FILES, FOLDER, BareTokenizer, find_in, usable_cpus
from raising import raises

ALL = (*FILES, "SHA256SUMS")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The shipped files, for the test to change. What it leaves as it is costs no space."""
    folder = tmp_path / "builtin"
    folder.mkdir()
    for name in ALL:
        os.link(FOLDER / name, folder / name) if _same_disk(folder) else shutil.copy(FOLDER / name, folder)
    return folder


def _same_disk(folder: Path) -> bool:
    return folder.stat().st_dev == FOLDER.stat().st_dev


def change(file: Path, edit: Callable[[bytes], bytes]) -> None:
    content = edit(file.read_bytes())
    file.unlink()  # it may be a link to the shipped one
    file.write_bytes(content)


def flip(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def reseal(folder: Path) -> None:
    """Checksums that fit what is there."""
    lines = [f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in FILES]
    change(folder / "SHA256SUMS", lambda _: "".join(lines).encode())


def forbid_loading(monkeypatch: pytest.MonkeyPatch) -> None:
    import onnxruntime

    def loaded(*args: Any, **options: Any) -> None:
        raise AssertionError("the model was loaded")

    monkeypatch.setattr(onnxruntime, "InferenceSession", loaded)


# --- finding


def test_it_is_found_by_its_bare_name() -> None:
    spec = find_model("builtin")
    assert (spec.name, spec.kind, spec.place) == ("builtin", "builtin", str(FOLDER))
    assert spec.abilities == {"span", "mask", "fill", "choice", "embed", "word", "token"}
    assert (spec.device, spec.dtype, spec.threads) == ("cpu", "float32", 0)
    assert spec.digest == hashlib.sha256((FOLDER / "SHA256SUMS").read_bytes()).hexdigest()
    assert pickle.loads(pickle.dumps(spec)) == spec


@pytest.mark.parametrize("name", ["builtin:", "builtin:small", "Builtin"])
def test_nothing_stands_behind_its_name(name: str) -> None:
    with raises("unknown-model", UsageError) as wrong:
        find_model(name)
    assert "builtin, hf:…" in str(wrong.value)


def test_it_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "models"]) == 0
    assert "builtin" in capsys.readouterr().out


@pytest.mark.parametrize("options", [Options(device="cpu"), Options(dtype="float32")])
def test_what_it_does_anyway_may_be_asked_for(options: Options) -> None:
    assert find_model("builtin", options) == find_model("builtin")


@pytest.mark.parametrize(("options", "key"), [(Options(device="cuda"), "device"), (Options(dtype="bfloat16"), "dtype")])
def test_what_it_cannot_do_is_wrong_use(options: Options, key: str) -> None:
    with raises("no-device", UsageError, key=key) as wrong:
        find_model("builtin", options)
    assert repr(getattr(options, key)) in str(wrong.value)


@pytest.mark.parametrize("threads", [0, -1])
def test_there_is_at_least_one_thread(threads: int) -> None:
    with raises("bad-option", UsageError, key="threads"):
        Options(threads=threads)


def test_threads_do_not_make_another_model() -> None:
    one, own = find_model("builtin", Options(threads=1)), find_model("builtin")
    assert one.threads == 1
    assert one.digest == own.digest


@pytest.mark.parametrize(("wanted", "used"), [(None, usable_cpus()), (3, 3)])
def test_it_runs_with_the_threads_that_were_asked_for(
    wanted: int | None, used: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    import onnxruntime

    real, threads = onnxruntime.InferenceSession, []

    def recorded(graph: str, options: Any, **more: Any) -> Any:
        threads.append(options.intra_op_num_threads)
        return real(graph, options, **more)

    monkeypatch.setattr(onnxruntime, "InferenceSession", recorded)
    model = load(find_model("builtin", Options(threads=wanted)))
    for _ in range(2):  # one session for each graph, made when it is needed
        model.forward(model.encode(EmbedColumns(StringColumn.of(["a"]), *np.array([[0], [1]], np.int32))))
        model.forward(model.encode(FillColumns(StringColumn.of([""]), StringColumn.of([f"{MASK} sang."]))))
    assert threads == [used, used]


def test_it_takes_the_cpus_that_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("this system has no CPU affinity")
    posix = pytest.importorskip("posix")  # where several processes of tests do not replace it
    monkeypatch.setattr(os, "sched_getaffinity", posix.sched_getaffinity)
    everything = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(everything)})
    try:
        assert usable_cpus() == 1
    finally:
        os.sched_setaffinity(0, everything)
    assert usable_cpus() == len(everything)


# --- damage


def test_a_whole_copy_is_the_same_model(copy: Path) -> None:
    assert find_in(copy, "builtin", Options()).digest == find_model("builtin").digest


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "damage", [flip, lambda content: content[:-1], lambda content: b""], ids=["flip", "cut", "empty"]
)
def test_a_damaged_file_is_refused_before_anything_is_loaded(
    name: str, damage: Callable[[bytes], bytes], copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = find_in(copy, "builtin", Options())
    change(copy / name, damage)
    forbid_loading(monkeypatch)
    for refused in (lambda: find_in(copy, "builtin", Options()), lambda: load(spec)):
        with raises("damaged-model", ModelError, file=copy / name):
            refused()


@pytest.mark.parametrize("name", ALL)
def test_a_missing_file_is_refused(name: str, copy: Path) -> None:
    (copy / name).unlink()
    with raises("damaged-model", ModelError, file=copy / name):
        find_in(copy, "builtin", Options())


@pytest.mark.parametrize(
    "damage",
    [lambda content: content[: len(content) // 2], lambda content: b"", lambda content: b"\xff" + content],
    ids=["cut", "empty", "not text"],
)
def test_damaged_checksums_are_refused(damage: Callable[[bytes], bytes], copy: Path) -> None:
    change(copy / "SHA256SUMS", damage)
    with raises("damaged-model", ModelError):
        find_in(copy, "builtin", Options())


def test_another_version_of_it_is_not_taken_for_the_one_that_was_found(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = find_in(copy, "builtin", Options())
    change(copy / "config.json", lambda content: content + b" ")
    reseal(copy)
    forbid_loading(monkeypatch)
    with raises("damaged-model", ModelError, file=None):
        load(spec)


def test_scores_that_are_no_numbers_are_an_error(copy: Path) -> None:
    def broken(content: bytes) -> bytes:
        header = 8 + int.from_bytes(content[:8], "little")
        low, high = json.loads(content[8:header])["bert.embeddings.LayerNorm.weight"]["data_offsets"]
        nan = np.full((high - low) // 2, np.nan, np.float16).tobytes()
        return content[: header + low] + nan + content[header + high :]

    change(copy / "weights.safetensors", broken)
    reseal(copy)
    model = load(find_in(copy, "builtin", Options(threads=1)))
    with raises("bad-scores", ModelError):
        model.forward(model.encode(FillColumns(StringColumn.of(["Anne sang."]), StringColumn.of([f"{MASK} slept."]))))


# --- its tokenizer


def test_a_bare_tokenizer_neither_cuts_nor_pads(tmp_path: Path) -> None:
    """Published tokenizers may have both switched on."""
    from tokenizers import Tokenizer

    limited = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    limited.enable_truncation(8)
    limited.enable_padding(length=8)
    limited.save(str(tmp_path / "tokenizer.json"))
    bare = BareTokenizer(tmp_path / "tokenizer.json", mask_token="[MASK]", pad_token="[PAD]")
    assert len(bare("on " * 20)["input_ids"]) == 22
    assert len(bare("on", "and on")["input_ids"]) == 6
    assert {*bare.all_special_tokens} == {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
    assert bare("\u2603\u2603")["input_ids"][1:-1] == [bare.unk_token_id]


# --- in a process of its own


def printed(code: str) -> Any:
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.mark.slow
def test_it_answers_without_torch_and_transformers() -> None:
    code = f"""
    import json, sys
    import assay
    from assay.asking.queries import FillColumns, StringColumn

    model = assay.load_model("builtin")
    asked = FillColumns(StringColumn.of([""]), StringColumn.of(["The dog {MASK} at night."]), 3)
    answers = model.forward(model.encode(asked))
    heavy = ["torch", "transformers", "safetensors", "onnx", "scipy"]
    print(json.dumps([answers["token"].shape, [name for name in heavy if name in sys.modules]]))
    """
    assert printed(code) == [[1, 3], []]


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits a process's memory as Linux does it")
def test_a_batch_that_does_not_fit_is_halved_until_it_does() -> None:
    """onnxruntime's own errors mean: no memory; other limits than the machine's make it run out of it at once."""
    code = """
    import json, re, resource
    from pathlib import Path
    import numpy as np
    import assay
    from assay.engine.executor import forward_all
    from assay.models.base import BatchTooLargeError
    from assay.asking.queries import EmbedColumns, StringColumn

    model = assay.load_model("builtin", threads=1)
    rows = 16
    columns = EmbedColumns(StringColumn.of(["on " * 500] * rows), np.zeros(rows, np.int32), np.full(rows, 2, np.int32))
    tokens = model.encode(columns)
    expected = model.forward(tokens.take(np.array([0])))["vector"]
    used = int(re.search(r"VmSize:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024
    resource.setrlimit(resource.RLIMIT_AS, (used + 150 * 2**20,) * 2)
    try:
        model.forward(tokens)
        raised = False
    except BatchTooLargeError:
        raised = True
    answers, budget = forward_all(model, tokens, 16384)
    print(json.dumps([raised, budget, bool(np.allclose(answers["vector"], expected, atol=1e-5))]))
    """
    raised, budget, right = printed(code)
    assert raised
    assert 512 <= budget < 16384
    assert right


# --- folders for transformers


def test_a_folder_is_written_anew(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "notes.txt").write_text("mine")
    for taken in (tmp_path / "there", tmp_path / "there" / "notes.txt"):
        with raises("not-new", UsageError, key="folder") as wrong:
            assay.write_builtin(taken, "span")
        assert str(taken) in str(wrong.value)
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["notes.txt"]


def test_an_unknown_head_is_wrong_use(tmp_path: Path) -> None:
    unknown: Any = "tail"
    with raises("bad-option", UsageError, key="head") as wrong:
        assay.write_builtin(tmp_path / "new", unknown)
    assert "span, mask, choice" in str(wrong.value)
    assert not (tmp_path / "new").exists()
