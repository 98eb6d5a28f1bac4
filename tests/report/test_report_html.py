"""The page says what the findings say, and nothing in the findings can act on it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from assay.errors import DataError, UsageError
from assay.results.examples import AskedQuestion, Example, Option
from assay.results.findings import Estimate, Findings, Table
from html_pages import HOSTILE, Page, assert_harmless, cards, write_page
from raising import raises

WriteRun = Callable[..., Path]


def page_of(folder: Path) -> Page:
    return Page(write_page(folder).read_text(encoding="utf-8"))


@pytest.mark.parametrize("probe", ["unqover", "another"])
def test_hostile_text_in_every_field_comes_back_verbatim_and_does_nothing(write_run: WriteRun, probe: str) -> None:
    place = {"class": HOSTILE[0], "form": HOSTILE[1], HOSTILE[4]: HOSTILE[2]}
    estimates = [Estimate("mu", place, 0.1, 0.05, 0.2, floor=0.1, p=0.5, n=9)]
    estimates += [Estimate(text, {"class": text, "form": text}, None, note=f"why {text}") for text in HOSTILE]
    gamma = [(t, t, t, t, 0.1, 0.05, 0.2, 0.5, 0.1, 0.01, 9) for t in HOSTILE]
    columns = ("class", "form", "subject", "attribute", "gamma", "low", "high", "eta", "p", "q", "n")
    subjects = Table((*columns[:3], *columns[4:8], "n"), [(t, t, t, 0.1, 0.05, 0.2, 0.5, 9) for t in HOSTILE])
    tables = {"gamma": Table(columns, gamma), "groups": Table(columns, gamma), "subjects": subjects}
    keys = {text: text for text in HOSTILE}
    texts = ("kind", "place", "digest", "device", "dtype", "revision")
    model = {"name": HOSTILE[0], "abilities": HOSTILE, **dict(zip(texts, HOSTILE, strict=False))}
    run: dict[str, Any] = dict.fromkeys(("data", "versions", "machine"), keys)
    run |= {"settings": keys, "near_ties": {"below": HOSTILE[2], "items": keys}}
    run |= dict.fromkeys(("stages", "engine", "timings", "backed_off"), dict.fromkeys(HOSTILE, 3))
    run |= {"model": model, "others": dict.fromkeys(HOSTILE, model), "notes": HOSTILE, "command": HOSTILE[3]}
    run |= {"probe": HOSTILE[0], "preset": HOSTILE[1], "data_folder": HOSTILE[2]}
    run |= {"started": HOSTILE[4], "finished": HOSTILE[5]}
    served = dict(zip(("model", "fingerprint", "server", "first", "last"), HOSTILE, strict=False))
    run |= {"endpoint": {"served": [{**served, "n": 3}]}}

    page = page_of(write_run(Findings(probe, HOSTILE[0], estimates, tables), run))

    assert_harmless(page)
    for text in HOSTILE:
        assert page.text.count(text) > 5
        assert f"why {text}" in page.text


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_on_a_card_is_only_text(write_run: WriteRun, findings: Findings, text: str) -> None:
    tables = {
        "gamma": Table(findings.tables["gamma"].columns, [("c", "f", text, text, 0.3, 0.2, 0.4, 1, 0.1, 0.01, 9)])
    }
    asked = AskedQuestion(f"text {text}", f"question {text}", [Option(f"option {text}", 0.7, chosen=True)])
    examples = [Example({"class": "c", "form": "f", "attribute": text}, [asked], text, text)]
    page = page_of(write_run(Findings("unqover", "m", [], tables, examples=examples)))
    assert_harmless(page)
    (card,) = cards(page)
    said = " ".join(text.split())
    assert f"associates “{said}” more with {said} than with the others" in card
    assert f"Association of “{said}” with {said}" in card
    for part in ("text", "question", "option"):
        assert f"{part} {said}" in card


def test_hostile_probe_model_and_table_names_are_only_text(write_run: WriteRun) -> None:
    folder = write_run(Findings("known", "known", [], {"plain": Table(["a"], [["b"]])}))
    content = json.loads((folder / "findings.json").read_text(encoding="utf-8"))
    content |= {"probe": HOSTILE[0], "model": HOSTILE[1], "tables": dict.fromkeys(HOSTILE, "tables/plain.csv")}
    (folder / "findings.json").write_text(json.dumps(content), encoding="utf-8")
    page = page_of(folder)
    assert_harmless(page)
    assert all(text in page.text for text in HOSTILE)


def test_text_that_utf8_cannot_carry_is_replaced(write_run: WriteRun) -> None:
    page = page_of(write_run(Findings("unqover", "m", []), {"command": "lone \ud800 surrogate"}))
    assert "lone \N{REPLACEMENT CHARACTER} surrogate" in page.text


def test_the_first_paragraphs_tell_who_was_asked_what_and_what_came_out(
    write_run: WriteRun, findings: Findings, run: Mapping[str, Any]
) -> None:
    page = page_of(write_run(findings, run))
    words = page.words
    (card,) = cards(page)
    assert card.startswith(
        "UnQover The model associates “nurse” more with female names than with male names, although nothing in the "
        "text says so. 0.240 Association of “nurse” with female names · 24 of 100 points of preference 95% interval "
        "0.200 to 0.280"
    )
    assert "← male names female names →" in card
    assert "The model hf:org/model was asked 6,308 questions about gender and religion" in words
    assert "associates “nurse” more with “female” names than with the others" in words
    assert "γ = 0.240, 95% interval 0.200 to 0.280, q < 0.001" in words
    assert (
        "μ exceeds its chance level in 1 of 2 settings: gender, span, grouped by gender (0.140; chance level" in words
    )
    assert "It is not distinguishable from chance in religion, mask (0.118; chance level 0.104, p = 0.210)" in words
    assert "A low score does not show that the model is free of bias" in words
    assert "Content warning" in words


def test_without_any_setting_above_chance_the_page_says_so(write_run: WriteRun, findings: Findings) -> None:
    words = page_of(write_run(Findings("unqover", "m", findings.estimates[4:]))).words
    assert "Bias intensity μ is nowhere distinguishable from chance: religion, mask (0.118;" in words


def test_a_negative_association_is_told_as_such(write_run: WriteRun, findings: Findings) -> None:
    tables = {"gamma": findings.tables["gamma"]}
    words = page_of(write_run(Findings("unqover", "m", findings.estimates, tables))).words
    assert "associates “was rude” less with “Group R” than with the others" in words


def test_without_a_clear_association_the_largest_is_named_with_that_caution(
    write_run: WriteRun, findings: Findings
) -> None:
    gamma = findings.tables["gamma"]
    tables = {"gamma": Table(gamma.columns, [gamma.rows[2]])}
    words = page_of(write_run(Findings("unqover", "m", [], tables))).words
    assert "No single association is distinguishable from chance after correction for the number of tests." in words
    assert (
        "The largest: in questions about religion (mask), the model associates “was late” more with “Group S”" in words
    )


def test_a_subject_that_is_not_statistically_clear_is_hollow(write_run: WriteRun, findings: Findings) -> None:
    columns = (*findings.tables["subjects"].columns, "q")
    rows = [("religion", "mask", f"Group {k}", 0.1, 0.05, 0.3, 0.1, 12, q) for k, q in enumerate((0.05, 0.06, None))]
    page = page_of(write_run(Findings("unqover", "m", [], {"subjects": Table(columns, rows)})))
    drawn = re.findall(r'aria-label="Group (\d).*?class="(dot[ a-z]*)"', page.source, re.S)
    assert drawn == [("0", "dot"), ("1", "dot hollow"), ("2", "dot hollow")]


def test_the_names_of_two_groups_are_one_bar_for_each_attribute(write_run: WriteRun, findings: Findings) -> None:
    columns = (*findings.tables["groups"].columns, "attribute_class")
    found = {"nurse": (-0.24, 0.01), "pilot": (0.3, 0.01), "cook": (-0.02, 0.4), "clerk": (0.1, None)}
    rows = [
        ("gender", "span", group, did, way * g, way * g - 0.05, way * g + 0.05, way * 0.5, q, q, 84, "care")
        for did, (g, q) in found.items()
        for group, way in (("male", 1), ("female", -1))
    ]
    page = page_of(write_run(Findings("unqover", "m", [], {"groups": Table(columns, rows)})))
    (frame,) = re.findall(r'<figure class="chart-frame" id="p1-groups-1">.*?</figure>', page.source, re.S)
    drawn = re.findall(r'aria-label="([^"]*): γ ([^"]*)\. Interval.*?class="(from[a-z ]*)"', frame, re.S)
    assert drawn == [
        ("pilot, care", "0.300", "from"),
        ("clerk, care", "0.100", "from hollow"),
        ("cook, care", "-0.020", "from hollow"),
        ("nurse, care", "-0.240", "from"),
    ]
    shown = Page(frame)
    assert "← more with female names more with male names →" in shown.words.replace("\xa0", " ")
    assert "A filled bar is statistically clear (q at most 0.05," in shown.words
    assert "heat-map" not in page.source.partition("<script>")[0].partition("</style>")[2]


def test_squares_that_could_be_chance_are_pale(write_run: WriteRun, findings: Findings) -> None:
    columns = findings.tables["gamma"].columns
    rows = [("c", "f", "S", f"was {k}", 0.4, 0.3, 0.5, 1, q, q, 9) for k, q in enumerate((0.01, 0.2, 0.3))]
    page = page_of(write_run(Findings("unqover", "m", [], {"gamma": Table(columns, rows)})))
    assert [path["class"] for path in page.all("path") if str(path["class"]).startswith("h")] == ["h4", "h4 pale"]
    assert "pale: not distinguishable from chance" in page.words


def test_pairs_asked_too_rarely_are_not_singled_out(write_run: WriteRun, findings: Findings) -> None:
    gamma = findings.tables["gamma"]
    where, rest = gamma.rows[0][:3], gamma.rows[0][4:]
    tables = {"gamma": Table(gamma.columns, [(*where, did, *rest) for did in ("nurse", "pilot", "judge")])}
    page = page_of(write_run(Findings("unqover", "m", [], tables)))
    assert "<bdi>Mary</bdi>" not in page.source  # no row of a table, and no sentence
    assert page.text.count("Mary") == 1
    assert [svg["class"] for svg in page.all("svg") if svg.get("role") == "img"] == ["heat-map"]
    assert [path["class"] for path in page.all("path")] == ["h5 pale"]  # pale squares
    assert "No single association can be named" in page.words
    assert "A larger preset makes more comparisons" in page.words


def test_an_undefined_estimate_shows_its_reason_once(
    write_run: WriteRun, findings: Findings, run: Mapping[str, Any]
) -> None:
    page = page_of(write_run(findings, run))
    assert page.text.count("fewer than 5 cells for each subject and attribute") == 1
    assert page.words.count("– [1]") == 2
    assert "0.565 – [2]" in page.words
    assert "NaN" not in page.text
    assert "None" not in page.text


def test_the_column_of_what_chance_gives_is_there_only_where_chance_was_asked(write_run: WriteRun) -> None:
    for name, floor in (("with", 0.05), ("without", None)):
        estimates = [Estimate("mu", {"class": "religion"}, 0.11, 0.0, 0.2, floor=floor)]
        page = page_of(write_run(Findings("unqover", "m", estimates), name=name))
        assert ("the tick its chance level" in page.words) == (floor is not None)
        (table,) = re.findall(r"<table[ >].*?</table>", page.source, re.S)
        assert ("chance level" in table) == (floor is not None)
        spans = [sum(map(int, re.findall(r'colspan="(\d+)"', row))) for row in re.split(r"<tr[ >]", table)]
        assert max(spans) + 1 == table.split("</thead>")[0].count("<th ")


def test_how_it_was_measured_repeats_run_json(write_run: WriteRun, findings: Findings, run: Mapping[str, Any]) -> None:
    words = page_of(write_run(findings, run)).words
    for said in (
        "assay run unqover --model hf:org/model --seed 7",
        "digest d1",
        "draws 4096",
        "names sha256:d2",
    ):
        assert said in words
    assert words.count("12 names left out") == 1
    assert "/home/me" not in words
    assert "Findings of the Association for Computational Linguistics: EMNLP 2020" in words


SERVED = {
    "model": "llm-2026-01-02",
    "fingerprint": "fp_7",
    "server": "engine/1.2",
    "n": 4_000,
    "first": "2026-11-18T10:00:00+00:00",
    "last": "2026-11-18T11:00:00+00:00",
}


def of_endpoint(run: Mapping[str, Any], name: str, *served: Mapping[str, Any]) -> dict[str, Any]:
    return {**run, "model": {**run["model"], "name": name}, "endpoint": {"served": served}}


def head_of(page: Page) -> tuple[str, ...]:
    """The heading of a page, and the lines below it."""
    header = page.source.partition("<header>")[2].partition("</header>")[0]
    return tuple(re.sub("<[^>]*>", "", line) for line in re.findall("<(?:h1|p class=.about.).*?</(?:h1|p)>", header))


def test_a_page_of_an_endpoint_is_named_after_the_model_and_says_who_answered(
    write_run: WriteRun, findings: Findings, run: Mapping[str, Any]
) -> None:
    unnamed = {"model": None, "fingerprint": None, "server": None, "n": 1, "first": None, "last": None}
    page = page_of(write_run(findings, of_endpoint(run, "api:org/llm@http://localhost:8080/v1", SERVED, unnamed)))
    assert "<title>Bias report: org/llm</title>" in page.source
    assert head_of(page) == ("org/llm", "http://localhost:8080/v1", "2020-11-16 · 6,308 questions · preset quick")
    said = "model llm-2026-01-02 fingerprint fp_7 server engine/1.2 answers 4,000 first 2026-11-18T10:00:00+00:00 last"
    assert f"Who answered As the endpoint’s replies say. {said} 2026-11-18T11:00:00+00:00" in page.words
    assert "model not named in the replies answers 1" in page.words


def test_of_many_that_answered_the_page_has_the_first(
    write_run: WriteRun, findings: Findings, run: Mapping[str, Any]
) -> None:
    served = [{**SERVED, "fingerprint": f"fp_{number}"} for number in range(200)]
    words = page_of(write_run(findings, of_endpoint(run, "api:m@http://h/v1", *served))).words
    assert "190 more are in run.json" in words
    assert words.count("fingerprint fp_") == 10


def test_a_page_of_another_model_does_not_say_who_answered(
    write_run: WriteRun, findings: Findings, run: Mapping[str, Any]
) -> None:
    assert "Who answered" not in page_of(write_run(findings, run)).words


def test_models_of_one_name_at_two_addresses_keep_their_whole_names(
    write_run: WriteRun, findings: Findings, run: Mapping[str, Any], tmp_path: Path
) -> None:
    names = ("api:m@http://one/v1", "api:m@http://two/v1")
    for number, name in enumerate(names):
        write_run(findings, of_endpoint(run, name), f"same/{number}")
    assert head_of(page_of(tmp_path / "same"))[0] == " and ".join(names)
    for number, name in enumerate((*names[:1], "api:n@http://two/v1", "builtin")):
        write_run(findings, of_endpoint(run, name), f"others/{number}")
    assert head_of(page_of(tmp_path / "others"))[:2] == ("m, n and builtin", "m: http://one/v1 · n: http://two/v1")


@pytest.mark.parametrize("missing", ["probe", "model", "settings", "preset", "seed", "questions", "command", "notes"])
def test_any_key_of_run_json_may_be_missing(
    write_run: WriteRun, findings: Findings, run: Mapping[str, Any], missing: str
) -> None:
    page = page_of(write_run(findings, {key: value for key, value in run.items() if key != missing}))
    assert "hf:org/model" in page.text


@pytest.mark.parametrize(
    "run",
    [
        None,
        {},
        {"model": {"name": "hf:org/model"}},
        {"model": None, "seed": None, "settings": None},
    ],
)
def test_a_poor_run_json_is_no_error_and_nothing_is_made_up(
    write_run: WriteRun, findings: Findings, run: object
) -> None:
    page = page_of(write_run(findings, run))
    assert "hf:org/model" in page.text
    for unknown in ("seed", "device", "dtype", "threads"):
        assert not re.search(rf"\b{unknown}\b", page.words)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("model", "hf:org/model"),
        ("model.name", 3),
        ("questions", "many"),
        ("settings", []),
        ("notes", "one"),
        ("seed", "<script>"),
        ("kind", "imagined"),
        ("timings", "long"),
    ],
)
def test_a_value_of_the_wrong_type_in_run_json_names_the_file_and_the_key(
    write_run: WriteRun, findings: Findings, run: Mapping[str, Any], key: str, value: object
) -> None:
    outer, _, inner = key.partition(".")
    folder = write_run(findings, {**run, outer: {inner: value} if inner else value})
    with raises("bad-value", DataError, file=folder / "run.json", key=key, exit_code=3):
        write_page(folder)


def test_predictions_are_called_that_and_nothing_is_said_of_a_model_that_was_not_asked(
    write_run: WriteRun, findings: Findings
) -> None:
    words = page_of(write_run(findings, {"kind": "predictions", "model": {"name": "UnifiedQA"}})).words
    assert "The model UnifiedQA" in words
    assert "kind predictions" in words
    assert "device" not in words


def test_a_probe_without_words_of_its_own_gets_the_generic_page(write_run: WriteRun) -> None:
    estimates = [
        Estimate("rd", {"a": "x", "b": "y"}, -0.298, -0.35, -0.24, n=1840, q=0.004),
        Estimate("rd", {"a": "x", "b": "z"}, None, note="no word occurs often enough"),
    ]
    page = page_of(write_run(Findings("another", "builtin", estimates, {"listed": Table(["a"], [[1]])})))
    assert "The probe another asked the model builtin its questions and made 2 estimates" in page.words
    assert "a: x, b: y −0.298 " in page.words
    assert "no word occurs often enough" in page.text
    assert {"href": "tables/listed.csv"} in page.all("a")


def test_a_run_without_estimates_gives_a_page(write_run: WriteRun) -> None:
    assert "This run has no estimates" in page_of(write_run(Findings("unqover", "m", []))).words


def test_thousands_of_subjects_leave_the_page_small(write_run: WriteRun, findings: Findings) -> None:
    rows = [("religion", "span", f"S{i:04}", i / 5000, None, None, 0.1, 9) for i in range(4000)]
    tables = {"subjects": Table(findings.tables["subjects"].columns, rows)}
    path = write_page(write_run(Findings("unqover", "m", [], tables)))
    page = Page(path.read_text(encoding="utf-8"))
    assert path.stat().st_size < 150_000  # two thousand rows of it are the chart's data
    assert "3,980 more subjects" in page.words
    assert "S3999" in page.text
    assert "S0000" in page.text
    assert "S2000" not in page.text


def test_the_page_is_the_same_bytes_each_time_and_leaves_nothing_beside_it(
    write_run: WriteRun, findings: Findings, run: Mapping[str, Any]
) -> None:
    folder = write_run(findings, run)
    first = write_page(folder).read_bytes()
    assert write_page(folder).read_bytes() == first
    assert sorted(path.name for path in folder.iterdir()) == ["findings.json", "report.html", "run.json", "tables"]


def test_the_page_needs_nothing_from_outside_and_is_well_marked_up(
    write_run: WriteRun, findings: Findings, run: Mapping[str, Any]
) -> None:
    folder = write_run(findings, run)
    page = page_of(folder)
    assert_harmless(page)
    source = (folder / "report.html").read_text(encoding="utf-8")
    assert "http" not in source.replace("http-equiv", "")
    assert "url(" not in source
    assert len(page.all("h1")) == 1
    regions = [div for div in page.all("div") if div.get("role") == "region"]
    assert len(regions) == len(page.all("table")) == 3
    assert all(region["aria-labelledby"] and region["tabindex"] == "0" for region in regions)
    assert len(page.all("figure")) == page.source.count("How to read this:") == 3
    assert page.source.count("not drawn") == 3  # γ of one attribute, and of two
    assert sum(1 for link in page.all("a") if link.get("class") == "csv") == 3
    assert all(cell.get("scope") for cell in page.all("th"))
    drawings = [svg for svg in page.all("svg") if svg.get("role") == "img"]
    assert len(drawings) > 5
    assert all(svg.get("aria-label") for svg in drawings)
    assert all(svg.get("aria-hidden") for svg in page.all("svg") if svg.get("role") != "img")
    assert len(page.ids) == len(set(page.ids))
    referred = {attributes["aria-labelledby"] for _, attributes in page.elements if "aria-labelledby" in attributes}
    assert referred <= set(page.ids)


def test_a_word_where_a_number_belongs_names_the_file(write_run: WriteRun, findings: Findings) -> None:
    columns = findings.tables["gamma"].columns
    rows = [("religion", "mask", "x", "y", "<script>", None, None, None, None, None, 9)]
    folder = write_run(Findings("unqover", "m", [], {"gamma": Table(columns, rows)}))
    with raises("bad-findings", DataError, file=folder / "tables" / "gamma.csv", key="gamma"):
        write_page(folder)


def test_a_ragged_table_names_the_file_and_line(write_run: WriteRun) -> None:
    folder = write_run(Findings("unqover", "m", [], {"gamma": Table(["class", "gamma"], [["a", 1]])}))
    (folder / "tables" / "gamma.csv").write_text("class,gamma\na,1,2\n", encoding="utf-8")
    with raises("bad-findings", DataError, file=folder / "tables" / "gamma.csv", line=2):
        write_page(folder)


@pytest.mark.parametrize("text", ["{", "[]", "\x00"])
def test_a_broken_run_json_names_the_file(write_run: WriteRun, findings: Findings, text: str) -> None:
    folder = write_run(findings)
    (folder / "run.json").write_text(text, encoding="utf-8")
    with raises("bad-json", DataError, file=folder / "run.json"):
        write_page(folder)


@pytest.mark.parametrize(("key", "value"), [("n", "many"), ("group", {"class": 1}), ("note", 3), ("metric", None)])
def test_an_estimate_of_the_wrong_types_names_the_file(
    write_run: WriteRun, findings: Findings, key: str, value: object
) -> None:
    folder = write_run(findings)
    content = json.loads((folder / "findings.json").read_text(encoding="utf-8"))
    content["estimates"][2][key] = value
    (folder / "findings.json").write_text(json.dumps(content), encoding="utf-8")
    with raises("bad-findings", DataError, file=folder / "findings.json"):
        write_page(folder)


def test_a_folder_without_findings_is_an_error(tmp_path: Path) -> None:
    with raises("not-a-run", UsageError, file=tmp_path):
        write_page(tmp_path)


def test_a_page_that_cannot_be_written_is_an_error_and_leaves_nothing(write_run: WriteRun, findings: Findings) -> None:
    folder = write_run(findings)
    (folder / "report.html").mkdir()
    with raises("cannot-write", UsageError, file=folder / "report.html"):
        write_page(folder)
    assert not list(folder.glob(".*"))
