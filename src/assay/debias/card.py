"""README.md of a debiased model: what was done to which model, with what, and how far it went."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_NAMES = {"inlp": "INLP (iterative nullspace projection)", "sentence": "SentenceDebias"}
_PAPERS = {
    "inlp": "Ravfogel et al. 2020, with the settings of bias-bench (Meade et al. 2022) as defaults",
    "sentence": "Liang et al. 2020, with the settings of bias-bench (Meade et al. 2022) as defaults",
}
_MADE = (
    "Made by assay. This is an ordinary model for transformers: the removed directions are folded into the weights of",
    "the first layer that reads the encoder's output, so that no hook and no special class is needed.",
)
_LIMITS = (
    "- Only what a linear classifier of mean vectors finds is removed, for the words above, in text like the corpus.",
    "  That says little about the model's answers: measure them (`assay run … --model hf:FOLDER`).",
    "- The encoder itself is as it was. Whoever reads its hidden states, or trains a new head on it, has what was",
    "  removed back; further training of this head may bring it back as well.",
)


def card(report: Mapping[str, Any]) -> str:
    """The card of a model that was made by projection, from its report (assay.json)."""
    model, removed, probe = report["model"], report["removed"], report["probe"]
    held_out, first, settings = probe["held_out"], probe["first_token"], report["settings"]
    head = (
        f", head {model['head']}" if "head" in model else f", revision {model['revision']}" if model["revision"] else ""
    )
    facts = {
        "method": f"{_NAMES[report['method']]}: {_PAPERS[report['method']]}",
        "attribute": report["attribute"],
        "made from": f"`{model['name']}`{head}, digest `{model['digest']}`",
        "class": report["architecture"],
        "corpus": f"`{report['corpus']['file']}`, SHA-256 of the text `{report['corpus']['digest']}`",
        "attribute words": f"{_words(report)}, digest `{report['words']['digest']}`",
        "sentences": _counts(report["sentences"]["used"]) + "; there were " + _counts(report["sentences"]["there"]),
        "removed": f"{removed['directions']} of {removed['of']} directions{_share(removed['share'])}",
        "folded into": ", ".join(
            f"`{name}` (changed by {change:.1%})" for name, change in report["folded_into"].items()
        ),
        "settings": ", ".join(f"{key}={value}" for key, value in settings.items()) + f"; seed {report['seed']}",
        "versions": ", ".join(f"{name} {number}" for name, number in report["versions"].items()),
    }
    lines = [
        f"# {_NAMES[report['method']]}, {report['attribute']}: {model['name']}",
        "",
        *_MADE,
        "",
        *_table(("", ""), facts.items()),
        "",
        "## What a linear probe can still tell",
        "",
        "A linear classifier of the attribute, trained on the encoder's mean vectors of sentences, is right about "
        f"{held_out['before']:.3f} of the test sentences before and about {held_out['after']:.3f} after; guessing "
        f"gives {held_out['majority']:.3f}.",
        "",
        f"Trained on the vector of a sentence's first token alone, which heads that choose read, it is right about "
        f"{first['before']:.3f} before and {first['after']:.3f} after: what is gone from the mean may still be there.",
        *_rounds(report),
        "",
        "## What it cost",
        "",
        *_cost(report["scores"]),
        "",
        "## Limits",
        "",
        *_LIMITS,
        "",
        "## Command",
        "",
        f"    {report['command']}",
        "",
    ]
    return "\n".join(lines)


def _table(head: tuple[str, str], rows: Any) -> list[str]:
    return [f"| {head[0]} | {head[1]} |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)]


def _words(report: Mapping[str, Any]) -> str:
    return "the list that comes with assay" if report["words"]["file"] is None else f"`{report['words']['file']}`"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in counts.items())


def _share(share: float | None) -> str:
    return "" if share is None else f", which have {share:.1%} of the variance between counterparts"


def _rounds(report: Mapping[str, Any]) -> list[str]:
    probe = report["probe"]
    if report["method"] != "inlp":
        return []
    last = len(probe["directions"]) - 1
    shown = sorted({0, *(number for number in (1, 2, 5, 10, 20, 40) if number < last), last})
    rows = [(number, f"{probe['directions'][number]} | {probe['accuracy'][number]:.3f}") for number in shown]
    table = ["| rounds | directions removed | accuracy |", "|---|---|---|"]
    ending = f"All rounds are in assay.json; guessing gives {probe['majority']:.3f} there."
    if probe["unfinished"]:
        ending += f" In {probe['unfinished']} of {last} rounds the classifier's training did not converge."
    return [
        "",
        "On the sentences for development, after some rounds:",
        "",
        *table,
        *(f"| {a} | {b} |" for a, b in rows),
        "",
        ending,
    ]


def _cost(scores: Mapping[str, Any] | None) -> list[str]:
    if scores is None:
        return ["Not measured: no task data were given."]
    rows = [
        f"| {name} | {scores['before'][name]:.4f} | {scores['after'][name]:.4f} | {cost:+.4f} |"
        for name, cost in scores["cost"].items()
    ]
    return ["| score | before | after | cost |", "|---|---|---|---|", *rows]
