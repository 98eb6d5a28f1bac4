"""A probe's questions as files: in the authors' format, or as requests for batch services, whose results are read here.

A line of a batch has the format of OpenAI's batch API: `custom_id`, `method`, `url` and `body`, which is exactly what a
run on an endpoint would post. A description (NAME.batch.json) is written beside the requests and in the cache: the
probe, its settings and the model. An id consists of the digest of that, the part of the run, the number of the question
there (each order of its options has one) and, if it is asked several times, the number of the sample. So results can be
read in any order and without the requests.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

from assay.asking.plan import AnyPlan, Ask, digest_of
from assay.asking.progress import Progress, SilentProgress
from assay.asking.queries import Answer, Answers, ChoiceColumns, Status, TextColumns
from assay.engine.ask import MOST_FAILED, LiveAsk, endpoint_notes, served_models
from assay.engine.store import BlockStore
from assay.errors import DataError, UsageError, suggest
from assay.files.atomic import open_atomically, temporary_folder, write_atomically
from assay.files.decoding import json_typed
from assay.files.opening import read_whole
from assay.files.paths import cache_folder
from assay.files.rows import BadRows, Row, read_rows
from assay.models import find_model
from assay.models.api import ApiModel
from assay.models.api.client import is_filtered, words_of
from assay.models.api.dialects import number_at
from assay.models.base import Endpoint, EndpointRequest, ModelSpec, Options, Reply, RetryableError, ServedModel
from assay.probes import method_of
from assay.probes.base import Method, Prepared, Request
from assay.results.formatting import plural
from assay.runs.audit import data_path, new_executor
from assay.runs.dry_run import DryAsk

AUTHORS, BATCH = "authors", "openai-batch"
FORMATS = (AUTHORS, BATCH)
WAYS = ("letters", "samples", "text")
"""The ways to ask a service that only supports chats."""
MOST = 50_000
"""The most requests that OpenAI accepts in one file."""
ENDING = ".batch.json"

_ID = re.compile(r"([0-9a-f]{12})-(\d+)-(\d+)(?:-(\d+))?")
_NAMED = 3
"""How many ids of requests without an answer are named."""
_SEND_AGAIN = "Send these requests again and score all results together, or leave them out with --skip-bad."


@dataclass(frozen=True)
class GenerationResult:
    """What was written: how many examples, what counts as one, notes for the user, and what they are called."""

    examples: int
    counted: str
    notes: tuple[str, ...] = ()
    called: str = "examples"


def generate(
    probe: str,
    out: Path,
    *,
    settings: Mapping[str, str] | None = None,
    model: str | None = None,
    preset: str = "quick",
    limit: int | None = None,
    seed: int = 0,
    data: str | Path | None = None,
    skip_bad: bool = False,
    format: str = AUTHORS,
    progress: Progress | None = None,
) -> GenerationResult:
    """Write the questions of a probe to a file or folder, each file atomically.

    In the format `openai-batch` these are the requests of a run on an endpoint, with a run's settings, preset and
    limit, and `model` is the model to ask. In the authors' format, only subjects that are one token of `model` are
    kept.
    """
    request = Request(preset, limit, seed, settings or {}, data_path(data), skip_bad)
    if format == BATCH:
        n_requests, notes = write_requests(probe, out, model, request, progress or SilentProgress())
        return GenerationResult(n_requests, "a line each", tuple(notes), "requests")
    if format != AUTHORS:
        problem = f"unknown format {format!r}; expected {' or '.join(FORMATS)}{suggest(format, FORMATS)}"
        raise UsageError(problem, f"--format {BATCH}", code="bad-option", key="format")
    if (preset, limit, skip_bad) != ("quick", None, False):
        problem = "--preset, --limit and --skip-bad work only with batches: the authors' files hold all questions."
        raise UsageError(problem, f"--format {BATCH}", code="bad-option", key="format")
    generation = method_of(probe).generation(request)
    ask = LiveAsk(find_model(model), BlockStore.default(), new_executor()) if model else None
    return GenerationResult(
        generation.write_to(out, ask, progress or SilentProgress()), generation.counted, tuple(generation.notes())
    )


# --- batches


@dataclass(frozen=True)
class Batch:
    """The description of a batch. `brought` has the digests of the user's own texts."""

    probe: str
    model: ModelSpec
    preset: str = "quick"
    limit: int | None = None
    seed: int = 0
    settings: Mapping[str, str] = field(default_factory=dict)
    data: str | None = None
    skip_bad: bool = False
    brought: Mapping[str, str] = field(default_factory=dict)
    schema: int = 1

    @property
    def id(self) -> str:
        import msgspec

        return digest_of(msgspec.to_builtins(self, order="deterministic"))[:12]

    def request(self, request: Request) -> Request:
        """The run's request; settings may change formulas, and the data may be elsewhere now."""
        settings, data = {**self.settings, **request.settings}, request.data or (Path(self.data) if self.data else None)
        return Request(self.preset, self.limit, self.seed, settings, data, self.skip_bad)


# --- requests


def write_requests(
    probe: str, out: Path, model: str | None, request: Request, meter: Progress
) -> tuple[int, list[str]]:
    """Write a probe's requests to a file, atomically; returns their number and notes for the user."""
    spec, method = _answering(model), method_of(probe)
    saved = {key: str(value) for key, value in request.settings.items()}
    data = None if request.data is None else str(request.data)
    batch = Batch(probe, spec, request.preset, request.limit, request.seed, saved, data, request.skip_bad)
    with temporary_folder() as folder, open_atomically(out) as file:
        writing = _RequestWriter(ApiModel(spec), BlockStore(folder), file=file, meter=meter)
        prepared = method.prepare(request, writing)
        batch = replace(batch, brought=dict(prepared.brought))
        writing.batch = batch.id
        meter.start(probe, sum(stage.questions for stage in prepared.stages))
        method.gather(prepared, writing)
        for stage in prepared.stages:
            if stage.label not in writing.labels:
                problem = f"{stage.label}: these questions depend on earlier answers, which a batch does not have."
                remedy = f"Ask in one step, without such a variant, or with `assay run {probe} --model api:NAME@URL`."
                raise UsageError(problem, remedy, code="unsupported", key="format")
    import msgspec

    content = msgspec.json.format(msgspec.json.encode(batch), indent=1)
    for path in (out.with_suffix("").with_suffix(ENDING), cache_folder() / "batches" / f"{batch.id}{ENDING}"):
        write_atomically(path, content + b"\n")
    return writing.n_requests, list(_notes(batch, prepared, writing))


def _answering(model: str | None) -> ModelSpec:
    """The model to ask: NAME, or api:NAME@URL with what is remembered about that endpoint. Nothing is sent."""
    from assay.models.api.detect_dialect import abilities_of

    if not model:
        problem = "no model is named for the requests."
        remedy = "Pass --model NAME, as the service calls it, or --model api:NAME@URL."
        raise UsageError(problem, remedy, code="missing-setting", key="model")
    spec = ModelSpec(model, "api", endpoint=Endpoint(model, ways=WAYS, continued="message", assumed=True))
    if model.startswith("api:"):
        spec = find_model(model, Options(send=False))
    assert spec.endpoint is not None
    ways = tuple(way for way in WAYS if way in spec.endpoint.ways)
    if not ways:
        problem = f"{model} cannot be asked for {', '.join(WAYS)}, the only ways that batch files support."
        raise UsageError(problem, "Choose another model.", code="missing-ability", key="model")
    endpoint = replace(spec.endpoint, ways=ways, found=(), key_env="")
    return replace(spec, endpoint=endpoint, abilities=abilities_of(endpoint))


def _notes(batch: Batch, prepared: Prepared, writing: _RequestWriter) -> Iterable[str]:
    yield from prepared.notes
    yield f"about {writing.input_tokens:,} input tokens and at most {writing.output_tokens:,} output tokens"
    if batch.model.endpoint is not None and batch.model.endpoint.assumed:
        yield "it is not known what this model's service can do; `assay doctor --model api:NAME@URL` tests it"
    if writing.starts_answers:
        yield "the prompts contain the start of the answer; a service that does not continue it gives other answers"
    if writing.n_requests > MOST:
        yield f"OpenAI accepts {MOST:,} requests per file: split the file by lines, and score all results together"


@dataclass
class _NumberedAsk(DryAsk):
    """Gives every request an id; equal requests share one."""

    endpoint: ApiModel
    batch: str = ""
    ids: dict[str, str] = field(default_factory=dict)  # by the requests' digests
    labels: list[str] = field(default_factory=list)

    def of(self, model: str) -> Ask:
        return LiveAsk(find_model(model), BlockStore.default(), new_executor())

    def __call__(self, plan: AnyPlan, label: str) -> Answers:
        self.labels.append(label)
        return super().__call__(plan, label)

    def numbered(
        self, columns: ChoiceColumns | TextColumns, row: int, index: int
    ) -> Iterator[tuple[str, EndpointRequest, bool]]:
        """The ids and requests of a question, each with whether it is new."""
        for request in self.endpoint.calls(columns.row(row), columns.scoring):
            digest, sample = request.digest(""), f"-{request.sample}" if request.sample else ""
            is_new = digest not in self.ids
            if is_new:
                self.ids[digest] = f"{self.batch}-{len(self.labels) - 1}-{index}{sample}"
            yield self.ids[digest], request, is_new


@dataclass(kw_only=True)
class _RequestWriter(_NumberedAsk):
    """Writes every request once."""

    file: BinaryIO
    meter: Progress
    n_requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    starts_answers: bool = False

    def answer(self, columns: ChoiceColumns | TextColumns, row: int, index: int) -> Answer:
        dialogue = columns.row(row).dialogue
        self.starts_answers |= bool(dialogue and dialogue.begun)
        for id, request, is_new in self.numbered(columns, row, index):
            if is_new:
                line = {"custom_id": id, "method": "POST", "url": f"/v1{request.path}", "body": request.body}
                self.file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
                self.n_requests += 1
                self.input_tokens += request.input_tokens
                self.output_tokens += request.output_tokens
        self.meter.advance(1)
        return Answer(Status.FAILED)


# --- results


def read_results(method: Method[Any, Any], files: Sequence[Path], request: Request) -> tuple[Prepared, Any]:
    """A probe prepared as it was for the requests, and the answers from files of results."""
    bad = BadRows(request.skip_bad)
    result_files = [file for file in files if not file.name.endswith(ENDING)]
    batch_id, results = _results(result_files, bad)
    batch, file = _batch(batch_id, files, result_files[0]), result_files[0]
    if batch.probe != method.probe.name:
        problem = f"these are answers to questions of the probe {batch.probe}."
        remedy = f"assay score {batch.probe} {file}"
        raise UsageError(problem, remedy, code="other-run", file=file, key="probe")
    with temporary_folder() as folder:
        reading = _ResultReader(ApiModel(batch.model), BlockStore(folder), batch.id, results=results)
        prepared = method.prepare(batch.request(request), reading)
        if changed := [name for name, digest in batch.brought.items() if prepared.brought.get(name) != digest]:
            problem = f"{changed[0]} has changed since the requests were written."
            remedy = f"Restore it ({batch.settings.get(changed[0])}), or write the requests again."
            raise DataError(problem, remedy, code="changed-file", file=file, key=changed[0])
        gathered = method.gather(prepared, reading)
    reading.require_most(file, skip=request.skip_bad)
    notes = [*prepared.notes, *bad.notes("results"), *reading.notes()]
    return replace(prepared, notes=notes, model=batch.model.name, served=reading.served), gathered


def _batch(id: str, files: Sequence[Path], results: Path) -> Batch:
    """The description of the requests: in a named file, beside the results, or in the cache."""
    beside = sorted(path for file in files for path in file.resolve().parent.glob(f"*{ENDING}"))
    for path in (*files, *beside, cache_folder() / "batches" / f"{id}{ENDING}"):
        if not path.name.endswith(ENDING):
            continue
        try:
            batch = json_typed(read_whole(path), Batch)
        except (OSError, ValueError):
            continue
        if batch.id == id:
            return batch
    problem = f"the description of these requests (batch {id}) was not found."
    remedy = (
        f"Also name the file that `assay generate` wrote beside the requests: assay score PROBE RESULTS NAME{ENDING}"
    )
    raise DataError(problem, remedy, code="missing-file", file=results)


def _results(files: Sequence[Path], bad: BadRows) -> tuple[str, dict[str, list[Row]]]:
    """The id of a batch, and its results by the requests' ids."""
    results: dict[str, list[Row]] = {}
    batches: dict[str, str] = {}
    for file in files:
        for line, row in read_rows(file, bad):
            id = row.get("custom_id")
            match = _ID.fullmatch(id) if isinstance(id, str) else None
            if match is None:
                problem = f'"custom_id" is {id!r}, which `assay generate` did not write.'
                remedy = "Score the results of requests that it wrote."
                bad.found(DataError(problem, remedy, code="bad-value", file=file, line=line, key="custom_id"))
                continue
            batches.setdefault(match[1], f"{file}, line {line}")
            results.setdefault(match[0], []).append(row)
    if len(batches) > 1:
        locations = " and ".join(f"{id} ({location})" for id, location in list(batches.items())[:2])
        problem = f"these are results of several batches: {locations}."
        raise UsageError(problem, "Score each batch separately.", code="bad-option", key="files")
    if not results:
        remedy = "Name the file of results that the service wrote."
        raise DataError("this file has no answers.", remedy, code="empty-file", file=files[0])
    return next(iter(batches)), results


@dataclass(kw_only=True)
class _ResultReader(_NumberedAsk):
    """Answers from results; requests without one count as failed and are noted.

    If a request has several answers, the first usable one counts.
    """

    results: Mapping[str, list[Row]]
    unusable: dict[str, str] = field(default_factory=dict)  # why, by id
    missing: dict[str, None] = field(default_factory=dict)
    answer_notes: list[str] = field(default_factory=list)
    served: list[ServedModel] = field(default_factory=list)

    def __call__(self, plan: AnyPlan, label: str) -> Answers:
        answers = super().__call__(plan, label)
        self.answer_notes += endpoint_notes(label, answers, failed="without an answer")
        self.served += served_models(answers)
        return answers

    def answer(self, columns: ChoiceColumns | TextColumns, row: int, index: int) -> Answer:
        replies = [self._reply(id, request) for id, request, _ in self.numbered(columns, row, index)]
        usable = [reply for reply in replies if reply is not None]
        if len(usable) < len(replies):
            return Answer(Status.FAILED)
        return self.endpoint.read(columns.row(row), columns.scoring, usable)

    def _reply(self, id: str, call: EndpointRequest) -> Reply | None:
        if id not in self.results:
            self.missing[id] = None
            return None
        problem = ""
        for row in self.results[id]:
            try:
                return self._read(row, call)
            except RetryableError as error:
                problem = str(error)
        self.unusable[id] = problem
        return None

    def _read(self, row: Row, call: EndpointRequest) -> Reply:
        """The reply in a result; raises RetryableError, with the reason, if it is unusable."""
        value = row.get("response")
        response: Row = value if isinstance(value, Mapping) else {}
        status, content, error = response.get("status_code"), response.get("body"), row.get("error")
        body: Row | None = content if isinstance(content, Mapping) else None
        if body is not None and (status == 200 or (status == 400 and is_filtered(body))):
            return replace(self.endpoint.received(call, body), at=_created(body))
        words = words_of(body if error is None else {"error": error}, str(content))
        raise RetryableError(words if status is None else f"{status}: {words}")

    def require_most(self, file: Path, *, skip: bool) -> None:
        """Refuse results if too many are missing, unless they are skipped; at least one must be there."""
        lacking = len(self.missing) + len(self.unusable)
        if lacking == len(self.ids) or (not skip and lacking > MOST_FAILED * len(self.ids)):
            problem = " ".join(self._lacking())
            raise DataError(problem, _SEND_AGAIN, code="no-answer", file=file)

    def notes(self) -> Iterable[str]:
        yield from self.answer_notes
        yield from self._lacking()
        repeated = sum(len(rows) > 1 for rows in self.results.values())
        if repeated:
            yield f"answered more than once: {plural(repeated, 'request')}; the first answer that can be used counts"
        others = len(self.results.keys() - set(self.ids.values()))
        if others:
            yield f"left out: {plural(others, 'result')} of requests that are not part of this run"

    def _lacking(self) -> Iterable[str]:
        """How many requests have no answer, some of them, and why."""
        total = plural(len(self.ids), "request")
        if self.missing:
            yield f"{len(self.missing):,} of {total} are not among the results: {_some(self.missing)}."
        if self.unusable:
            problems = "; ".join(dict.fromkeys(list(self.unusable.values())[:_NAMED]))
            yield f"{len(self.unusable):,} of {total} have no usable answer: {_some(self.unusable)} ({problems})."


def _created(body: Row) -> float:
    """When a reply was made (Unix time), 0 if it does not say."""
    try:
        return number_at(body, "created", least=0.0)
    except ValueError:
        return 0.0


def _some(ids: Mapping[str, object]) -> str:
    more = f" and {len(ids) - _NAMED:,} more" if len(ids) > _NAMED else ""
    return ", ".join(list(ids)[:_NAMED]) + more
