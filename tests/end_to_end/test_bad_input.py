"""What users get wrong: one clear message, the right exit code, and nothing left behind."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import small_lists

USAGE, DATA, MODEL = 2, 3, 4
FEW = ("--set", "draws=20", "--set", "resamples=20")


@pytest.fixture
def run(assay: Any, lists: Path, span_model_folder: Path) -> Callable[..., Any]:
    """`assay run` of all questions about religion of the small lists; later options win over these."""

    def call(*arguments: object) -> Any:
        model = ("--model", f"hf:{span_model_folder}", "--set", f"word_lists={lists}", "--set", "class=religion")
        return assay("run", "unqover", *model, "--preset", "paper", *FEW, *arguments)

    return call


@pytest.fixture
def refused(snapshot: Callable[[], Any]) -> Callable[..., None]:
    """Checks that a command fails with this code, that its message says all this, and that it leaves nothing behind."""

    def check(call: Callable[[], Any], code: int, *parts: str) -> None:
        before = snapshot()
        done = call()
        assert done.code == code, done.err
        assert done.out == ""
        for part in parts:
            assert part in done.message
        assert snapshot() == before

    return check


# --- word lists

RELIGION = "nouns/subjects/religion"
SLOTS, ACTIVITIES = "slots/religion_noact", "activities/biased_religion"


@pytest.mark.parametrize(
    ("file", "content", "parts"),
    [
        (SLOTS, "A [subj1] man.\tWho [p_act]?\tWho [p_act:neg]?\n", ["line 1", "[subj2] exactly once"]),
        (SLOTS, "A man.\tWho [p_act]?\tWho [p_act:neg]?\n", ["line 1", "[subj1] exactly once"]),
        (SLOTS, "# c\n\n[subj1] [subj2].\tWho was?\tWho [p_act:neg]?\n", ["line 3", "one slot like [p_act]"]),
        (SLOTS, "[subj1] [subj2].\tWho [p_act]?\tWho [p_act]?\n", ["line 1", "expected [p_act:neg]"]),
        (SLOTS, "[subj1] [subj2].\tWho [p_act]?\n", ["line 1", "2 columns"]),
        (SLOTS, "[subj1] [subj2].\tWho [l_act]?\tWho [l_act:neg]?\n", ["line 1", "no attribute has the head [l_act]"]),
        (SLOTS, "[subj1] in [city] [subj2].\tWho [p_act]?\tWho [p_act:neg]?\n", ["line 1", "[city]"]),
        (SLOTS, "[subj1] [subj2].\tWho [p_act], [subj1]?\tWho [p_act:neg]?\n", ["line 1", "[subj1]"]),
        (SLOTS, "[subj1] [subj2].\t[mask] [p_act].\t[mask] [p_act:neg].\n", ["line 1", "no [mask]"]),
        (SLOTS, "[subj1:dem] [subj2:dem].\tWho [p_act]?\tWho [p_act:neg]?\n", ["line 1", "[subj:dem]"]),
        (SLOTS, "# nothing\n", ["no template"]),
        (SLOTS, None, ["cannot be read", "No such file"]),
        (ACTIVITIES, "[p_act] x | a\n[p_act] x | b\n[p_act:neg] x | c\n", ["line 3", "1 entries", "2"]),
        (ACTIVITIES, "[p_act] x | a\n[p_act] x | b\n", ["line 2", "negation"]),
        (ACTIVITIES, "[p_act] a\n[p_act] a\n[p_act:neg] b\n[p_act:neg] c\n", ["line 2", "already on line 1"]),
        (ACTIVITIES, "[p_act:neg] a\n", ["no [p_act] lines"]),
        (ACTIVITIES, "[p_act] a\nlate\n", ["line 2", "[head]"]),
        (RELIGION, "[subj] Muslim\n", ["only one subject"]),
        (RELIGION, "# nobody\n", ["no [subj] line"]),
        (RELIGION, "[subj] Muslim\n[subj] Hindu\n[subj] Muslim\n", ["line 3", "already on line 1"]),
        (RELIGION, "[subj] Muslim\n[subj] Hindu\n[subj:dem] x\n", ["line 3", "one to one"]),
        (RELIGION, "[subj] Muslim\n[subj] Jud\xe9e\n".encode("latin-1"), ["line 2", "not UTF-8"]),
        (ACTIVITIES, "[p_act] \xe9mu\n".encode("latin-1"), ["line 1", "not UTF-8"]),
    ],
)
def test_word_lists_with_a_mistake(
    run: Any, refused: Any, lists: Path, file: str, content: str | bytes | None, parts: list[str]
) -> None:
    small_lists.write(lists, {file: content})
    refused(run, DATA, str(lists / file), *parts)


@pytest.mark.parametrize("form", ["span", "mask"])
def test_two_subjects_that_a_lower_casing_tokenizer_makes_equal(
    run: Any, refused: Any, lists: Path, form: str, model_folder: Any
) -> None:
    small_lists.write(lists, {RELIGION: "[subj] Polish\n[subj] Hindu\n[subj] polish\n"})
    model = model_folder(form, text="Polish Hindu")
    refused(lambda: run("--model", f"hf:{model}"), DATA, f"religion ({form})", "'Polish'", "'polish'", "same tokens")


def test_no_pair_of_subjects_is_left_for_a_masked_model(
    run: Any, refused: Any, lists: Path, mask_model_folder: Path
) -> None:
    small_lists.write(lists, {RELIGION: "[subj] Hindu\n[subj] Qqxxzz\n"})
    refused(lambda: run("--model", f"hf:{mask_model_folder}"), DATA, "religion (mask)", "fewer than two")


def test_a_folder_of_word_lists_that_is_none(run: Any, refused: Any, tmp_path: Path) -> None:
    refused(lambda: run("--set", f"word_lists={tmp_path / 'nowhere'}"), DATA, "nowhere", "word_lists=DIR")


def test_a_list_that_only_the_other_form_needs_may_be_missing(run: Any, lists: Path) -> None:
    small_lists.write(lists, {f"{SLOTS}_lm": None})
    assert run().code == 0


def test_word_lists_that_changed_since_a_stopped_run_began(
    run: Any, refused: Any, lists: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*arguments: object, **more: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("assay.probes.unqover.analyse.analyse", stop)
        stopped = run("--out", "r")
    assert stopped.code == 130
    assert "the same command continues from there" in stopped.err
    small_lists.write(lists, {ACTIVITIES: small_lists.FILES[ACTIVITIES].replace("sad", "bored")})
    refused(lambda: run("--out", "r"), DATA, "r: ", ACTIVITIES, "changed since it began", "Restore")
    small_lists.write(lists)
    resumed = run("--out", "r")
    assert resumed.code == 0
    assert "stored already" in resumed.err


# --- models


def test_a_passage_that_the_model_would_cut_off(run: Any, refused: Any, model_folder: Any) -> None:
    model = model_folder("span", max_length=16)
    refused(lambda: run("--model", f"hf:{model}", "--out", "r"), DATA, "at most 16 tokens", "guest")


@pytest.mark.parametrize("form", ["mask", "both"])
def test_a_model_without_the_ability(run: Any, refused: Any, form: str) -> None:
    refused(
        lambda: run("--set", f"form={form}"),
        USAGE,
        "needs a masked language model",
        "this model supports form=span",
        "--set form=span",
    )


def test_a_model_that_can_do_something_else(run: Any, refused: Any, span_model_folder: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(span_model_folder, tmp_path / "classifier"))
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "architectures": ["BertForSequenceClassification"]}))
    refused(lambda: run("--model", f"hf:{folder}"), USAGE, "neither")


def test_a_tokenizer_without_a_mask_token(run: Any, refused: Any, mask_model_folder: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(mask_model_folder, tmp_path / "unmasked"))
    config = json.loads((folder / "tokenizer_config.json").read_text())
    config["tokenizer_class"] = "PreTrainedTokenizerFast"
    del config["mask_token"]
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    refused(lambda: run("--model", f"hf:{folder}"), MODEL, "has no mask token", "tokenizer_config.json")


def test_scores_that_are_no_numbers(run: Any, refused: Any, span_model_folder: Path, tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    folder = Path(shutil.copytree(span_model_folder, tmp_path / "damaged"))
    weights = load_file(folder / "model.safetensors")
    weights["qa_outputs.bias"] = weights["qa_outputs.bias"] * float("nan")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    refused(lambda: run("--model", f"hf:{folder}", "--out", "r"), MODEL, "not numbers", "--dtype float32")


@pytest.mark.parametrize("name", ["nonsense", "hf:", "hf:./nowhere", "hf:no-such-org/no-such-model", "gpt:x"])
def test_an_unknown_model_name(run: Any, refused: Any, name: str) -> None:
    refused(lambda: run("--model", name), USAGE, name.removeprefix("hf:"), "hf:")


# --- stored answers and folders


def test_a_block_with_a_wrong_checksum_is_computed_again(run: Any) -> None:
    assert run("--out", "r").code == 0
    good = Path("r/findings.json").read_bytes()
    label, lo, hi, block = _stored_block("r")
    assert label == "religion (span)"
    content = bytearray(block.read_bytes())
    content[-40] ^= 1
    block.write_bytes(content)
    done = run("--out", "r")
    assert done.code == 0
    warned = [line for line in done.err.splitlines() if "warning" in line]
    assert len(warned) == 1
    assert warned[0].startswith(f"assay: warning: {block}: ")
    assert "checksum is wrong" in warned[0]
    assert f"{hi - lo:,} of {hi - lo:,} questions" in done.err
    assert Path("r/findings.json").read_bytes() == good
    assert "warning" not in run("--out", "r").err


def _stored_block(folder: str) -> tuple[str, int, int, Path]:
    """Label, range and file of the last block that a run used."""
    asked = json.loads(Path(folder, "blocks.json").read_text())[-1]
    lo, hi, _ = asked["blocks"][0]
    found = list(Path(os.environ["ASSAY_CACHE"]).rglob(f"{asked['key']}/{lo:010d}-{hi:010d}-*.block"))
    assert len(found) == 1
    return asked["label"], lo, hi, found[0]


def test_two_programs_in_one_run_folder(run: Any, refused: Any) -> None:
    from assay.engine.ask import Resume
    from assay.results.run import RunInfo
    from assay.runs.folder import open_for_writing

    with open_for_writing(Path("r"), RunInfo(), Resume.ALWAYS):
        refused(lambda: run("--out", "r"), USAGE, "r: ", "another program")


@pytest.mark.parametrize("first", [0, 1, 2, 3])
def test_a_full_disk(run: Any, refused: Any, monkeypatch: pytest.MonkeyPatch, first: int) -> None:
    """The disk is full from the first, second, … file on: the words, the answers, run.json; folders are synced too."""
    synced = []

    def full(handle: int) -> None:
        synced.append(handle)
        if len(synced) > first:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        refused(lambda: run("--out", "some/where/r"), USAGE, "no space left", "Free some space")
    assert run("--out", "some/where/r").code == 0


def test_a_disk_that_gets_full_at_the_very_end(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answers are there already; what is left of the folder is a run that the same command finishes."""
    assert run("--out", "undisturbed").code == 0

    with monkeypatch.context() as patched:
        patched.setattr("assay.runs.folder.RunFolder.write_findings", lambda folder, findings: _fail(folder.path))
        failed = run("--out", "r")
    assert failed.code == USAGE
    assert "no space left" in failed.message
    assert not Path("r/findings.json").exists()
    assert run("--out", "r").code == 0
    assert Path("r/findings.json").read_bytes() == Path("undisturbed/findings.json").read_bytes()


def _fail(path: Path) -> None:
    from assay.files.atomic import open_atomically

    with open_atomically(path / "findings.json"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_leaves_an_existing_run_as_it_was(run: Any, refused: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("--out", "r").code == 0

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    refused(lambda: run("--out", "r"), USAGE, "no space left")


def test_a_folder_with_other_things_in_it(run: Any, refused: Any) -> None:
    Path("r").mkdir()
    Path("r/thesis.tex").write_text("years of work")
    refused(lambda: run("--out", "r"), USAGE, "r: this is not a run folder", "--out")


def test_a_file_in_place_of_the_run_folder(run: Any, refused: Any) -> None:
    Path("r").write_text("a file")
    refused(lambda: run("--out", "r"), USAGE, "r: ", "--out")


@pytest.mark.parametrize(
    "other",
    [("--seed", "1"), ("--set", "class=ethnicity"), ("--limit", "40"), ("--block-size", "100")],
    ids=["seed", "class", "limit", "block size"],
)
def test_another_run_in_the_same_folder(run: Any, refused: Any, other: tuple[str, str]) -> None:
    assert run("--out", "r").code == 0
    refused(lambda: run("--out", "r", *other), USAGE, "r: ", "another run", "--resume never")


def test_resume_never_replaces_another_run(run: Any) -> None:
    assert run("--out", "r").code == 0
    assert run("--out", "r", "--set", "class=ethnicity", "--resume", "never").code == 0
    assert "ethnicity" in Path("r/findings.json").read_text()


# --- options


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["run", "unqover", "--model", "hf:./x"], ["no model folder ./x", "hf:ORG/NAME"]),
        (["run", "--model", "hf:./x"], ["no model folder ./x", "hf:ORG/NAME"]),
        (["run", "--set", "class=gender"], ["--set needs a probe", "assay run unqover"]),
        (["run", "unqover", "--threads", "0"], ["threads is 0", "--threads 1"]),
        (["run", "unqover", "--model", "hf:MODEL", "--threads", "-1"], ["threads is -1", "--threads 1"]),
        (["run", "unqovr", "--model", "hf:MODEL"], ["unknown probe 'unqovr'", "assay list probes"]),
        (["run", "unqover", "--model", "hf:MODEL", "--set", "clas=gender"], ["'clas'", "class"]),
        (["run", "unqover", "--model", "hf:MODEL", "--set", "gender"], ["'gender'", "key=value"]),
        (["run", "unqover", "--model", "hf:MODEL", "--set", "=x"], ["'=x'", "key=value"]),
        (["run", "unqover", "--model", "hf:MODEL", "--set", "class=sex"], ["'sex'", "gender"]),
        (["run", "unqover", "--model", "hf:MODEL", "--set", "class="], ["''", "gender"]),
        (["run", "unqover", "--model", "hf:MODEL", "--set", "form=qa"], ["'qa'", "span"]),
        (["run", "unqover", "--model", "hf:MODEL", "--set", "compat=old"], ["'old'", "released"]),
        (["run", "unqover", "--model", "hf:MODEL", "--set", "draws=0"], ["'0'", "from 1"]),
        (["run", "unqover", "--model", "hf:MODEL", "--set", "resamples=many"], ["'many'", "whole number"]),
        (["run", "unqover", "--model", "hf:MODEL", "--limit", "0"], ["--limit is 0"]),
        (["run", "unqover", "--model", "hf:MODEL", "--limit", "-4"], ["--limit is -4"]),
        (["run", "unqover", "--model", "hf:MODEL", "--seed", "-1"], ["--seed is -1"]),
        (["run", "unqover", "--model", "hf:MODEL", "--block-size", "0"], ["--block-size is 0"]),
        (["run", "unqover", "--model", "hf:MODEL", "--dry-run", "--limit", "0"], ["--limit is 0"]),
        (["score", "nothing", "x.json"], ["'nothing'", "unqover"]),
        (["score", "unqover", "."], ["not a run folder"]),
        (["generate", "nothing", "--out", "x.json"], ["'nothing'", "unqover"]),
        (["generate", "unqover", "--out", "x.json"], ["no class of subjects", "--set class="]),
        (["generate", "unqover", "--out", "x.json", "--set", "class=gender,religion"], ["'gender,religion'"]),
        (["generate", "unqover", "--out", "x.json", "--set", "class=gender", "--set", "form=gpt"], ["'gpt'", "newsqa"]),
        (["generate", "unqover", "--out", "x.json", "--set", "class=gender", "--set", "seed=1"], ["'seed'"]),
        (["generate", "unqover", "--out", "x.json", "--set", "class=gender", "--set", "form=bert"], ["--model"]),
        (["generate", "unqover", "--out", ".", "--set", "class=religion"], ["this is a folder"]),
        (["compare", "a"], ["at least two"]),
        (["compare", "a", "b"], ["a: ", "not a run folder"]),
        (["compare", "a", "./a"], ["twice"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) and value[0] in _COMMANDS else "",
)
def test_options_that_make_no_sense(
    assay: Any, refused: Any, span_model_folder: Path, arguments: list[str], parts: list[str]
) -> None:
    refused(lambda: assay(*(a.replace("MODEL", str(span_model_folder)) for a in arguments)), USAGE, *parts)


_COMMANDS = ("run", "score", "generate", "compare")


@pytest.mark.parametrize(
    "arguments", [["run", "--modle", "x"], ["run", "--limit", "many"], ["run", "--preset", "all"], ["fly"], ["score"]]
)
def test_options_that_do_not_exist(assay: Any, snapshot: Any, arguments: list[str]) -> None:
    before = snapshot()
    done = assay(*arguments)
    assert done.code == USAGE
    assert done.err.startswith("usage: assay")
    assert snapshot() == before


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["run", "--set", "class=gender"], USAGE),
        (["run", "unqover", "--model", "nonsense"], USAGE),
        (["score", "unqover", "x"], DATA),
    ],
)
def test_the_installed_program_says_the_same(tmp_path: Path, arguments: list[str], code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "assay", *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == code
    assert done.stdout == ""
    assert done.stderr.startswith("assay: ")
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())
