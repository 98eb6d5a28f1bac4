"""Model folders of strangers: nothing in them runs, nothing outside them is read, and none fills the memory.

Each attack works where nothing stops it: a test shows that, too, else the others would prove nothing.
"""

from __future__ import annotations

import builtins
import json
import pickle
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any, Literal

import numpy as np
import pytest

from assay.asking.queries import Scoring, SpanColumns, StringColumn, TextColumns, TextQuery
from assay.errors import DataError, ModelError, UsageError
from assay.models import chat_templates, find_model, load, load_model
from assay.models.base import Options, TokenModel, parameters_in
from raising import raises
from tiny_models import ModelFolder


@pytest.fixture
def causal(model_folder: ModelFolder, tmp_path: Path) -> Path:
    return Path(shutil.copytree(model_folder("causal", "llama"), tmp_path / "causal"))


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """The file that code of a folder makes if it runs."""
    return tmp_path / "it ran"


def edit(path: Path, **changes: Any) -> None:
    content = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    path.write_text(json.dumps(content | changes), encoding="utf-8")


def as_base(folder: Path) -> None:
    """Load a model as `assay train` and `assay debias` do."""
    from assay.lab.training import KINDS
    from assay.lab.training.base_model import load_base, opened_base
    from assay.lab.training.training_kind import settings_of

    settings, _ = settings_of(KINDS["span"], None, {})
    with opened_base(f"hf:{folder}", KINDS["span"], "cpu") as base:
        load_base(base, KINDS["span"], settings, 0)


# --- code


class Runs:
    """Makes the marker when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.code = code_for(marker)

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, (self.code,)


def code_for(marker: Path) -> str:
    return f"open({str(marker)!r}, 'w').close()\n"


def put_code(folder: Path, marker: Path) -> None:
    """Code of its own for an architecture that transformers does not know, named wherever a folder can name code."""
    config = "from transformers import PretrainedConfig\nclass X(PretrainedConfig):\n    model_type = 'strange'\n"
    for name in ("configuration_x", "modeling_x", "tokenization_x", "custom_generate/generate"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / f"{name}.py").write_text(code_for(marker) + config, encoding="utf-8")
    auto = {"AutoConfig": "configuration_x.X", "AutoModelForQuestionAnswering": "modeling_x.X"}
    edit(folder / "config.json", model_type="strange", auto_map=auto)
    edit(folder / "tokenizer_config.json", auto_map={"AutoTokenizer": [None, "tokenization_x.X"]}, tokenizer_class="X")
    edit(folder / "generation_config.json", custom_generate="custom_generate")


@pytest.mark.parametrize("how", ["run", "train"])
def test_code_of_a_folder_does_not_run_and_nobody_is_asked_whether_it_may(
    how: str, folder: Path, marker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """transformers asks on the terminal, unless it is told."""

    def asks(*words: object) -> str:
        raise AssertionError(f"somebody is asked: {words}")

    monkeypatch.setattr(builtins, "input", asks)
    put_code(folder, marker)
    with raises("cannot-load", ModelError):
        load_model(f"hf:{folder}", device="cpu") if how == "run" else as_base(folder)
    assert not marker.exists()


def test_it_does_run_where_the_user_trusts_it(
    folder: Path, marker: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers import dynamic_module_utils

    monkeypatch.setattr(dynamic_module_utils, "HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr(sys, "path", list(sys.path))
    put_code(folder, marker)
    with raises("cannot-load", ModelError):
        load_model(f"hf:{folder}", device="cpu", trust_remote_code=True)
    assert marker.exists()


PICKLED = (
    *("pytorch_model.bin", "model.bin", "model.pt", "model.pth", "model.ckpt", "model.pkl", "tf_model.h5"),
    *("flax_model.msgpack", "model.gguf", "rust_model.ot", "model.onnx", "training_args.bin", "optimizer.pt"),
    *("scheduler.pt", "vocab.pkl", "tokenizer.pkl", "rng_state.pth"),
)


@pytest.mark.parametrize("how", ["beside safe weights", "alone", "alone, to be trained"])
def test_pickles_and_other_weights_are_not_opened(how: str, folder: Path, marker: Path) -> None:
    for name in PICKLED:
        (folder / name).write_bytes(pickle.dumps(Runs(marker)))
    if how == "beside safe weights":
        load_model(f"hf:{folder}", device="cpu")
    else:
        (folder / "model.safetensors").unlink()
        with raises("bad-folder", UsageError, key="*.safetensors"):
            load_model(f"hf:{folder}", device="cpu") if how == "alone" else as_base(folder)
    assert not marker.exists()
    pickle.loads((folder / "vocab.pkl").read_bytes())
    assert marker.exists(), "they would act"


def test_a_pickle_named_safetensors_is_not_unpickled(folder: Path, marker: Path) -> None:
    (folder / "model.safetensors").write_bytes(pickle.dumps(Runs(marker)))
    with raises("cannot-load", ModelError):
        load_model(f"hf:{folder}", device="cpu")
    assert not marker.exists()


@pytest.mark.parametrize("key", ["attn_implementation", "_attn_implementation", "experts_implementation"])
@pytest.mark.parametrize("value", ["org/kernel", "org/kernel:function", {"text_config": "org/kernel@main"}])
def test_kernels_of_the_hub_are_code_and_not_fetched(key: str, value: Any, folder: Path) -> None:
    for changes in ({key: value}, {key: None, "text_config": {key: value}}):
        edit(folder / "config.json", **changes)
        with raises("unsafe-weights", UsageError, file=folder / "config.json") as wrong:
            find_model(f"hf:{folder}", Options(device="cpu"))
        assert "--trust-remote-code" in wrong.value.remedy


TEMPLATES = (
    "{{ cycler.__init__.__globals__.os.system(COMMAND) }}",
    "{{ lipsum.__globals__['os'].popen(COMMAND).read() }}",
    "{{ joiner.__init__.__globals__.__builtins__.exec(CODE) }}",
    "{{ namespace.__init__.__globals__.os.system(COMMAND) }}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ messages.__class__.__base__.__subclasses__() }}",
    "{{ (messages | attr('__class__')).__mro__ }}",
    "{{ '{0.__class__.__mro__}'.format(messages) }}",
    "{{ raise_exception.__globals__.keys() }}",
    "{{ strftime_now.__globals__.datetime }}",
    "{{ self.__init__.__globals__ }}",
    "{% set _ = messages.append({'role': 'user', 'content': 'x'}) %}",
    "{% set _ = messages[0].update({'content': 'x'}) %}",
    "{% include '/etc/passwd' %}",
    "{% import 'os' as os %}{{ os.system(COMMAND) }}",
)


def asked(folder: Path, template: str) -> None:
    """Put a question into the template of a model's folder."""
    (folder / "chat_template.jinja").write_text(template + "{{ messages[0]['content'] }}", encoding="utf-8")
    model: Any = load_model(f"hf:{folder}", device="cpu")
    model.encode(TextColumns.of([TextQuery("Who left?", 3)], Scoring(chat=True)))


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_chat_template_reaches_nothing_but_its_messages(template: str, causal: Path, marker: Path) -> None:
    template = template.replace("COMMAND", repr(f"touch '{marker}'")).replace("CODE", repr(code_for(marker)))
    with raises("bad-template", ModelError):
        asked(causal, template)
    assert not marker.exists()


def test_such_templates_do_act_without_a_sandbox(marker: Path) -> None:
    import jinja2

    template = TEMPLATES[0].replace("COMMAND", repr(f"touch '{marker}'"))
    jinja2.Environment().from_string(template).render()
    assert marker.exists()


@pytest.mark.slow
@pytest.mark.parametrize("template", ["{{ 9 ** (9 ** 9) % 7 }}", "{{ 'x' * 10 ** 9 }}"])
def test_a_chat_template_takes_neither_all_time_nor_all_memory(
    template: str, causal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_templates, "SECONDS", 0.5)
    with raises("bad-template", ModelError):
        asked(causal, template)


# --- what the folder makes libraries say


TITLE = "\x1b]0;owned\x07"
LOADS = "import sys; from assay.models import load_model; load_model(sys.argv[1])"


@pytest.mark.slow
def test_nothing_in_a_folder_reaches_the_terminal_as_it_is(causal: Path) -> None:
    edit(causal / "tokenizer_config.json", added_tokens_decoder={"0": {"content": "<unk>", TITLE: 1}})
    edit(causal / "config.json", use_return_dict=TITLE)
    done = subprocess.run([sys.executable, "-c", LOADS, f"hf:{causal}"], capture_output=True, text=True, check=False)
    assert (done.stdout, "\x1b" in done.stderr) == ("", False)
    assert r"\x1b]0;owned\x07" in done.stderr  # transformers says that it cannot set the value


@pytest.mark.parametrize("texts", ["single", "pair"])
def test_a_tokenizer_that_makes_its_library_panic_is_one_message(
    texts: str, causal: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    content = json.loads((causal / "tokenizer.json").read_text(encoding="utf-8"))
    content["post_processor"][texts][0]["SpecialToken"]["id"] = "unknown"
    edit(causal / "tokenizer.json", **content)
    with raises("bad-tokenizer", ModelError, key="tokenizer.json"):
        load_model(f"hf:{causal}", device="cpu")
    assert "panicked" not in capfd.readouterr().err


@pytest.mark.parametrize("call", ["encode", "forward"])
def test_so_is_one_whose_library_panics_later(call: str, causal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicException(BaseException):
        pass

    def panic(*arguments: Any) -> None:
        raise PanicException("no entry found for key")

    model: Any = load_model(f"hf:{causal}", device="cpu")
    tokens = model.encode(TextColumns.of([TextQuery("Who left?", 3)]))
    monkeypatch.setattr(TokenModel, call, panic)
    with raises("bad-tokenizer", ModelError):
        getattr(model, call)(tokens)


# --- files elsewhere


@pytest.fixture
def opened() -> Iterator[list[str]]:
    """The files that Python opens from now on."""
    names: list[str] = []
    listening = True

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if listening and event == "open":
            names.append(str(arguments[0]))

    sys.addaudithook(note)  # for good: there is no way to take one back
    yield names
    listening = False


LINKED = ("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors", "vocab.txt", "spiece.model")


@pytest.mark.parametrize("name", [*LINKED, "chat_template.jinja", "tokens.bpe", "model.safetensors.index.json"])
@pytest.mark.parametrize("how", ["run", "train"])
def test_links_out_of_a_folder_are_not_followed(
    name: str, how: str, folder: Path, tmp_path: Path, opened: list[str]
) -> None:
    """Training would even copy what they lead to."""
    secret = tmp_path / "secret"
    if (folder / name).exists():
        shutil.move(folder / name, secret)
    else:
        secret.write_text("{}", encoding="utf-8")
    (folder / name).symlink_to(secret)
    opened.clear()
    with raises("bad-folder", DataError, file=folder / name):
        load_model(f"hf:{folder}", device="cpu") if how == "run" else as_base(folder)
    assert not [path for path in opened if path in (str(secret), str(folder / name))]


@pytest.mark.parametrize("name", ["shards", "additional_chat_templates"])
def test_folders_in_a_folder_are_not_links_out_of_it(name: str, folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    shutil.move(folder / "model.safetensors", outside) if name == "shards" else None
    (outside / "a.jinja").write_text("secret", encoding="utf-8")
    (folder / name).symlink_to(outside)
    edit(folder / "model.safetensors.index.json", weight_map={"a": "shards/model.safetensors"})
    with raises("bad-folder", DataError):
        find_model(f"hf:{folder}", Options(device="cpu"))


def test_links_within_a_folder_and_to_folders_that_are_not_read_are_fine(folder: Path, tmp_path: Path) -> None:
    before = find_model(f"hf:{folder}", Options(device="cpu")).digest
    shutil.move(folder / "model.safetensors", folder / "weights")
    (folder / "model.safetensors").symlink_to("weights")
    (folder / "runs").symlink_to(tmp_path)
    (folder / ".#config.json").symlink_to("somebody@somewhere.1234:5678")  # an editor's
    (tmp_path / "link").symlink_to(folder)
    assert find_model(f"hf:{tmp_path / 'link'}", Options(device="cpu")).digest == before


@pytest.mark.parametrize("key", ["tokenizer_file", "vocab_file", "merges_file", "special_tokens_map_file"])
def test_files_that_a_tokenizers_configuration_names_elsewhere_are_not_read(
    key: str, folder: Path, tmp_path: Path, opened: list[str]
) -> None:
    expected = len(load_model(f"hf:{folder}", device="cpu")._tokenizer)  # type: ignore[attr-defined]  # of any kind
    outside = shutil.copy(folder / "tokenizer.json", tmp_path / "tokenizer.json")
    edit(folder / "tokenizer_config.json", **{key: str(outside)})
    opened.clear()
    assert len(load_model(f"hf:{folder}", device="cpu")._tokenizer) == expected  # type: ignore[attr-defined]  # as above
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelError):
        load_model(f"hf:{folder}", device="cpu")
    assert str(outside) not in opened


# --- sizes

HUGE = {
    "bert": [{"vocab_size": 10**12}, {"intermediate_size": 10**9}, {"max_position_embeddings": 10**8}],
    "llama": [{"hidden_size": 100_000}, {"head_dim": 10**6}, {"vocab_size": 10**10}],
}


@pytest.mark.parametrize(("family", "size"), [(family, size) for family, sizes in HUGE.items() for size in sizes])
def test_a_network_far_larger_than_its_weights_is_not_built(
    family: str, size: dict[str, int], folder: Path, causal: Path
) -> None:
    place = folder if family == "bert" else causal
    edit(place / "config.json", **size)
    began = time.monotonic()
    with raises("bad-folder", ModelError, key="config.json"):
        load(find_model(f"hf:{place}", Options(device="cpu")))
    if family == "bert":
        with raises("bad-folder", ModelError, key="config.json"):
            as_base(place)
    assert time.monotonic() - began < 20


def test_nor_one_of_very_many_parts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from assay.models import hf

    monkeypatch.setattr(hf, "_MOST_TENSORS", 20)
    with raises("bad-folder", ModelError, key="config.json"):
        load_model(f"hf:{folder}", device="cpu")


def test_other_models_may_be_loaded_meanwhile(folder: Path) -> None:
    """In another thread: what is made there does not count here."""
    import torch

    from assay.models import hf

    spec = find_model(f"hf:{folder}", Options(device="cpu"))
    large = partial(torch.nn.Linear, 1 << 16, 1 << 16, device="meta")
    with hf.no_larger_than_its_weights(spec):
        made: list[Any] = []
        other = Thread(target=lambda: made.append(large()))
        other.start()
        other.join()
        assert made
        with raises("bad-folder", ModelError, key="config.json"):
            large()
    large()


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"text_config": {"num_hidden_layers": 10**6}}, "num_hidden_layers"),
        ({"text_config": {"a": [{"num_experts": 10**12}]}}, "num_experts"),
        ({"attention_types": [[["global"], 10**9]]}, "attention_types"),
        ({"inner_group_num": 10**9}, "inner_group_num"),
        ({"num_blocks": 10**9}, "num_blocks"),
    ],
)
def test_counts_are_limited_wherever_a_configuration_has_them(changes: Any, key: str, folder: Path) -> None:
    edit(folder / "config.json", **changes)
    with raises("bad-value", DataError, file=folder / "config.json", key=key):
        find_model(f"hf:{folder}", Options(device="cpu"))


@pytest.mark.parametrize("shape", [[10**299] * 20_000, [2] * 65, [1 << 63], [-1], [0.5], [None], 7, None])
def test_shapes_that_no_tensor_has_are_not_multiplied(shape: Any, tmp_path: Path) -> None:
    header = json.dumps({"a": {"dtype": "F32", "shape": shape, "data_offsets": [0, 4]}}).encode()
    (tmp_path / "a.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
    assert parameters_in([tmp_path / "a.safetensors"]) is None


@pytest.mark.parametrize("kind", ["span", "mask"])
def test_a_network_that_cannot_compute_is_one_message(
    kind: Literal["span", "mask"], model_folder: ModelFolder, tmp_path: Path
) -> None:
    """A masked model is tried when it is loaded, one that marks spans at its first question."""
    folder = shutil.copytree(model_folder(kind), tmp_path / "model")
    edit(folder / "config.json", num_attention_heads=-1)
    places = np.array([[[0], [8]]], np.int32)
    columns = SpanColumns(StringColumn.of(["Who left?"]), StringColumn.of(["Ann met Bo."]), places, places + 2)
    with raises("cannot-load", ModelError):
        model = load_model(f"hf:{folder}", device="cpu")
        model.forward(model.encode(columns))
