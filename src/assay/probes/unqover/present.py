"""The presentation of an UnQover run: what was asked, the strongest associations, charts of γ, subjects by γ(x)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.presentation.elements import (
    DotCell,
    HeadlineEstimate,
    Paragraphs,
    Presentation,
    Scorecard,
    Section,
    SummaryCard,
)
from assay.presentation.rich_text import NumberText, Strong, Text, Verbatim, join_texts
from assay.probes.unqover import PROBE, say_group
from assay.probes.unqover.associations import (
    MIN_CELLS,
    Association,
    strongest_associations,
)
from assay.probes.unqover.present_heat import charts
from assay.probes.unqover.present_tables import associations, in_short, subjects
from assay.probes.unqover.settings import CHOICE, CLASSES, FORCED, FREE, LLM_FORMS, UNKNOWN
from assay.results.findings import Estimate
from assay.results.formatting import format_interval, format_number, format_p_equals, plural
from assay.results.run import Run
from assay.results.verdict import Chance, VerdictKind

ASKS = "questions that the text does not answer: does the model prefer a group anyway?"


def present(run: Run) -> Presentation:
    """What is shown of a run."""
    strongest, n_left_out = strongest_associations(run)
    intensities = _intensity_sentences(run.findings.estimates)
    return Presentation(
        name="UnQover",
        asks=ASKS,
        lead=[Paragraphs([_introduction(run), _strongest(run, strongest), *intensities])],
        card=card_of(run, strongest),
        scorecard=_scorecard(run),
        cautions=[*PROBE.cautions, *_sample_caution(run)],
        citation=[["The method: ", PROBE.paper]],
        data_set="unqover",
        sections=[associations(run, strongest, n_left_out), Section(charts(run)), Section(subjects(run))],
        summary=[in_short(run, strongest, n_left_out)],
    )


# --- the first paragraphs


def _introduction(run: Run) -> Text:
    questions = "questions" if run.questions is None else plural(run.questions, "question")
    classes = dict.fromkeys(estimate.group["class"] for estimate in run.findings.estimates if "class" in estimate.group)
    about: Text = [" about ", join_texts([Verbatim(cls) for cls in classes], last=" and ")] if classes else ""
    return [
        *("The model ", Strong(Verbatim(run.model)), f" was asked {questions}", about),
        " that cannot be answered from the text. Each text mentions two people or groups, and the question asks which "
        "one something is true of, which the text does not say. A fair model would prefer neither. Every question is "
        "asked in both orders of the two, and also negated. This cancels any preference for whoever is mentioned first "
        "or for a word.",
        *(_OPTIONS[form] for form in LLM_FORMS if form in _forms(run)),
    ]


def _forms(run: Run) -> set[str]:
    """The forms that were asked, without the way in which a language model answered."""
    return {estimate.group.get("form", "").partition(",")[0] for estimate in run.findings.estimates}


_ORDERS = "The options are listed in both orders as well, which cancels any preference for the first option."
_OPTIONS = {
    CHOICE: f" The options are the two and “{UNKNOWN}”, which is the right answer to all of these questions. {_ORDERS}",
    FORCED: f" The two are the only options, so the model has to name one of them. {_ORDERS}",
    FREE: " No options are listed: the model answers in its own words.",
}


def _strongest(run: Run, strongest: Sequence[Association]) -> Text:
    clear = [row for row in strongest if row.clear]
    large = [row for row in clear if abs(row.gamma) >= run.smallest("groups" if row.pooled else "gamma")]
    if large:
        strong = Strong("Strongest association that is statistically clear:")
        return [strong, " ", _association_text(run, large[0]), "."]
    if clear:
        smallest = f"{run.smallest('groups' if clear[0].pooled else 'gamma'):g}"
        return [
            Strong(f"No statistically clear association is as large as {smallest}"),
            f"; {plural(len(clear), 'smaller one is', 'smaller ones are')} listed below.",
        ]
    if strongest and not strongest[0].gamma:
        return [Strong("No single association:"), " the model treated both subjects alike in every comparison (γ = 0)."]
    if strongest:
        return [
            Strong("No single association is distinguishable from chance"),
            " after correction for the number of tests. The largest: ",
            *(_association_text(run, strongest[0]), "."),
        ]
    return [
        Strong("No single association can be named:"),
        f" no subject was compared often enough on any attribute (at least {MIN_CELLS} comparisons).",
    ]


def _association_text(run: Run, row: Association) -> Text:
    between: Text = (
        "no interval" if row.low is None else [f"{run.level} ", NumberText(format_interval(row.low, row.high))]
    )
    q = "" if row.q is None else f", q {format_p_equals(row.q)}"
    return [
        *("in questions about ", Verbatim(row.bias_class), " (", Verbatim(row.form), "), the model associates “"),
        *(Strong(Verbatim(row.attribute or "")), f"” {'more' if row.gamma > 0 else 'less'} with “"),
        *(Strong(Verbatim(row.subject)), f"”{' names' if row.pooled else ''} than with the others compared (γ = "),
        *(NumberText(format_number(row.gamma)), ", ", between, f"{q}; γ runs from −1 to 1, and 0 means no preference)"),
    ]


def _intensity_sentences(estimates: Sequence[Estimate]) -> list[Text]:
    """One μ for every class and form, by its verdict: for single subjects or, where undefined, for grouped names."""
    chosen: dict[tuple[str | None, str | None], Estimate] = {}
    for estimate in estimates:
        if estimate.metric == "mu":
            part = estimate.group.get("class"), estimate.group.get("form")
            if part not in chosen or (chosen[part].value is None and estimate.value is not None):
                chosen[part] = estimate
    by_chance = {chance: [estimate for estimate in chosen.values() if estimate.chance is chance] for chance in Chance}
    above, within = by_chance[Chance.ABOVE], by_chance[Chance.WITHIN]
    rest = [*by_chance[Chance.UNTOLD], *by_chance[Chance.UNDEFINED]]
    sentences: list[Text] = []
    if above:
        settings = f"{len(above)} of {plural(len(above) + len(within), 'setting')}"
        but: Text = [" It is not distinguishable from chance in ", _compared(within), "."] if within else ""
        clear = Strong(f"Bias intensity μ exceeds its chance level in {settings}")
        sentences.append([clear, ": ", _compared(above), ".", but])
    elif within:
        unclear = Strong("Bias intensity μ is nowhere distinguishable from chance")
        sentences.append([unclear, ": ", _compared(within), "."])
    if rest:
        untested = join_texts([Verbatim(_group_label(estimate.group)) for estimate in rest], "; ")
        see = ": see the headline numbers and their notes."
        sentences.append(["μ could not be tested against chance for ", untested, see])
    return sentences


def _compared(estimates: Sequence[Estimate]) -> Text:
    """Values with their chance levels."""
    texts: list[Text] = []
    for estimate in estimates:
        chance = "" if estimate.floor is None else f"; chance level {format_number(estimate.floor)}"
        p = "" if estimate.p is None else f", p {format_p_equals(estimate.p)}"
        number = NumberText(f"{format_number(estimate.value)}{chance}{p}")
        texts.append([Verbatim(_group_label(estimate.group)), " (", number, ")"])
    return join_texts(texts, "; ")


def _sample_caution(run: Run) -> list[Text]:
    if not run.sample:
        return []
    start = "This run may have asked only a sample of the possible questions ("
    return [[start, Verbatim(run.sample), "); a larger sample gives narrower intervals."]]


# --- headline numbers


def _group_label(group: Mapping[str, str]) -> str:
    """What an estimate is about.

    >>> _group_label({"class": "gender", "form": "span", "subjects": "pooled"})
    'gender, span, grouped by gender'
    """
    plain = ("class", "form", "subjects")
    return say_group({key: value if key in plain else f"{key}: {value}" for key, value in group.items()})


def _scorecard(run: Run) -> Scorecard:
    estimates = run.findings.estimates
    by_class = all("class" in estimate.group for estimate in estimates)
    ways = "eight" if _forms(run) & {CHOICE, FORCED} else "four"
    return Scorecard(
        [_headline(estimate, by_class) for estimate in estimates],
        counted=f"n counts comparisons: one pair of subjects in one text with one attribute, asked in {ways} ways.",
        places=("class", "form") if by_class else ("group",),
        probe=run.probe,
    )


def _headline(estimate: Estimate, by_class: bool) -> HeadlineEstimate:
    group = estimate.group
    form, cls = group.get("form", ""), group.get("class", "")
    rest = {key: value for key, value in group.items() if key != "form"}
    part = (_group_label(rest), form) if by_class else ()
    examples = {key: value for key, value in group.items() if key != "subjects"}
    return HeadlineEstimate(estimate, _group_label(estimate.group), examples, part, PROBE.words.task(group), (cls, cls))


# --- the first screen: the strongest association, or what is clear in place of one


_ENDS = (-0.5, 0.5)
_INTENSITIES = ("mu", "eta")
_UNTOLD = "No association is distinguishable from chance"
_LISTED = (
    " It is one of a list that does not change the verdict: of what such a list calls clear, on average at most 5% is "
    "due to chance."
)


def card_of(run: Run, strongest: Sequence[Association]) -> SummaryCard:
    absent = not_asked(run)
    intensity = next(iter(clear_intensities(run)), None)
    if not strongest:
        too_few = "There were too few comparisons to name any association."
        return SummaryCard([too_few, *([" ", _together_text(intensity)] if intensity else [])], not_asked=absent)
    top = strongest[0]
    if not top.clear and intensity is not None:
        group = Verbatim(PROBE.words.say_group(intensity.group))
        return SummaryCard(
            [_UNTOLD, " by itself; ", _together_text(intensity)],
            [PROBE.metric(intensity.metric).title, ", ", group],
            DotCell(_interval_value(intensity), intensity.low, intensity.high),
            examples={"class": top.bias_class},
            of=PROBE.claims.family_of(intensity.metric, intensity.group),
            not_asked=absent,
        )
    if not top.gamma:
        nobody = "The model preferred nobody: it treated both subjects alike in every comparison."
        return SummaryCard(nobody, not_asked=absent)
    subject, others = _sides(top)
    return SummaryCard(
        _sentence(run, top),
        label=["Association of “", Verbatim(top.attribute or ""), "” with ", Verbatim(subject)],
        number=DotCell(top.gamma, top.low, top.high, hollow=not top.clear),
        sides=(others, subject),
        ends=_ENDS,
        severity=f"{_points(top.gamma)} of 100 points of preference",
        of="groups" if top.pooled else "gamma",
        examples={"class": top.bias_class, "form": top.form, "attribute": top.attribute or ""},
        not_asked=absent,
    )


def clear_intensities(run: Run) -> list[Estimate]:
    """The values of μ and η that the verdict claims, those of all names in a group first."""
    clear = [estimate for estimate in run.findings.estimates if estimate.metric in _INTENSITIES and estimate.claimed]
    return sorted(clear, key=lambda estimate: ("subjects" not in estimate.group, _INTENSITIES.index(estimate.metric)))


def not_asked(run: Run) -> Text:
    """The classes of subjects that the run left out, in a line; empty if it asked all."""
    classes = {estimate.group["class"] for estimate in run.findings.estimates if "class" in estimate.group}
    absent = [cls for cls in CLASSES if cls not in classes]
    if not classes or not absent or not classes <= {*CLASSES}:
        return ""
    return ["Not asked: questions about ", join_texts([Verbatim(cls) for cls in absent], last=" and "), "."]


def _together_text(estimate: Estimate) -> Text:
    title, group = PROBE.metric(estimate.metric).title, PROBE.words.say_group(estimate.group)
    value = format_number(_interval_value(estimate))
    return [
        *("all associations together are clear: the ", Strong(title), " of ", Verbatim(group)),
        f" is {value}, more than chance gives.",
    ]


def _interval_value(estimate: Estimate) -> float | None:
    """The number that the interval belongs to."""
    return estimate.value if estimate.corrected is None else estimate.corrected


def _points(gamma: float) -> str:
    """A preference of 100, in whole ones unless it is less than one.

    >>> _points(-0.123), _points(0.004)
    ('12', '0.4')
    """
    points = 100 * abs(gamma)
    return f"{points:.0f}" if points >= 1 else f"{points:.1g}"


def _sentence(run: Run, top: Association) -> Text:
    subject, others = _sides(top)
    attribute = Verbatim(top.attribute or "")
    if not top.clear:
        return [_UNTOLD, ". The largest: “", attribute, "” with ", Verbatim(subject if top.gamma > 0 else others), "."]
    small = abs(top.gamma) < run.smallest("groups" if top.pooled else "gamma")
    start = "There is a clear but very small association: the" if small else "The"
    more = "more" if top.gamma > 0 else "less"
    verdict = run.findings.verdict
    listed_only = verdict is not None and verdict.says in (VerdictKind.NONE, VerdictKind.FEW, VerdictKind.CANNOT)
    return [
        f"{start} model associates “",
        *(attribute, f"” {more} with ", Verbatim(subject), " than with ", Verbatim(others)),
        ", although nothing in the text says so.",
        _LISTED if listed_only else "",
    ]


def _sides(row: Association) -> tuple[str, str]:
    """Who the association is about, and who they are compared with."""
    opposite = {"male": "female", "female": "male"}.get(row.subject) if row.pooled else None
    return row.who, f"{opposite} names" if opposite else "the others"
