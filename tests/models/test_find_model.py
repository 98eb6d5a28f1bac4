"""Finding and loading models: what is wrong with a name or a folder is said in one clear message, before any number."""

from __future__ import annotations

import hashlib
import http.server
import json
import os
import pickle
import shutil
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest

from assay.asking.queries import MASK, FillColumns, StringColumn
from assay.errors import AssayError, DataError, ModelError, UsageError
from assay.models import find_model, kinds, load, load_model
from assay.models.base import Options
from raising import raises
from reference_scores import columns_of, span_query
from tiny_models import CAUSAL_FAMILIES, TEXT_FAMILIES, ModelFolder

QUESTION = columns_of((span_query("Who was there?", "Gerald met Jennifer.", "Gerald", "Jennifer"),))
ON_CPU = Options(device="cpu")


@pytest.fixture
def mask_folder(model_folder: ModelFolder, tmp_path: Path) -> Path:
    return Path(shutil.copytree(model_folder("mask", "bert"), tmp_path / "mask"))


def edit(path: Path, **changes: Any) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    kept = {key: value for key, value in (content | changes).items() if value is not None}
    path.write_text(json.dumps(kept), encoding="utf-8")


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def score(folder: Path, **options: Any) -> Any:
    model = load_model(f"hf:{folder}", device="cpu", **options)
    return model.forward(model.encode(QUESTION))["score"]


def problem_of(error: pytest.ExceptionInfo[AssayError]) -> str:
    """The problem, which must be one line, with a remedy on another."""
    assert error.value.remedy
    assert "\n" not in error.value.problem
    return error.value.problem


# --- names


@pytest.mark.parametrize("name", ["", "bert", "bert-base-uncased", "onnx:./folder", "hf", "hf:", ":x", "HF:./folder"])
def test_an_unknown_name_is_refused_with_an_example(name: str) -> None:
    with raises("unknown-model", UsageError) as wrong:
        find_model(name)
    assert repr(name) in problem_of(wrong)
    assert "hf:./folder" in wrong.value.remedy


@pytest.mark.parametrize("place", ["./missing", "/no/such/folder", "~/no-such-folder", "../missing", "a/b/c", "a b"])
def test_a_missing_folder_is_refused(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with raises("unknown-model", UsageError, __cause__=None) as wrong:
        find_model(f"hf:{place}", ON_CPU)
    assert place in problem_of(wrong)


def test_a_hub_name_without_network_is_one_clear_error() -> None:
    with raises("unknown-model", UsageError) as wrong:
        find_model("hf:some-org/some-model@v1", ON_CPU)
    assert wrong.value.__cause__, "what the hub's client says"
    assert "some-org/some-model@v1" in problem_of(wrong)


def test_a_broken_package_stops_no_other_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_kind.py").write_text("raise RuntimeError('half installed')", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(kinds(), "broken", "broken_kind")
    assert find_model("builtin").kind == "builtin"
    with raises("unknown-model", UsageError) as unknown:
        find_model("buitlin")
    assert "expected builtin, hf:…, api:…." in problem_of(unknown)
    with raises("cannot-load", UsageError, key="broken") as wrong:
        find_model("broken:x")
    assert "half installed" in problem_of(wrong)


# --- folders


def test_a_found_model_says_what_it_is_and_can_do(model_folder: ModelFolder) -> None:
    span = find_model(f"hf:{model_folder('span', 'bert')}", ON_CPU)
    assert span.abilities == {"span", "embed", "word"}
    assert (span.kind, span.device, span.dtype, span.revision) == ("hf", "cpu", "float32", None)
    assert Path(span.place) == model_folder("span", "bert")
    mask = find_model(f"hf:{model_folder('mask', 'roberta')}", ON_CPU)
    assert mask.abilities == {"mask", "fill", "embed", "word", "token"}
    choice = find_model(f"hf:{model_folder('choice', 'deberta-v3')}", ON_CPU)
    assert choice.abilities == {"choice", "embed", "word"}
    for family in TEXT_FAMILIES:
        assert find_model(f"hf:{model_folder('text', family)}", ON_CPU).abilities == {"text", "word"}
    for family in CAUSAL_FAMILIES:
        assert find_model(f"hf:{model_folder('causal', family)}", ON_CPU).abilities == {"choice", "text", "word"}
    assert pickle.loads(pickle.dumps(mask)) == mask
    assert json.loads(json.dumps(mask.as_json()))["abilities"] == ["embed", "fill", "mask", "token", "word"]


def test_a_folder_is_found_relative_to_where_one_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    assert find_model("hf:./span", ON_CPU).place == find_model("hf:span", ON_CPU).place == str(folder)


def test_a_folder_without_config_json_is_no_model(tmp_path: Path) -> None:
    with raises("bad-folder", UsageError, file=tmp_path, key="config.json") as wrong:
        find_model(f"hf:{tmp_path}", ON_CPU)
    problem_of(wrong)


@pytest.mark.parametrize(("content", "code"), [("{", "bad-json"), ("[]", "bad-json"), ("\udcff", "unreadable-file")])
def test_a_broken_config_json_is_bad_data(content: str, code: str, folder: Path) -> None:
    (folder / "config.json").write_bytes(content.encode(errors="surrogateescape"))
    with raises(code, DataError, file=folder / "config.json", exit_code=3):
        find_model(f"hf:{folder}", ON_CPU)


@pytest.mark.parametrize("architectures", [["BertForSequenceClassification"], ["BertModel"], [], None])
def test_a_model_of_another_kind_has_no_ability(architectures: list[str] | None, folder: Path) -> None:
    edit(folder / "config.json", architectures=architectures)
    spec = find_model(f"hf:{folder}", ON_CPU)
    assert spec.abilities == frozenset()
    with raises("missing-ability", UsageError):
        load(spec)


@pytest.mark.parametrize(
    ("architecture", "two_parts", "abilities"),
    [
        ("T5ForConditionalGeneration", True, {"text", "word"}),
        ("T5WithLMHeadModel", True, {"text", "word"}),
        ("LlavaForConditionalGeneration", None, {"choice", "text", "word"}),
        ("LlavaForConditionalGeneration", False, {"choice", "text", "word"}),
        ("GPT2LMHeadModel", None, {"choice", "text", "word"}),
        ("LlamaForCausalLM", None, {"choice", "text", "word"}),
    ],
)
def test_what_writes_is_told_apart_by_whether_an_encoder_reads_the_prompt(
    architecture: str, two_parts: bool | None, abilities: set[str], folder: Path
) -> None:
    edit(folder / "config.json", architectures=[architecture], is_encoder_decoder=two_parts)
    assert find_model(f"hf:{folder}", ON_CPU).abilities == abilities


def test_only_the_head_that_was_saved_counts(folder: Path) -> None:
    edit(folder / "config.json", architectures=["BertForQuestionAnswering", "BertForMaskedLM"])
    assert find_model(f"hf:{folder}", ON_CPU).abilities == {"span", "embed", "word"}
    assert np.isfinite(score(folder)).all()


# --- weights


@pytest.fixture
def pickled_folder(folder: Path) -> Path:
    """The same weights as a *.bin file only."""
    import torch
    from safetensors.torch import load_file

    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    return folder


def test_pickled_weights_are_refused(pickled_folder: Path) -> None:
    with raises("bad-folder", UsageError, file=pickled_folder, key="*.safetensors") as wrong:
        find_model(f"hf:{pickled_folder}", ON_CPU)
    assert "--allow-pickle" in wrong.value.remedy


def test_pickled_weights_are_loaded_when_asked_to(pickled_folder: Path, model_folder: ModelFolder) -> None:
    assert np.array_equal(score(pickled_folder, allow_pickle=True), score(model_folder("span", "bert")))


def test_a_pickle_beside_safetensors_is_not_touched(folder: Path, model_folder: ModelFolder) -> None:
    (folder / "pytorch_model.bin").write_bytes(b"not even a pickle")
    assert np.array_equal(score(folder), score(model_folder("span", "bert")))
    before = find_model(f"hf:{model_folder('span', 'bert')}", ON_CPU)
    assert find_model(f"hf:{folder}", ON_CPU).digest == before.digest


def test_a_head_that_was_never_trained_is_refused(mask_folder: Path) -> None:
    edit(mask_folder / "config.json", architectures=["BertForQuestionAnswering"])
    with raises("bad-folder", ModelError, key="qa_outputs.bias", exit_code=4) as wrong:
        load_model(f"hf:{mask_folder}", device="cpu")
    assert "qa_outputs.weight" in str(wrong.value)


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "tokenizer_config.json"])
def test_a_file_cut_short_is_a_model_error(name: str, folder: Path) -> None:
    truncate(folder / name)
    with raises("cannot-load", ModelError, key="tokenizer" if name.startswith("tokenizer") else None) as wrong:
        load_model(f"hf:{folder}", device="cpu")
    problem_of(wrong)


def test_weights_of_another_size_are_a_model_error(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    edit(folder / "config.json", intermediate_size=128)
    with raises("cannot-load", ModelError, key=None):
        load_model(f"hf:{folder}", device="cpu")


def test_an_architecture_that_nobody_knows_is_a_model_error(folder: Path) -> None:
    edit(folder / "config.json", model_type="unheard-of")
    with raises("cannot-load", ModelError) as wrong:
        load_model(f"hf:{folder}", device="cpu")
    assert "unheard-of" in str(wrong.value)


# --- tokenizers


def test_a_folder_without_tokenizer_is_a_model_error(folder: Path) -> None:
    """transformers would make one up that knows no words."""
    (folder / "tokenizer.json").unlink()
    with raises("bad-tokenizer", ModelError, key=None):
        load_model(f"hf:{folder}", device="cpu")


def test_a_masked_model_needs_a_mask_token(mask_folder: Path) -> None:
    edit(mask_folder / "tokenizer_config.json", tokenizer_class="PreTrainedTokenizerFast", mask_token=None)
    with raises("bad-tokenizer", ModelError, key="mask_token", exit_code=4):
        load_model(f"hf:{mask_folder}", device="cpu")


def test_a_span_model_needs_none(folder: Path, model_folder: ModelFolder) -> None:
    edit(folder / "tokenizer_config.json", tokenizer_class="PreTrainedTokenizerFast", mask_token=None)
    assert np.array_equal(score(folder), score(model_folder("span", "bert")))


def test_another_models_tokenizer_is_a_model_error(folder: Path, model_folder: ModelFolder) -> None:
    """Its tokens would be read from beyond the table of embeddings, or crash the device."""
    other = model_folder("span", "roberta")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(other / name, folder / name)
    model = load_model(f"hf:{folder}", device="cpu")
    with raises("bad-tokenizer", ModelError, key="vocab_size"):
        model.encode(QUESTION)


# --- device and number type


@pytest.mark.parametrize("device", ["cuda:77", "abacus"])
def test_a_device_that_is_not_there_is_wrong_use(device: str, model_folder: ModelFolder) -> None:
    with raises("no-device", UsageError, key="device") as wrong:
        load_model(f"hf:{model_folder('span', 'bert')}", device=device)
    assert repr(device) in problem_of(wrong)


def test_an_unknown_number_type_is_wrong_use(model_folder: ModelFolder) -> None:
    with raises("bad-option", UsageError, key="dtype"):
        find_model(f"hf:{model_folder('span', 'bert')}", Options("cpu", "float99"))


def test_another_number_type_gives_nearly_the_same_scores(model_folder: ModelFolder) -> None:
    folder = model_folder("span", "bert")
    assert find_model(f"hf:{folder}", Options("cpu", "bfloat16")).dtype == "bfloat16"
    rough, exact = score(folder, dtype="bfloat16"), score(folder)
    assert rough.dtype == exact.dtype == np.float32
    assert not np.array_equal(rough, exact)
    np.testing.assert_allclose(rough, exact, atol=0.05)


# --- digests


def digest(folder: Path, **options: Any) -> str:
    return find_model(f"hf:{folder}", Options(device="cpu", **options)).digest


def test_a_copy_elsewhere_is_the_same_model(folder: Path, model_folder: ModelFolder) -> None:
    assert digest(folder) == digest(model_folder("span", "bert"))


def test_one_changed_weight_is_another_model(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    before = digest(folder)
    weights = load_file(folder / "model.safetensors")
    weights["qa_outputs.bias"][0] += 1e-6
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    assert digest(folder) != before


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json", "config.json", "chat_template.jinja"])
def test_a_changed_tokenizer_or_configuration_is_another_model(name: str, folder: Path) -> None:
    before = digest(folder)
    with (folder / name).open("a") as file:
        file.write(" ")
    assert digest(folder) != before


def test_code_counts_where_it_may_run(folder: Path) -> None:
    before = digest(folder), digest(folder, trust_remote_code=True)
    (folder / "modeling.py").write_text("ANSWER = 42")
    assert digest(folder) == before[0]
    assert digest(folder, trust_remote_code=True) != before[1]


def test_what_is_no_part_of_the_model_does_not_count(folder: Path) -> None:
    before = digest(folder)
    (folder / "README.md").write_text("A fine model.")
    (folder / "assay.json").write_text("{}")
    (folder / "events.out.tfevents").write_text("…")
    assert digest(folder) == before


# --- the hub

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(http.server.ThreadingHTTPServer):
    """As much of a model hub as its client needs to fetch one repository, org/tiny, with a branch `main` and a tag."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), HubRequest)
        found = sorted(path for path in folder.rglob("*") if path.is_file())
        self.files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}
        self.requests: list[str] = []
        self.agents: list[str] = []
        self.keys: list[str | None] = []
        self.elsewhere = ""  # where it says that weights are

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class HubRequest(http.server.BaseHTTPRequestHandler):
    server: Hub
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.requests.append(self.path)
        self.server.agents.append(self.headers["User-Agent"])
        self.server.keys.append(self.headers["Authorization"])
        path = self.path.partition("?")[0].strip("/").split("/")
        files = self.server.files
        match path:
            case ["api", "models", "org", "tiny", "revision", "main" | "v1"]:
                siblings = [{"rfilename": name} for name in files]
                self.reply(json.dumps({"id": "org/tiny", "sha": COMMIT, "siblings": siblings}).encode())
            case ["api", "models", "org", "tiny", "tree", _]:
                listed = [{"type": "file", "path": n, "size": len(files[n]), "oid": _sha1(files[n])} for n in files]
                self.reply(json.dumps(listed).encode())
            case ["org", "tiny", "resolve", revision, *parts] if (
                revision == COMMIT and unquote("/".join(parts)) in files
            ):
                name = unquote("/".join(parts))
                about = {"ETag": f'"{_sha1(files[name])}"', "X-Repo-Commit": COMMIT}
                if self.server.elsewhere and name.endswith(".safetensors"):
                    linked = {"X-Linked-ETag": about["ETag"], "X-Linked-Size": str(len(files[name]))}
                    self.reply(b"", {**about, **linked, "Location": self.server.elsewhere + name}, 302)
                else:
                    self.reply(files[name], about)
            case ["blobs", *parts]:
                self.reply(files["/".join(parts)])
            case _:
                self.reply(b"{}", status=404)

    def do_HEAD(self) -> None:
        self.do_GET()

    def reply(self, content: bytes, headers: dict[str, str] | None = None, status: int = 200) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # its own name for it
        pass


def _sha1(content: bytes) -> str:
    return hashlib.sha1(content).hexdigest()


@pytest.fixture
def hub(folder: Path) -> Iterator[Hub]:
    (folder / "modeling_tiny.py").write_text("raise SystemExit('code of a stranger')")
    (folder / "pytorch_model.bin").write_bytes(b"pickle of a stranger")
    (folder / "additional_chat_templates").mkdir()
    (folder / "additional_chat_templates" / "tool_use.jinja").write_text("{{ messages }}")
    (folder / "shards").mkdir()
    (folder / "model.safetensors").rename(folder / "shards" / "model.safetensors")
    named = {"metadata": {}, "weight_map": {"any": "shards/model.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(named))
    with serving(folder) as server:
        yield server


@contextmanager
def serving(folder: Path) -> Iterator[Hub]:
    with Hub(folder) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def in_fresh_python(code: str, home: Path, **environment: str) -> Any:
    """What the code prints as JSON, in an interpreter that knows no other hub."""
    outside = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**outside, "HF_HOME": str(home), "OMP_NUM_THREADS": "1", **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


FIND = """
    import json
    from pathlib import Path
    from assay.errors import UsageError
    from assay.models import find_model
    from assay.models.base import Options

    def find(name, **options):
        try:
            spec = find_model(name, Options(device="cpu", **options))
        except UsageError as error:
            return [error.code, error.problem]
        return {**spec.as_json(), "files": sorted(path.name for path in Path(spec.place).rglob("*") if path.is_file())}
"""


@pytest.mark.slow
def test_a_model_of_the_hub_is_fetched_at_its_revision_without_code(hub: Hub, folder: Path, tmp_path: Path) -> None:
    endpoint = {"HF_ENDPOINT": f"http://127.0.0.1:{hub.server_port}", "HF_HUB_OFFLINE": "0"}
    ask = f"""{FIND}
    from assay.models import load
    import numpy as np
    from assay.asking.queries import SpanColumns, StringColumn

    missing = find("hf:org/tiny@v2")
    tiny = find("hf:org/tiny@v1")
    model = load(find_model("hf:org/tiny@v1", Options(device="cpu")))
    places = np.array([[[0], [11]]], np.int32), np.array([[[6], [19]]], np.int32)
    asked = SpanColumns(StringColumn.of(["Who was there?"]), StringColumn.of(["Gerald met Jennifer."]), *places)
    scores = model.forward(model.encode(asked))["score"]
    trusted = find("hf:org/tiny", trust_remote_code=True)
    print(json.dumps([missing, tiny, scores.tolist(), trusted]))
    """
    missing, tiny, scores, trusted = in_fresh_python(ask, tmp_path / "home", **endpoint)
    assert missing[0] == "unknown-model"
    assert "org/tiny@v2" in missing[1]
    assert (tiny["name"], tiny["revision"]) == ("hf:org/tiny@v1", COMMIT)
    assert tiny["files"] == [
        "config.json",
        "model.safetensors",
        "model.safetensors.index.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "tool_use.jinja",
    ]
    assert tiny["digest"] == digest(folder), "the same files in a folder are the same model"
    assert np.array_equal(np.array(scores, np.float32), score(folder))
    assert "modeling_tiny.py" in trusted["files"]
    assert "pytorch_model.bin" not in trusted["files"]
    assert trusted["revision"] == COMMIT
    fetched = [path.rpartition("/")[2] for path in hub.requests if "/resolve/" in path]
    assert "pytorch_model.bin" not in fetched
    assert [path for path in hub.requests if "org/tiny" not in path] == [], "nothing is asked but for the model"
    assert not [agent for agent in hub.agents if "torch/" in agent], "nor is the hub told what else is installed"

    found = in_fresh_python(
        f"{FIND}\n    print(json.dumps(find('hf:org/tiny@v1')))", tmp_path / "home", HF_HUB_OFFLINE="1"
    )
    assert found["revision"] == COMMIT, "once fetched, it is found without the network"
    assert found["digest"] == tiny["digest"]


def found_at(hub: Hub, home: Path) -> Any:
    """The model that a hub has, found with a key."""
    told = {"HF_ENDPOINT": hub.address, "HF_HUB_OFFLINE": "0", "HF_TOKEN": "hf_secret", "HF_HUB_DISABLE_XET": "1"}
    return in_fresh_python(f"{FIND}\n    print(json.dumps(find('hf:org/tiny@v1')))", home, **told)


@pytest.mark.slow
def test_the_hubs_key_does_not_follow_weights_to_another_host(hub: Hub, folder: Path, tmp_path: Path) -> None:
    with serving(folder) as other:
        hub.elsewhere = f"{other.address}/blobs/"
        assert found_at(hub, tmp_path / "home")["digest"] == digest(folder)
    assert set(hub.keys) == {"Bearer hf_secret"}
    assert other.requests == ["/blobs/shards/model.safetensors"]
    assert other.keys == [None]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["file", "names"])
def test_a_hostile_hub_reads_and_writes_nothing_beyond_its_cache(
    how: str, hub: Hub, folder: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret" / "shards" / "model.safetensors"
    secret.parent.mkdir(parents=True)
    secret.write_bytes(b"secret")
    if how == "file":
        hub.elsewhere = f"file://{tmp_path}/secret/"
    else:
        evil = ("../evil.json", "../../../../evil.json", f"{tmp_path}/evil.json", "a/../../../../../../evil.json")
        hub.files |= dict.fromkeys(evil, b"evil")
    code, problem = found_at(hub, tmp_path / "home")
    assert code == "unknown-model"
    assert "org/tiny" in problem
    written = [path for path in tmp_path.rglob("*") if path.is_file() and not path.is_relative_to(folder)]
    assert [path for path in written if path.name == "evil.json"] == []
    assert [path for path in written if path.read_bytes() == b"secret"] == [secret]


# --- answers that are no numbers


def test_a_masked_model_with_broken_weights_gives_an_error_not_numbers(mask_folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(mask_folder / "model.safetensors")
    weights["bert.embeddings.LayerNorm.weight"][:] = float("nan")
    save_file(weights, mask_folder / "model.safetensors", {"format": "pt"})
    model = load_model(f"hf:{mask_folder}", device="cpu")
    with raises("bad-scores", ModelError):
        model.forward(model.encode(FillColumns(StringColumn.of(["Anne sang."]), StringColumn.of([f"{MASK} slept."]))))
