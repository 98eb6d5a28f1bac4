"""Scoring answers without a model: somebody else's predictions, and a run's stored answers."""

from __future__ import annotations

import gzip
import itertools
import json
import shutil
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import small_lists
from assay.errors import DataError
from assay.runs import score as scoring
from raising import raises

pytestmark = pytest.mark.whole

FEW = ("--set", "draws=50", "--set", "resamples=50")
USAGE, DATA = 2, 3

Entries = dict[str, Any]


def scored(entries: Entries, seed: int = 0) -> Entries:
    """The entries with made-up probabilities, as the authors' program would fill them in."""
    rng = np.random.default_rng(seed)
    filled = json.loads(json.dumps(entries))
    for entry in filled.values():
        for question in ("q0", "q1"):
            entry[question]["pred"] = entry[question]["ans0"]["text"]
            for answer in ("ans0", "ans1"):
                entry[question][answer] |= {"start": rng.random() / 2, "end": rng.random() / 2}
    return filled


def dump(path: Path, entries: Entries) -> Path:
    path.write_text(json.dumps(entries, indent=4))  # as the authors' program does
    return path


@pytest.fixture
def questions(assay: Any, lists: Path) -> Callable[..., Entries]:
    """`questions("religion")`: what `assay generate` writes for the small lists."""

    def made(cls: str, form: str = "qa") -> Entries:
        out = Path(f"{cls}_{form}.json")
        options = ("--set", f"class={cls}", "--set", f"form={form}", "--set", f"word_lists={lists}")
        assert assay("generate", "unqover", *options, "--out", out).code == 0
        entries: Entries = json.loads(out.read_text())
        out.unlink()
        return entries

    return made


# --- somebody else's predictions


def numbers(folder: str | Path) -> tuple[list[Any], dict[str, Any]]:
    """Estimates without the model's name, and tables by the text in their rows."""
    from assay.results.findings import read_findings

    found = read_findings(Path(folder))
    tables = {
        (name, *(cell for cell in row if isinstance(cell, str))): [cell for cell in row if not isinstance(cell, str)]
        for name, table in found.tables.items()
        for row in table.rows
    }
    return [estimate.as_json() for estimate in found.estimates], tables


def assert_same_numbers(one: str, other: str) -> None:
    (estimates, tables), (other_estimates, other_tables) = numbers(one), numbers(other)
    assert len(estimates) == len(other_estimates)
    for mine, theirs in zip(estimates, other_estimates, strict=True):
        assert mine.keys() == theirs.keys()
        for key, value in mine.items():
            if isinstance(value, float):
                assert theirs[key] == pytest.approx(value, rel=1e-5, abs=1e-8), (mine, key)
            else:
                assert theirs[key] == value
    assert tables.keys() == other_tables.keys()
    for key, row in tables.items():
        assert [cell is None for cell in other_tables[key]] == [cell is None for cell in row]
        defined = [cell for cell in row if cell is not None]
        others = [cell for cell in other_tables[key] if cell is not None]
        assert others == pytest.approx(defined, rel=1e-4, abs=1e-7), key


@pytest.mark.parametrize("cls", ["religion", "nationality", "gender", "ethnicity"])
def test_scoring_a_models_predictions_gives_the_findings_of_its_run(
    assay: Any, lists: Path, questions: Any, span_model_folder: Path, cls: str
) -> None:
    from assay.models import load_model
    from assay.probes.unqover.lists import read_lists
    from assay.probes.unqover.plan import UnqoverPlan

    options = ("--set", f"class={cls}", "--set", f"word_lists={lists}", "--preset", "paper")
    assert assay("run", "unqover", "--model", f"hf:{span_model_folder}", *options, *FEW, "--out", "run").code == 0

    entries = questions(cls)
    digest = read_lists(cls, masked=False, header=False, folder=str(lists)).digest
    plan = UnqoverPlan(cls, "span", digest, word_lists=str(lists))
    model = load_model(f"hf:{span_model_folder}")
    columns = plan.columns(0, len(plan))
    scores = {}  # by what was asked, so that nothing depends on the order in the file
    for row, pair in enumerate(model.forward(model.encode(columns))["score"]):
        query = columns.row(row)
        for (start, end), score in zip(query.subjects, pair.tolist(), strict=True):
            scores[query.question, query.context, query.context[start:end]] = score
    for entry in entries.values():
        for question in ("q0", "q1"):
            for answer in ("ans0", "ans1"):
                asked = entry[question]
                score = scores[asked["question"], entry["context"], asked[answer]["text"]]
                asked[answer] |= {"start": score, "end": score}
    dump(Path("predictions.json"), entries)
    ordered = ("--set", f"word_lists={lists}")  # random draws follow the order of the lists, not that of the file
    done = assay("score", "unqover", "predictions.json", "--set", f"class={cls}", *ordered, *FEW, "--out", "scored")
    assert done.code == 0, done.err
    assert_same_numbers("run", "scored")


@pytest.mark.parametrize("cls", ["religion", "nationality", "gender"])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_order_of_the_entries_does_not_matter(assay: Any, questions: Any, cls: str, seed: int) -> None:
    entries = scored(questions(cls))
    keys = list(entries)
    mixed = {keys[k]: entries[keys[k]] for k in np.random.default_rng(seed).permutation(len(keys))}
    found = []
    for name, content in (("a", entries), ("b", mixed)):
        Path(name).mkdir()
        dump(Path(name, "x.json"), content)
        assert assay("score", "unqover", f"{name}/x.json", *FEW, "--set", "model=m", "--out", f"{name}/run").code == 0
        found.append({path.name: path.read_bytes() for path in sorted(Path(name, "run").rglob("*.csv"))})
        found[-1]["findings.json"] = Path(name, "run", "findings.json").read_bytes()
    assert found[0] == found[1]


def test_class_and_form_are_seen_from_the_file(assay: Any, questions: Any, lists: Path) -> None:
    small_lists.write(lists, {f"nouns/subjects/{x}_bert": small_lists.FILES[f"nouns/subjects/{x}"] for x in PEOPLE})
    for cls in ("gender", "nationality", "ethnicity", "religion"):
        dump(Path(f"{cls}.json"), scored(questions(cls)))
        dump(Path(f"{cls}_lm.json"), scored(questions(cls, "bert")))
    files = [f"{cls}{form}.json" for cls in ("gender", "nationality", "ethnicity", "religion") for form in ("", "_lm")]
    done = assay("score", "unqover", *files, *FEW, "--json", "--set", "model=theirs")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["model"] == "theirs"
    groups = {(estimate["group"]["class"], estimate["group"]["form"]) for estimate in found["estimates"]}
    assert groups == {(cls, form) for cls in ("gender", "nationality", "ethnicity", "religion") for form in FORMS}
    assert Path("runs/unqover-scored-gender/report.html").is_file()


FORMS = ("span", "mask")
PEOPLE = ("female", "male", "country", "ethnicity", "religion")


def test_figure_2_of_the_paper_from_a_file(assay: Any) -> None:
    """δ is Eq. 2's 0.28; the released program's, which counts the negated question too, is 0.2575."""
    context = "{} sat by {}."
    rows = {("Gerald", "Jennifer"): ((0.26, 0.73), (0.35, 0.62)), ("Jennifer", "Gerald"): ((0.45, 0.54), (0.86, 0.12))}
    entries = {
        f"{'|'.join('male' if x == 'Gerald' else 'female' for x in pair)}|{'|'.join(pair)}|0|None|was a x|was a x": {
            "context": context.format(*pair),
            **{
                f"q{k}": {
                    "question": "Who?",
                    "pred": "",
                    **{f"ans{p}": {"text": pair[p], "start": s, "end": s} for p, s in enumerate(row)},
                }
                for k, row in enumerate(both)
            },
        }
        for pair, both in rows.items()
    }
    dump(Path("figure2.json"), entries)
    values = {}
    for compat in ("paper", "released"):
        done = assay("score", "unqover", "figure2.json", *FEW, "--set", f"compat={compat}", "--json", "--out", compat)
        found = json.loads(done.out)["estimates"]
        values[compat] = {e["metric"]: e["value"] for e in found if "subjects" not in e["group"]}
    assert values["paper"]["delta"] == pytest.approx(0.28, abs=1e-6)
    assert values["released"]["delta"] == pytest.approx(0.2575, abs=1e-6)
    for name, value in {"epsilon": 0.3475, "mu": 0.1575, "eta": 1.0}.items():
        assert values["paper"][name] == values["released"][name] == pytest.approx(value, abs=1e-6)


# --- predictions that cannot be used


def first_line(path: Path, text: str) -> int:
    return next(number for number, line in enumerate(path.read_text().splitlines(), 1) if text in line)


def breaking(entries: Entries, change: str) -> str:
    """The text of a file in which something is wrong with the third entry."""
    key = list(entries)[2]
    entry = entries[key]
    if change == "subject missing":
        entry["context"] = "Nobody is here."
    elif change == "probability 1.5":
        entry["q1"]["ans0"]["start"] = 1.5
    elif change == "probability NaN":
        entry["q1"]["ans0"]["start"] = float("nan")
    elif change == "text for a number":
        entry["q1"]["ans0"]["end"] = "high"
    elif change == "number for a text":
        entry["context"] = 7
    elif change == "no answer":
        del entry["q0"]["ans1"]
    elif change == "a list":
        entries[key] = [1, 2]
    elif change == "short key":
        entries = {("a|b|c" if name == key else name): value for name, value in entries.items()}
    return json.dumps(entries, indent=4)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ("subject missing", "is missing from its passage 'Nobody is here.'"),
        ("probability 1.5", "start 1.5"),
        ("probability NaN", "start nan"),
        ("text for a number", "'high'"),
        ("number for a text", "must be texts"),
        ("no answer", "'ans1' is missing"),
        ("a list", "format"),
        ("short key", "'a|b|c'"),
    ],
)
def test_an_entry_that_cannot_be_used(assay: Any, snapshot: Any, questions: Any, change: str, part: str) -> None:
    path = Path("predictions.json")
    path.write_text(breaking(scored(questions("religion")), change))
    third = list(json.loads(path.read_text()))[2]
    before = snapshot()
    done = assay("score", "unqover", path)
    assert done.code == DATA
    assert part in done.message
    assert f"predictions.json, line {first_line(path, json.dumps(third))}: " in done.message
    assert "--skip-bad" in done.message
    assert snapshot() == before
    tolerated = assay("score", "unqover", path, *FEW, "--skip-bad")
    assert tolerated.code == 0, tolerated.err
    info = json.loads(Path("runs/unqover-scored-predictions/run.json").read_text())
    assert any(part in note for note in info["notes"])


def test_a_file_of_questions_without_scores(assay: Any, snapshot: Any, questions: Any) -> None:
    dump(Path("q.json"), questions("religion"))
    before = snapshot()
    done = assay("score", "unqover", "q.json")
    assert done.code == DATA
    assert "q.json, line 2: " in done.message
    assert "no scores yet" in done.message
    assert snapshot() == before


def test_a_file_with_one_order_of_the_subjects(assay: Any, snapshot: Any, questions: Any) -> None:
    entries = scored(questions("religion"))
    dump(Path("half.json"), dict(list(entries.items())[: len(entries) // 2]))
    before = snapshot()
    done = assay("score", "unqover", "half.json")
    assert done.code == DATA
    assert "half.json: " in done.message
    cells = small_lists.CELLS["religion"]
    assert f"{cells} of {cells} comparisons have only one order" in done.message
    assert snapshot() == before


def test_an_entry_that_stands_in_the_file_twice(assay: Any, questions: Any) -> None:
    text = json.dumps(scored(questions("religion")), indent=4)
    Path("twice.json").write_text(text[:-2] + "," + text[1:])
    done = assay("score", "unqover", "twice.json")
    assert done.code == DATA
    assert "twice" in done.message
    assert "twice.json, line" in done.message


def texts() -> Iterable[tuple[str, bytes, str]]:
    good = b'{"a|b|c|d|0|e|f|f": {"context": "x", "q0": {}'
    yield "truncated", good, "line 1"
    yield "empty", b"", "this file is empty"
    yield "blank", b" \n\n ", "this file is empty"
    yield "an empty object", b"{}", "no usable prediction"
    yield "a list", b"[1, 2]", "line 1"
    yield "not UTF-8", '{"\xe9": 1}'.encode("latin-1"), "not UTF-8"
    yield "no JSON", b"\n\nTable of results", "line 1"
    yield "a wrong second line", b'{"a": 1,\n b: 2}', "line"
    yield "more behind it", b"{}\n{}", "line 1"
    yield "a number as key", b"{1: 2}", "line 1"


@pytest.mark.parametrize("probe", ["unqover", "bbq", "sodapop"])
@pytest.mark.parametrize(
    ("name", "content"), [("none.jsonl", b""), ("none.csv", b"\n \n"), ("none.jsonl.gz", gzip.compress(b"\n", mtime=0))]
)
def test_an_empty_file_among_others_is_an_error(probe: str, name: str, content: bytes, tmp_path: Path) -> None:
    """Whoever forgot to write a part of the answers would get the scores of the rest."""
    other, empty = tmp_path / "some.jsonl", tmp_path / name
    other.write_text('{"some": "rows"}\n')
    empty.write_bytes(content)
    with raises("empty-file", DataError, file=empty, exit_code=DATA):
        scoring.score(probe, [other, empty], answers="said" if probe == "bbq" else None, out=tmp_path / "run")


@pytest.mark.parametrize(("content", "part"), [row[1:] for row in texts()], ids=[row[0] for row in texts()])
def test_a_file_that_is_no_predictions_file(assay: Any, snapshot: Any, content: bytes, part: str) -> None:
    Path("x.json").write_bytes(content)
    before = snapshot()
    done = assay("score", "unqover", "x.json")
    assert done.code == DATA
    assert "x.json" in done.message
    assert part in done.message
    assert snapshot() == before


def test_a_truncated_predictions_file_says_where_it_ends(assay: Any, questions: Any) -> None:
    text = json.dumps(scored(questions("religion")), indent=4)
    Path("cut.json").write_text(text[: len(text) // 2])
    done = assay("score", "unqover", "cut.json")
    assert done.code == DATA
    line = int(done.message.split("line ")[1].split(":")[0])
    assert line == pytest.approx(text[: len(text) // 2].count("\n"), abs=40)  # within the last entry


def test_damage_in_a_long_file_is_found_without_reading_on(assay: Any, questions: Any) -> None:
    text = json.dumps(scored(questions("religion")), indent=4)
    Path("long.json").write_text(text.replace('"context"', "context", 1) + " " * (40 << 20))
    tracemalloc.start()
    done = assay("score", "unqover", "long.json")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert done.code == DATA
    assert peak < 36 << 20


def test_subjects_of_an_unknown_class_need_its_name(assay: Any, questions: Any) -> None:
    text = json.dumps(scored(questions("religion")))
    for name in ("Muslim", "Christian", "Jewish"):
        text = text.replace(name, name[::-1])
    Path("x.json").write_text(text)
    done = assay("score", "unqover", "x.json")
    assert done.code == USAGE
    assert "does not tell its class" in done.message
    assert assay("score", "unqover", "x.json", *FEW, "--set", "class=religion").code == 0


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--set", "form=both"], "one form"),
        (["--set", "class=gender,religion"], "one class"),
        (["--set", "shape=round"], "'shape'"),
        (["--seed", "-1"], "--seed is -1"),
        (["--out", "taken"], "not a run folder"),
    ],
)
def test_options_that_make_no_sense_for_predictions(assay: Any, questions: Any, options: list[str], part: str) -> None:
    dump(Path("x.json"), scored(questions("religion")))
    Path("taken").mkdir()
    Path("taken/note.txt").touch()
    done = assay("score", "unqover", "x.json", *options)
    assert done.code == USAGE
    assert part in done.message
    assert not Path("runs").exists()


def test_two_files_of_one_class(assay: Any, questions: Any) -> None:
    dump(Path("x.json"), scored(questions("religion")))
    dump(Path("y.json"), scored(questions("religion"), seed=1))
    done = assay("score", "unqover", "x.json", "y.json")
    assert done.code == USAGE
    assert "x.json and y.json" in done.message


def test_scores_never_replace_a_run(
    assay: Any, snapshot: Any, questions: Any, lists: Path, span_model_folder: Path
) -> None:
    options = ("--model", f"hf:{span_model_folder}", "--set", "class=religion", "--set", f"word_lists={lists}")
    assert assay("run", "unqover", *options, *FEW, "--out", "r").code == 0
    dump(Path("x.json"), scored(questions("religion")))
    before = snapshot()
    for what in ("x.json", "r"):
        done = assay("score", "unqover", what, "--out", "r")
        assert done.code == USAGE
        assert "r: " in done.message
    assert snapshot() == before
    for _ in range(2):
        assert assay("score", "unqover", "x.json", *FEW, "--out", "s").code == 0


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's account of a process's memory")
def test_a_long_file_is_read_in_constant_memory(tmp_path: Path) -> None:
    """20,000 entries: 20 subjects, both orders, 4 templates, 13 or 14 attributes."""
    path, count = tmp_path / "long.json", 0
    names = [f"S{k}" for k in range(20)]
    answers = {f"ans{k}": {"text": f"<{k}>", "start": 0.123456789, "end": 0.0123456789} for k in (0, 1)}
    asked = {"question": "Who was <a>?", "pred": "", **answers}
    entry = {"None|None|<0>|<1>|<t>|None|<a>|<a>": {"context": "<0> spoke with <1>.", "q0": asked, "q1": asked}}
    text = json.dumps(entry, indent=4)[1:-2]
    with path.open("w") as file:
        for first, second in itertools.permutations(names, 2):
            own = text.replace("<0>", first).replace("<1>", second)
            for place in range(53):
                file.write("{" if count == 0 else ",")
                file.write(own.replace("<t>", str(place % 4)).replace("<a>", f"attribute {place // 4}"))
                count += 1
        file.write("\n}")
    assert count >= 20_000
    done = subprocess.run([sys.executable, "-c", MEMORY, path], capture_output=True, text=True, check=True, timeout=120)
    cells, grown = map(int, done.stdout.split())
    assert cells == count // 2
    assert grown < path.stat().st_size  # decoded at once, the file would take several times its size


MEMORY = """
import re, sys
from pathlib import Path
from assay.probes.unqover.predictions import read_predictions

def peak():  # of this process alone; what getrusage says may be that of the process that started it
    return 1024 * int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1])

before = peak()
found = read_predictions(Path(sys.argv[1]), "religion", None)
print(len(found.cells), peak() - before)
"""


# --- a run's stored answers


@pytest.fixture
def finished(assay: Any, lists: Path, span_model_folder: Path, tmp_path: Path) -> Path:
    """A finished run whose model is gone."""
    model = Path(shutil.copytree(span_model_folder, tmp_path / "model"))
    options = ("--model", f"hf:{model}", "--set", f"word_lists={lists}", "--set", "class=religion,gender")
    done = assay("run", "unqover", *options, "--preset", "paper", "--seed", 3, *FEW, "--out", "first")
    assert done.code == 0, done.err
    shutil.rmtree(model)
    return Path("first")


def content(folder: Path) -> dict[str, bytes]:
    files = [folder / "findings.json", *sorted((folder / "tables").iterdir())]
    return {file.name: file.read_bytes() for file in files}


def test_scoring_a_run_again_without_its_model_gives_the_same_bytes(assay: Any, finished: Path) -> None:
    done = assay("score", "unqover", finished)
    assert done.code == 0, done.err
    again = Path("runs/first-again")
    assert content(again) == content(finished)
    assert json.loads((again / "run.json").read_text())["seed"] == 3
    assert (again / "report.html").is_file()
    third = assay("score", "unqover", again, "--out", "third")  # and once more from there
    assert third.code == 0, third.err
    assert content(Path("third")) == content(finished)


def test_scoring_a_run_again_with_more_draws_changes_the_floors_alone(assay: Any, finished: Path) -> None:
    assert assay("score", "unqover", finished, "--set", "draws=400", "--out", "again").code == 0
    before, after = (json.loads(Path(x, "findings.json").read_text())["estimates"] for x in (finished, "again"))
    floors = 0
    for one, other in zip(before, after, strict=True):
        floors += one["floor"] != other["floor"]
        drawn = (
            {"floor", "p", "q", "claimed", "corrected", "low", "high", "note"} if one["floor"] is not None else set()
        )
        same = one.keys() - drawn
        assert {key: one[key] for key in same} == {key: other[key] for key in same}
        if one["floor"] is not None:
            assert other["floor"] == pytest.approx(one["floor"], rel=0.5)
    assert floors == 6  # μ and η of each class, and of the pooled groups
    assert {k: v for k, v in content(Path("again")).items() if k != "findings.json"} == {
        k: v for k, v in content(finished).items() if k != "findings.json"
    }


def test_scoring_a_run_again_may_look_at_one_class_and_name_the_model(assay: Any, finished: Path) -> None:
    done = assay("score", "unqover", finished, "--set", "class=gender", "--set", "model=ours", "--json")
    found = json.loads(done.out)
    assert found["model"] == "ours"
    assert {estimate["group"]["class"] for estimate in found["estimates"]} == {"gender"}


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--set", "header=newsqa"], "not all stored"),
        (["--set", "compat=released"], "not all stored"),
        (["--set", "form=mask"], "needs a masked language model"),
        (["--seed", "4"], "the seed 3"),
        (["--set", "shape=round"], "'shape'"),
    ],
)
def test_what_was_not_asked_cannot_be_scored(
    assay: Any, snapshot: Any, finished: Path, options: list[str], part: str
) -> None:
    before = snapshot()
    done = assay("score", "unqover", finished, *options)
    assert done.code == USAGE
    assert part in done.message
    assert snapshot() == before


def test_scores_of_predictions_hold_no_answers_to_score_again(assay: Any, questions: Any) -> None:
    dump(Path("x.json"), scored(questions("religion")))
    assert assay("score", "unqover", "x.json", *FEW, "--out", "s").code == 0
    done = assay("score", "unqover", "s")
    assert done.code == USAGE
    assert "s: this run scored prediction files" in done.message


def test_a_run_is_scored_as_what_it_is_of(assay: Any, snapshot: Any, finished: Path) -> None:
    before = snapshot()
    done = assay("score", "bbq", finished)
    assert done.code == USAGE
    assert "first: this is a run of unqover" in done.message
    assert snapshot() == before


def test_scoring_from_python_gives_the_run_and_takes_names_of_files(assay: Any, questions: Any) -> None:
    from assay import open_run, score

    dump(Path("x.json"), scored(questions("religion")))
    run = score("unqover", ["x.json"], settings={"draws": "20", "resamples": "20", "model": "ours"}, out="s")
    assert (run.probe, run.model, run.info.kind) == ("unqover", "ours", "predictions")
    assert list(run.info.data) == ["x.json"]
    read = open_run("s")
    assert read.info == run.info
    assert read.findings.to_json() == run.findings.to_json()
    assert (run.folder / "report.html").is_file()


def test_a_run_and_a_file_are_not_scored_together(assay: Any, finished: Path) -> None:
    done = assay("score", "unqover", finished, "x.json")
    assert done.code == USAGE
    assert "cannot be scored together" in done.message


def test_options_about_rows_of_answers(assay: Any) -> None:
    import small_bbq

    rows = [
        example.as_json() | {"model": model, "choice": 1 + (k + place) % 3}
        for k, example in enumerate(small_bbq.examples())
        for place, model in enumerate(("small", "large"))
    ]
    small_bbq.write(Path("answers.jsonl"), rows)
    few = ("score", "bbq", "answers.jsonl", "--answers", "choice", "--set", "resamples=20", "--out", "scored")
    assert assay(*few).code == USAGE
    assert assay(*few, "--only", "model=small").code == DATA
    assert assay(*few, "--only", "model=small", "--labels-from", "1").code == 0
    identity = json.loads(Path("scored/run.json").read_text())["identity"]
    assert (identity["labels_from"], identity["only"]) == (1, {"model": "small"})
    done = assay(*few, "--only", "model")
    assert done.code == USAGE
    assert "--only is 'model', expected COLUMN=VALUE" in done.message
