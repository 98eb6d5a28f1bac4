"""A model card's part about bias: the hub's model-index, and a section of Markdown to paste below it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from assay.errors import UsageError
from assay.findings import Estimate
from assay.report import words
from assay.report.about import about, part_of, task_of
from assay.report.content import Content
from assay.report.markdown import escaped, fenced
from assay.report.md import cautions, citations, details, estimates_table, headline, shown_notes

_NOT_PRINTED = re.compile("[^\u0020-\u007e\u00a0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")


def model_card(contents: Sequence[Content]) -> str:
    """The card of the one model that all runs are about: metadata between lines of dashes, then the section."""
    models = dict.fromkeys(content.model for content in contents)
    if len(models) > 1:
        raise UsageError(
            f"these runs are of {len(models)} models ({', '.join(models)}), and a card is about one.",
            "Name the folder of one model's runs.",
        )
    results = [result for content in contents for result in _results(content)]
    index = {"model-index": [{"name": model_id(contents[0]), "results": results}]}
    metadata = ["---", *yaml_lines(index), "---", ""] if results else []  # the hub refuses an index without results
    return "\n".join([*metadata, *_section(contents)]) + "\n"


def model_id(content: Content) -> str:
    """The model's name without what only this machine knows: its kind, its revision, the folder that it lay in."""
    model = content.run.get("model")
    kind = model.get("kind") if isinstance(model, Mapping) else None
    name = content.model.removeprefix(f"{kind}:") if kind else content.model
    name = name.partition("@")[0].rstrip("/") or name
    is_path = name.startswith((".", "/", "~")) or name.count("/") > 1
    return name.rpartition("/")[2] if is_path else name


def _results(content: Content) -> list[dict[str, Any]]:
    """The defined headline estimates by task and part of the data; an undefined one cannot be in an index."""
    found: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for estimate in headline(content):
        if estimate.value is not None:
            place = (task_of(content.findings.probe, estimate), *part_of(estimate))
            found.setdefault(place, []).append(_metric(estimate))
    known = about(content.findings.probe)
    results = []
    for (task, config, said), metrics in found.items():
        data_set: dict[str, Any] = {"type": known.data_set, "name": f"{known.name}, {said}" if said else known.name}
        if config:
            data_set["config"] = config
        args = {key: content.run[key] for key in ("preset", "limit", "seed") if content.run.get(key) is not None}
        if args:
            data_set["args"] = args
        results.append({"task": {"type": task}, "dataset": data_set, "metrics": metrics})
    return results


def _metric(estimate: Estimate) -> dict[str, Any]:
    e = estimate
    named = f"{words.metric_words(e.metric).title}, {words.group_words(e.group)}"
    if e.low is not None:
        named += f" ({words.percent(e.level)} interval {words.interval(e.low, e.high)})"
    numbers = {"low": e.low, "high": e.high, "level": e.level, "n": e.n, "p": e.p, "q": e.q, "floor": e.floor}
    args = {key: _rounded(number) for key, number in numbers.items() if number is not None}
    return {"type": e.metric, "value": _rounded(e.value), "name": named, "args": {**args, "group": dict(e.group)}}


def _rounded(number: float | None) -> float | int | None:
    return number if number is None or isinstance(number, int) else float(f"{number:.6g}")


def _section(contents: Sequence[Content]) -> list[str]:
    lines = ["## Bias evaluation (assay)", ""]
    for content in contents:
        shown = headline(content)
        notes = shown_notes(content)
        asked = "" if content.questions is None else f" ({words.plural(content.questions, 'question')})"
        lines += [f"### {escaped(about(content.findings.probe).name)}{asked}", ""]
        lines += [*estimates_table(content, shown, notes), "", *details(content, "###", notes)]
        for metric in dict.fromkeys(estimate.metric for estimate in shown):
            said = words.metric_words(metric)
            if said.meaning:
                lines.append(f"- {escaped(said.title)}: {escaped(said.meaning)}.")
        lines.append("")
    lines += ["Keep in mind:", "", *cautions(contents), ""]
    commands = list(dict.fromkeys(content.said("command") for content in contents if content.said("command")))
    if commands:
        lines += ["Made with:", "", *fenced("\n".join(commands)), ""]
    digests = [f"- {escaped(c.findings.probe)}: findings.json, sha256 {c.findings_digest}" for c in contents]
    return [*lines, *digests, "", "Cite:", "", *citations(contents)]


def yaml_lines(value: Any, indent: str = "") -> list[str]:
    """Objects, lists, texts and numbers as YAML, in lines.

    >>> yaml_lines({"a": [{"b": "x: y"}], "c": 1e-05, "d": {}})
    ['a:', '- b: "x: y"', 'c: 1.0e-05', 'd: {}']
    """
    lines: list[str] = []
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            deeper = indent if isinstance(inner, list) else f"{indent}  "
            own = yaml_lines(inner, deeper)
            name = key if re.fullmatch(r"[a-z][a-z_-]*", key) and key not in _WORDS else _quoted(key)
            one = not isinstance(inner, Mapping | list) or not inner
            lines += [f"{indent}{name}: {own[0].strip()}"] if one else [f"{indent}{name}:", *own]
    elif isinstance(value, list) and value:
        for inner in value:
            first, *rest = yaml_lines(inner, f"{indent}  ")
            lines += [f"{indent}- {first.strip()}", *rest]
    else:
        lines.append(indent + _scalar(value))
    return lines


_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})  # to some readers no texts


def _scalar(value: Any) -> str:
    match value:
        case bool() | None:
            return json.dumps(value)
        case int():
            return str(value)
        case float():
            mantissa, e, exponent = repr(value).partition("e")
            return f"{mantissa if '.' in mantissa else mantissa + '.0'}{e}{exponent}"
        case str():
            return _quoted(value)
    return "{}" if isinstance(value, Mapping) else "[]" if value == [] else _quoted(str(value))


def _quoted(text: str) -> str:
    r"""A text in quotes; what YAML does not allow in its files is written as an escape.

    >>> _quoted('a"b\n\x7f')
    '"a\\"b\\n\\u007f"'
    """
    return _NOT_PRINTED.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(text, ensure_ascii=False))
