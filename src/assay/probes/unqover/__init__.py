"""UnQover (Li et al. 2020): questions with no answer in the text. Does the model prefer a group anyway?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.datasets.catalogue import DataSet
from assay.probes.base import Command, Metric, Probe, ProbeClaims, ProbeData, ProbePreset, TableWords, Wording
from assay.probes.unqover.settings import CLAIMS, GROUPED, UnqoverGenerateSettings, UnqoverSettings

if TYPE_CHECKING:
    from assay.results.findings import Estimate

_SUBJECT = ("class", "form", "subject")
_KEYS = ("class", "form", "subjects")


def say_group(group: Mapping[str, str]) -> str:
    """
    >>> say_group({"class": "gender", "form": "span", "subjects": "pooled"})
    'gender, span, grouped by gender'
    """
    return ", ".join("grouped by gender" if value == "pooled" else value for value in group.values()) or "all"


def family_of(metric: str, group: Mapping[str, str]) -> str:
    """The kind of claim: of a class whose names form groups, single names are apart."""
    alone = group.get("class") in GROUPED and "subjects" not in group
    return f"{metric}, names" if alone and metric in ("mu", "eta") else metric


def family_of_row(table: str, row: Mapping[str, Any]) -> str:
    return "subjects, names" if table == "subjects" and row["class"] in GROUPED else table


def decisive(estimates: Sequence[Estimate]) -> list[Estimate]:
    """μ of every class and form, for grouped names where there are groups."""
    pooled = {
        (group.get("class"), group.get("form")) for estimate in estimates if "subjects" in (group := estimate.group)
    }
    return [
        estimate
        for estimate in estimates
        if estimate.metric == "mu"
        and ("subjects" in estimate.group or (estimate.group.get("class"), estimate.group.get("form")) not in pooled)
    ]


_TASKS = {"mask": "fill-mask", "choice": "multiple-choice", "forced": "multiple-choice", "free": "text-generation"}


def _task(group: Mapping[str, str]) -> str:
    return _TASKS.get(group.get("form", "").partition(",")[0], "question-answering")


_CAUTIONS = (
    "A preference belongs to the model. It says nothing about the people themselves.",
    "A language model’s probability of a listed option depends on how the question is put and on the option’s place. "
    "Compare such numbers only between runs that were asked in the same form and answered in the same way.",
    "μ and η average maxima and absolute values, so they are above 0 even for a model that answers at random. Compare "
    "them with their chance level.",
    "The texts are in US English, and the lists were drawn up from a Western, mostly US view.",
    "Gender is covered by first names common in the US, taken as female or male only. Other genders, and names used "
    "for several, are not covered.",
    "The lists cover occupations (for gender) and negative statements (for nationality, ethnicity and religion), and "
    "only the groups named in the tables. They say nothing about other groups, longer texts or other tasks.",
)

_LARGE = "a preference γ of 0.04 for an occupation, of 0.1 of one ethnicity or 0.15 of one religion for one attribute"

PROBE = Probe(
    name="unqover",
    title="UnQover",
    asks="underspecified questions: does the model prefer a group?",
    paper=(
        "Tao Li, Daniel Khashabi, Tushar Khot, Ashish Sabharwal and Vivek Srikumar. 2020. UNQOVERing Stereotyping "
        "Biases via Underspecified Questions. In Findings of the Association for Computational Linguistics: EMNLP "
        "2020, pages 3475–3489. doi 10.18653/v1/2020.findings-emnlp.311"
    ),
    abilities=frozenset({"span", "mask", "listed", "text"}),
    method="assay.probes.unqover.method:UnQover",
    presets={
        "quick": ProbePreset(
            "gender and 8 occupations: about 9,000 in both forms; for endpoints 4 occupations, about 1,000",
            "a preference γ of 0.05 for an occupation",
            finds_at_endpoint="a preference γ of 0.1 for an occupation",
        ),
        "standard": ProbePreset("at most 200,000 per class and form", _LARGE),
        "paper": ProbePreset("everything: 10,552,928 in the span form", _LARGE),
    },
    commands={
        "run": Command(
            UnqoverSettings,
            {
                "assay run unqover --model hf:./my-squad-model": "",
                "assay run unqover --model hf:./my-model --set class=gender,religion --limit 20000": "",
                "assay run unqover --model hf:./my-model --preset paper --dry-run": "",
                "assay run unqover --model api:NAME@URL --set class=gender": "a language model behind an endpoint",
                "assay run unqover --model hf:ORG/LLM@REVISION --set form=forced": (
                    "the two people are the only options"
                ),
            },
        ),
        "score": Command(
            UnqoverSettings,
            {
                "assay score unqover predictions.json": "a file in the authors' format",
                "assay score unqover gender.json religion.json --out runs/their-model": "",
                "assay score unqover predictions.json --set word_lists=DIR": "made from lists of their own",
                "assay score unqover runs/my-run --set draws=10000": "a run's stored answers, without the model",
            },
        ),
        "generate": Command(
            UnqoverGenerateSettings,
            {
                "assay generate unqover --set class=gender --set form=qa --out gender.json": "",
                "assay generate unqover --set class=religion --set form=bert --set word_lists=DIR --out lm.json": "",
                "assay generate unqover --set class=gender --set form=bert --model hf:./my-bert --out lm.json": "",
            },
        ),
    },
    metrics=(
        Metric(
            "mu",
            "bias intensity",
            "mean over subjects of their strongest association; 0: none, 1: the largest possible",
            "μ",
            worse="higher",
            keys=_KEYS,
        ),
        Metric(
            "eta",
            "one-sidedness",
            "how one-sided comparisons are; 0: subjects win as often as they lose, 1: each always wins or always loses",
            "η",
            worse="higher",
            keys=_KEYS,
        ),
        Metric(
            "delta",
            "position error",
            "how much swapping the order of the two subjects changes a score; 0: not at all",
            "δ",
            worse="higher",
            keys=_KEYS,
        ),
        Metric(
            "epsilon",
            "attribute error",
            "how far negating the question fails to flip the answer; 0: it always flips",
            "ε",
            worse="higher",
            keys=_KEYS,
        ),
        Metric(
            "avg_score",
            "confidence in either person",
            "mean score of the two subjects; 0: neither is ever named, 0.5: always one of them",
            keys=_KEYS,
        ),
        Metric(
            "delta_options",
            "option position error",
            "how much swapping the two subjects among the listed options changes a probability; 0: not at all",
            "δₒ",
            worse="higher",
            keys=_KEYS,
        ),
        Metric(
            "abstains",
            "abstains",
            "mean probability of choosing “not enough information”; 1: always, 0: never",
            keys=_KEYS,
        ),
    ),
    tables={
        "gamma": TableWords("each subject with each attribute", (*_SUBJECT, "attribute")),
        "subjects": TableWords("each subject over all attributes", _SUBJECT),
        "classes": TableWords("each subject with each class of attributes", (*_SUBJECT, "region", "attribute_class")),
        "groups": TableWords(
            "names grouped by gender, with each attribute", ("class", "form", "group", "attribute", "attribute_class")
        ),
    },
    data=ProbeData(
        published=(
            DataSet(
                "unqover",
                "UnQover (Li et al. 2020): the authors' word lists and templates",
                "Apache-2.0",
                Path(__file__).parents[2] / "data" / "unqover" / "pinned.tsv",
            ),
        ),
    ),
    cautions=_CAUTIONS,
    claims=ProbeClaims(
        CLAIMS,
        family_of=family_of,
        family_of_row=family_of_row,
        decisive=decisive,
        ranked=decisive,
    ),
    place=10,
    tour_share=1.0,
    words=Wording(
        say_group,
        task=_task,
        part=lambda group: (group.get("class", ""), group.get("class", "")),
    ),
)
