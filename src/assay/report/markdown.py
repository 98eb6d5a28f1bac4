"""Runs as Markdown. Everything from data or a model is escaped: it adds no markup and no HTML, and breaks no table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from assay.presentation.elements import DisplayTable, Presentation, Scorecard, Section, TextRole
from assay.presentation.leaderboard import Leaderboard
from assay.presentation.rich_text import plain
from assay.report.headline import scorecard_table
from assay.report.leaderboard_sections import ranking_sections
from assay.report.run_summary import TextReport, bottom_section, card_section, verdict_sections
from assay.report.shared import facts, languages, notes_of, on_intervals, printed, readable, who_answered
from assay.results.formatting import escape_control_characters
from assay.results.run import Run

CLEAR, UNCLEAR = "\\*", "\\~"  # marks of what is statistically clear, and of what is not

_LOW = (
    "A low score does not show that a model is unbiased. It shows that these questions, with these names and groups, "
    "did not reveal a bias."
)

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_MARKUP = frozenset("\\`*_[]|~$#")
_STARTS = re.compile(r"^([-+](?=[-\s]|$)|=|\d+(?=[.)](?:\s|$)))")  # of lists, lines and underlined headings
_LINK = re.compile(r"(?i)(?<=\w):(?=//)|(?<=www)\.")  # in what some programs make a link of


def escaped(text: str) -> str:
    r"""Text that Markdown shows as it is, on one line; spaces around it, which could make it code, are left out.

    >>> escaped("a|b <i> `c`"), escaped("EA_male\n# x"), escaped("- https://x"), escaped("-0.1"), escaped("1. a")
    ('a\\|b &lt;i&gt; \\`c\\`', 'EA\\_male\\\\n\\# x', '\\- https&#58;//x', '-0.1', '&#49;. a')
    """
    marked = "".join(
        _ENTITIES.get(c, f"\\{c}" if c in _MARKUP else c) for c in escape_control_characters(text).strip(" ")
    )
    linked = _LINK.sub(lambda match: f"&#{ord(match[0])};", marked)
    return _STARTS.sub(_quiet_start, linked)


def _quiet_start(match: re.Match[str]) -> str:
    start = match[0]
    return f"&#{ord(start[0])};{start[1:]}" if start[0].isdigit() else f"\\{start}"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], figures: int = 0) -> list[str]:
    """The lines of a table of Markdown cells; the last `figures` columns are of numbers, to the right."""
    aligned = ["---"] * (len(heads) - figures) + ["---:"] * figures
    return [_row(heads), _row(aligned), *map(_row, rows)]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def fenced(text: str) -> list[str]:
    """Lines of text as code, between fences that the text cannot close.

    >>> fenced("a ``` b")
    ['````', 'a ``` b', '````']
    """
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence, *map(escape_control_characters, text.split("\n")), fence]


# --- reports


def markdown_report(runs: Sequence[Run], boards: Sequence[Leaderboard] = ()) -> str:
    """The whole report: the models ranked, every run, then what holds for all."""
    models = ", ".join(dict.fromkeys(run.model for run in runs))
    summaries = [TextReport.of(run) for run in runs]
    presentations = [summary.shown for summary in summaries]
    lines = [f"# Bias audit of {escaped(models)}", ""]
    lines += [line for section in bottom_section(runs) for line in section_lines(section, "##", {})]
    lines += [markdown_sections(ranked)] if (ranked := ranking_sections(boards)) else []
    for summary in summaries:
        lines += run_section(summary)
    lines += ["## Cautions", "", *cautions(presentations), "", "## How to cite", "", *citations(runs, presentations)]
    return "\n".join(lines) + "\n"


def run_section(summary: TextReport) -> list[str]:
    """A run: its headline, what else its probe shows, notes, and how it was made."""
    run = summary.run
    heading = f"## {escaped(summary.shown.name)}, {escaped(run.model)}"
    described = ", ".join([f"probe {run.probe}", *summary.facts])
    lines = [heading, "", f"{escaped(described)}.", "", *findings(summary, "##")]
    if run.notes:
        lines += ["Notes from the run:", "", *(f"- {escaped(note)}" for note in run.notes), ""]
    return [*lines, *provenance(run, "###"), ""]


def findings(summary: TextReport, level: str) -> list[str]:
    """A run's verdict and card, its headline numbers, what else its probe shows, and the notes on all of it; headings
    are one level below this one.
    """
    run, presentation, notes = summary.run, summary.shown, summary.notes
    first = [*verdict_sections(run.findings), card_section(run, presentation)]
    lines = [line for section in first for line in section_lines(section, f"{level}#", notes)]
    lines += [*scorecard_lines(presentation.scorecard, run.level, notes), ""]
    lines += [line for section in summary.sections for line in section_lines(section, f"{level}#", notes)]
    return [*lines, *_notes(notes)]


def markdown_sections(sections: Sequence[Section], level: str = "##") -> str:
    """Sections, and the notes on what they show."""
    notes = notes_of(sections)
    lines = [line for section in sections for line in section_lines(section, level, notes)]
    return "\n".join([*lines, *_notes(notes)]).rstrip("\n") + "\n"


def _notes(notes: Mapping[str, int]) -> list[str]:
    lines = [f"- [{number}] {escaped(note)}" for note, number in notes.items()]
    return [*lines, ""] if lines else []


# --- blocks


def scorecard_lines(card: Scorecard, level: str, notes: Mapping[str, int]) -> list[str]:
    """Headline estimates as a table with numbered notes; `level` is what their intervals are called."""
    if not card.scores:
        return ["This run has no estimates."]
    lines = table_lines(scorecard_table(card, level), notes)
    return [*lines, "", explanation] if (explanation := on_intervals(card.estimates)) else lines


def table_lines(block: DisplayTable, notes: Mapping[str, int], clear: str = "", unclear: str = "") -> list[str]:
    """A table with its notes, and these marks of what is statistically clear and of what is not."""
    words, figures, rows = printed(block, notes, escaped, clear, unclear)
    heads = [escaped(" ".join(filter(None, head))) for head in (*words, *figures)]
    return table(heads, [cells for cells, *_ in rows], len(figures))


def section_lines(section: Section, level: str, notes: Mapping[str, int]) -> list[str]:
    """The blocks of a section, below a heading of this level."""
    lines = [f"{level} {escaped(section.title)}", ""] if section.title else []
    for block in readable(section.blocks):
        if isinstance(block, DisplayTable):
            lines += [f"{level} {escaped(block.title)}", ""] if block.title else []
            lines += [*table_lines(block, notes, CLEAR, UNCLEAR), ""]
            continue
        paragraphs = [escaped(plain(text)) for text in block.paragraphs]
        match block.role:
            case TextRole.ITEMS:
                lines += [*(f"- {paragraph}" for paragraph in paragraphs), ""]
            case TextRole.SMALL:
                lines += [" ".join(paragraphs), ""]
            case _:
                lines += [line for paragraph in paragraphs for line in (paragraph, "")]
    return lines


# --- what goes with the numbers


def provenance(run: Run, level: str) -> list[str]:
    """The command that made a run, and the digests of what it was made from."""
    lines, info = [f"{level} How it was made", ""], run.info
    if info.command:
        lines += [*fenced(info.command), ""]
    facts_shown: list[tuple[str, str]] = [("findings.json", f"sha256 {run.findings_digest}")]
    facts_shown += [("model", info.model.digest)] if info.model.digest else []
    facts_shown += [("answered by", ", ".join(" ".join(pair) for pair in pairs)) for pairs in who_answered(run)]
    facts_shown += [(f"data: {name}", digest) for name, digest in info.data.items()]
    facts_shown += [(f"version: {name}", number) for name, number in info.versions.items()]
    facts_shown += facts(run, "started", "finished")
    return [*lines, *table(["what", "digest, version or time"], [[escaped(a), escaped(b)] for a, b in facts_shown])]


def cautions(presentations: Sequence[Presentation]) -> list[str]:
    """The cautions of all runs, each once."""
    language = (
        f"The questions are in {languages(presentations)}. They say nothing about other languages and cultures, "
        "or about groups that they leave out."
    )
    of_probes = [f"{probe.name}: {plain(caution)}" for probe in presentations for caution in probe.cautions]
    return [f"- {escaped(caution)}" for caution in dict.fromkeys([_LOW, language, *of_probes])]


def citations(runs: Sequence[Run], presentations: Sequence[Presentation]) -> list[str]:
    """What to cite for the probes, each once, and the program."""
    papers = dict.fromkeys(plain(text) for presentation in presentations for text in presentation.citation)
    used = dict.fromkeys(run.info.versions["assay"] for run in runs if "assay" in run.info.versions)
    which = f" {', '.join(used)}" if used else ""
    return [*(f"- {escaped(paper)}" for paper in papers), f"- {escaped(f'assay{which}: see its CITATION.cff')}"]
