"""Reading a study file: what is wrong in it is said with its line, and before anything runs."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from assay.errors import AssayError, DataError
from assay.lab.studies.file import find_study, read_study

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
    ("old", "new", "said", "at", "after"),
    [
        ('preset = "sodapop"', 'presets = "sodapop"', 'unknown key "presets"; did you mean "preset"', "presets", SIQA),
        ('train = "choice"', 'train = "choise"', 'did you mean "choice"', "train", SIQA),
        ('debias = "inlp"', 'debias = "INLP"', 'did you mean "inlp"', "debias", INLP),
        ('attribute = "gender"', 'attribute = "age"', "'age'", "attribute", INLP),
        ('attribute = "gender"\n', "", '"attribute" is missing', INLP, INLP),
        ('base = "base"\n', "", '"base" is missing', SIQA, SIQA),
        ('spec = "builtin"', 'spec = "builtin"\ntrain = "span"', "there are spec and train", "[models.base]", ""),
        ('spec = "builtin"', 'spec = "gpt"', "'gpt'", "spec", ""),
        ('spec = "builtin"', 'spec = "hf:./nowhere"', "nowhere", "spec", ""),
        ('model = "siqa"', 'model = "sika"', 'no model of this study; did you mean "siqa"', "model", INLP),
        ('model = "base"', 'model = "siqa"', "cannot fill masks", "model", CDA),
        ('base = "base"', 'base = "inlp-gender"', "made from itself: siqa from inlp-gender from siqa", "base", SIQA),
        ('data = "train.jsonl"', 'data = "gone.jsonl"', "no such file", "data", SIQA),
        ('corpus = "text.txt"', 'corpus = "gone.txt"', "no such file", "corpus", INLP),
        ("{ max_steps = 3 }", "{ max_step = 3 }", "no setting 'max_step'", "settings", SIQA),
        ("{ max_steps = 3 }", '{ max_steps = "many" }', "max_steps is 'many'", "settings", SIQA),
        ("{ rounds = 2 }", "{ steps = 2 }", "no setting 'steps'", "settings", INLP),
        ("{ max_steps = 3 }", "{ max_steps = [3, 4] }", "is a list", "settings", SIQA),
        ('preset = "sodapop"', 'preset = "unqover"', "for span training", "preset", SIQA),
        ("seed = 7", "seed = -7", '"seed" is -7', "seed", ""),
        ('probe = "sodapop"', 'probe = "sodapops"', 'did you mean "sodapop"', "probe", ""),
        ('"inlp-*"', '"inpl-*"', "no model fits 'inpl-*'", "models", "[[runs]]"),
        ('["siqa", "inlp-*"', '["sika", "inlp-*"', 'did you mean "siqa"', "models", "[[runs]]"),
        ('fill_model = "base"', 'fill_model = "bass"', "neither a model of this study", "settings", "[[runs]]"),
        ('fill_model = "base"', 'fill_model = "siqa"', "siqa cannot fill masks", "settings", "[[runs]]"),
        ('{ fill_model = "base" }', "{ cap = 10 }", "on siqa: this model cannot fill masks", "settings", "[[runs]]"),
        ('{ form = "mask",', '{ form = "masked",', "form is 'masked'", "settings", '[[runs]]\nprobe = "unqover"'),
        (
            'models = ["base", "cda-gender"]',
            'models = ["siqa"]',
            "siqa cannot",
            "models",
            '[[runs]]\nprobe = "unqover"',
        ),
        (
            'form = "mask"',
            'form = "span"',
            "cda-gender: this model has not the ability 'span'",
            "settings",
            '[[runs]]\nprobe = "unqover"',
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line(bench: Any, old: str, new: str, said: str, at: str, after: str) -> None:
    place = bench.text.index(after.split("\n")[0]) if after else 0
    place = bench.text.index(after) if after in bench.text else place
    assert old in bench.text[place:]
    bench.text = bench.text[:place] + bench.text[place:].replace(old, new, 1)
    error = bench.refused()
    assert isinstance(error, DataError)
    assert said in error.problem
    lines = bench.text.splitlines()
    number = int(error.problem.partition("line ")[2].partition(":")[0])
    assert lines[number - 1].startswith(at), lines[number - 1]
    head = max((n for n, line in enumerate(lines[:number]) if line.startswith("[")), default=0)
    if after:
        assert lines[head] == after.split("\n")[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[models", "not TOML"),
        ("models = 3", '"models" is no table'),
        ("[study]\nname = 'x'", "there are no models"),
        ("[modles.a]\nspec = 'builtin'", 'unknown key "modles"; did you mean "models"'),
        ("[models.builtin]\nspec = 'builtin'", "also the name of a kind of model"),
        ("[models.'a/b']\nspec = 'builtin'", "no name for a folder"),
        ("[models.a]\nspec = 'builtin'\n[runs]\nprobe = 'unqover'", '"runs" is no list of tables'),
        ("[models.a]\nspec = 'builtin'\n[[runs]]\nprobe = 'unqover'", '"models" is missing'),
        ("[models.a]\nspec = 'builtin'\n[[runs]]\nprobe = 'unqover'\nmodels = []", "expected a text or a list"),
        ("[models.a]\nspec = 'builtin'\n[[runs]]\nprobe = 'unqover'\nmodels = 'a'\nlimit = 0", '"limit" is 0'),
        (
            "[models.a]\nspec = 'builtin'\n" + 2 * "[[runs]]\nprobe = 'unqover'\nmodels = 'a'\n",
            "unqover--a is there already, in runs 1",
        ),
        (
            "[models.a]\nspec = 'builtin'\n[[runs]]\nprobe = 'unqover'\nmodels = 'a'\nvary = { form = ['mask'] }",
            "at least two values",
        ),
    ],
)
def test_files_that_are_no_studies_are_refused(bench: Any, text: str, said: str) -> None:
    bench.text = text
    error = bench.refused()
    assert said in error.problem
    assert str(bench.file) in error.problem


def test_a_file_or_a_packaged_name_is_found(bench: Any) -> None:
    assert find_study(bench.file) == bench.file
    assert find_study("study-small").name == "study-small.toml"
    with pytest.raises(AssayError, match='did you mean "study-small"'):
        find_study("study-smal")
    with pytest.raises(AssayError, match="no such file"):
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
    assert "no such folder" in bench.refused(data=bench.folder / "gone").problem
    bench.text = bench.text.replace("seed = 7", 'seed = 7\ndata = "gone"')
    assert "\"data\" is 'gone'" in bench.refused().problem
