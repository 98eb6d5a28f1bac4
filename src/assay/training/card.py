"""The card (README.md) of a model that was trained: what it was made from, how, and how good it is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from assay.training.scores import Scores
from assay.training.settings import PRESETS, Kind

_PIPELINES: dict[Kind, str] = {"span": "question-answering", "choice": "multiple-choice", "mask": "fill-mask"}
_DOES: dict[Kind, str] = {
    "span": "marks the answer to a question in a passage",
    "choice": "chooses among the options of a question about a context",
    "mask": "fills masked words",
}
_RAN = {"span": "unqover", "choice": "bbq", "mask": "unqover"}


def card(info: Mapping[str, Any], scores: Scores | None, *, command: str, made: str, seconds: float) -> str:
    """Markdown with the hub's metadata above it. `made` is when, `seconds` how long this (last) sitting took."""
    kind: Kind = info["kind"]
    lines = ["---", *_metadata(info, kind), "---", "", f"# A model that {_DOES[kind]}", ""]
    lines += [
        f"Made by `assay train {kind}` from `{_shown(info['base'])}`. For research on social bias in models: a model",
        "",
    ]
    lines[-2] += " that was trained for a study is not one to rely on."
    lines += ["## What it was made from", "", "| | |", "|---|---|"]
    lines += [f"| base | `{_shown(info['base'])}` |", f"| digest of the base | `{info['base']['digest']}` |"]
    if info["base"]["revision"]:
        lines.append(f"| revision of the base | `{info['base']['revision']}` |")
    lines += [f"| data, sha256 of `{_cell(name)}` | `{digest}` |" for name, digest in info["data"].items()]
    lines += [f"| {_cell(name.replace('_', ' '))} | {_cell(_text(value))} |" for name, value in info["counts"].items()]
    lines += ["", "## How", ""]
    if info["preset"]:
        lines += [f"Preset `{info['preset']}`: {PRESETS[info['preset']].source}.", ""]
    lines += ["| setting | value |", "|---|---|"]
    lines += [f"| {name} | {_text(value)} |" for name, value in info["settings"].items()]
    lines += [f"| seed | {info['seed']} |", f"| steps | {info['steps']:,} |"]
    lines += [f"| device, numbers | {info['device']}, {info['dtype']} |"]
    lines += [f"| {name} | {version} |" for name, version in info["versions"].items()]
    lines += [f"| loss, first and last point | {_losses(info['curve'])} |", f"| made | {made}, {seconds:,.0f} s |", ""]
    lines += [f"Notes: {'; '.join(info['notes'])}.", ""] if info["notes"] else []
    lines += ["```", command, "```", ""]
    lines += _results(scores)
    lines += ["## Measure its bias", "", "```", f"assay run {_RAN[kind]} --model hf:./THIS-FOLDER", "```"]
    return "\n".join(lines) + "\n"


def _metadata(info: Mapping[str, Any], kind: Kind) -> list[str]:
    lines = ["library_name: transformers", f"pipeline_tag: {_PIPELINES[kind]}", "tags: [assay]"]
    hub = re.fullmatch(r"hf:([\w-][\w.-]*/[\w.-]+)(@[\w.-]+)?", info["base"]["name"])
    return [*lines, *([f"base_model: {hub[1]}"] if hub and info["base"]["revision"] else [])]


def _results(scores: Scores | None) -> list[str]:
    if scores is None:
        return ["## How good it is", "", "It was not evaluated (`--eval FILE`).", ""]
    lines = ["## How good it is", "", f"Intervals (95%) resample {scores.units:,} units, each a {scores.unit}.", ""]
    lines += ["| metric | of | value | 95% interval | n | chance |", "|---|---|---|---|---|---|"]
    for each in scores.estimates:
        of = ", ".join(f"{key} = {value}" for key, value in each.group.items()) or "all"
        value = "–" if each.value is None else f"{each.value:.4g}"
        between = f"{each.low:.4g} to {each.high:.4g}" if each.low is not None and each.high is not None else "–"
        chance = "" if each.floor is None else f"{each.floor:.3g}"
        lines.append(f"| {each.metric} | {of} | {value} | {between} | {each.n:,} | {chance} |")
    lines += ["", *(f"Evaluated on `{_cell(name)}`, sha256 `{digest}`." for name, digest in scores.digests.items())]
    notes = [*scores.notes, *dict.fromkeys(each.note for each in scores.estimates if each.note)]
    return [*lines, "", *(f"Note: {note}." for note in notes), *([""] if notes else [])]


def _losses(curve: Sequence[Mapping[str, float]]) -> str:
    return f"{curve[0]['loss']:.4f} and {curve[-1]['loss']:.4f}" if curve else "–"


def _shown(base: Mapping[str, Any]) -> str:
    return _cell(str(base["name"]))


def _text(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _cell(text: str) -> str:
    """A text that breaks no table."""
    return re.sub(r"[|`\s]+", " ", text)
