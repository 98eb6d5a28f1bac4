"""Reports for other programs and pages: complete, faithful, and inert whatever the data hold."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from assay.cli import main
from assay.errors import UsageError
from assay.report.formats import FORMATS, report_text, to_yaml
from assay.report.markdown import escaped, fenced, table
from assay.report.page_templates import data_link
from assay.results.findings import Estimate, Findings, Table, read_table
from assay.runs.folder import open_runs
from raising import raises

WriteRun = Callable[..., Path]

HOSTILE = (
    "x|y <script>alert(1)</script> `z` *b* _i_ [l](http://e.example) ![p](q) ~~s~~ $m$ &amp; www.e.example\n"
    "# h\r\n--- \x00\x1b[31m\x7f\x85\u2028\u202e\ufeff\ufffe'\"\\ 😀 @me"
)


def parsed(text: str) -> list[Token]:
    """All tokens, with those inside of lines."""
    reader = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    tokens = reader.parse(text)
    return [each for token in tokens for each in (token, *(token.children or []))]


ACTING = {"html_block", "html_inline", "link_open", "image", "em_open", "strong_open", "s_open", "code_inline"}


def shown(tokens: Sequence[Token]) -> str:
    return "".join(token.content for token in tokens if token.type in ("text", "text_special", "fence"))


def text_of(folder: Path, form: str) -> str:
    return report_text(open_runs(folder), form)


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


# Markdown.


@pytest.mark.slow
@given(st.text())
def test_escaped_text_is_shown_as_it_is_and_does_nothing(text: str) -> None:
    for around in ("- {}", "| {} | b |\n| --- | --- |\n| c | {} |", "{}"):
        tokens = parsed(around.format(escaped(text), escaped(text)))
        kinds = {token.type for token in tokens}
        assert not kinds & ACTING
        assert sum(token.type == "list_item_open" for token in tokens) == around.startswith("-")
        assert not kinds & {"heading_open", "blockquote_open", "fence", "code_block", "hr"}
        if around.startswith("|"):
            assert sum(token.type in ("th_open", "td_open") for token in tokens) == 4


def test_escaped_text_can_be_read() -> None:
    tokens = parsed(f"a {escaped('x|y <b> & `c` *d* _e_ [f] #g 1. h')}")
    assert shown(tokens) == "a x|y <b> & `c` *d* _e_ [f] #g 1. h"


@given(st.text(alphabet="`~\n a", max_size=30))
def test_code_stays_code(text: str) -> None:
    tokens = parsed("\n".join([*fenced(text), "", "after"]))
    assert [token.type for token in tokens].count("fence") == 1
    assert shown(tokens).endswith("after")
    assert next(token.content for token in tokens if token.type == "fence") == text + "\n"


def test_figures_of_a_table_stand_to_the_right() -> None:
    assert table(["a", "b", "c"], [["1", "2", "3"]], figures=1) == [
        "| a | b | c |",
        "| --- | --- | ---: |",
        "| 1 | 2 | 3 |",
    ]


def test_markdown_has_the_headline_notes_associations_command_digests_and_paper(
    write_run: WriteRun, findings: Findings, run: Mapping[str, Any]
) -> None:
    text = text_of(write_run(findings, run), "md")
    assert (
        "| μ bias intensity | gender, span, grouped by gender | 0.140 | 0.110 to 0.160 | 0.050 | &lt;0.001 |  | 420 |"
        in text
    )
    assert "| μ bias intensity | gender, span | – [1] | – |  |  |  | 420 |" in text  # undefined stays so
    assert "| η one-sidedness | religion, mask | 0.565 | – [2] |  |  |  | 220 |" in text
    assert "- [1] fewer than 5 cells for each subject and attribute" in text
    assert "- [2] fewer than 5 units" in text
    assert "| Group R | was rude | religion, mask | -0.210\\* | -0.260 to -0.160 | -0.900 | 0.030 |" in text
    assert "```\nassay run unqover --model hf:org/model --seed 7\n```" in text
    assert "| data: names | sha256:d2 |" in text
    assert "- 12 names left out\n" in text
    assert text.count("10.18653/v1/2020.findings-emnlp.311") == 1
    assert "A low score does not show that a model is unbiased." in text


def test_markdown_has_bias_by_category(write_run: WriteRun, bbq: Findings) -> None:
    text = text_of(write_run(bbq), "md")
    assert "| Age | ambiguous | 0.600 | 0.500 to 0.650 | 0.200\\* | 0.100 to 0.300 | 0.004 |" in text
    assert "| Race × gender | ambiguous | 0.700 | 0.600 to 0.750 | 0.120 | – [1] | 0.400 |" in text
    assert "| Race × gender | disambiguated | 0.700 | 0.600 to 0.750 | – [2] | – |  |" in text
    assert "- [2] no answer named a person" in text
    assert "| accuracy | all categories, ambiguous | 0.580 |" in text
    assert "| accuracy | Age, ambiguous |" not in text  # not in the headline


def test_markdown_says_that_the_starter_set_is_no_bbq(write_run: WriteRun, bbq: Findings) -> None:
    said = "These are assay’s own starter questions; this is not a BBQ result."
    assert said in text_of(write_run(replace(bbq, probe="bbq-starter"), name="starter"), "md")
    assert said not in text_of(write_run(bbq), "md")


def test_markdown_has_the_clearest_words(write_run: WriteRun, sodapop: Findings) -> None:
    text = text_of(write_run(sodapop), "md")
    assert (
        "| harsh | European American female | European American male | 0.058\\* | 0.020 to 0.090 | &lt;0.001 |" in text
    )
    assert (
        "| kind | European American male | European American female | 0.857\\* | 0.400 to 1.200 | 0.001 | 0.004 |"
        in text
    )


def test_a_probe_that_is_not_known_has_its_estimates(write_run: WriteRun) -> None:
    text = text_of(write_run(Findings("mine", "m", [Estimate("own", {"k": "v"}, 0.5, n=2)])), "md")
    assert "| own | k: v | 0.500 | – |  |  |  | 2 |" in text


# Hostile strings, in every format.


def hostile_findings(probe: str, base: Findings) -> Findings:
    """A probe's findings in which every text is hostile."""
    estimates = [
        replace(e, group={key: HOSTILE if key != "context" else value for key, value in e.group.items()}, note=HOSTILE)
        for e in base.estimates
    ]
    tables = {
        name: Table(own.columns, [[HOSTILE if isinstance(c, str) else c for c in row] for row in own.rows])
        for name, own in base.tables.items()
    }
    return Findings(probe, HOSTILE, estimates, tables)


HOSTILE_RUN = {
    "model": {"name": HOSTILE, "kind": "hf", "digest": HOSTILE},
    "preset": HOSTILE,
    "seed": 7,
    "notes": [HOSTILE],
    "command": f"{HOSTILE} ```` {HOSTILE}",
    "data": {HOSTILE: HOSTILE},
    "versions": {"assay": HOSTILE},
    "questions": 3,
}


@pytest.fixture(params=["unqover", "bbq", "sodapop", "mine"])
def hostile_run(request: pytest.FixtureRequest, write_run: WriteRun) -> Path:
    base = request.getfixturevalue({"unqover": "findings", "mine": "findings"}.get(request.param, request.param))
    return write_run(hostile_findings(request.param, base), HOSTILE_RUN)


@pytest.mark.parametrize("form", ["md", "model-card"])
def test_nothing_of_the_data_acts_in_markdown(form: str, hostile_run: Path) -> None:
    text = text_of(hostile_run, form)
    if form == "model-card":
        text = text.split("\n---\n", 1)[1]
    tokens = parsed(text)
    assert not {token.type for token in tokens} & ACTING
    headings = [tokens[place + 1].content for place, token in enumerate(tokens) if token.type == "heading_open"]
    assert all(not heading.startswith("h") for heading in headings)
    assert "<script>alert(1)</script>" in shown(tokens)  # as text
    assert not {"\x00", "\x1b", "\x7f", "\x85", "\u2028", "\u202e"} & set(text)
    table_rows = [line for line in text.splitlines() if line.startswith("|")]
    assert sum(token.type == "tr_open" for token in tokens) == sum("| ---" not in line for line in table_rows)


def test_json_and_csv_carry_hostile_strings_unchanged(hostile_run: Path) -> None:
    [run] = json.loads(text_of(hostile_run, "json"))["runs"]
    assert run["findings"] == json.loads((hostile_run / "findings.json").read_text(encoding="utf-8"))
    assert run["made"]["notes"] == [HOSTILE]
    rows = rows_of(text_of(hostile_run, "csv"))
    assert {row["note"] for row in rows} == {HOSTILE}
    assert {row["model"] for row in rows} == {HOSTILE}


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_is_printed_whatever_the_data_hold(
    form: str, hostile_run: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["report", str(hostile_run), "--format", form]) == 0
    printed = capsysbinary.readouterr().out.decode("utf-8")
    assert printed == text_of(hostile_run, form)


def test_lone_halves_of_characters_are_refused(
    write_run: WriteRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_run(Findings("mine", "m", [Estimate("own", {}, 0.5)]))
    path = folder / "findings.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"m"', '"\\ud800"'), encoding="utf-8")
    for form in FORMATS:
        out = tmp_path / form
        assert main(["report", str(folder), "--format", form, "--out", str(out)]) == 3
        assert f"{path}: not a findings.json" in capsys.readouterr().err
        assert not out.exists()


# JSON and CSV.


def test_json_and_markdown_say_who_answered_at_an_endpoint(
    write_run: WriteRun, findings: Findings, run: Mapping[str, Any]
) -> None:
    served = {"model": "llm-2", "fingerprint": "fp_7", "server": None, "n": 9, "first": None, "last": None}
    folder = write_run(findings, {**run, "endpoint": {"served": [served]}})
    made = json.loads(text_of(folder, "json"))["runs"][0]["made"]
    assert made["endpoint"] == {"served": [served], "thinking": None}
    assert "| answered by | model llm-2, fingerprint fp\\_7, answers 9 |" in text_of(folder, "md")


def test_json_has_all_runs_and_nothing_that_only_this_machine_knows(
    write_run: WriteRun, findings: Findings, bbq: Findings, run: Mapping[str, Any], tmp_path: Path
) -> None:
    told = {**run, "timings": {"asking": 1}, "near_ties": {"below": float("nan")}, "others": {"filler": run["model"]}}
    write_run(findings, told, "tour/unqover")
    write_run(bbq, None, "tour/bbq")
    content = json.loads(text_of(tmp_path / "tour", "json"))
    assert content["schema"] == 1
    assert [(each["run"], each["findings"]["probe"]) for each in content["runs"]] == [
        ("unqover", "unqover"),
        ("bbq", "bbq"),
    ]
    made = content["runs"][0]["made"]
    assert made["command"] == run["command"]
    assert made["model"] == {key: value for key, value in run["model"].items() if key != "place"}
    assert made["others"] == {"filler": made["model"]}
    assert not {"machine", "timings"} & made.keys()
    assert made["near_ties"] == {"below": None}
    assert "endpoint" not in made
    assert content["runs"][1]["made"] == {}
    assert content["runs"][0]["findings"]["estimates"][0]["value"] is None


def test_csv_has_every_estimate_of_every_run_with_keys_as_columns(
    write_run: WriteRun, findings: Findings, bbq: Findings, tmp_path: Path
) -> None:
    write_run(findings, None, "runs/one/unqover")
    write_run(bbq, None, "runs/two/bbq")
    rows = rows_of(text_of(tmp_path / "runs", "csv"))
    assert len(rows) == len(findings.estimates) + len(bbq.estimates)
    assert {row["run"] for row in rows} == {"one/unqover", "two/bbq"}
    first = rows[0]
    assert (first["probe"], first["metric"], first["class"], first["category"]) == ("unqover", "mu", "gender", "")
    assert (first["value"], first["low"], first["n"]) == ("", "", "420")
    assert first["note"].startswith("fewer than 5 cells")
    assert [row["value"] for row in rows if row["subjects"] == "pooled"] == ["0.14"]


def test_a_key_that_has_a_columns_name_gets_another(write_run: WriteRun) -> None:
    folder = write_run(Findings("mine", "m", [Estimate("own", {"model": "x", "n": "y"}, 0.5, n=3)]))
    [row] = rows_of(text_of(folder, "csv"))
    assert (row["model"], row["group_model"], row["n"], row["group_n"]) == ("m", "x", "3", "y")


FORMULAS = (
    "=1+1",
    "+1+1",
    "-1+1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    " =1",
    "'=1",
    '"=1',
    "\n=1",
    "＝1+1",
    "=cmd|' /C calc'!A0",
)


@pytest.mark.parametrize("text", FORMULAS)
def test_csv_for_spreadsheets_has_no_formulas_and_numbers_stay_numbers(text: str, write_run: WriteRun) -> None:
    """In tables/, which programs read, the texts are as they were."""
    rows = Table((text, "n"), [(text, -0.5), ("-3", None)])
    folder = write_run(Findings("mine", text, [Estimate(text, {text: text}, -0.5, note=text)], {"own": rows}))
    page = unquote(data_link(rows, "own")[1].partition(",")[2])
    for written in (text_of(folder, "csv"), page):
        cells = [cell for row in csv.reader(io.StringIO(written, newline="")) for cell in row]
        assert f"'{text}" in cells
        assert text not in cells
        assert "-0.5" in cells
    assert "\n-3," in page
    assert read_table(folder / "tables" / "own.csv").columns[0] == text


# The model card.


def metadata(text: str) -> Any:
    _, head, _ = text.split("---\n", 2)
    return yaml.safe_load(head)


def test_the_card_has_an_index_that_the_hub_can_read(
    write_run: WriteRun, findings: Findings, bbq: Findings, run: Mapping[str, Any], tmp_path: Path
) -> None:
    huggingface_hub = pytest.importorskip("huggingface_hub")
    write_run(findings, run, "tour/unqover")
    write_run(bbq, {"model": run["model"]}, "tour/bbq")
    card = huggingface_hub.ModelCard(text_of(tmp_path / "tour", "model-card"))
    assert card.data.model_name == "org/model"
    results = {
        (e.task_type, e.dataset_type, e.dataset_config, e.metric_type, e.metric_args["group"].get("subjects")): e
        for e in card.data.eval_results
    }
    pooled = results["question-answering", "unqover", "gender", "mu", "pooled"]
    assert pooled.metric_value == 0.14
    assert pooled.metric_args["low"] == 0.11
    assert pooled.dataset_args == {"preset": "quick", "seed": 7}
    assert ("fill-mask", "unqover", "religion", "mu", None) in results
    assert ("question-answering", "unqover", "gender", "mu", None) not in results  # undefined
    bias = results["multiple-choice", "bbq", "ambig", "bias_score", None]
    assert (bias.metric_value, bias.metric_args["group"]["category"]) == (0.05, "all")
    assert "95% interval -0.020 to 0.110" in bias.metric_name


def test_the_card_has_a_section_with_numbers_notes_cautions_and_the_command(
    write_run: WriteRun, findings: Findings, run: Mapping[str, Any]
) -> None:
    text = text_of(write_run(findings, run), "model-card")
    section = text.split("\n---\n", 1)[1]
    assert section.startswith("\n## Bias evaluation (assay)\n")
    assert "| μ bias intensity | gender, span | – [1] | – |" in section
    assert "- [1] fewer than 5 cells" in section
    assert "A low score does not show that a model is unbiased." in section
    assert "assay run unqover --model hf:org/model --seed 7" in section
    assert "μ bias intensity: mean over subjects" in section


@pytest.mark.parametrize(
    ("run", "name"),
    [
        ({"model": {"name": "hf:org/model@main", "kind": "hf"}}, "org/model"),
        ({"model": {"name": "hf:./my-models/one", "kind": "hf"}}, "one"),
        ({"model": {"name": "hf:/home/me/secret/one/", "kind": "hf"}}, "one"),
        ({"model": {"name": "builtin", "kind": "builtin"}}, "builtin"),
        ({"kind": "predictions", "model": {"name": "UnifiedQA"}}, "UnifiedQA"),
    ],
)
def test_a_card_names_the_model_without_this_machines_folders(
    run: Mapping[str, Any], name: str, write_run: WriteRun, findings: Findings
) -> None:
    command = "assay run unqover --model hf:/home/me/secret/one --set templates=/home/me/t.json --out '/home/me/a b'"
    text = text_of(write_run(findings, {**run, "command": command}), "model-card")
    assert metadata(text)["model-index"][0]["name"] == name
    assert "assay run unqover --model hf:./one --set templates=./t.json --out './a b'" in text
    assert "/home" not in text


def test_a_card_is_about_one_model(write_run: WriteRun, findings: Findings, tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_run(replace(findings, model=name), None, f"runs/{name}")
    with raises("unsupported", UsageError):
        text_of(tmp_path / "runs", "model-card")


def test_a_card_without_defined_estimates_has_no_index(write_run: WriteRun) -> None:
    folder = write_run(Findings("mine", "m", [Estimate("own", {}, None, note="nothing was asked")]))
    assert text_of(folder, "model-card").startswith("## Bias evaluation")


def test_hostile_strings_stay_strings_in_the_index(hostile_run: Path) -> None:
    content = metadata(text_of(hostile_run, "model-card"))
    assert list(content) == ["model-index"]
    results = content["model-index"][0]["results"]
    assert results[0]["dataset"]["args"] == {"preset": HOSTILE, "seed": 7}
    groups = [metric["args"]["group"] for result in results for metric in result["metrics"]]
    assert any(HOSTILE in group.values() for group in groups)


plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()


@pytest.mark.slow
@given(
    st.dictionaries(
        st.text(),
        st.recursive(plain, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8),
        min_size=1,
    )
)
def test_what_is_written_as_yaml_is_read_as_it_was(content: dict[str, Any]) -> None:
    assert yaml.safe_load(to_yaml(content)) == content


# The command.


def test_a_file_is_written_where_it_is_wanted(
    write_run: WriteRun, findings: Findings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = write_run(findings), tmp_path / "new" / "all.csv"
    assert main(["report", str(folder), "--format", "csv", "--out", str(out)]) == 0
    assert capsys.readouterr().out.strip() == str(out)
    assert out.read_text(encoding="utf-8") == text_of(folder, "csv")


def test_the_page_stays_in_its_folder(write_run: WriteRun, findings: Findings, tmp_path: Path) -> None:
    assert main(["report", str(write_run(findings)), "--out", str(tmp_path / "x.html")]) == 2
    assert not (tmp_path / "x.html").exists()


def test_a_folder_without_runs_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path), "--format", "md"]) == 2
    assert "no finished run" in capsys.readouterr().err
