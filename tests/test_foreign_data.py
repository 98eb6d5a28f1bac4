"""Readers of files from strangers: whatever is in them, they are read or refused with one of assay's errors.

`make test` damages every file of every reader once, and tries 60 more inputs of each reader; `make soak` tries 100,000
in all (ASSAY_SOAK_INPUTS is how many more).
"""

from __future__ import annotations

import gzip
import io
import json
import lzma
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, seed, settings

import small_bbq
from assay.asking.messages import Dialogue
from assay.asking.queries import ChoiceQuery, ListedQuery, Scoring, SpanColumns, StringColumn, TextColumns, TextQuery
from assay.engine.store import BadBlockError, BlockStore
from assay.errors import AssayError
from assay.files.decoding import json_value
from assay.lab.debiasing.attribute_words import read_words
from assay.lab.debiasing.corpus import Corpus
from assay.lab.training.choice import read_choice_data
from assay.lab.training.span import read_span_data
from assay.models import find_model, load_model
from assay.models.api import ApiModel
from assay.models.api.dialects import LISTED_MODES
from assay.models.base import Endpoint, ModelSpec, RetryableError
from assay.probes.bbq.targets import read_metadata
from assay.probes.sodapop.contexts import read_contexts
from assay.probes.sodapop.names import read_groups
from block_files import write_block_file
from changed_replies import search, unchanged
from foreign_readers import MORE, POLICY, files_in
from fuzzing import CASES, Case, FoundError, Reader, Use, attempt, command, function
from kept_runs import without_digests

pytestmark = pytest.mark.slow

INPUTS = int(os.environ.get("ASSAY_SOAK_INPUTS", "60"))
SEED = int(os.environ.get("ASSAY_SOAK_SEED", "0"))
GOLDEN = Path(__file__).parent / "golden"
FEW = ("--set", "resamples=20")
MANY = ("--set", "permutations=100", "--set", "min_count=1")


SIQA = {"context": "Ann met Bo.", "question": "Why?", "answerA": "a", "answerB": "b", "answerC": "c"}


def text_of(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def rows_of_bbq() -> list[dict[str, Any]]:
    made = small_bbq.quartet("Age", "1", 0) + small_bbq.quartet("Race_ethnicity", "2", 1)
    return [{**example.as_json(), "prediction": example.label} for example in made]


def score(probe: str, name: str, *more: str) -> list[Use]:
    return [command("score", probe, name, *more, "--out", "out"), command("score", probe, name, *more, "--skip-bad")]


def rows() -> Reader:
    """Tables of answers."""
    bbq = rows_of_bbq()
    cells = {key: json.dumps(value) if isinstance(value, dict | list) else str(value) for key, value in bbq[0].items()}
    quoted = [",".join('"' + cell.replace('"', '""') + '"' for cell in each) for each in (cells, cells.values())]
    sodapop = (GOLDEN / "predictions" / "sodapop_1.jsonl").read_bytes()
    unqover = json.loads((GOLDEN / "predictions" / "unqover_1.json").read_bytes())
    corpus = {
        "bbq.jsonl": text_of(bbq),
        "bbq.jsonl.gz": gzip.compress(text_of(bbq)),
        "bbq.jsonl.xz": lzma.compress(text_of(bbq)),
        "bbq.csv": "\n".join(quoted).encode() + b"\n",
        "unqover.json": json.dumps(unqover).encode(),
        "sodapop.jsonl": sodapop,
    }
    return Reader(
        {**corpus, "groups.json": (GOLDEN / "predictions" / "groups.json").read_bytes()},
        {
            **{name: score("bbq", name, "--answers", "prediction") for name in corpus if name.startswith("bbq")},
            "unqover.json": score("unqover", "unqover.json", *FEW),
            "sodapop.jsonl": score("sodapop", "sodapop.jsonl", *FEW, *MANY, "--set", "groups=groups.json"),
        },
    )


def data() -> Reader:
    """Data to train on and to ask about, and lists of words and names."""
    squad = {
        "context": "Ann met Bo.",
        "qas": [{"id": "1", "question": "Who?", "answers": [{"text": "Bo", "answer_start": 8}]}],
    }
    race = {"article": "Ann met Bo.", "questions": ["Who?"], "options": [["a", "b", "c", "d"]], "answers": ["A"]}
    metadata = "category,question_index,example_id,target_loc,label_type,Relevant_social_values\n"
    corpus = {
        "squad.json": json.dumps({"data": [{"paragraphs": [squad]}]}).encode(),
        "mrqa.jsonl.gz": gzip.compress(
            text_of(
                [
                    {"header": {}},
                    {
                        "context": "Ann met Bo.",
                        "qas": [
                            {
                                "qid": "1",
                                "question": "Who?",
                                "answers": ["Bo"],
                                "detected_answers": [{"text": "Bo", "char_spans": [[8, 9]]}],
                            }
                        ],
                    },
                ]
            )
        ),
        "siqa.jsonl": text_of([SIQA, SIQA]),
        "siqa-labels.lst": b"1\n2\n",
        "race.txt": json.dumps(race).encode(),
        "metadata.csv": (metadata + "Age,1,0,1,label,x\nAge,1,1,1,name,x\n").encode(),
        "names.json": b'{"a": ["Ann", "Bo"], "b": {"names": ["Cy", "Di"]}}',
        "names.toml": b'a = ["Ann", "Bo"]\n[b]\nnames = ["Cy", "Di"]\n',
        "words.json": b'{"gender": [["he", "she"], ["man", "woman"]]}',
        "words.toml": b'[gender]\nwords = [["he", "she"], ["man", "woman"]]\nclasses = ["m", "f"]\n',
        "texts.jsonl": text_of([{**SIQA, "correct": "A", "question": "How would you describe Ann?"}] * 3),
        "corpus.txt.xz": lzma.compress(b"Ann met Bo. They left.\n" * 20),
    }
    calls: dict[str, Callable[[Path], object]] = {
        "squad.json": read_span_data,
        "mrqa.jsonl.gz": read_span_data,
        "siqa.jsonl": read_choice_data,
        "race.txt": read_choice_data,
        "metadata.csv": read_metadata,
        "names.json": read_groups,
        "names.toml": read_groups,
        "words.json": read_words,
        "words.toml": read_words,
        "texts.jsonl": read_contexts,
        "corpus.txt.xz": lambda path: Corpus(path).sentences(),
    }
    uses = {name: [function(call, name)] for name, call in calls.items()}
    return Reader(corpus, {**uses, "siqa-labels.lst": [function(read_choice_data, "siqa.jsonl")]})


def logs() -> Reader:
    """Logs of lm-evaluation-harness and Inspect, and their archives."""
    from probes.bbq.test_logs import generated, inspected, likelihoods, multiple_choice, write_eval, write_json

    made = small_bbq.quartet("Age", "1", 0)
    with TemporaryDirectory() as folder:
        archive = write_eval(Path(folder, "a.eval"), [inspected(each) for each in made], model="some").read_bytes()
        whole = write_json(Path(folder, "a.json"), [inspected(each) for each in made], model="some").read_bytes()
    corpus = {
        "samples_bbq_2026-01-02.jsonl": text_of([generated(each, "The old potter") for each in made]),
        "samples_choice_2026-01-02.jsonl": text_of(
            [multiple_choice(each, likelihoods(each, each.answers[0])) for each in made]
        ),
        "log.json": whole,
        "log.eval": archive,
    }
    return Reader(corpus, {name: score("bbq", name) for name in corpus})


def undigested(run: Path) -> dict[str, bytes]:
    """The files of a kept run; whoever changes them can change their digests."""
    with TemporaryDirectory() as place:
        return files_in(without_digests(shutil.copytree(run, Path(place, "run"))))


def toml(kept: Path) -> Reader:
    """Policies and studies."""
    run = undigested(kept / "one" / "scored-bbq")
    corpus = {
        **{f"{place}/{name}": content for name, content in run.items() for place in ("run", "one")},
        "policy.toml": (GOLDEN / "policy.toml").read_bytes(),
        **dict.fromkeys(("socialiqa/train.jsonl", "socialiqa/dev.jsonl"), text_of([{**SIQA, "correct": "A"}] * 2)),
        "study.toml": (Path(__file__).parents[1] / "src/assay/data/studies/study-small.toml").read_bytes(),
    }
    gates = [command("gate", "run", "--policy", "policy.toml")]
    return Reader(
        corpus, {"policy.toml": gates, "study.toml": [command("study", "study.toml", "--dry-run", "--out", "out")]}
    )


def runs(kept: Path) -> Reader:
    """Run folders of others."""
    names = ("scored-bbq", "scored-unqover", "scored-sodapop", "sodapop-names", "bbq")
    corpus: dict[str, bytes] = {"policy.toml": POLICY}
    uses: dict[str, list[Use]] = {}
    for own in names:
        files = undigested(kept / "one" / own)
        corpus |= {f"{own}/{file}": content for file, content in files.items()}
        corpus |= {f"two-{own}/{file}": content for file, content in undigested(kept / "two" / own).items()}
        readers = [
            command("report", own, "--format", "md"),
            command("report", own, "--format", "model-card"),
            command("report", own, "--format", "csv"),
            command("gate", own, "--policy", "policy.toml"),
            command("compare", own, f"two-{own}", "--json"),
            command("export", own, "--out", "out.zip"),
            command("score", own.removeprefix("scored-"), own, "--out", "out"),
        ]
        uses |= {f"{own}/{file}": readers for file in files if not file.endswith("exported")}
    return Reader(corpus, uses)


def models() -> Reader:
    """Folders of models: configuration, tokenizer, chat template and the header of the weights."""
    import torch

    import tiny_models

    torch.set_num_threads(1)  # tiny models gain nothing from threads
    with TemporaryDirectory() as folder:
        tiny_models.make_span_model(Path(folder, "span"))
        tiny_models.make_causal_model(Path(folder, "causal"), "llama")
        files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
        corpus = {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
    said = "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}assistant:"
    corpus["causal/chat_template.jinja"] = said.encode()
    return Reader(corpus, {name: [_found(name), partial(_asked, name.partition("/")[0])] for name in corpus})


def _found(name: str) -> Use:
    return function(lambda path: find_model(f"hf:{path.parent}"), name)


def _asked(kind: str, folder: Path) -> int:
    """Load a model and ask it one question."""
    context, begin, end = (
        StringColumn.of(["Ann met Bo."]),
        np.array([[[0], [8]]], np.int32),
        np.array([[[3], [10]]], np.int32),
    )
    asked = {
        "span": SpanColumns(StringColumn.of(["Who left?"]), context, begin, end),
        "causal": TextColumns.of([TextQuery("Who left?", 3, Dialogue())]),
    }
    try:
        model: Any = load_model(f"hf:{folder / kind}")
        model.forward(model.encode(asked[kind]))
    except AssayError as error:
        return error.exit_code
    return 0


def endpoints() -> Reader:
    """Answers of servers, with their headers, and the tests of what a server can do."""
    chat = {"model": "m", "usage": {"prompt_tokens": 3, "completion_tokens": 1}}
    top = [{"token": letter, "logprob": -1.2} for letter in "ABC"]
    entry = {"token": "A", "logprob": -1.2, "top_logprobs": top}
    said = {"message": {"role": "assistant", "content": "A"}, "finish_reason": "stop"}
    shares = [{"value": option, "probability": 1 / 3} for option in OPTIONS]
    echoed = {"tokens": ["Ann met Bo.", "\n", "Who?", " a"], "token_logprobs": [None, -1.0, -2.0, -3.0]}
    replies = {
        "letters": {**chat, "choices": [{**said, "logprobs": {"content": [entry]}}]},
        "decisions": {**chat, "answers": [{"type": "choice", "probabilities": shares}]},
        "systemone": {**chat, "answers": {"answer": {"probabilities": dict.fromkeys(OPTIONS, 1 / 3)}}},
        "text": {**chat, "choices": [said]},
        "echo": {**chat, "choices": [{"text": "", "logprobs": echoed}]},
    }
    corpus = {f"{way}.json": json.dumps(reply).encode() for way, reply in replies.items()}
    uses: dict[str, list[Use]] = {}
    for way in replies:
        uses[f"{way}.json"] = [*(partial(_received, way, status) for status in (200, 400, 429)), partial(_tested, way)]
    date = "Wed, 21 Oct 2026 07:28:00 GMT"
    corpus["heads.json"] = json.dumps(
        {"retry-after": date, "date": date, "retry-after-ms": "2", "server": "x"}
    ).encode()
    return Reader(corpus, {**uses, "heads.json": [partial(_received, "text", status) for status in (200, 302, 429)]})


OPTIONS = ("a", "b", "c")


def _received(way: str, status: int, folder: Path) -> int:
    """Read a reply as one to a request of this kind."""
    endpoint = Endpoint("m", ways=("decisions", "systemone", "letters", "text"))
    model = ApiModel(ModelSpec("api:m@http://localhost/v1", "api", "http://localhost/v1", endpoint=endpoint))
    query: Any = {"text": TextQuery("Who?", 5), "echo": ChoiceQuery("Ann met Bo.", "Who?", OPTIONS)}.get(
        way, ListedQuery("Ann met Bo.", "Who?", OPTIONS)
    )
    scoring = Scoring(answer=way if way in LISTED_MODES else "")
    said = (folder / f"{way}.json").read_bytes().decode(errors="replace")
    try:
        calls = model.calls(query, scoring)
        content = model._client._judged(status, _headers((folder / "heads.json").read_bytes()), said)
        replies = [model.received(call, content) for call in calls]
        json.dumps([reply.content for reply in replies], ensure_ascii=False).encode()  # the journal
        model.read(query, scoring, replies)
    except RetryableError:
        return 4
    except AssayError as error:
        return error.exit_code
    return 0


def _headers(said: bytes) -> dict[str, str]:
    try:
        given = json_value(said)
    except ValueError:
        return {"retry-after": said.decode("latin-1")}
    return {name: head for name, head in given.items() if isinstance(head, str)} if isinstance(given, dict) else {}


def _tested(way: str, folder: Path) -> int:
    """Test an endpoint that replies like this to the requests of one way, and else as it should."""
    said = (folder / f"{way}.json").read_bytes()
    try:
        search(lambda number, right: said if _way_of(right) == way else unchanged(number, right))
    except AssayError as error:
        return error.exit_code
    return 0


def _way_of(right: Mapping[str, Any]) -> str:
    """The way that a right reply answers."""
    if "choices" not in right:
        return "decisions" if isinstance(right["answers"], list) else "systemone"
    choice = right["choices"][0]
    return "echo" if "text" in choice else "letters" if "logprobs" in choice else "text"


def blocks() -> Reader:
    """Blocks of answers whose checksums are right, and arrays."""
    arrays = {
        "answer.score": np.zeros((3, 2), np.float32),
        "status": np.zeros(3, np.int8),
        "queries": np.zeros(32, np.uint8),
    }
    packed = io.BytesIO()
    np.savez(packed, allow_pickle=False, **arrays)
    return Reader({"a.zip": packed.getvalue()}, {"a.zip": [_block]})


def _block(folder: Path) -> int:
    content = (folder / "a.zip").read_bytes()
    store = BlockStore(folder)
    write_block_file(store, "a" * 64, 0, 3, content)
    try:
        store.read("a" * 64, 0, 3)
    except BadBlockError:
        shutil.rmtree(folder / "aa")
        return 3
    return 0


READERS: Mapping[str, Callable[[], Reader]] = {
    **{"rows": rows, "data": data, "logs": logs},
    **{"models": models, "endpoints": endpoints, "blocks": blocks},
    **MORE,
}
OF_RUNS: Mapping[str, Callable[[Path], Reader]] = {"toml": toml, "runs": runs}
made = cache(lambda name, kept: OF_RUNS[name](kept) if name in OF_RUNS else READERS[name]())


def one_of_every_file(name: str, reader: Reader) -> Iterator[Case]:
    """For every file of a reader, a case in which it is damaged."""
    drawn = Random(f"{SEED} {name}")
    for file in range(len(reader.uses)):
        yield Case(
            file, drawn.randrange(1000), [(drawn.randrange(100), drawn.randrange(1 << 24), drawn.randrange(1000))]
        )


@pytest.mark.parametrize("name", [*READERS, *OF_RUNS])
def test_whatever_is_in_a_file_it_is_read_or_refused(
    name: str, kept_runs: Path, record_property: Callable[[str, int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.probes.sodapop_names.method.PERMUTATIONS", 3)  # what takes the longest, for no reader
    codes: Counter[int] = Counter()
    reader = made(name, kept_runs)

    @seed(f"{SEED} {name}")
    @settings(max_examples=INPUTS, database=None)
    @given(CASES)
    def tried(case: Case) -> None:
        codes[attempt(reader, case)] += 1

    for case in one_of_every_file(name, reader):
        tried = example(case)(tried)
    try:
        tried()
    finally:
        record_property("tried", codes.total())
    assert codes.keys() & {2, 3, 4}


@pytest.mark.parametrize("stream", [1, 2])
def test_control_sequences_are_seen_whoever_prints_them(stream: int) -> None:
    reader = Reader({"a": b""}, {"a": [lambda folder: os.write(stream, b"\x1b[31m") * 0]})
    with pytest.raises(FoundError, match="control sequence"):
        attempt(reader, Case(0, 0, [(0, 0, 0)]))
