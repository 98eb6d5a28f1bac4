"""The model cards (README.md) of trained and debiased models: what they were made from, how, and their scores."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from assay.probes import probes

if TYPE_CHECKING:
    from assay.lab.debiasing.method import DebiasMethod
    from assay.lab.training.scores import TaskScores
    from assay.lab.training.training_kind import TrainingKind

Sections = Mapping[str, Sequence[str]]
"""Lines of Markdown by heading."""


def trained_card(
    kind: TrainingKind[Any],
    info: Mapping[str, Any],
    scores: TaskScores | None,
    *,
    paper: str,
    command: str,
    made_at: str,
) -> str:
    """The card of a trained model, from its assay.json. `paper` says where its preset is published."""
    base, curve = info["base"], info["curve"]
    name = one_line(str(base["name"]))
    made_from: dict[str, Any] = {"base": f"`{name}`", "base digest": f"`{base['digest']}`"}
    made_from |= {"base revision": f"`{base['revision']}`"} if base["revision"] else {}
    made_from |= {f"data, SHA-256 of `{one_line(file)}`": f"`{digest}`" for file, digest in info["data"].items()}
    made_from |= {one_line(count.replace("_", " ")): one_line(_text(value)) for count, value in info["counts"].items()}
    training = {setting: _text(value) for setting, value in info["settings"].items()}
    training |= {"seed": info["seed"], "steps": f"{info['steps']:,}"}
    training |= {"device": f"{info['device']}, {info['dtype']}", **info["versions"]}
    losses = f"{curve[0]['loss']:.4f} and {curve[-1]['loss']:.4f}" if curve else "–"
    training |= {"loss at the start and end": losses, "made": made_at}
    preset = [f"Preset `{info['preset']}`: {paper}.", ""] if info["preset"] else []
    notes = [f"Notes: {'; '.join(info['notes'])}.", ""] if info["notes"] else []
    asked_by = next(probe.name for probe in probes().values() if kind.name in probe.abilities)
    hub = re.fullmatch(r"hf:([\w-][\w.-]*/[\w.-]+)(@[\w.-]+)?", base["name"])
    intro = f"Made with `assay train {kind.name}` from `{name}`, for research on social bias in models. "
    intro += "Do not rely on it for anything else."
    sections = {
        "Made from": table(("", ""), made_from.items()),
        "Training": [*preset, *table(("setting", "value"), training.items()), "", *notes, "```", command, "```"],
        "Task scores": _results(scores),
        "Measure its bias": ["```", f"assay run {asked_by} --model hf:./THIS-FOLDER", "```"],
    }
    metadata = ["library_name: transformers", f"pipeline_tag: {kind.pipeline}", "tags: [assay]"]
    metadata += [f"base_model: {hub[1]}"] if hub and base["revision"] else []
    return _page(f"A model that {kind.does}", [intro], sections, metadata)


def debiased_card(
    method: DebiasMethod,
    report: Mapping[str, Any],
    did: Sequence[str],
    facts: Mapping[str, Any],
    sections: Sections,
    limits: Sequence[str] = (),
) -> str:
    """The card of a debiased model, from its assay.json. `did`, `facts` and `sections` are the method's own."""
    model, words = report["model"], report["words"]
    beside = f", head {model['head']}" if "head" in model else ""
    beside += f", revision {model['revision']}" if model.get("revision") else ""
    rows: dict[str, Any] = {
        "method": f"{method.stands_for or method.title}: {method.paper}",
        "attribute": report["attribute"] or "none",
        "made from": f"`{model['name']}`{beside}, digest `{model['digest']}`",
        "class": report["architecture"],
        "corpus": f"`{report['corpus']['file']}`, SHA-256 of the text `{report['corpus']['digest']}`",
    }
    if words:
        file = "assay's own list" if words["file"] is None else f"`{words['file']}`"
        rows["attribute words"] = f"{file}, digest `{words['digest']}`"
    rows |= {**facts, "settings": listed(report["settings"], "{}={}"), "seed": report["seed"]}
    rows["versions"] = listed(report["versions"], "{} {}")
    about = f", {report['attribute']}" if report["attribute"] else ""
    notes = [line for note in report.get("notes", ()) for line in ("", f"Note: {note}.")]
    sections = {**sections, "What it cost": _cost(report["scores"]), **({"Limits": limits} if limits else {})}
    sections["Command"] = [f"    {report['command']}"]
    title = f"{method.stands_for or method.title}{about}: {model['name']}"
    return _page(title, [*did, "", *table(("", ""), rows.items()), *notes], sections)


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    return [f"| {' | '.join(map(str, row))} |" for row in (head, ["---"] * len(head), *rows)]


def listed(values: Mapping[str, Any], form: str) -> str:
    """Names and values in one line.

    >>> listed({"male": 12000, "female": 3}, "{1:,} {0}")
    '12,000 male, 3 female'
    """
    return ", ".join(form.format(*pair) for pair in values.items())


def one_line(text: str) -> str:
    """A text without characters that would break a Markdown table."""
    return re.sub(r"[|`\s]+", " ", text)


def _page(title: str, intro: Sequence[str], sections: Sections, metadata: Sequence[str] = ()) -> str:
    lines = ["---", *metadata, "---", ""] if metadata else []
    lines += [f"# {title}", "", *intro]
    for heading, content in sections.items():
        lines += ["", f"## {heading}", "", *content]
    return "\n".join(lines) + "\n"


def _results(scores: TaskScores | None) -> list[str]:
    if scores is None:
        return ["Not evaluated (`--eval FILE`)."]
    rows = []
    for estimate in scores.estimates:
        of = ", ".join(f"{key} = {value}" for key, value in estimate.group.items()) or "all"
        value = "–" if estimate.value is None else f"{estimate.value:.4g}"
        between = "–" if estimate.low is None or estimate.high is None else f"{estimate.low:.4g} to {estimate.high:.4g}"
        chance = "" if estimate.floor is None else f"{estimate.floor:.3g}"
        rows.append([estimate.metric, of, value, between, f"{estimate.n:,}", chance])
    notes = [*scores.notes, *dict.fromkeys(estimate.note for estimate in scores.estimates if estimate.note)]
    return [
        *(f"The 95% intervals resample {scores.units:,} units (each a {scores.unit}).", ""),
        *table(("metric", "of", "value", "95% interval", "n", "chance level"), rows),
        *("", *(f"Evaluated on `{one_line(name)}`, SHA-256 `{digest}`." for name, digest in scores.digests.items())),
        *(["", *(f"Note: {note}." for note in notes)] if notes else []),
    ]


def _cost(scores: Mapping[str, Any] | None) -> list[str]:
    if scores is None:
        return ["Not measured: no evaluation data were given (`--eval PATH`)."]
    rows = [
        [name, f"{scores['before'][name]:.4f}", f"{scores['after'][name]:.4f}", f"{-cost:+.4f}"]
        for name, cost in scores["cost"].items()
    ]
    return table(("score", "before", "after", "change"), rows)


def _text(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
