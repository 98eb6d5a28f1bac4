"""Files of answers, and those that only look like them, are recognised by their beginnings."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from assay.errors import DataError
from assay.files.rows import AnswerFileKind, kind_of
from assay.runs import score as scoring
from raising import raises

SAMPLE = {"doc_id": 0, "doc": {"question": "Who?"}, "resps": [["A"]]}
RESULTS = {"results": {"some": {"acc,none": 0.5}}, "configs": {}, "n-shot": {"some": 0}, "model_name": "some"}
INSPECT = {"version": 2, "status": "success", "eval": {"model": "some"}}
REQUEST = {"custom_id": "0123456789ab-0-0", "method": "POST", "url": "/v1/chat/completions", "body": {}}
RESULT = {"custom_id": "0123456789ab-0-0", "response": {"body": {}}, "error": None}
FINDINGS = {"schema": 3, "probe": "some", "model": "some"}
RUN = {"schema": 3, "probe": "some", "identity": {}}


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (RESULTS, AnswerFileKind.LM_EVAL_RESULTS),
        (INSPECT, AnswerFileKind.INSPECT),
        (FINDINGS, AnswerFileKind.RUN),
        (RUN, AnswerFileKind.RUN),
        ({"results": {"of": "something else"}}, None),
        ({"a|b|c|d|0|e|f|f": {"context": "x"}}, None),
        ([1, 2], None),
    ],
)
def test_an_object_is_recognised_however_it_is_written(
    tmp_path: Path, content: Any, kind: AnswerFileKind | None, indent: int | None
) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(content, indent=indent))
    assert kind_of(path) == kind


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        (SAMPLE, AnswerFileKind.LM_EVAL),
        (RESULT, AnswerFileKind.BATCH_RESULTS),
        (REQUEST, AnswerFileKind.BATCH_REQUESTS),
        ({"doc": "a text", "resps": []}, None),
        ({"custom_id": "1"}, None),
        ({"question": "Who?", "said": "A"}, None),
    ],
)
def test_lines_are_recognised_by_the_first_also_if_it_is_long_or_packed(
    tmp_path: Path, row: dict[str, Any], kind: AnswerFileKind | None
) -> None:
    text = json.dumps(row | {"more": "x" * 100_000}) + "\n" + json.dumps(row) + "\n"
    (tmp_path / "a.jsonl").write_text(text)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    assert kind_of(tmp_path / "a.jsonl") == kind_of(tmp_path / "a.jsonl.gz") == kind


def test_archives_are_logs_of_inspect_and_other_bytes_are_nothing(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "log.zip", "w") as archive:
        archive.writestr("header.json", "{}")
    (tmp_path / "a.bin").write_bytes(b"\xff\xfe\x00")
    assert kind_of(tmp_path / "log.zip") is AnswerFileKind.INSPECT
    assert kind_of(tmp_path / "a.bin") is None


@pytest.mark.parametrize(
    ("probe", "name", "content", "said"),
    [
        ("bbq", "results.json", RESULTS, "results of lm-evaluation-harness, but no answers"),
        ("unqover", "results.json", RESULTS, "results of lm-evaluation-harness, but no answers"),
        ("bbq", "requests.jsonl", REQUEST, "belongs to the requests of a batch and has no answers"),
        ("sodapop", "some.batch.json", {"probe": "sodapop"}, "belongs to the requests of a batch and has no answers"),
        ("bbq", "findings.json", FINDINGS, "part of a run"),
        ("sodapop", "log.json", INSPECT, "a log of Inspect, which sodapop cannot score"),
        ("unqover", "samples.jsonl", SAMPLE, "a log of lm-evaluation-harness, which unqover cannot score"),
    ],
)
def test_files_without_answers_say_what_they_are(
    tmp_path: Path, probe: str, name: str, content: dict[str, Any], said: str
) -> None:
    path = tmp_path / name
    path.write_text(json.dumps(content))
    with raises("unsupported", DataError, file=path) as caught:
        scoring.score(probe, [path], out=tmp_path / "run")
    assert said in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_results_are_sent_to_their_samples_only_where_these_can_be_scored(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps(RESULTS))
    for probe, remedy in (("bbq", "--log_samples"), ("sodapop", "assay score --help")):
        with raises("unsupported", DataError) as caught:
            scoring.score(probe, [path])
        assert remedy in str(caught.value)
