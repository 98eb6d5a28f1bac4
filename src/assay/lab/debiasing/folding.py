"""Folding: a projection of the encoder's output becomes part of the first layer that reads it.

INLP and SentenceDebias put x ← P x for every token of the last hidden state. The published programs do so with a hook,
code that runs beside the model. But a head begins with a linear layer, y = W x + b, and W (P x) = (W P) x: with W P in
place of W, the plain model computes exactly what the hooked one does, and any program can load it.

Where the hook has to be. The last hidden state is what the encoder's last layer gives, its final layer normalisation
included; P comes behind that. Multiple-choice BERT reads it through the pooler, which is a part of the class BertModel:
a hook on the whole BertModel changes `last_hidden_state` after the pooler has run, so that no answer changes at all.
The layer to fold into is the pooler's own (`bert.pooler.dense`): that is what a hook on the encoder amounts to.
RoBERTa's multiple choice has a pooler as well; DistilBERT's reads the first token with `pre_classifier`, ELECTRA's with
`sequence_summary.summary`; span heads are one linear layer (`qa_outputs`); heads for masked tokens begin with a
transform (`cls.predictions.transform.dense`, `lm_head.dense`, `vocab_transform`, `generator_predictions.dense`). The
decoder behind the transform shares its weights with the input embeddings and is left as it is.

None of these names is written down below. The layers are found by running the model once and looking whose input is the
last hidden state, and the result is compared with a hook: a model whose head reads it in another way is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import ModelError
from assay.models.hf_files import first_line, libraries

Tensor = Any  # torch's; torch is imported only when a model is loaded
Inputs = Mapping[str, Tensor]

_REMEDY = (
    "INLP and SentenceDebias need a head that begins with a linear layer; choose another model, or CDA or Dropout."
)
_TOLERANCE = 1e-4  # of the largest logit: what float32 loses on the way through a head
_LEAST_CHANGE = 1e-6


@dataclass(frozen=True)
class FoldingLayers:
    """writer: the module whose output is the last hidden state; readers: the linear layers that read it."""

    writer: str
    readers: tuple[str, ...]


def find_places(model: Any, inputs: Inputs) -> FoldingLayers:
    """Where a model's last hidden state is written and read, found by running it on some inputs."""
    _, torch = libraries()
    linear_inputs: dict[str, list[Tensor]] = {}
    outputs: dict[str, list[Tensor | None]] = {}
    modules = {name: module for name, module in model.named_modules() if name}

    def heard(name: str) -> Any:
        def hook(module: Any, args: tuple[Any, ...], output: Any) -> None:
            outputs.setdefault(name, []).append(_hidden(output))
            if isinstance(module, torch.nn.Linear):
                linear_inputs.setdefault(name, []).append(args[0].detach())

        return hook

    try:
        with _hooked({module: heard(name) for name, module in modules.items()}), torch.inference_mode():
            model(**inputs)
    except Exception as error:  # a class that wants other inputs; whatever it says, it cannot be used
        raise _refused(model, f"it cannot be run on two short texts ({first_line(error)})") from error

    base = next((name for name, module in modules.items() if module is model.base_model), None)
    states = None if base is None else next(iter(outputs.get(base, [])), None)
    if base is None or states is None or states.dim() != 3 or getattr(model.config, "is_encoder_decoder", False):
        raise _refused(model, "it has no encoder with one last hidden state")
    written = {name: given[0] for name, given in outputs.items() if name.startswith(f"{base}.") and len(given) == 1}
    writers = [
        name
        for name, given in written.items()
        if given is not None and given.shape == states.shape and bool((given == states).all())
    ]
    outermost = sorted(writers, key=lambda name: name.count("."))
    writer = next((name for name in outermost if _decides(model, name, inputs, states)), None)
    if writer is None:
        raise _refused(model, "no module of its encoder gives the last hidden state")
    vectors = {row.tobytes() for row in states.reshape(-1, states.shape[-1]).cpu().numpy()}
    readers = [
        name for name, inputs_read in linear_inputs.items() if any(_of(values, vectors) for values in inputs_read)
    ]
    if not readers:
        raise _refused(model, "no linear layer reads its last hidden state")
    _require_own_weights(model, readers)
    return FoldingLayers(writer, tuple(readers))


def fold(model: Any, projection: NDArray[np.floating], places: FoldingLayers, inputs: Inputs) -> dict[str, float]:
    """Fold a projection into the layers that read the last hidden state; returns how much each changed.

    A change is the size of the difference relative to the layer's weights (Frobenius). Weights that did not change and
    answers that are not those of the hooked model are ModelErrors, and the model must then not be used.
    """
    _, torch = libraries()
    with torch.inference_mode(), projecting(model, projection, places.writer):
        expected = _logits(model(**inputs))
    changes = {}
    for name in places.readers:
        weight = model.get_submodule(name).weight
        old = weight.detach().cpu().numpy().astype(np.float64)  # (out, width)
        with torch.no_grad():
            weight.copy_(torch.from_numpy(old @ projection).to(weight))
        new = weight.detach().cpu().numpy().astype(np.float64)
        changes[name] = float(np.linalg.norm(new - old) / max(np.linalg.norm(old), np.finfo(float).tiny))
    if max(changes.values()) < _LEAST_CHANGE:
        problem = f"the weights of {', '.join(changes)} did not change."
        remedy = "The head does not use what would be removed, so there is nothing to debias."
        raise ModelError(problem, remedy, code="bad-model", key=next(iter(changes)))
    with torch.inference_mode():
        folded = _logits(model(**inputs))
    for name, logits in expected.items():
        if not bool(
            torch.allclose(logits, folded[name], rtol=0, atol=_TOLERANCE * max(1.0, float(logits.abs().max())))
        ):
            inside = f"with the projection in {', '.join(places.readers)}"
            raise _refused(model, f"{inside}, {name} is not what it should be")
    return changes


@contextmanager
def _hooked(hooks: Mapping[Any, Any]) -> Iterator[None]:
    """Within this, modules call their hooks after they have run."""
    handles = [module.register_forward_hook(hook) for module, hook in hooks.items()]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def projecting(model: Any, projection: NDArray[np.floating], writer: str) -> Iterator[None]:
    """Within this, a hook projects the last hidden state before any head reads it: what folding must be equal to."""
    _, torch = libraries()

    def hook(module: Any, args: Any, output: Any) -> Any:
        states = _hidden(output)
        projected = states @ torch.from_numpy(projection.T.copy()).to(states)
        if isinstance(output, dict):
            output["last_hidden_state"] = projected
            return output
        return (projected, *output[1:]) if isinstance(output, tuple) else projected

    with _hooked({model.get_submodule(writer): hook}):
        yield


def _decides(model: Any, writer: str, inputs: Inputs, states: Tensor) -> bool:
    """Whether a hook there changes the last hidden state. DeBERTa's encoder gives it twice, and only one is read on."""
    _, torch = libraries()
    changed: list[Tensor | None] = []
    listening = {model.base_model: lambda module, args, output: changed.append(_hidden(output))}
    with _hooked(listening), torch.inference_mode(), projecting(model, -np.eye(states.shape[-1]), writer):
        model(**inputs)
    if changed[0] is None or changed[0].shape != states.shape:
        return False
    return bool(torch.allclose(changed[0], -states, rtol=1e-3, atol=1e-3 * float(states.abs().max())))


def _hidden(output: Any) -> Tensor | None:
    """The hidden states in a module's output, whatever form that has."""
    _, torch = libraries()
    if isinstance(output, dict):  # transformers' outputs are
        output = output.get("last_hidden_state")
    elif isinstance(output, tuple) and output:
        output = output[0]
    return output if torch.is_tensor(output) and output.is_floating_point() else None


def _logits(output: Any) -> dict[str, Tensor]:
    return {name: values for name, values in output.items() if name.endswith("logits")}


def _of(values: Tensor, vectors: set[bytes]) -> bool:
    """Whether all vectors that a layer read are vectors of the last hidden state: of every token, or of one each."""
    rows = values.reshape(-1, values.shape[-1]).cpu().numpy()
    return all(row.tobytes() in vectors for row in rows)


def _require_own_weights(model: Any, readers: list[str]) -> None:
    owners: dict[int, list[str]] = {}
    for name, weight in model.named_parameters(remove_duplicate=False):
        owners.setdefault(id(weight), []).append(name)
    for reader in readers:
        if others := [name for name in owners[id(model.get_submodule(reader).weight)] if name != f"{reader}.weight"]:
            raise _refused(model, f"{reader}, which reads the last hidden state, shares its weights with {others[0]}")


def _refused(model: Any, reason: str) -> ModelError:
    return ModelError(
        f"a projection cannot be folded into {type(model).__name__}: {reason}.", _REMEDY, code="unsupported"
    )
