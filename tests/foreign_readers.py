"""More readers for `test_foreign_data.py`: BBQ's relatives, prompts, lists, and what programs leave for each other.

Each function gives a corpus of small good files with what reads them (`fuzzing.Reader`).
"""

from __future__ import annotations

import io
import json
import shutil
import warnings
import zlib
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import small_bbq
import small_editions
import small_lists
import small_templates
import stand_in
from assay.asking.plan import Ask, WordPlan
from assay.cli import main
from assay.engine.executor import EngineSettings, block_key
from assay.engine.journal import Journal
from assay.engine.shared_folder import FORMAT, Job, JobFolder, WorkerFailure
from assay.engine.shared_folder_worker import SharedFolderWorker
from assay.engine.store import ArrayStore, digest_of_arrays
from assay.errors import AssayError
from assay.files.rows import BadRows
from assay.lab.studies import study
from assay.lab.studies.page import write_page
from assay.lab.studies.prepare import Study, prepare
from assay.lab.studies.study_file import read_study
from assay.lab.studies.study_record import read_record
from assay.lab.training.trainer import _curve, _state
from assay.lab.training.training_folder import finished, last_checkpoint, open_out
from assay.models.api.address import Address
from assay.models.api.detect_dialect import detect_endpoint as found_endpoint
from assay.models.api.detect_dialect import remembered_at
from assay.models.base import Reply
from assay.probes import method_of
from assay.probes.base import Request
from assay.probes.bbq.editions import Edition, load_edition
from assay.probes.bbq.generation import BBQQuestionWriter
from assay.probes.bbq.prompt_sources import read_prompts, read_wording
from assay.probes.bbq.settings import BBQGenerateSettings
from assay.probes.bbq.settings import BBQSettings as BBQSettings
from assay.probes.bbq.targets import template_stereotypes
from assay.probes.bbq_starter.method import PACKAGED, read_starter
from assay.probes.sodapop.name_builder import APPENDIX_A, build_from_files
from assay.probes.sodapop.names import PACKAGED as OF_SODAPOP
from assay.probes.sodapop.traits import packaged_lexicon, read_human, read_lexicon
from assay.probes.unqover.lists import read_lists
from assay.runs.audit import audit
from assay.runs.export import export
from endpoint_server import ALL, Asked, Server
from fake_makers import Fakes
from fake_models import FakeModel, fake_spec
from fuzzing import Reader, Use, command, function
from kept_runs import without_digests


def files_in(folder: Path) -> dict[str, bytes]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def lines_of(rows: Sequence[Any]) -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()


def reading(call: Any) -> Use:
    """A function of the folder, whose errors are assay's."""
    return function(call, ".")


# --- what a probe asks


def editions() -> Reader:
    """BBQ's relatives: their rows read, scored with a column of answers, and asked."""
    with TemporaryDirectory() as place:
        for name, write in small_editions.WRITERS.items():
            write(Path(place, name))
        corpus = files_in(Path(place))
    uses: dict[str, list[Use]] = {}
    for file in corpus:
        name = file.partition("/")[0]
        own = load_edition(name)
        uses[file] = [
            reading(partial(_rows, own, name, False)),
            reading(partial(_rows, own, name, True)),
            reading(partial(_prepared, name, {"edition": name})),
        ]
    answered = [{**row, "prediction": "A"} for row in small_editions.kobbq()]
    with TemporaryDirectory() as place:
        corpus["answers.tsv"] = small_editions.write_table(Path(place, "a.tsv"), answered).read_bytes()
    corpus["answers.jsonl"] = lines_of([{**row, "prediction": 1} for row in small_editions.mbbq()])
    for file, name in {"answers.tsv": "kobbq", "answers.jsonl": "mbbq"}.items():
        few = ("--answers", "prediction", "--set", "resamples=20", "--set", f"edition={name}")
        uses[file] = [command("score", "bbq", file, *few, "--out", "out", *skip) for skip in ((), ("--skip-bad",))]
    return Reader(corpus, uses)


def _rows(own: Edition, name: str, skip: bool, folder: Path) -> None:
    for path in own.find(folder / name, own.languages[0]):
        for _ in own.read(path, BadRows(skip)):
            pass


def _prepared(place: str, settings: dict[str, str], folder: Path) -> None:
    """As for `assay run bbq --data PLACE`, until the model is asked."""
    method_of("bbq").prepare(Request(settings=settings, data=folder / place, skip_bad=True), cast(Ask, READY))


READY = SimpleNamespace(abilities=frozenset({"choice"}), ways=(), keep=lambda arrays: "", of=lambda model: READY)
TABLE = (
    "prompt_id\tprompt\tunknown\n"
    "1\tRead.\\n\\nText: {context}\\nAsk: {question}\\nA: {a}\\nB: {b}\\nC: {c}\\nSay:\timpossible to tell\n"
    "x\tChoose (A), (B) or (C). {context} {question} (A) {a} (B) {b} (C) {c}\tI cannot tell\n"
)
SAID = {"en": "Text: {} Ask: {} (A): {} (B): {} (C): {} Say:", "nl": "Tekst: {} Vraag: {} (A): {} (B): {} (C): {} Zeg:"}
PROGRAM = (
    f"import os\nprompt_sets = {{1: [{SAID['en']!r}]}}\n"
    f"trans_prompt_dict = {{'nl': {{{SAID['en']!r}: {SAID['nl']!r}}}}}\n"
)
OWN = "Read.\n{context}\n{question}\n{options}\nAnswer:\n"


def prompts() -> Reader:
    """Published prompts, a user's own, and the templates and words that questions are made from."""
    shot = {"context": "Ann met Bo.", "question": "Who?", "ans0": "Ann", "ans1": "Bo", "ans2": "Nobody", "label": 1}
    with TemporaryDirectory() as place:
        for writes in (small_templates.write_vocabulary, small_templates.write_names):
            writes(Path(place))
        rows = [small_templates.PLAIN, small_templates.NAMED | {"Q_id": "2"}]
        small_templates.write_sheet(Path(place, "Trades.csv"), rows)
        small_templates.write_sheet(Path(place, "Race_x_gender.csv"), [small_templates.GENDERED])
        templates = files_in(Path(place))
    corpus = {
        "prompts.tsv": TABLE.encode(),
        "answer_detection.py": PROGRAM.encode(),
        "own.txt": OWN.encode(),
        "system.txt": b"Be brief.\n",
        "shots.jsonl": (json.dumps(shot) + "\n").encode() * 2,
        "starter/Age.toml": (PACKAGED / "Age.toml").read_bytes(),
        "said/new_templates - Age.csv": b"Q_id,Relevant_social_values\n1,memory\n",
        **{f"made/{name}": content for name, content in templates.items()},
    }
    own = {"prompt": "own.txt", "system": "system.txt", "shots": "shots.jsonl"}
    uses: dict[str, list[Use]] = {
        "prompts.tsv": [reading(lambda folder: read_prompts(folder / "prompts.tsv", "en"))],
        "answer_detection.py": [reading(partial(_published, spoken)) for spoken in ("en", "nl")],
        "starter/Age.toml": [reading(lambda folder: read_starter(2, folder=folder / "starter"))],
        "said/new_templates - Age.csv": [reading(lambda folder: template_stereotypes(folder / "said", ["Age"]))],
        **{f"made/{name}": [reading(_generated)] for name in templates},
        **{name: [reading(partial(_worded, key))] for key, name in own.items()},
    }
    return Reader(corpus, uses)


def _published(spoken: str, folder: Path) -> None:
    read_prompts(folder / "answer_detection.py", spoken)


def _worded(key: str, folder: Path) -> None:
    name = {"prompt": "own.txt", "system": "system.txt", "shots": "shots.jsonl"}[key]
    read_wording(BBQSettings(**{key: str(folder / name)}))


def _generated(folder: Path) -> None:
    for category in ("Trades", "Race_x_gender"):
        wanted = BBQQuestionWriter.of(BBQGenerateSettings(str(folder / "made"), category), Request())
        for number, _ in enumerate(wanted.examples()):
            if number == 40:
                break


def lists() -> Reader:
    """UnQover's word lists, tables of names, traits and people's ratings of groups."""
    with TemporaryDirectory() as place:
        small_lists.write(Path(place))
        words = files_in(Path(place))
    names = "name,race,gender,count\n" + "".join(
        f"{name}{number},{race},{gender},{5000 + number}\n"
        for race in ("AA", "EA")
        for gender, name in (("F", f"An{race}"), ("M", f"Bo{race}"))
        for number in range(5)
    )
    york = "Child's First Name,Gender,Ethnicity,Year of Birth,Count,Rank\n" + "".join(
        f"{race[0]}{gender}{number},{gender},{race},2012,20,{number}\n"
        for race in ("HISPANIC", "ASIAN AND PACI")
        for gender in ("FEMALE", "MALE")
        for number in range(3)
    )
    ratings = "trait,group_a,group_b,score_a,score_b\n" + "".join(
        f"{trait},old,young,40,60\n" for trait in [*packaged_lexicon().traits][:2]
    )
    corpus = {
        **{f"lists/{name}": content for name, content in words.items()},
        "names.csv": names.encode(),
        "york.csv": york.encode(),
        "traits.toml": (OF_SODAPOP / "traits.toml").read_bytes(),
        "ratings.csv": ratings.encode(),
    }
    uses: dict[str, list[Use]] = {
        **{f"lists/{name}": [reading(partial(_lists, masked)) for masked in (False, True)] for name in words},
        **{name: [reading(partial(_built, name))] for name in ("names.csv", "york.csv")},
        "traits.toml": [reading(lambda folder: read_lexicon(folder / "traits.toml"))],
        "ratings.csv": [reading(lambda folder: read_human(folder / "ratings.csv", packaged_lexicon()))],
    }
    return Reader(corpus, uses)


def _lists(masked: bool, folder: Path) -> None:
    for cls in ("gender", "nationality", "religion", "ethnicity"):
        read_lists(cls, masked=masked, header=False, folder=str(folder / "lists"))


def _built(name: str, folder: Path) -> None:
    build_from_files([folder / name], *([APPENDIX_A] if name == "york.csv" else []))


def official() -> Reader:
    """A data folder: what is checked and what is read from it."""
    made = small_bbq.quartet("Age", "1", 0) + small_bbq.quartet("Age", "2", 1)
    metadata = "category,question_index,example_id,target_loc,label_type,Relevant_social_values\n"
    corpus = {
        "bbq/data/Age.jsonl": lines_of([example.as_json() for example in made]),
        "bbq/additional_metadata.csv": (metadata + "Age,1,0,1,label,x\n").encode(),
        "bbq/templates/new_templates - Age.csv": b"Q_id,Relevant_social_values\n1,memory\n",
        "jbbq/Age.jsonl": lines_of(small_editions.jbbq()),
    }
    checks = [command("data", "check", "bbq", "--data", "."), command("data", "list", "--data", ".")]
    asks = reading(partial(_prepared, ".", {}))
    uses = {name: [*checks, asks] for name in corpus if name.startswith("bbq/")}
    return Reader(corpus, {**uses, "jbbq/Age.jsonl": [command("data", "check", "jbbq", "--data", ".")]})


# --- what programs leave for each other

ADDRESS = Address.of("m@http://localhost/v1")
SAID_BACK = {"choices": [{"text": "ä b"}]}
STORED = {"content": SAID_BACK, "served": "m", "input_tokens": 3, "output_tokens": 1}


def journals() -> Reader:
    """Stored replies of endpoints, with right checksums and without; what is remembered about an endpoint."""
    with TemporaryDirectory() as place:
        journal = Journal(Path(place))
        for number in range(3):
            journal.put(f"call{number}", Reply(SAID_BACK, "m", 3, number))
        journal.close()
        (file,) = files_in(Path(place)).values()
    remembered = {"model": "m", "ways": ["letters", "text"], "found": ["echo: works"], "top": 20, "url": "http://x/v1"}
    corpus = {
        "a.journal": file,
        "reply.json": json.dumps(STORED).encode(),
        "head.txt": b"own,1763300000.000001",
        "endpoint.json": json.dumps(remembered).encode(),
    }
    uses: dict[str, list[Use]] = {
        "a.journal": [reading(_replies)],
        "reply.json": [reading(_replies)],
        "head.txt": [reading(_replies)],
        "endpoint.json": [reading(_remembered)],
    }
    return Reader(corpus, uses)


def _replies(folder: Path) -> None:
    """Every reply of the journal, and of another one that consists of the head and the reply."""
    digest, _, at = (folder / "head.txt").read_bytes().partition(b",")
    line = digest + b" " + at + b" " + (folder / "reply.json").read_bytes()
    own = folder.parent / "journals"
    own.mkdir()
    (own / "1.journal").write_bytes(f"{zlib.crc32(line):08x} ".encode() + line + b"\n")
    (own / "2.journal").write_bytes((folder / "a.journal").read_bytes())
    journal = Journal(own)
    try:
        for each in ("call0", "call1", "call2", digest.decode(errors="replace")):
            journal.get(each)
    finally:
        journal.close()


def _remembered(folder: Path) -> None:
    place = remembered_at(ADDRESS)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes((folder / "endpoint.json").read_bytes())
    found_endpoint(ADDRESS, send=False)


def batches() -> Reader:
    """Results of a batch service, and the description of what was asked."""
    few = ("--limit", "4", "--format", "openai-batch", "--model", "tiny-llm")
    with TemporaryDirectory() as place, redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        main(("generate", "bbq-starter", *few, "--out", str(Path(place, "requests.jsonl"))))
        requests = [json.loads(line) for line in Path(place, "requests.jsonl").read_text().splitlines()]
        about = Path(place, "requests.batch.json").read_bytes()
    server, results = Server(ALL), []
    for line in requests:
        body = server.usual(Asked(line["url"], {}, line["body"], 0, 0))
        response = {"status_code": 200, "request_id": "r", "body": body}
        results.append({"id": "b", "custom_id": line["custom_id"], "response": response, "error": None})
    corpus = {
        "results.jsonl": lines_of(results),
        "requests.batch.json": about,
    }
    scored = ("score", "bbq-starter", "results.jsonl", "--set", "resamples=20", "--out", "out")
    uses = [command(*scored), command(*scored, "--skip-bad")]
    return Reader(corpus, dict.fromkeys(corpus, uses))


PLAN, SIZE = WordPlan(("one", "two", "three", "four")), EngineSettings(block_size=2, token_budget=64)


def jobs() -> Reader:
    """Jobs in a shared folder, as `assay work` finds them, and what workers say to the driver."""
    key = block_key(fake_spec(), PLAN, SIZE)
    from assay.engine.plan_json import to_data

    with TemporaryDirectory() as place:
        job = JobFolder(Path(place, key))
        job.post(Job(FORMAT, key, fake_spec(), to_data(PLAN), PLAN.digest, SIZE, ((0, 2), (2, 4))))
        job.fail(range(2), WorkerFailure("ModelError", "it broke.", "Try again.", "worker-died"))
        job.refuse(WorkerFailure("UsageError", "no.", "", "unsupported"))
        corpus = {name.replace(key, "job"): content for name, content in files_in(Path(place)).items()}
    corpus["arrays.npz"] = _arrays()
    uses: dict[str, list[Use]] = {
        name: [reading(partial(_worked, key))] if name == "job/job.json" else [reading(_told)] for name in corpus
    }
    return Reader(corpus, {**uses, "arrays.npz": [reading(_loaded)]})


def _arrays() -> bytes:
    packed = io.BytesIO()
    np.savez(packed, allow_pickle=False, **ARRAYS)
    return packed.getvalue()


ARRAYS: dict[str, Any] = {"a": np.arange(6, dtype=np.int32), "b": np.zeros((2, 3), np.float32)}


def _worked(key: str, folder: Path) -> None:
    """A worker finds the job."""
    place = folder.parent / "shared" / key
    (place / "claims").mkdir(parents=True)
    (place / "job.json").write_bytes((folder / "job" / "job.json").read_bytes())
    with warnings.catch_warnings(action="ignore"):
        SharedFolderWorker(place.parent, lambda name, options: fake_spec(name), FakeModel, say=print).work(idle=0)


def _told(folder: Path) -> None:
    job = JobFolder(folder / "job")
    for each in (*job.failures().values(), *job.refusals()):
        str(each.error())


def _loaded(folder: Path) -> None:
    store = ArrayStore(folder.parent)
    digest = digest_of_arrays(ARRAYS)
    (folder.parent / f"{digest}.npz").write_bytes((folder / "arrays.npz").read_bytes())
    store.load(digest)


STUDY = """
[study]
name = "mine"

[models.base]
spec = "builtin"

[models.siqa]
train = "choice"
base = "base"
data = "train.jsonl"
eval = "train.jsonl"

[models.inlp]
debias = "inlp"
model = "siqa"
attribute = "gender"
corpus = "text.txt"

[[runs]]
probe = "bbq-starter"
models = ["siqa", "inlp"]
limit = 8
"""


def folders() -> Reader:
    """Folders of studies and trainings that were begun or finished, by somebody else."""
    with TemporaryDirectory() as place:
        here = Path(place)
        _write_study(here)
        study(here / "study.toml", here / "out", data=here, makers=Fakes().makers)
        corpus = {name: content for name, content in files_in(here).items() if not name.endswith(".html")}
    state = {"global_step": 4, "log_history": [{"step": 4, "loss": 0.5, "learning_rate": 0.1}]}
    identity = {"made_by": "assay train", "identity": {"seed": 1, "data": {"a": "b"}}, "files": []}
    done = {
        "made_by": "assay train",
        "settings": {"keep_checkpoints": 0},
        "files": {"model.safetensors": "x"},
        "seed": 1,
    }
    files = ("optimizer.pt", "scheduler.pt", "rng_state.pth", "model.safetensors")
    corpus |= {
        "begun/training.json": json.dumps(identity).encode(),
        "begun/checkpoints/checkpoint-4/trainer_state.json": json.dumps(state).encode(),
        **{f"begun/checkpoints/checkpoint-4/{name}": b"" for name in files},
        "done/assay.json": json.dumps(done).encode(),
    }
    noted = [*[reading(_noted)] * 3, reading(_paged)]
    uses: dict[str, list[Use]] = {
        name: noted for name in corpus if name.startswith("out/") and name.endswith(("study.json", "comparison.json"))
    }
    uses |= {name: [reading(_trained)] for name in corpus if name.startswith(("begun/", "done/")) and ".json" in name}
    return Reader(corpus, uses)


@cache
def _study() -> Study:
    """What study.toml says, prepared once."""
    with TemporaryDirectory() as place:
        here = Path(place)
        _write_study(here)
        return prepare(read_study(here / "study.toml"), here / "out", Fakes().makers, data=here, only=(), fetch=False)


def _noted(folder: Path) -> None:
    """How far its steps are."""
    record = read_record(folder / "out")
    for step in _study().steps:
        record.state(step)
    record.write()


def _paged(folder: Path) -> None:
    """Its page."""
    out, made = folder.parent / "out", _study()
    shutil.copytree(folder / "out", out)
    write_page(out, made.file, made.schedule.runs, read_record(out))


def _write_study(here: Path) -> None:
    siqa = {"context": "Ann met Bo.", "question": "Why?", **{f"answer{letter}": letter for letter in "ABC"}}
    (here / "study.toml").write_text(STUDY)
    (here / "train.jsonl").write_bytes(lines_of([{**siqa, "correct": "A"}]))
    (here / "text.txt").write_text("He met her.\n" * 20)


def _trained(folder: Path) -> None:
    finished(folder / "done")
    for resume in (True, False):
        for name in ("begun", "done"):
            try:
                with open_out(folder / name, resume=resume) as out:
                    out.held(1)
                    if out.begun is not None:
                        out.begin({"seed": 1, "data": {"a": "b"}})
            except AssayError as error:
                if name == "begun":
                    raise
                str(error)
        checkpoint = last_checkpoint(folder / "begun" / "checkpoints")
        if checkpoint is not None and resume:
            _curve(_state(checkpoint / "trainer_state.json").log_history)


RUNS: Mapping[str, tuple[int, dict[str, str]]] = {
    "unqover": (240, {"resamples": "20", "draws": "20", "form": "both"}),
    "bbq-starter": (48, {"resamples": "20", "orders": "all"}),
    "sodapop": (480, {"resamples": "20", "permutations": "100", "min_count": "1"}),
    "sodapop-names": (100, {"splits": "4"}),
}
"""Small runs: how many questions, and the settings."""
METRICS = ("mu", "bias_score", "accuracy", "kmeans_accuracy", "gender")
POLICY = b"".join(f"[[limit]]\nmetric = '*.{metric}'\nupper = 0.1\n".encode() for metric in METRICS)


def reports() -> Reader:
    """Runs of today with their answers: rebuilt, ranked, compared on a page, judged, scored and bundled."""
    with TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        stand_in.install(patch)
        patch.setenv("ASSAY_CACHE", str(Path(place, "cache")))
        for probe, (limit, settings) in RUNS.items():
            for seed in ("one", "two"):
                out = Path(place, "runs", probe, seed)
                export(audit(f"stand-in:{seed}", probe, limit=limit, settings=settings, out=out).folder)
                without_digests(out)
        corpus = {name: content for name, content in files_in(Path(place, "runs")).items() if "report." not in name}
    uses: dict[str, list[Use]] = {}
    for name in corpus:
        probe, seed, file = name.split("/", 2)
        if seed == "one" and not file.startswith("blocks/"):
            uses[name] = [
                command("report", f"{probe}/one"),
                command("report", probe),
                command("report", probe, "--format", "md"),
                command("compare", f"{probe}/two", f"{probe}/one", "--out", "page.html"),
                command("gate", f"{probe}/one", "--policy", "policy.toml"),
                command("score", probe, f"{probe}/one", "--out", "out"),
                command("export", f"{probe}/one", "--out", "out.zip"),
                reading(partial(_continued, probe)),
            ]
    return Reader({**corpus, "policy.toml": POLICY}, uses)


def _continued(probe: str, folder: Path) -> None:
    """The run's command, repeated in a copy of its folder without the findings."""
    limit, settings = RUNS[probe]
    out = shutil.copytree(folder / probe / "one", folder.parent / "again")
    (out / "findings.json").unlink()
    with pytest.MonkeyPatch.context() as patch:
        stand_in.install(patch)
        audit("stand-in:one", probe, limit=limit, settings=settings, out=out)


MORE = {
    **{"reports": reports, "editions": editions, "prompts": prompts, "lists": lists, "official": official},
    **{"journals": journals, "batches": batches, "jobs": jobs, "folders": folders},
}
