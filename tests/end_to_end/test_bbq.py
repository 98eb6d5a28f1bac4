"""BBQ from the command line: every kind of model, somebody else's answers, generation, comparison, bad input."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import small_bbq

pytestmark = pytest.mark.whole

USAGE, DATA, MODEL = 2, 3, 4
FEW = ("--set", "resamples=20")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A small folder of BBQ-like files."""
    for name, labels in {"Age": ("old", "nonOld"), "Religion": ("Hindu", "Sikh")}.items():
        small_bbq.write(tmp_path / "data" / f"{name}.jsonl", small_bbq.examples(6, 2, name, labels))
    return tmp_path / "data"


def findings(folder: str | Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((Path(folder) / "findings.json").read_text())
    return found


def values(folder: str | Path, metric: str, **group: str) -> list[float | None]:
    return [
        estimate["value"]
        for estimate in findings(folder)["estimates"]
        if estimate["metric"] == metric and group.items() <= estimate["group"].items()
    ]


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("choice", {}),
        ("causal", {}),
        ("causal", {"form": "letters", "orders": "all"}),
        ("causal", {"likelihood": "token"}),
        ("causal", {"likelihood": "byte"}),
        ("text", {}),
        ("text", {"form": "arc", "context": "both"}),
        ("causal", {"form": "race"}),
        ("causal", {"form": "free"}),
        ("text", {"form": "written", "orders": "all", "system": "She met Anne."}),
    ],
    ids=str,
)
def test_every_kind_of_model_answers(
    assay: Any, data: Path, model_folder: Any, kind: str, settings: dict[str, str]
) -> None:
    chosen = [part for pair in settings.items() for part in ("--set", "=".join(pair))]
    model = f"hf:{model_folder(kind, max_length=256)}"
    done = assay("run", "bbq", "--model", model, "--data", data, "--preset", "paper", *chosen, *FEW, "--out", "r")
    assert done.code == 0, done.err
    assert findings("r")["probe"] == "bbq"
    asked = sum(json.loads((Path("r") / "run.json").read_text())["stages"].values())
    assert asked == {"all": 96 * 6, "both": 96 + 48}.get(settings.get("orders") or settings.get("context", ""), 96)
    assert values("r", "unparsed_rate", category="Age", context="ambig")
    assert bool(values("r", "order_sensitivity")) == ("orders" in settings)
    assert bool(values("r", "accuracy", context="question_only")) == ("context" in settings)
    assert (Path("r") / "report.html").is_file()


ROLES = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant: "


@pytest.mark.parametrize("template", [ROLES, ""], ids=["chat", "plain"])
def test_variants_are_asked_in_their_steps_and_compared_on_the_same_questions(
    assay: Any, data: Path, model_folder: Any, tmp_path: Path, template: str
) -> None:
    folder = shutil.copytree(model_folder("causal", max_length=512), tmp_path / "model")
    if template:
        (folder / "chat_template.jinja").write_text(template, encoding="utf-8")
    for variant in ("baseline", "reprompt"):
        options = ("--data", data, "--limit", 32, "--set", f"variant={variant}", *FEW, "--out", variant)
        done = assay("run", "bbq", "--model", f"hf:{folder}", *options)
        assert done.code == 0, done.err
    stages = json.loads((Path("reprompt") / "run.json").read_text())["stages"]
    assert stages == {"bbq: first step": 32, "bbq": 32}
    found = json.loads(assay("compare", "baseline", "reprompt", "--json").out)
    assert found["items"][0]["common"] == 32
    assert "baseline and reprompt have different settings: variant (baseline, reprompt)" in found["notes"]
    assert {row["category"] for row in found["tables"]["beside"]} == {"all", "Age", "Religion"}
    (said,) = found["remarks"]["reprompt"]
    assert said.startswith("Bias score in ambiguous questions, all categories: ")
    printed = assay("compare", "baseline", "reprompt", "--out", "c.html")
    assert "Bias score in ambiguous questions, with accuracy and “cannot be determined”" in " ".join(
        printed.out.split()
    )
    assert said in Path("c.html").read_text()


@pytest.mark.parametrize("form", ["options", "letters", "arc"])
def test_a_chat_template_that_drops_the_question_stops_the_run(
    assay: Any, data: Path, model_folder: Any, tmp_path: Path, form: str
) -> None:
    folder = shutil.copytree(model_folder("causal", max_length=256), tmp_path / "model")
    (folder / "chat_template.jinja").write_text("User: hello\nAssistant:", encoding="utf-8")
    command = ("run", "bbq", "--model", f"hf:{folder}", "--data", data, "--set", f"form={form}", *FEW)
    done = assay(*command, "--out", "r")
    assert done.code == MODEL
    assert "drops a question" in done.err
    assert "--set chat=off" in done.err
    assert not (Path("r") / "findings.json").exists()
    assert assay(*command, "--set", "chat=off", "--out", "r2").code == 0


def test_the_starter_set_runs_on_the_built_in_model_and_resumes_with_the_same_bytes(assay: Any) -> None:
    command = ("run", "bbq-starter", "--limit", 44, *FEW, "--out", "r")
    first = assay(*command)
    assert first.code == 0, first.err
    assert "44 questions" in first.err
    before = (Path("r") / "findings.json").read_bytes()
    assert findings("r")["probe"] == "bbq-starter"
    assert assay(*command).code == 0
    assert (Path("r") / "findings.json").read_bytes() == before


def test_a_limit_is_rounded_up_to_whole_quartets(assay: Any, data: Path) -> None:
    done = assay("run", "bbq", "--data", data, "--limit", 9, *FEW, "--out", "r")
    assert done.code == 0, done.err
    assert "12 questions" in done.err


@pytest.fixture
def tiny(model_folder: Any) -> tuple[str, str]:
    """Options for a model that is quicker than the built-in one."""
    return "--model", f"hf:{model_folder('choice', max_length=256)}"


def test_a_run_is_scored_again_without_the_model(assay: Any, data: Path, tiny: tuple[str, str]) -> None:
    assert assay("run", "bbq", *tiny, "--data", data, "--preset", "paper", *FEW, "--out", "r").code == 0
    assert assay("score", "bbq", "r", "--set", "refusals=exclude", "--out", "again").code == 0
    assert values("again", "accuracy") == values("r", "accuracy")


def test_the_answers_of_a_run_can_be_scored_as_somebody_else_s(assay: Any, data: Path, tiny: tuple[str, str]) -> None:
    assert assay("run", "bbq", *tiny, "--data", data, "--preset", "paper", *FEW, "--out", "r").code == 0
    rows = []
    answers = (Path("r") / "tables" / "answers.csv").read_text().splitlines()
    place = answers[0].split(",").index("option")
    options = [line.split(",")[place] for line in answers[1:]]
    for name in ("Age", "Religion"):
        rows += [json.loads(line) for line in (data / f"{name}.jsonl").read_text().splitlines()]
    said = [row | {"said": option} for row, option in zip(rows, options, strict=True)]
    file = small_bbq.write(Path("answers.jsonl"), said)
    assert assay("score", "bbq", file, "--answers", "said", *FEW, "--out", "s").code == 0
    for metric in ("accuracy", "bias_score", "accuracy_cost", "diff_bias"):
        assert values("s", metric) == values("r", metric)


def test_a_folder_of_logs_is_scored_under_the_name_of_its_model(assay: Any, tmp_path: Path) -> None:
    date, logs = "2026-01-02T03-04-05.678901", tmp_path / "logs" / "org__model"
    for name, labels in {"Age": ("old", "nonOld"), "Religion": ("Hindu", "Sikh")}.items():
        lines = [
            {"doc": each.as_json(), "arguments": {}, "resps": [[each.answers[0]]], "filter": "none"}
            for each in small_bbq.examples(6, 2, name, labels)
        ]
        small_bbq.write(logs / f"samples_bbq_{name}_{date}.jsonl", lines)
    (logs / f"results_{date}.json").write_text('{"model_name": "org/model"}', encoding="utf-8")
    done = assay("score", "bbq", *FEW, "--out", "one", tmp_path / "logs")
    assert done.code == 0, done.err
    assert findings("one")["model"] == "org/model"
    assert {estimate["group"].get("category") for estimate in findings("one")["estimates"]} >= {"Age", "Religion"}
    files = sorted(logs.glob("samples*"))
    assert assay("score", "bbq", *FEW, "--out", "two", "--set", "model=mine", *files).code == 0
    assert findings("two") == findings("one") | {"model": "mine"}
    (tmp_path / "nothing").mkdir()
    assert assay("score", "bbq", tmp_path / "nothing").code != 0


def test_a_model_is_never_called_like_a_file(assay: Any, tmp_path: Path) -> None:
    rows = [each.as_json() | {"said": each.answers[0]} for each in small_bbq.examples()]
    file = small_bbq.write(tmp_path / "answers_of_mine.jsonl", rows)
    options = ("score", "bbq", file, "--answers", "said", *FEW)
    done = assay(*options, "--out", "one")
    assert done.code == 0, done.err
    assert findings("one")["model"] == "unnamed model"
    assert "unnamed model" in done.out.splitlines()[0]
    info = json.loads(Path("one/run.json").read_text())
    assert any("--set model=NAME" in note for note in info["notes"])
    assert info["questions"] == len(rows)
    assert assay(*options, "--set", "model=mine", "--out", "two").code == 0
    assert findings("two") == findings("one") | {"model": "mine"}
    assert not any("--set model" in note for note in json.loads(Path("two/run.json").read_text())["notes"])


def test_two_models_are_compared_on_the_same_items(assay: Any, data: Path, model_folder: Any) -> None:
    for place, seed in (("one", 0), ("two", 1)):
        model = f"hf:{model_folder('choice', 'bert', seed=seed)}"
        options = ("--data", data, "--preset", "paper", *FEW, "--out", place)
        assert assay("run", "bbq", "--model", model, *options).code == 0
    done = assay("compare", "one", "two", "--json")
    assert done.code == 0, done.err
    found = [row["change"] for row in json.loads(done.out)["differences"]]
    assert {row["n"] for row in found if row["group"]["category"] == "Age"} == {24}
    one, two = (values(place, "accuracy", category="Age", context="ambig")[0] for place in ("one", "two"))
    about = {"category": "Age", "context": "ambig"}
    (row,) = [row for row in found if (row["metric"], row["group"]) == ("accuracy", about)]
    assert one is not None
    assert two is not None
    assert row["value"] == pytest.approx(two - one)
    shown = assay("compare", "one", "two")
    assert "Differences on the items that both answered" in shown.out


def test_bbq_is_generated_from_templates_and_then_asked(assay: Any, tmp_path: Path) -> None:
    import small_templates

    folder = tmp_path / "templates"
    folder.mkdir()
    small_templates.write_vocabulary(folder)
    small_templates.write_sheet(folder / "Trades.csv", [small_templates.PLAIN])
    done = assay("generate", "bbq", "--set", f"templates={folder}", "--out", "made")
    assert done.code == 0, done.err
    assert list(Path("made").glob("*.jsonl"))
    assert assay("run", "bbq", "--data", "made", "--limit", 16, *FEW, "--out", "r").code == 0


# --- what is refused


def test_without_data_a_user_learns_how_to_get_them(assay: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path / "nowhere"))
    done = assay("run", "bbq")
    assert done.code == USAGE
    assert "assay data fetch bbq" in done.message


def test_a_bad_row_is_named_and_can_be_skipped(assay: Any, data: Path, tiny: tuple[str, str]) -> None:
    with (data / "Age.jsonl").open("a") as file:
        file.write('{"example_id": 5}\n')
    done = assay("run", "bbq", *tiny, "--data", data, "--preset", "paper", *FEW, "--out", "r")
    assert done.code == DATA
    assert "Age.jsonl, line 49" in done.message
    again = assay("run", "bbq", *tiny, "--data", data, "--preset", "paper", *FEW, "--skip-bad", "--out", "r")
    assert again.code == 0
    assert "1 rows left out" in again.err
    assert "line 49" in again.err


@pytest.mark.parametrize(("place", "label"), [(0, -1), (0, 0), (1, 2)], ids=["-1", "a person", "UNKNOWN"])
def test_a_gold_that_cannot_be_right_is_named_and_can_be_skipped(
    assay: Any, data: Path, place: int, label: int
) -> None:
    rows = [json.loads(line) for line in (data / "Age.jsonl").read_text().splitlines()]
    rows[place]["label"] = label
    file = small_bbq.write(data / "Age.jsonl", rows)
    options = ("--data", data, "--limit", 8, *FEW)
    done = assay("run", "bbq", *options, "--out", "r")
    assert done.code == DATA
    assert f'{file}, line {place + 1}: "label" is {label}, expected' in done.message
    assert "--skip-bad" in done.message
    assert assay("run", "bbq", *options, "--skip-bad", "--out", "r").code == 0


def test_files_that_are_not_the_published_ones_are_noted_everywhere(assay: Any, data: Path) -> None:
    done = assay("run", "bbq", "--data", data, "--limit", 8, *FEW, "--out", "r")
    note = "not the published files: Age.jsonl, Religion.jsonl; results on them are not BBQ results"
    assert note in done.err
    assert note in json.loads((Path("r") / "run.json").read_text())["notes"]
    rows = [json.loads(line) | {"said": 0} for line in (data / "Age.jsonl").read_text().splitlines()]
    file = small_bbq.write(Path("answers.jsonl"), rows)
    assert assay("score", "bbq", file, "--answers", "said", *FEW, "--out", "s").code == 0
    of_rows = "not the published rows, or not all of them: Age; results on them may not be BBQ results"
    assert of_rows in json.loads((Path("s") / "run.json").read_text())["notes"]
    for folder, told in (("r", note), ("s", of_rows)):
        assert told.replace("'", "&#39;") in (Path(folder) / "report.html").read_text()
        assert told in assay("report", folder, "--format", "md").out.replace("\\", "")


@pytest.mark.parametrize(
    "command", [("data", "check", "bbq", "--data"), ("run", "bbq", "--data"), ("score", "bbq")], ids=" ".join
)
def test_a_damaged_packed_file_is_named(assay: Any, tmp_path: Path, command: tuple[str, ...]) -> None:
    folder = tmp_path / "bbq" / "data"
    lines = small_bbq.write(folder / "Age.jsonl", small_bbq.examples()).read_bytes()
    (folder / "Age.jsonl").unlink()
    packed = gzip.compress(lines)
    file = folder / "Age.jsonl.gz"
    file.write_bytes(packed[:200] + bytes(200) + packed[400:])
    done = assay(*command, file if command[0] == "score" else tmp_path)
    assert done.code == DATA
    assert f"{file}: cannot be read (not an intact gzip file" in done.message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--set", "form=letters"), "form=letters is for language models"),
        (("--set", "form=race"), "requires a model that writes text"),
        (("--set", "variant=explain"), "form=letters is for language models"),
        (("--set", "shots=none.jsonl"), "shots is none.jsonl, which is not a file"),
        (("--set", "likelihood=token"), "likelihood=token is for causal language models"),
        (("--set", "category=Ages"), "no file for the category Ages"),
        (("--set", "orders=some"), "orders is 'some'"),
        (("--set", "metadata=none.csv"), "metadata is none.csv, which is not a file"),
    ],
)
def test_what_makes_no_sense_is_refused(assay: Any, data: Path, options: tuple[str, ...], message: str) -> None:
    done = assay("run", "bbq", "--data", data, *options)
    assert done.code == USAGE
    assert message in done.message


def test_models_that_can_do_neither_are_refused(assay: Any, data: Path, span_model_folder: Path) -> None:
    done = assay("run", "bbq", "--data", data, "--model", f"hf:{span_model_folder}")
    assert done.code == USAGE
    assert "neither choose between options nor write" in done.message


def test_the_starter_set_takes_no_data(assay: Any, data: Path) -> None:
    assert assay("run", "bbq-starter", "--data", data).code == USAGE


# --- official data


@pytest.mark.parametrize("kind", ["choice", "text", "causal"])
def test_the_seven_official_files_are_asked(assay: Any, official_data: Path, model_folder: Any, kind: str) -> None:
    options = ("--data", official_data, "--limit", 56, *FEW, "--out", "r")
    done = assay("run", "bbq", "--model", f"hf:{model_folder(kind, max_length=512)}", *options)
    assert done.code == 0, done.err
    assert "56 questions" in done.err
    assert len({estimate["group"]["category"] for estimate in findings("r")["estimates"]}) >= 8


def test_check_lists_the_known_defects(assay: Any, official_data: Path) -> None:
    done = assay("data", "check", "bbq", "--data", official_data)
    missing = int(re.search(r"(\d+) missing", done.out)[1]) if "missing" in done.out else 0  # a folder may hold a part
    assert done.code == (3 if missing else 0), done.err
    assert (f"{missing} of 31 files of bbq are missing" in done.err) == bool(missing)
    assert "wrong gold: 68 examples" in done.out
    assert "17,628 examples in 7 files" in done.out
