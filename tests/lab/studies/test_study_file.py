"""Reading a study file: what is wrong in it is said with its line, and before anything runs."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from assay.errors import DataError
from assay.lab.studies.study_file import find_study, read_study
from raising import raises

SIQA, INLP, CDA = "[models.siqa]", "[models.inlp-gender]", "[models.cda-gender]"


def test_what_a_file_says(bench: Any) -> None:
    file = read_study(bench.file)
    assert (file.name, file.title, file.seed) == ("mine", "mine", 7)
    assert list(file.models) == ["base", "siqa", "inlp-gender", "cda-gender", "cda-gender-siqa"]
    siqa = file.models["siqa"]
    assert (siqa.how, siqa.value, siqa.source, siqa.preset) == ("train", "choice", "base", "sodapop")
    assert siqa.settings == {"max_steps": "3"}
    assert siqa.files == {"data": "train.jsonl", "eval": "dev.jsonl"}
    assert file.models["base"].title == "the base"
    assert [run.probes for run in file.runs] == [("sodapop",), ("unqover",)]


@pytest.mark.parametrize(
    ("old", "new", "code", "key", "at", "after"),
    [
        ('preset = "sodapop"', 'presets = "sodapop"', "unknown-key", "presets", "presets", SIQA),
        ('train = "choice"', 'train = "choise"', "bad-value", "train", "train", SIQA),
        ('debias = "inlp"', 'debias = "INLP"', "bad-value", "debias", "debias", INLP),
        ('attribute = "gender"', 'attribute = "age"', "bad-value", "attribute", "attribute", INLP),
        ('attribute = "gender"\n', "", "missing-key", "attribute", INLP, INLP),
        ('base = "base"\n', "", "missing-key", "base", SIQA, SIQA),
        ('spec = "builtin"', 'spec = "builtin"\ntrain = "span"', "bad-value", "base", "[models.base]", ""),
        ('spec = "builtin"', 'spec = "gpt"', "unknown-model", "spec", "spec", ""),
        ('spec = "builtin"', 'spec = "hf:./nowhere"', "unknown-model", "spec", "spec", ""),
        ('model = "siqa"', 'model = "sika"', "unknown-model", "model", "model", INLP),
        ('model = "base"', 'model = "siqa"', "missing-ability", "model", "model", CDA),
        ('base = "base"', 'base = "inlp-gender"', "bad-value", "base", "base", SIQA),
        ('data = "train.jsonl"', 'data = "gone.jsonl"', "missing-file", "data", "data", SIQA),
        ('corpus = "text.txt"', 'corpus = "gone.txt"', "missing-file", "corpus", "corpus", INLP),
        ("{ max_steps = 3 }", "{ max_step = 3 }", "unknown-setting", "max_step", "settings", SIQA),
        ("{ max_steps = 3 }", '{ max_steps = "many" }', "bad-setting", "max_steps", "settings", SIQA),
        ("{ rounds = 2 }", "{ steps = 2 }", "unknown-setting", "steps", "settings", INLP),
        ("{ max_steps = 3 }", "{ max_steps = [3, 4] }", "bad-value", "max_steps", "settings", SIQA),
        ('preset = "sodapop"', 'preset = "unqover"', "unsupported", "preset", "preset", SIQA),
        ("seed = 7", "seed = -7", "bad-value", "seed", "seed", ""),
        ('probe = "sodapop"', 'probe = "sodapops"', "bad-value", "probe", "probe", ""),
        ('"inlp-*"', '"inpl-*"', "unknown-model", "models", "models", "[[runs]]"),
        ('["siqa", "inlp-*"', '["sika", "inlp-*"', "unknown-model", "models", "models", "[[runs]]"),
        ('fill_model = "base"', 'fill_model = "bass"', "unknown-model", "fill_model", "settings", "[[runs]]"),
        ('fill_model = "base"', 'fill_model = "siqa"', "missing-ability", "fill_model", "settings", "[[runs]]"),
        ('{ form = "mask",', '{ form = "masked",', "bad-setting", "form", "settings", '[[runs]]\nprobe = "unqover"'),
        (
            'models = ["base", "cda-gender"]',
            'models = ["siqa"]',
            "missing-ability",
            "models",
            "models",
            '[[runs]]\nprobe = "unqover"',
        ),
        (
            'form = "mask"',
            'form = "span"',
            "missing-ability",
            "form",
            "settings",
            '[[runs]]\nprobe = "unqover"',
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line(
    bench: Any, old: str, new: str, code: str, key: str, at: str, after: str
) -> None:
    place = bench.text.index(after.split("\n")[0]) if after else 0
    place = bench.text.index(after) if after in bench.text else place
    assert old in bench.text[place:]
    bench.text = bench.text[:place] + bench.text[place:].replace(old, new, 1)
    error = bench.refused()
    assert isinstance(error, DataError)
    assert (error.code, error.key, error.file) == (code, key, bench.file)
    lines, number = bench.text.splitlines(), error.line
    assert number is not None
    assert lines[number - 1].startswith(at), lines[number - 1]
    head = max((n for n, line in enumerate(lines[:number]) if line.startswith("[")), default=0)
    if after:
        assert lines[head] == after.split("\n")[0]


@pytest.mark.parametrize(
    ("text", "code", "line", "key"),
    [
        ("[models", "bad-toml", None, None),
        ("models = 3", "bad-value", 1, "models"),
        ("[study]\nname = 'x'", "missing-key", None, "models"),
        ("[modles.a]\nspec = 'builtin'", "unknown-key", None, "modles"),
        ("[models.builtin]\nspec = 'builtin'", "bad-value", 1, "builtin"),
        ("[models.'a/b']\nspec = 'builtin'", "bad-value", 1, "a/b"),
        ("[models.'base.']\nspec = 'builtin'", "bad-value", 1, "base."),
        ("[models.aux]\nspec = 'builtin'", "bad-value", 1, "aux"),
        ("[study]\nname = 'NUL.v2'\n[models.a]\nspec = 'builtin'", "bad-value", 2, "name"),
        ("[models.base]\nspec = 'builtin'\n[models.Base]\nspec = 'builtin'", "duplicate", 3, "Base"),
        ("[models.a]\nspec = 'builtin'\n[runs]\nprobe = 'unqover'", "bad-value", 3, "runs"),
        ("[models.a]\nspec = 'builtin'\n[[runs]]\nprobe = 'unqover'", "missing-key", 3, "models"),
        ("[models.a]\nspec = 'builtin'\n[[runs]]\nprobe = 'unqover'\nmodels = []", "bad-value", 5, "models"),
        ("[models.a]\nspec = 'builtin'\n[[runs]]\nprobe = 'unqover'\nmodels = 'a'\nlimit = 0", "bad-value", 6, "limit"),
        (
            "[models.a]\nspec = 'builtin'\n" + 2 * "[[runs]]\nprobe = 'unqover'\nmodels = 'a'\n",
            "duplicate",
            6,
            "runs",
        ),
        (
            "[models.a]\nspec = 'builtin'\n"
            + "".join(f"[[runs]]\nprobe = 'unqover'\nmodels = 'a'\nname = '{name}'\n" for name in "xX"),
            "duplicate",
            7,
            "runs",
        ),
        (
            "[models.a]\nspec = 'builtin'\n[[runs]]\nprobe = 'unqover'\nmodels = 'a'\nvary = { form = ['mask'] }",
            "bad-value",
            6,
            "form",
        ),
    ],
)
def test_files_that_are_no_studies_are_refused(
    bench: Any, text: str, code: str, line: int | None, key: str | None
) -> None:
    bench.text = text
    error = bench.refused()
    assert (error.code, error.file, error.line, error.key) == (code, bench.file, line, key)


def test_a_file_or_a_packaged_name_is_found(bench: Any) -> None:
    assert find_study(bench.file) == bench.file
    assert find_study("study-small").name == "study-small.toml"
    with raises("bad-option", DataError, key="study"):
        find_study("study-smal")
    with raises("missing-file", DataError, file=Path("nowhere/my.toml")):
        find_study("nowhere/my.toml")


def test_data_are_looked_for_in_the_data_folder_then_beside_the_file(bench: Any, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "train.jsonl.gz").write_bytes(gzip.compress(b"packed"))
    bench.run(data=data, only=["siqa"])
    arguments = bench.fakes.arguments("siqa")
    assert arguments["data"] == data / "train.jsonl.gz"
    assert arguments["evaluation"] == bench.folder / "dev.jsonl"


def test_a_data_folder_that_is_not_there_is_said(bench: Any) -> None:
    error = bench.refused(data=bench.folder / "gone")
    assert (error.code, error.file, error.key) == ("missing-file", bench.folder / "gone", "data")
    bench.text = bench.text.replace("seed = 7", 'seed = 7\ndata = "gone"')
    error = bench.refused()
    assert (error.code, error.file, error.key) == ("missing-file", bench.file, "data")
    assert error.line == bench.line("data")
