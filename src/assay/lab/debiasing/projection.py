"""Methods that project what a finished model's head reads, from beginning to end.

What is cheap and may fail comes first; the result's folder appears whole.

Folding: a projection of the encoder's output becomes part of the first layer that reads it.

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

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.config.settings import setting
from assay.errors import ModelError, UsageError
from assay.files.atomic import folder_beside, rename_folder
from assay.lab.debiasing.attribute_words import AttributeWords
from assay.lab.debiasing.corpus import Corpus, SentenceSelection
from assay.lab.debiasing.method import DebiasJob, DebiasResult, cost, require_space, write_report
from assay.lab.debiasing.vectors import RemovedDirections, Tensor, head_inputs, sentence_vectors
from assay.lab.model_card import debiased_card, listed
from assay.lab.training import KINDS, kind_of
from assay.lab.training.base_model import copy_tokenizer, opened_base
from assay.models.base import ModelSpec
from assay.models.hf import load_tokenizer, load_weights, max_length
from assay.models.hf_files import first_line, libraries
from assay.results.formatting import without_folders
from assay.version import __version__

_PACKAGES = ("torch", "transformers", "scikit-learn", "numpy")


@dataclass(frozen=True)
class ProjectionSettings:
    """What these methods share; the defaults are bias-bench's values."""

    sentences: int = setting(
        10_000, "how many sentences of each class (INLP) or with an attribute word (SentenceDebias); 0: all", least=0
    )
    case: str = setting("lower", "lower: always lower-case texts", choices=("lower", "keep"))
    match: str = setting(
        "word", "token: find words only between blanks, as in the released code", choices=("word", "token")
    )
    length: int = setting(0, "the most tokens per sentence; 0: as many as the model reads", least=0)
    head: str = setting("choice", "which head of the built-in model", choices=("span", "mask", "choice"))

    def choosing(self, seed: int) -> SentenceSelection:
        lower, whole_tokens = self.case == "lower", self.match == "token"
        return SentenceSelection(limit=self.sentences, lower=lower, whole_tokens=whole_tokens, seed=seed)

    def require_some_left(self, attribute: AttributeWords, width: int) -> None:
        """Refuse what would leave no direction of a model of this width."""


ProjectionFit = tuple[Mapping[str, Any], RemovedDirections, Mapping[str, Mapping[str, float]]]
"""How many sentences there were, what is to be removed, and what a probe tells on sentences kept for the end."""

Vectors = Callable[[list[str]], NDArray[np.float32]]
"""Gives the vectors of texts by one model: (2, text, width), see `sentence_vectors`."""

P = TypeVar("P", bound=ProjectionSettings)


def project(
    job: DebiasJob,
    learn: Callable[[DebiasJob, P, AttributeWords, Corpus, Vectors], ProjectionFit],
    rounds: Callable[[Mapping[str, Any]], list[str]] = lambda report: [],
) -> DebiasResult:
    """Make the model of a method that learns from sentences what to remove; `rounds` is what its card adds."""
    settings: P = job.method.read_settings(job.settings)
    if job.dtype not in ("auto", "float32"):
        problem = f"{job.method.name} supports only float32, not {job.dtype!r}."
        raise UsageError(problem, "Leave --dtype out.", code="no-device", key="dtype")
    attribute = job.method.attribute(job.attribute, job.words)
    corpus = Corpus(job.corpus)
    with _opened(job, settings) as spec:
        model, tokenizer = load_weights(spec), load_tokenizer(spec)
        inputs = head_inputs(tokenizer, model.device, options=kind_of(spec.abilities) is KINDS["choice"])
        writer, readers = find_folding_layers(model, inputs)
        settings.require_some_left(attribute, model.config.hidden_size)
        require_space(job.out, int(1.1 * 4 * sum(weight.numel() for weight in model.parameters())))
        before = job.scores(Path(spec.place))
        limit = max_length(tokenizer, model)
        length = min(settings.length or limit, limit)
        label = f"{job.method.name}: vectors"
        vectors = partial(sentence_vectors, model, tokenizer, length=length, progress=job.progress, label=label)
        sentences, removed, probe_accuracies = learn(job, settings, attribute, corpus, vectors)
        head = {"head": settings.head} if job.model == "builtin" else {"revision": spec.revision}
        report: dict[str, Any] = job.report(attribute, corpus.digest) | {
            "model": {"name": without_folders(spec.name), "digest": spec.digest, **head},
            "architecture": type(model).__name__,
            "settings": asdict(settings),
            "device": spec.device,
            "sentences": sentences,
            "removed": {"directions": len(removed.basis), "of": removed.basis.shape[1], "share": removed.share},
            "probe": {
                "accuracy": removed.accuracy,
                "directions": removed.ranks,
                "majority": removed.majority,
                "unfinished": removed.unfinished,
                **probe_accuracies,
            },
            "folded_into": fold(model, removed.projection, writer, readers, inputs),
            "scores": None,
            "versions": {"assay": __version__, **{name: version(name) for name in _PACKAGES}},
        }
        with folder_beside(job.out) as folder:
            model.save_pretrained(folder)
            copy_tokenizer(spec, folder)
            np.savez(
                folder / "subspace.npz",
                allow_pickle=False,
                basis=removed.basis,  # (direction, width), orthonormal: the projection is I - basis.T @ basis
                accuracy=np.array(removed.accuracy),
                directions=np.array(removed.ranks),
                majority=np.array(removed.majority),
            )
            report["scores"] = cost(before, job.scores(folder))
            report = write_report(folder, report, _card(job, report, rounds(report)))
            rename_folder(folder, job.out)
    return DebiasResult(job.out, report)


@contextmanager
def _opened(job: DebiasJob, settings: ProjectionSettings) -> Iterator[ModelSpec]:
    """The model to begin with, which has to have a head whose input can be projected."""
    with opened_base(job.model, KINDS[settings.head], job.device, "float32") as spec:
        if spec.kind != "hf" or "text" in spec.abilities or kind_of(spec.abilities) is None:
            problem = f"{job.model} is not an encoder with a head for span, masked or multiple-choice questions."
            remedy = "INLP and SentenceDebias change what such a head reads; choose another model."
            raise UsageError(problem, remedy, code="unsupported", key="model")
        if "head" in job.settings and settings.head not in spec.abilities:
            remedy = "Leave head out: only the built-in model has several."
            raise UsageError(f"{job.model} has no head {settings.head}.", remedy, code="bad-setting", key="head")
        yield spec


# --- the card

_DID = (
    "Made with assay. This is an ordinary transformers model: the removed directions are folded into the weights of",
    "the first layer that reads the encoder's output. No hook and no special class is needed.",
)
_LIMITS = (
    "- Only what a linear classifier finds in mean vectors is removed, for the words above, in text like the corpus.",
    "  That says little about the model's answers: measure them (`assay run … --model hf:FOLDER`).",
    "- The encoder itself is unchanged. Its hidden states, and a new head trained on it, still have what was removed;",
    "  further training of this head may also bring it back.",
)


def _card(job: DebiasJob, report: Mapping[str, Any], rounds: list[str]) -> str:
    removed, sentences, probe = report["removed"], report["sentences"], report["probe"]
    held_out, first = probe["held_out"], probe["first_token"]
    share = removed["share"]
    of_variance = "" if share is None else f", which have {share:.1%} of the variance between counterparts"
    used, available = (listed(sentences[which], "{1:,} {0}") for which in ("used", "there"))
    facts = {
        "sentences": f"{used}; the corpus has {available}",
        "removed": f"{removed['directions']} of {removed['of']} directions{of_variance}",
        "folded into": listed(report["folded_into"], "`{}` (changed by {:.1%})"),
    }
    paragraphs = [
        "A linear classifier of the attribute, trained on the encoder's mean vectors of sentences, is right for "
        f"{held_out['before']:.3f} of the test sentences before and {held_out['after']:.3f} after; guessing gives "
        f"{held_out['majority']:.3f}.",
        "",
        f"Trained only on the vector of a sentence's first token, which multiple-choice heads read, it is right for "
        f"{first['before']:.3f} before and {first['after']:.3f} after: what is gone from the mean may still be there.",
        *rounds,
    ]
    sections = {"What a linear probe can still predict": paragraphs}
    return debiased_card(job.method, report, _DID, facts, sections, _LIMITS)


# --- folding

Inputs = Mapping[str, Tensor]

_REMEDY = (
    "INLP and SentenceDebias need a head that begins with a linear layer; choose another model, or CDA or Dropout."
)
_TOLERANCE = 1e-4  # of the largest logit: what float32 loses on the way through a head
_LEAST_CHANGE = 1e-6


def find_folding_layers(model: Any, inputs: Inputs) -> tuple[str, list[str]]:
    """The module whose output is the last hidden state, and the linear layers that read it, found by running the model
    on some inputs.
    """
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
    return writer, readers


def fold(
    model: Any, projection: NDArray[np.floating], writer: str, readers: Sequence[str], inputs: Inputs
) -> dict[str, float]:
    """Fold a projection into the layers that read the last hidden state; returns how much each changed.

    A change is the size of the difference relative to the layer's weights (Frobenius). Weights that did not change and
    answers that are not those of the hooked model are ModelErrors, and the model must then not be used.
    """
    _, torch = libraries()
    with torch.inference_mode(), projecting(model, projection, writer):
        expected = _logits(model(**inputs))
    changes = {}
    for name in readers:
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
            inside = f"with the projection in {', '.join(readers)}"
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
