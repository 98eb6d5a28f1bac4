"""Which files a model is made of: all that are read are digested, and none is read from elsewhere."""

from __future__ import annotations

import contextlib
import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.asking.queries import Scoring, TextColumns, TextQuery
from assay.errors import DataError, ModelError, UsageError
from assay.models import find_model, load, load_model
from assay.models.base import Options
from raising import raises
from reference_scores import columns_of, span_query
from tiny_models import ModelFolder

QUESTION = columns_of((span_query("Who was there?", "Gerald met Jennifer.", "Gerald", "Jennifer"),))
INDEX = "model.safetensors.index.json"


def digest(folder: Path, **options: Any) -> str:
    return find_model(f"hf:{folder}", Options(device="cpu", **options)).digest


def score(folder: Path, **options: Any) -> NDArray[np.float32]:
    model = load_model(f"hf:{folder}", device="cpu", **options)
    return model.forward(model.encode(QUESTION))["score"]


def edit(path: Path, **changes: Any) -> None:
    content = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    path.write_text(json.dumps(content | changes), encoding="utf-8")


def put_weights(folder: Path, name: str, *, index: str = INDEX) -> Path:
    """Move the weights of a folder to where an index says; returns the file."""
    from safetensors.torch import load_file

    weights = load_file(folder / "model.safetensors")
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(folder / "model.safetensors", target)
    edit(folder / index, metadata={}, weight_map=dict.fromkeys(weights, name))
    return target


def change(weights: Path) -> None:
    """Make the model say the opposite."""
    from safetensors.torch import load_file, save_file

    found = load_file(weights)
    found["qa_outputs.weight"] *= -1
    save_file(found, weights, {"format": "pt"})


def pickle_weights(file: Path, target: Path) -> None:
    import torch
    from safetensors.torch import load_file

    torch.save(load_file(file), target)
    file.unlink()


# --- weights


def test_weights_below_the_folder_are_in_the_digest(folder: Path) -> None:
    expected = score(folder)
    weights = put_weights(folder, "shards/model-00001-of-00001.safetensors")
    before = digest(folder), score(folder)
    assert np.array_equal(before[1], expected)
    change(weights)
    after = digest(folder), score(folder)
    assert not np.array_equal(after[1], before[1])
    assert after[0] != before[0]


@pytest.mark.parametrize("place", [(), ("text_config",)])
def test_weights_that_the_configuration_names_are_in_the_digest(place: tuple[str, ...], folder: Path) -> None:
    """A model of texts out of one of several media has the configuration of the texts alone."""
    weights = put_weights(folder, "first/weights.safetensors", index="second.safetensors.index.json")
    (folder / "second").mkdir()
    shutil.move(folder / "second.safetensors.index.json", folder / "second" / "model.safetensors.index.json")
    named: dict[str, Any] = {"transformers_weights": "second/model.safetensors.index.json"}
    for key in place:
        named = {key: named}
    edit(folder / "config.json", **named)
    before = digest(folder)
    if not place:
        assert np.isfinite(score(folder)).all(), "transformers reads it, too"
    change(weights)
    between = digest(folder)
    edit(folder / "second" / "model.safetensors.index.json", metadata={"total_size": 1})
    assert len({before, between, digest(folder)}) == 3


@pytest.mark.parametrize("name", ["../outside.safetensors", "sub/../../outside.safetensors", "{}/outside.safetensors"])
def test_weights_outside_the_folder_are_refused(name: str, folder: Path) -> None:
    name = name.format(folder.parent)
    (folder / "sub").mkdir()
    put_weights(folder, name)
    with raises("bad-value", DataError, file=folder / INDEX, key="weight_map") as wrong:
        find_model(f"hf:{folder}", Options(device="cpu"))
    assert name in str(wrong.value)
    (folder / INDEX).unlink()
    edit(folder / "config.json", transformers_weights=name)
    with raises("bad-value", DataError, file=folder / "config.json", key="transformers_weights"):
        find_model(f"hf:{folder}", Options(device="cpu"))


@pytest.mark.parametrize("name", ["weights.bin", "sub/weights.bin", "weights.pt", "weights"])
def test_an_index_of_safetensors_names_no_pickle_unless_that_is_asked_for(name: str, folder: Path) -> None:
    expected = score(folder)
    weights = put_weights(folder, name)
    pickle_weights(Path(shutil.move(weights, folder / "x.safetensors")), weights)
    with raises("unsafe-weights", UsageError, file=weights) as wrong:
        find_model(f"hf:{folder}", Options(device="cpu"))
    assert "--allow-pickle" in wrong.value.remedy
    before = digest(folder, allow_pickle=True)
    assert np.array_equal(score(folder, allow_pickle=True), expected)
    weights.write_bytes(weights.read_bytes() + b" ")
    assert digest(folder, allow_pickle=True) != before


def test_an_index_of_pickles_counts_where_they_are_read(folder: Path) -> None:
    """pytorch_model.bin.index.json is read with --allow-pickle only; its files may lie below the folder, too."""
    expected = score(folder)
    safe = digest(folder)
    shutil.copy(folder / "model.safetensors", folder / "copy")
    weights = put_weights(folder, "sub/weights.bin", index="pytorch_model.bin.index.json")
    pickle_weights(Path(shutil.move(weights, folder / "x")), weights)
    before = digest(folder, allow_pickle=True)
    assert np.array_equal(score(folder, allow_pickle=True), expected)
    weights.write_bytes(weights.read_bytes() + b" ")
    assert digest(folder, allow_pickle=True) != before
    with raises("bad-folder", UsageError, file=folder, key="*.safetensors"):
        find_model(f"hf:{folder}", Options(device="cpu"))
    (folder / "pytorch_model.bin.index.json").unlink()
    shutil.move(folder / "copy", folder / "model.safetensors")
    assert digest(folder) == safe


@pytest.mark.parametrize("content", ["{", "[]"])
def test_an_index_that_cannot_be_read_is_bad_data(content: str, folder: Path) -> None:
    (folder / INDEX).write_text(content, encoding="utf-8")
    with raises("bad-json", DataError, file=folder / INDEX):
        find_model(f"hf:{folder}", Options(device="cpu"))


def test_a_shard_that_is_missing_is_a_model_error(folder: Path) -> None:
    before = digest(folder)
    put_weights(folder, "sub/weights.safetensors").unlink()
    shutil.copytree(folder, folder.parent / "other")
    (folder / "decoy.safetensors").write_bytes(b"")
    spec = find_model(f"hf:{folder}", Options(device="cpu"))
    assert spec.digest != before
    with raises("cannot-load", ModelError, key=None):
        load(spec)
    with raises("bad-folder", UsageError, file=folder.parent / "other", key="*.safetensors"):
        find_model(f"hf:{folder.parent / 'other'}", Options(device="cpu"))


def test_links_are_followed_as_the_hubs_cache_needs_it(folder: Path, tmp_path: Path) -> None:
    """A snapshot is a folder of links to blobs beside it; what they lead to is digested."""
    expected = score(folder)
    put_weights(folder, "sub/weights.safetensors")
    blobs, snapshot = tmp_path / "models--org--tiny" / "blobs", tmp_path / "models--org--tiny" / "snapshots" / "0123"
    blobs.mkdir(parents=True)
    for number, path in enumerate(sorted(path for path in folder.rglob("*") if path.is_file())):
        link = snapshot / path.relative_to(folder)
        link.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, blobs / str(number))
        link.symlink_to(Path(*[".."] * len(link.relative_to(blobs.parent).parts[1:]), "blobs", str(number)))
    assert (snapshot / "sub" / "weights.safetensors").resolve().parent == blobs
    assert digest(snapshot) == digest(folder), "the same files without links are the same model"
    assert np.array_equal(score(snapshot), expected)
    change((snapshot / "sub" / "weights.safetensors").resolve())
    assert digest(snapshot) != digest(folder)


def test_an_adapter_beside_a_model_is_refused(folder: Path) -> None:
    """transformers would add it if peft is installed, from a pickle if need be, and otherwise say nothing."""
    (folder / "adapter_config.json").write_text("{}", encoding="utf-8")
    with raises("bad-folder", UsageError, file=folder, key="adapter_config.json"):
        find_model(f"hf:{folder}", Options(device="cpu"))


# --- tokenizers, templates and code


def test_a_tokenizer_that_the_configuration_names_is_in_the_digest(folder: Path) -> None:
    expected = score(folder)
    (folder / "sub").mkdir()
    named = Path(shutil.move(folder / "tokenizer.json", folder / "sub" / "tokenizer.4.0.0.json"))
    edit(folder / "tokenizer_config.json", fast_tokenizer_files=["sub/tokenizer.4.0.0.json"])
    before = digest(folder)
    assert np.array_equal(score(folder), expected), "transformers reads it"
    named.write_text(named.read_text(encoding="utf-8") + " ", encoding="utf-8")
    assert digest(folder) != before


def test_a_tokenizer_outside_the_folder_is_refused(folder: Path) -> None:
    shutil.copy(folder / "tokenizer.json", folder.parent / "tokenizer.4.0.0.json")
    edit(folder / "tokenizer_config.json", fast_tokenizer_files=["../tokenizer.4.0.0.json"])
    with raises("bad-value", DataError, file=folder / "tokenizer_config.json", key="fast_tokenizer_files"):
        find_model(f"hf:{folder}", Options(device="cpu"))


@pytest.mark.parametrize(
    "name",
    ["chat_template.jinja", "additional_chat_templates/tool_use.jinja", "generation_config.json", "added_tokens.json"],
)
def test_templates_and_settings_are_in_the_digest(name: str, folder: Path) -> None:
    digests = {digest(folder)}
    (folder / name).parent.mkdir(exist_ok=True)
    for content in ("{}", "{ }"):
        (folder / name).write_text(content, encoding="utf-8")
        digests.add(digest(folder))
    assert len(digests) == 3


def test_code_below_the_folder_counts_where_it_may_run(folder: Path) -> None:
    before = digest(folder), digest(folder, trust_remote_code=True)
    (folder / "custom_generate").mkdir()
    (folder / "custom_generate" / "generate.py").write_text("def generate(): ...", encoding="utf-8")
    assert digest(folder) == before[0]
    assert digest(folder, trust_remote_code=True) != before[1]


@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
@pytest.mark.parametrize(
    ("code", "name", "problem"),
    [
        ({"AutoConfig": "org/other--configuration.Config"}, "org/other--configuration.Config", "unsupported"),
        (["org/other--tokens.Slow", None], "org/other--tokens.Slow", "unsupported"),
        ({"AutoTokenizer": ["../tokens.Slow", None]}, "'../tokens.Slow'", "bad-value"),
        ({"AutoModel": "/elsewhere/model.Model"}, "'/elsewhere/model.Model'", "bad-value"),
    ],
)
def test_code_from_elsewhere_is_refused_where_it_would_run(
    file: str, code: Any, name: str, problem: str, folder: Path
) -> None:
    edit(folder / file, auto_map=code)
    assert digest(folder), "code that does not run does no harm"
    with raises(problem, DataError, file=folder / file, key="auto_map") as wrong:
        digest(folder, trust_remote_code=True)
    assert name in wrong.value.problem


# --- what was stored before


def test_the_digest_of_a_plain_folder_stays_what_it_was(tmp_path: Path) -> None:
    """Answers are stored under it, and runs name it."""
    for name, content in {
        "config.json": '{"architectures": ["BertForMaskedLM"]}',
        "model-00001-of-00002.safetensors": "one",
        "model-00002-of-00002.safetensors": "two",
        INDEX: '{"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}',
        "tokenizer.json": "{}",
        "tokenizer_config.json": "{}",
        "vocab.txt": "a",
        "spiece.model": "b",
        "chat_template.jinja": "c",
        "pytorch_model.bin": "d",
        "modeling.py": "e",
        "README.md": "f",
        "assay.json": "{}",
    }.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    plain = "7e3b01402f3a7d1d0fd3f4eea7fa6fffe1244a7e267825f2dba9a8194344dca5"
    with_pickle_and_code = "4fd05a5fd14cf36c8c8756e53fbdcf3c457baf7339538ffe19f84abfa912178e"
    assert digest(tmp_path) == plain
    assert digest(tmp_path, allow_pickle=True, trust_remote_code=True) == with_pickle_and_code


# --- folders of strangers


WRONG = {
    "architectures": [7, {}, "BertForQuestionAnswering", [["BertForQuestionAnswering"]]],
    "is_encoder_decoder": ["yes", []],
    "num_hidden_layers": [1_000_000, 10**100],
}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in WRONG.items() for value in values])
def test_a_configuration_with_other_values_is_bad_data(key: str, value: Any, folder: Path) -> None:
    edit(folder / "config.json", **{key: value})
    with raises("bad-value", DataError, file=folder / "config.json"):
        find_model(f"hf:{folder}")


@pytest.mark.parametrize(
    "key", ["num_hidden_layers", "hidden_size", "vocab_size", "max_position_embeddings", "model_type"]
)
@pytest.mark.parametrize("value", ["x", [], {}, -1, 1.5, None, True])
def test_a_configuration_that_transformers_cannot_use_is_one_of_our_errors(key: str, value: Any, folder: Path) -> None:
    edit(folder / "config.json", **{key: value})
    with contextlib.suppress(UsageError, DataError, ModelError):
        score(folder)


@pytest.mark.parametrize("file", ["tokenizer_config.json", "generation_config.json"])
@pytest.mark.parametrize("value", [1e300, "x", [], {}])
def test_other_settings_of_the_wrong_kind_are_model_errors(file: str, value: Any, folder: Path) -> None:
    edit(folder / file, model_max_length=value, eos_token_id=value)
    with contextlib.suppress(UsageError, DataError, ModelError):
        score(folder)


def test_layers_that_the_configuration_leaves_out_are_noted(folder: Path) -> None:
    edit(folder / "config.json", num_hidden_layers=1)
    with pytest.warns(UserWarning, match="fewer layers than the weights"):
        score(folder)


def test_deep_configurations_are_bad_data(folder: Path) -> None:
    (folder / "config.json").write_text('{"a":' * 100_000 + "1" + "}" * 100_000, encoding="utf-8")
    with raises("unreadable-file", DataError, file=folder / "config.json"):
        find_model(f"hf:{folder}")


def test_nothing_in_a_folder_runs(folder: Path, tmp_path: Path) -> None:
    marker = tmp_path / "it ran"
    code = f"open({str(marker)!r}, 'w').close()\n"

    class Runs:
        def __reduce__(self) -> tuple[Any, ...]:
            return exec, (code,)

    for name in ("modeling_x.py", "configuration_x.py", "tokenization_x.py", "setup.py", "__init__.py", "conftest.py"):
        (folder / name).write_text(code, encoding="utf-8")
    for name in ("pytorch_model.bin", "training_args.bin", "optimizer.pt", "tokenizer.pkl"):
        (folder / name).write_bytes(pickle.dumps(Runs()))
    edit(
        folder / "config.json",
        auto_map={"AutoConfig": "configuration_x.X", "AutoModelForQuestionAnswering": "modeling_x.X"},
    )
    edit(folder / "tokenizer_config.json", auto_map={"AutoTokenizer": ["tokenization_x.X", None]})
    score(folder)
    (folder / "model.safetensors").unlink()
    with raises("bad-folder", UsageError):
        score(folder)
    assert not marker.exists()


@pytest.mark.parametrize("shape", [[10**12], [10**300], [-1], ["x"], "x", [[1]]])
def test_weights_with_impossible_shapes_are_model_errors(shape: Any, folder: Path) -> None:
    header = json.dumps({"a": {"dtype": "F32", "shape": shape, "data_offsets": [0, 4]}}).encode()
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
    with raises("cannot-load", ModelError):
        score(folder)


def test_weights_that_say_they_have_a_gigantic_header_are_model_errors(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes((1 << 62).to_bytes(8, "little") + b"{}")
    with raises("cannot-load", ModelError):
        score(folder)


@pytest.mark.slow
@pytest.mark.parametrize("loops", ["x", ""], ids=["with output", "without output"])
def test_a_chat_template_with_loops_inside_loops_is_ended(
    loops: str, model_folder: ModelFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.models.chat_templates.SECONDS", 0.2)
    folder = Path(shutil.copytree(model_folder("causal", "llama"), tmp_path / "causal"))
    inner = f"{{% for b in range(99999) %}}{loops}{{% endfor %}}"
    template = f"{{% for a in range(99999) %}}{inner}{{% endfor %}}{{{{ messages[0]['content'] }}}}"
    (folder / "chat_template.jinja").write_text(template, encoding="utf-8")
    model: Any = load_model(f"hf:{folder}", device="cpu")
    with raises("bad-template", ModelError):
        model.encode(TextColumns.of([TextQuery("Who left?", 3)], Scoring(chat=True)))
