"""A run's report as Markdown: what the terminal summary shows, with notes, digests, the command and what to cite."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from assay.findings import Estimate
from assay.report import words
from assay.report.about import GENERAL_CAUTIONS, about
from assay.report.associations import strongest_associations
from assay.report.bbq_grid import Grid, headline_estimates, is_clear
from assay.report.content import Content, flat
from assay.report.headline import lacks_interval, numbered_notes, outside_interval
from assay.report.markdown import escaped, fenced, table
from assay.report.sodapop_words import clearest, read_pairs

MOST_PAIRS = 10
MOST_WORDS = 12
MARK = "\\*"  # of what is clear of chance


def markdown_report(contents: Sequence[Content]) -> str:
    """The whole report: every run, then what holds for all."""
    models = ", ".join(dict.fromkeys(content.model for content in contents))
    lines = [f"# Bias audit of {escaped(models)}", ""]
    for content in contents:
        lines += run_section(content, "##")
    lines += ["## Cautions", "", *cautions(contents), "", "## How to cite", "", *citations(contents)]
    return "\n".join(lines) + "\n"


def run_section(content: Content, level: str) -> list[str]:
    """A run: its headline, what its probe shows besides, notes, and how it was made; headings begin at a level."""
    notes = shown_notes(content)
    lines = [
        f"{level} {escaped(about(content.findings.probe).name)}, {escaped(content.model)}",
        "",
        _facts(content),
        "",
    ]
    lines += [*estimates_table(content, headline(content), notes), "", *details(content, level, notes)]
    if content.notes:
        lines += ["Notes of the run:", "", *(f"- {escaped(note)}" for note in content.notes), ""]
    return [*lines, *provenance(content, f"{level}#"), ""]


def details(content: Content, level: str, notes: Mapping[str, int]) -> list[str]:
    """What a probe shows besides its headline, and the notes of both."""
    lines = _PROBES.get(content.findings.probe, _nothing_more)(content, level, notes)
    numbered = [f"- [{number}] {escaped(note)}" for note, number in notes.items()]
    return [*lines, *numbered, ""] if numbered else lines


def shown_notes(content: Content) -> Mapping[str, int]:
    """The notes of all estimates that a report shows, numbered."""
    return numbered_notes([*headline(content), *_noted(content)])


def headline(content: Content) -> Sequence[Estimate]:
    """The estimates that stand for a run."""
    estimates = content.findings.estimates
    return headline_estimates(estimates) if content.findings.probe in ("bbq", "bbq-starter") else estimates


def estimates_table(content: Content, estimates: Sequence[Estimate], notes: Mapping[str, int]) -> list[str]:
    """Estimates as a table, what explains one numbered."""
    if not estimates:
        return ["This run has no estimates."]
    rows = [
        [
            escaped(words.metric_words(e.metric).title),
            escaped(words.group_words(e.group)),
            *_measured(e, notes),
            "" if e.floor is None else words.number(e.floor),
            *("" if p is None else _probability(p) for p in (e.p, e.q)),
            words.count(e.n),
        ]
        for e in estimates
    ]
    lines = table(["metric", "of", "value", content.level, "chance", "p", "q", "n"], rows, figures=6)
    if any(map(outside_interval, estimates)):
        lines += ["", words.OUTSIDE]
    return lines


def provenance(content: Content, level: str) -> list[str]:
    """The command that made a run, and the digests that say what from."""
    lines = [f"{level} How it was made", ""]
    if command := content.said("command"):
        lines += [*fenced(command), ""]
    model = content.run.get("model")
    known: list[tuple[str, str]] = [("findings.json", f"sha256 {content.findings_digest}")]
    if isinstance(model, Mapping) and model.get("digest"):
        known.append(("model", str(model["digest"])))
    known += [(f"data: {name}", digest) for name, digest in flat(content.run.get("data") or {})]
    known += [(f"version: {name}", number) for name, number in flat(content.run.get("versions") or {})]
    known += [(key, content.said(key)) for key in ("started", "finished") if content.said(key)]
    return [*lines, *table(["what", "digest, version or time"], [[escaped(a), escaped(b)] for a, b in known])]


def cautions(contents: Sequence[Content]) -> list[str]:
    """What readers must keep in mind, each once."""
    own = (caution for content in contents for caution in about(content.findings.probe).cautions)
    return [f"- {escaped(caution)}" for caution in dict.fromkeys((*GENERAL_CAUTIONS, *own))]


def citations(contents: Sequence[Content]) -> list[str]:
    """The papers of the probes, each once, and the program."""
    papers = dict.fromkeys(about(content.findings.probe).paper for content in contents)
    versions = [content.run.get("versions") for content in contents]
    used = dict.fromkeys(str(each["assay"]) for each in versions if isinstance(each, Mapping) and "assay" in each)
    which = f" {', '.join(used)}" if used else ""
    return [*(f"- {escaped(paper)}" for paper in papers), f"- {escaped(f'assay{which}: see its CITATION.cff')}"]


def _facts(content: Content) -> str:
    said = [f"probe {content.findings.probe}"]
    if content.questions is not None:
        asked = words.plural(content.questions, "question")
        said.append(f"at most {asked}" if content.at_most else asked)
    said += [f"{key} {content.said(key)}" for key in ("preset", "limit", "seed") if content.said(key)]
    return escaped(", ".join(said)) + "."


def _measured(estimate: Estimate, notes: Mapping[str, int]) -> list[str]:
    """The value and the interval of an estimate; the one that is missing has the number of the note that says why."""
    value = words.number(estimate.value)
    between = words.interval(estimate.low, estimate.high)
    if not estimate.note:
        return [value, between]
    mark = f" [{notes[estimate.note]}]"
    return [value, between + mark] if lacks_interval(estimate) else [value + mark, between]


def _probability(value: float) -> str:
    return escaped(words.probability(value))


def _noted(content: Content) -> list[Estimate]:
    """Estimates that are shown besides the headline, whose notes count, too."""
    if content.findings.probe not in ("bbq", "bbq-starter"):
        return []
    cells = Grid.of(content.findings.estimates).cells
    return [each for (metric, _, _), each in cells.items() if metric in ("accuracy", "bias_score")]


def _nothing_more(content: Content, level: str, notes: Mapping[str, int]) -> list[str]:
    return []


def _categories(content: Content, level: str, notes: Mapping[str, int]) -> list[str]:
    """BBQ's accuracy and bias by category and context."""
    grid = Grid.of(content.findings.estimates)
    rows = []
    for category in grid.categories:
        for context in grid.contexts:
            accuracy, bias = (grid.get(metric, category, context) for metric in ("accuracy", "bias_score"))
            if accuracy is None and bias is None:
                continue
            named = [escaped(words.category_words(category)), escaped(words.CONTEXTS.get(context, context))]
            rows.append([*named, *(_cells(accuracy, notes)), *_cells(bias, notes, marked=True), *_q(bias)])
    if not rows:
        return []
    heads = ["category", "questions", "accuracy", content.level, "bias score", content.level, "q"]
    return [
        f"{level}# Accuracy and bias by category",
        "",
        *table(heads, rows, figures=5),
        "",
        f"Bias above 0: answers agree with stereotypes; below 0: they contradict them. {MARK} clear of chance: q, "
        f"corrected for the number of categories, is at most {words.CLEAR}.",
        "",
    ]


def _cells(estimate: Estimate | None, notes: Mapping[str, int], *, marked: bool = False) -> list[str]:
    if estimate is None:
        return ["", ""]
    value, between = _measured(estimate, notes)
    return [value + MARK if marked and is_clear(estimate) else value, between]


def _q(estimate: Estimate | None) -> list[str]:
    return ["" if estimate is None or estimate.q is None else _probability(estimate.q)]


def _associations(content: Content, level: str, notes: Mapping[str, int]) -> list[str]:
    found = strongest_associations(content).rows[:MOST_PAIRS]
    if not found:
        return []
    rows = [
        [
            escaped(row.subject),
            escaped(row.attribute or ""),
            escaped(", ".join(part for part in row.where if part)),
            words.number(row.gamma) + (MARK if row.clear else ""),
            words.interval(row.low, row.high),
            words.number(row.eta),
            "" if row.q is None else _probability(row.q),
        ]
        for row in found
    ]
    heads = ["subject", "attribute", "class, form", "γ", content.level, "η", "q"]
    return [
        f"{level}# Strongest associations",
        "",
        *table(heads, rows, figures=4),
        "",
        "γ above 0: the model gives the attribute rather to this subject; below 0: rather to others. "
        f"{MARK} clear of chance: q, corrected for the number of pairs, is at most {words.CLEAR}.",
        "",
    ]


def _words(content: Content, level: str, notes: Mapping[str, int]) -> list[str]:
    found = [word.towards_first for word in clearest(read_pairs(content))[:MOST_WORDS]]
    if not found:
        return []
    rows = [
        [
            *map(escaped, (word.word, words.people_words(word.a), words.people_words(word.b))),
            words.fixed(word.rd) + (MARK if word.clear else ""),
            words.fixed_interval(word.low, word.high),
            *("" if p is None else _probability(p) for p in (word.p, word.q)),
        ]
        for word in found
    ]
    heads = ["word", "more often for", "than for", "RD", content.level, "p", "q"]
    return [
        f"{level}# Words that fool the model",
        "",
        *table(heads, rows, figures=4),
        "",
        "RD: by how much more often the word wins for the first group, relative to the mean of both; 0 is even, 2 the "
        f"most. {MARK} clear of chance: q, corrected for the number of words, is at most {words.CLEAR}.",
        "",
    ]


_PROBES: Mapping[str, Callable[[Content, str, Mapping[str, int]], list[str]]] = {
    "unqover": _associations,
    "bbq": _categories,
    "bbq-starter": _categories,
    "sodapop": _words,
}
