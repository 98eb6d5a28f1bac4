"""How a run is shown where its probe says nothing about that, or is not installed."""

from __future__ import annotations

from assay.blocks import Figure, Name, Presentation, Prose, Score, Scorecard, Strong, Text
from assay.probes.base import Probe
from assay.run import Run
from assay.wording import plural


def present(run: Run, probe: Probe) -> Presentation:
    """A presentation of any findings, in the words of the probe's descriptor."""
    estimates = run.findings.estimates
    asked: Text = "its questions" if run.questions is None else Figure(plural(run.questions, "question"))
    made: Text = [asked, " and made ", Figure(plural(len(estimates), "estimate")), " from the answers."]
    scores = [
        Score(e, probe.say_group(e.group), dict(e.group), task=probe.task(e.group), part=probe.part(e.group))
        for e in estimates
    ]
    return Presentation(
        name=probe.title,
        asks=probe.asks,
        brief=["It asked ", made],
        lead=[
            Prose([["The probe ", Strong(Name(probe.title)), " asked the model ", Strong(Name(run.model)), " ", made]])
        ],
        scorecard=Scorecard(scores, probe=probe.name),
        cautions=probe.cautions,
        citation=[["The method: ", Name(probe.paper)]],
        data_set=probe.data_set or probe.name,
    )


def unknown(name: str) -> Probe:
    """The descriptor of a probe that is not installed: it says as little as can be said."""
    return Probe(
        name,
        title=name,
        asks="no description",
        paper=f"the paper that describes the probe {name}, and its data",
        abilities=frozenset(),
        method="",
        settings=object,
        cautions=(
            "The questions cover certain groups, in one language; nothing follows for groups that they leave out.",
        ),
    )
