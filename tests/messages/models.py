"""Messages about models, the engine, files, settings and findings."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any
from unittest.mock import MagicMock, Mock, patch
from urllib.error import HTTPError

import numpy as np

import tiny_models
from assay.asking.queries import ChoiceQuery, FillColumns, StringColumn, TextColumns
from assay.config.settings import read_settings, setting
from assay.config.toml_file import TomlFile
from assay.datasets.catalogue import DataSet
from assay.datasets.download import fetch
from assay.engine.ask import LiveAsk, StoredAsk
from assay.engine.executor import MAX_WORKER_DEATHS, LocalExecutor, forward_all
from assay.engine.ray_executor import _BlockQueue
from assay.engine.spending import Price, Spending
from assay.engine.store import ArrayStore, BlockStore
from assay.errors import ModelError
from assay.files.atomic import folder_beside, write_atomically
from assay.files.lock import held
from assay.files.opening import open_text
from assay.files.rows import BadRows, read_rows
from assay.models import find_model, load_model
from assay.models.base import EndpointRequest, ModelSpec, Options
from assay.models.builtin import find_in
from assay.models.encode_prompts import PromptEncoder
from assay.models.hf import load_tokenizer, load_weights
from assay.models.python_function import python_model
from assay.results.findings import Table, read_table
from block_files import used_by, write_block_file
from endpoint_server import Sent, serving
from fake_models import FakeModel, FakePlan, fake_spec
from own_loop import run_alone
from unusual_tokenizers import wrapped

# --- models

MASKED = ModelSpec("hf:org/tiny", "hf", "org/tiny", "0" * 64, frozenset({"mask", "fill"}), "cpu", "float32")


def model_folder(folder: Path, config: Mapping[str, Any] | None = None, **files: Mapping[str, Any]) -> None:
    """Looks for a model in a folder with this config.json and these other files of JSON."""
    for name, content in {"config": config or {}, **files}.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    find_model(f"hf:{folder}", Options(device="cpu"))


def with_transformers(load: Callable[[ModelSpec], object], **classes: object) -> None:
    """Loads something with these classes in place of those of transformers."""
    with patch("assay.models.hf.libraries", return_value=(SimpleNamespace(**classes), Mock())):
        load(MASKED)


def no_such_model(folder: Path) -> None:
    failing = Mock(from_pretrained=Mock(side_effect=ValueError("a header is too large\nand more")))
    with_transformers(load_weights, AutoModelForMaskedLM=failing)


def no_mask_token(folder: Path) -> None:
    tokenizer = MagicMock(all_special_tokens=[], is_fast=True, mask_token_id=None, __len__=Mock(return_value=9))
    with_transformers(load_tokenizer, AutoTokenizer=Mock(from_pretrained=Mock(return_value=tokenizer)))


def prompted(prompt: str, *, window: int = 128, template: str | None = None) -> None:
    """Tokenises a prompt for a tiny model with this chat template."""
    tokenizer = wrapped(tiny_models._metaspace(("<unk>", "<s>", "</s>"), tiny_models.TEXT, unknown=0, letters="\n"))
    tokenizer.chat_template = template
    PromptEncoder(tokenizer, window, "hf:org/tiny", causal=True).encode(TextColumns(StringColumn.of([prompt])))


def endpoint(sent: Sent) -> None:
    """Looks for a model at an endpoint that only answers this."""
    with serving(behave=lambda asked: sent) as server:
        try:
            find_model(server.model)
        except ModelError as error:
            problem = error.problem.replace(server.url, "http://HOST/v1")
            raise ModelError(problem, error.remedy, code=error.code) from None


def declined() -> None:
    """A tour on an endpoint, to whose question somebody at a terminal says no."""
    from assay.cli.audit_printer import AuditPrinter
    from assay.runs.dry_run import RequestEstimate

    terminal = {"isatty.return_value": True, "readline.return_value": "n\n"}
    with patch("sys.stdin", Mock(**terminal)), patch("sys.stderr", Mock(**terminal)):
        AuditPrinter("api:m").sends({"bbq": RequestEstimate(ModelSpec("m"), requests=1, unsent=1)})


def always_late(query: ChoiceQuery) -> str:
    return "later"


def wrong_answer(folder: Path) -> None:
    run_alone(python_model(always_late).answer(ChoiceQuery("Anne met John.", "Who left?", ("Anne", "John"))))


class Reader:
    def __call__(self, query: int) -> str:
        return str(query)

    def __repr__(self) -> str:
        return "Reader()"


def without_mask(folder: Path) -> None:
    load_model("builtin").encode(FillColumns(StringColumn.of([""]), StringColumn.of(["Nobody slept."])))


# --- the engine


def asker(folder: Path, **model: Any) -> LiveAsk:
    fake = FakeModel(fake_spec(**model))
    return LiveAsk(fake.spec, BlockStore(folder), LocalExecutor(lambda spec: fake))


def read_stored(folder: Path, *, replaced: bool = False) -> None:
    """The stored answers of a run whose block is gone; another one may be there."""
    ask = asker(folder)
    ask(FakePlan(9), "names (mask)")
    (path,) = folder.rglob("*.block")
    if replaced:
        write_block_file(ask.store, ask.asked[0].key, 0, 9, b"others")
    path.unlink()
    sizes = {FakePlan(9).digest: ask.sizes[FakePlan(9).digest]}
    StoredAsk(ask.model, ask.store, used_by(ask), sizes=sizes)(FakePlan(9), "names (mask)")


def dying_workers(folder: Path) -> None:
    work = _BlockQueue(fake_spec(), FakePlan(100), deque())
    for _ in range(MAX_WORKER_DEATHS):
        work.again(range(32, 48), "connection closed")


def no_memory(folder: Path) -> None:
    model = FakeModel(fake_spec(device="cuda:1"), most_tokens=20)
    forward_all(model, model.encode(FakePlan(100).columns(0, 100)), 1000)


def changed_arrays(folder: Path) -> None:
    ArrayStore(folder).keep({"name": np.arange(3, dtype=np.int64)})
    (path,) = folder.iterdir()
    np.savez(path, name=np.arange(4, dtype=np.int64))
    ArrayStore(folder).load(path.stem)


# --- files


def written(folder: Path, name: str, content: str) -> Path:
    (folder / name).write_text(content, encoding="utf-8")
    return folder / name


def full_disk(folder: Path) -> None:
    with folder_beside(folder / "out"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def two_writers(folder: Path) -> None:
    with held(folder, "writing this run"), held(folder, "writing this run"):
        pass


def anothers_lock(folder: Path) -> None:
    written(folder, ".lock", "mine")
    with held(folder, "writing this run"):
        pass


def opened(path: Path) -> None:
    with open_text(path) as file:
        file.read()


def fetched(folder: Path, receive: Callable[[IO[bytes], str, object], None]) -> None:
    """Fetches one file from a server that does this."""
    pinned = written(folder, "pinned.tsv", f"some/repository\t{'c' * 40}\t{'b' * 40}\tAge.jsonl\tbbq/Age.jsonl\n")
    with patch("assay.datasets.download._receive", receive):
        fetch(DataSet("bbq", "made up", "none", pinned), folder, mirror="https://example.org", pauses=())


def not_found(part: IO[bytes], url: str, session: object) -> None:
    raise HTTPError(url, 404, "Not Found", Mock(), None)


def login_page(part: IO[bytes], url: str, session: object) -> None:
    part.write(b"Please log in.")


def without_polars(folder: Path) -> None:
    with patch.dict(sys.modules, polars=None):
        Table(["n"], [[1]]).to_polars()


# --- settings


@dataclass(frozen=True)
class Settings:
    form: str = setting("span", choices=("span", "mask"))
    most: int = setting(3, least=1)


CASES: dict[str, tuple[Callable[[Path], object], str]] = {
    "unknown-model": (
        lambda folder: find_model("hf:./missing"),
        "there is no model folder ./missing.\nGive an existing folder, or hf:ORG/NAME@REVISION.",
    ),
    "missing-ability": (
        lambda folder: asker(folder, abilities=("span", "word"))(FakePlan(3, ability="fill"), "names (mask)"),
        "names (mask) needs the ability 'fill', which fake:one does not have; it has: span.\n"
        "Choose a model for that task, or other questions with --set form=….",
    ),
    "bad-address": (
        lambda folder: find_model("api:llm"),
        "api:llm does not name an endpoint; expected api:NAME@URL.\n"
        "For example --model api:MODEL@https://api.example.com/v1, or api:MODEL@http://localhost:8000/v1.",
    ),
    "missing-key-env": (
        lambda folder: find_model("api:llm@https://host/v1", Options(key_env="NO_SUCH_KEY", send=False)),
        "--key-env is NO_SUCH_KEY, but this environment variable is not set.\n"
        "export NO_SUCH_KEY=…, or --key-env '' for an endpoint without a key.",
    ),
    "refused-request": (
        lambda folder: endpoint(Sent(401, {"error": {"message": "Incorrect API key provided."}})),
        "http://HOST/v1 answers 401: Incorrect API key provided.\n"
        "Put the right key into the environment variable that --key-env names (default: OPENAI_API_KEY).",
    ),
    "no-answer": (
        lambda folder: endpoint(Sent(404, {"error": {"message": "no such path"}})),
        "http://HOST/v1 does not answer in any dialect that assay knows (letters: not there (404); decisions: not "
        "there (404); systemone: not there (404); structured: not tested: it needs logprobs; echo: not there "
        "(404); samples: not tested: it writes no text; continued: not tested: it writes no text).\n"
        "Is the server running? Check the model's name and the address, which usually ends in /v1.",
    ),
    "over-budget": (
        lambda folder: Spending(Price(1e3, 1e3), 0.01).reserve(EndpointRequest("/decisions", {}, lambda content: None)),
        "the next request, which may cost $0.0280, would exceed the budget of $0.01: $0.0000 spent, $0.0000 under way, "
        "$0.0100 left.\n"
        "All answers are stored. Raise --budget-usd, which covers the whole run, and repeat the command.",
    ),
    "not-confirmed": (
        lambda folder: declined(),
        "no request was sent.\nAnswer y to send them, or pass --yes.",
    ),
    "no-device": (
        lambda folder: find_model("builtin", Options(device="cuda")),
        "builtin supports only --device cpu, not 'cuda'.\nOmit --device, or choose an hf: model.",
    ),
    "bad-folder": (
        lambda folder: find_model(f"hf:{folder}"),
        "FOLDER: there is no config.json, so this is not a model folder.\nName the folder that contains it.",
    ),
    "unsafe-weights": (
        lambda folder: model_folder(folder, **{"model.safetensors.index": {"weight_map": {"bias": "weights.bin"}}}),
        "FOLDER/weights.bin: these weights are not in a safetensors file.\n"
        "Convert them, or pass --allow-pickle if you trust their source: loading such files can run code.",
    ),
    "bad-value": (
        lambda folder: model_folder(folder, {"transformers_weights": "../weights.safetensors"}),
        "FOLDER/config.json: '../weights.safetensors' is outside the model's folder.\n"
        "Put that file into the folder, and change the name.",
    ),
    "damaged-model": (
        lambda folder: find_in(folder, "builtin", Options()),
        "FOLDER/SHA256SUMS: this file of the built-in model is damaged: it cannot be read.\n"
        "Reinstall assay with pip install --force-reinstall.",
    ),
    "cannot-load": (
        no_such_model,
        "hf:org/tiny cannot be loaded: a header is too large\nSee the message of transformers above.",
    ),
    "bad-tokenizer": (
        no_mask_token,
        "the tokenizer of hf:org/tiny has no mask token.\n"
        "A masked language model needs one: set mask_token in its tokenizer_config.json.",
    ),
    "bad-template": (
        lambda folder: prompted("Who was there?", template="User: hello\nAssistant:"),
        "the chat template of hf:org/tiny drops a question, or part of it: 'Who was there?'.\n"
        "Correct chat_template.jinja in its folder (or chat_template in tokenizer_config.json), or ask without "
        "it: --set chat=off.",
    ),
    "bad-model": (
        lambda folder: python_model(Reader()),
        "Reader() takes <class 'int'>, expected ChoiceQuery or TextQuery (from assay.asking.queries).\n"
        "Annotate its parameter with the query that it answers, or omit the annotation.",
    ),
    "bad-scores": (
        wrong_answer,
        "python:always_late returned 'later' for a ChoiceQuery.\n"
        "Return a text for a TextQuery; for a ChoiceQuery a score for each option, or the index of one.",
    ),
    "bad-text": (
        without_mask,
        "a masked text needs exactly one masked word, in its sentence: 'Nobody slept.'.\nPut one [mask] into it.",
    ),
    "too-long": (
        lambda folder: prompted("Who was there?", window=9),
        "hf:org/tiny reads at most 9 tokens; this question has 4 and its answer up to 32, so the end would be cut "
        "off: TextQuery(prompt='Who was there?', tokens=32)\n"
        "Shorten the passage or choose a model with a longer window.",
    ),
    "out-of-memory": (
        no_memory,
        "the memory of cuda:1 is too small for fake:one: one question of 21 tokens did not fit.\n"
        "Close other programs, or choose another --device, --dtype bfloat16 or a smaller model.",
    ),
    "worker-died": (
        dying_workers,
        "4 workers died with questions 32 to 48 (word) for fake:one: connection closed.\n"
        "If memory ran out, choose fewer --workers or a smaller --block-size. Other answers are stored.",
    ),
    "unsupported": (
        lambda folder: asker(folder).of("fake:two"),
        "a second model cannot be asked here.\nAsk through assay.audit or `assay run`.",
    ),
    "nothing-to-ask": (
        lambda folder: asker(folder)(FakePlan(0), "names (mask)"),
        "names (mask): there are no questions to ask.\nChoose more subjects, attributes or templates.",
    ),
    "unfinished-run": (
        read_stored,
        "the answers to names (mask) are not all stored (questions 0 to 9 are missing).\n"
        "Repeat the run's `assay run` command first: it computes the missing answers.",
    ),
    "stale-answers": (
        lambda folder: read_stored(folder, replaced=True),
        "the answers to names (mask) that this run used (questions 0 to 9) are not stored any more; there are other "
        "answers to the same questions, which are not this run's.\n"
        "Use a copy of the run that `assay export` made, or repeat the run with another --out.",
    ),
    "changed-file": (
        changed_arrays,
        "FOLDER/2c0ea77040b3b80067bec68e12708b685df5ed3dfee2ea3a86831b1ae4860518.npz: its content has "
        "changed.\n"
        "Delete it and run the same command again.",
    ),
    "missing-file": (
        lambda folder: opened(folder / "names.txt"),
        "FOLDER/names.txt: there is no such file.\nCheck the name.",
    ),
    "unreadable-file": (
        opened,
        "FOLDER: cannot be read (Is a directory).\nCheck the file, or get a new copy.",
    ),
    "bad-json": (
        lambda folder: list(read_rows(written(folder, "a.jsonl", '{"id": 1}\n7\n'), BadRows(skip=False))),
        "FOLDER/a.jsonl, line 2: expected a JSON object.\nFix the line: every line must be one JSON object.",
    ),
    "bad-csv": (
        lambda folder: list(read_rows(written(folder, "a.csv", "id,text\n1\n"), BadRows(skip=False))),
        "FOLDER/a.csv, line 2: expected 2 cells, as in the first line.\nFix the line.",
    ),
    "bad-toml": (
        lambda folder: TomlFile.read(written(folder, "a.toml", "model = \n"), "See the guide."),
        "FOLDER/a.toml, line 1: not TOML: Invalid value (at line 1, column 9).\nSee the guide.",
    ),
    "bad-findings": (
        lambda folder: read_table(written(folder, "gamma.csv", "subject,gamma\nAnne\n")),
        "FOLDER/gamma.csv, line 2: expected 2 cells.\nRepeat the run to rewrite the table.",
    ),
    "cannot-write": (
        lambda folder: write_atomically(written(folder, "file", "") / "run.json", b"{}"),
        "FOLDER/file/run.json: cannot be written (File exists).\n"
        "Choose a writable folder with --out, and with ASSAY_CACHE for the stored answers.",
    ),
    "no-space": (
        full_disk,
        "FOLDER/out: no space left to write this folder.\n"
        "Free some space, or point --out and ASSAY_CACHE at a larger disk; then run the same command to resume.",
    ),
    "in-use": (
        two_writers,
        "FOLDER: another program is writing this run.\nWait until it is finished, or choose another folder with --out.",
    ),
    "not-new": (
        anothers_lock,
        "FOLDER/.lock: this is not a lock file of assay, which would be empty.\nChoose another folder with --out.",
    ),
    "download-failed": (
        lambda folder: fetched(folder, not_found),
        "https://example.org/some/repository/cccccccccccccccccccccccccccccccccccccccc/Age.jsonl: the server has "
        "no such file (404).\n"
        "A mirror must have REPOSITORY/COMMIT/PATH under its address; name another mirror with ASSAY_MIRROR, or "
        "put the file there yourself: FOLDER/bbq/Age.jsonl, or the same compressed (.gz).",
    ),
    "wrong-download": (
        lambda folder: fetched(folder, login_page),
        "https://example.org/some/repository/cccccccccccccccccccccccccccccccccccccccc/Age.jsonl: this is not the "
        "pinned file; got 14 bytes with blob id 2acb9326c19fdd948821e5c7f6b2b8556098276f, expected "
        "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.\n"
        "The network changes files: try another one or ASSAY_MIRROR, or put the file there yourself: "
        "FOLDER/bbq/Age.jsonl, or the same compressed (.gz).",
    ),
    "not-installed": (
        without_polars,
        "to_polars() requires polars, which is not installed.\npip install polars",
    ),
    "bad-option": (
        lambda folder: Options(threads=0),
        "the number of threads is 0, expected at least 1.\n--threads 1",
    ),
    "unknown-setting": (
        lambda folder: read_settings(Settings, {"size": "3"}, "unqover"),
        "unqover has no setting 'size'; it has form, most.\nSee `assay run unqover --help`.",
    ),
    "bad-setting": (
        lambda folder: read_settings(Settings, {"most": "0"}, "unqover"),
        "most is '0', expected a whole number from 1.\n--set most=1",
    ),
}
