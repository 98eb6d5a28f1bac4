"""SODAPOP (An et al. 2023): a masked language model writes wrong answers; which words fool a model for which names?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.datasets.catalogue import DataSet
from assay.probes.base import Command, Metric, Probe, ProbeClaims, ProbeData, ProbePreset, TableWords, Wording
from assay.probes.sodapop.settings import CLAIMS, ScoreSettings, SodapopSettings

GENDERS = ("female", "male")
RACES = {"EA": "European American", "AA": "African American", "AS": "Asian American", "HS": "Hispanic"}
GROUPS = {f"{code}_{gender}": f"{race} {gender}" for code, race in RACES.items() for gender in GENDERS}
"""The paper's groups of names, in words."""
_OF_PAPER = {**{gender: gender for gender in GENDERS}, **RACES, **GROUPS}


def spelled(groups: Sequence[str]) -> dict[str, str]:
    """Groups of names in words. The paper's codes are spelled out if all of `groups` are the paper's.

    Other groups keep their own names, so a group EA that is not the paper's stays EA.

    >>> spelled(["EA_female", "AS_male"])
    {'EA_female': 'European American female', 'AS_male': 'Asian American male'}
    >>> spelled(["EA", "West_African"])
    {'EA': 'EA', 'West_African': 'West African'}
    """
    titles = _OF_PAPER if _OF_PAPER.keys() >= {*groups} else {}
    return {group: titles.get(group, group.replace("_", " ")) for group in groups}


def spelled_pair(groups: tuple[str, str]) -> tuple[str, str]:
    """Two groups of names in words."""
    titles = spelled(groups)
    return titles[groups[0]], titles[groups[1]]


def say_pair(groups: tuple[str, str]) -> str:
    """Two groups of names in words; what the paper's groups have in common is said once.

    >>> say_pair(("EA_female", "AA_female")), say_pair(("EA_female", "EA_male")), say_pair(("old", "young"))
    ('European American and African American female names', 'European American female and male names', 'old and young')
    """
    a, b = spelled_pair(groups)
    if not _OF_PAPER.keys() >= {*groups}:
        return f"{a} and {b}"
    (first, _, gender), (second, _, second_gender) = a.rpartition(" "), b.rpartition(" ")
    if first and first == second:
        return f"{a} and {second_gender} names"
    return f"{first} and {b} names" if first and gender == second_gender else f"{a} and {b} names"


def say_group(group: Mapping[str, str]) -> str:
    """The group of an estimate in words.

    >>> say_group({"a": "EA_female", "b": "EA_male", "trait": "warm"})
    'European American female and male names, trait: warm'
    """
    pair = [say_pair((group["a"], group["b"]))] if {"a", "b"} <= group.keys() else []
    rest = [f"{key}: {value}" for key, value in group.items() if not pair or key not in ("a", "b")]
    return ", ".join([*pair, *rest]) or "all words"


def spelled_out(about: Mapping[str, Any]) -> Mapping[str, Any]:
    """What an example is about, with the paper's groups in words.

    >>> spelled_out({"group": ["EA_female", "EA"], "word": "shy"})
    {'group': ['European American female', 'European American'], 'word': 'shy'}
    """
    if "group" not in about:
        return about
    groups = about["group"]
    titles = spelled([groups])[groups] if isinstance(groups, str) else [spelled([group])[group] for group in groups]
    return {**about, "group": titles}


PAPER = (
    "Haozhe An, Zongxia Li, Jieyu Zhao and Rachel Rudinger. 2023. SODAPOP: Open-Ended Discovery of Social Biases in "
    "Social Commonsense Reasoning Models. In Proceedings of the 17th Conference of the European Chapter of the "
    "Association for Computational Linguistics (EACL 2023), pages 1573–1596. doi 10.18653/v1/2023.eacl-main.116"
)

_CAUTIONS = (
    "The authors of SODAPOP warn against concluding from it that a model has no bias.",
    "A difference describes the model. It says nothing about people with these names.",
    "First names are a proxy. Those of the paper are common in the United States; few belong to one group only, and "
    "what they suggest changes with time and place. Pronouns, descriptions and dialect, which may also tell a model "
    "who is meant, are not tested.",
    "Gender is treated as female or male, race and ethnicity as a few categories that do not overlap. Other genders, "
    "people who belong to several groups, and differences within a group (Japanese and Indian names are both “Asian "
    "American”) are not covered; nor are religion, age, disability, nationality and others.",
    "A masked language model wrote the words, with its own bias. Words that it never writes cannot be found, and some "
    "answers that count as wrong may fit the text.",
    "Many words are tested. q corrects for all words of all comparisons of groups. Words that are rarely chosen have a "
    "large RD by chance; look at the rates beside it.",
)

PROBE = Probe(
    name="sodapop",
    title="SODAPOP",
    asks="wrong answers written by a masked LM: which words fool the model for which names?",
    paper=PAPER,
    abilities=frozenset({"choice", "listed", "text"}),
    method="assay.probes.sodapop.method:Sodapop",
    presets={
        "quick": ProbePreset(
            "100 names, 2 contexts",
            "a word with an RD of 0.24 between two groups, 0.17 between female and male names",
            finds_at_endpoint="a word with an RD of 0.4 between female and male names; "
            "less often one between two groups",
        ),
        "standard": ProbePreset(
            "96 names, 6 contexts", "a word with an RD of 0.35 between two groups, 0.15 between female and male names"
        ),
        "paper": ProbePreset(
            "220 names, 50 contexts", "a word with an RD of 0.31 between two groups, 0.14 between female and male names"
        ),
    },
    commands={
        "run": Command(
            SodapopSettings,
            {
                "assay run sodapop --model hf:./my-choice-model --set fill_model=hf:./my-masked-lm": "",
                "assay run sodapop --model api:NAME@URL": "at most 960 requests",
            },
        ),
        "score": Command(
            ScoreSettings,
            {"assay score sodapop results.jsonl --set groups=groups.json": "name, context, choices, label, probs"},
        ),
        "generate": Command(
            examples={
                "assay generate sodapop --set what=names --set tables=FILE,FILE --set per_group=25 "
                "--out groups.json": "",
                "assay generate sodapop --set what=questions --model hf:./my-masked-lm --out questions.jsonl": "",
            }
        ),
    },
    metrics=(
        Metric(
            "kmeans_accuracy",
            "KMeans accuracy",
            "names are sorted into two clusters by the words that fool the model for them; the share of names in the "
            "cluster of their group: 1 is all; the chance level is above 0.5, because the better of two matchings "
            "counts",
            bounds=(0.5, 1.0),
            worse="higher",
            keys=("a", "b"),
        ),
        Metric(
            "largest_rd",
            "largest relative difference",
            "the largest |RD| of any word between all names of one gender, or race, and another (between two groups "
            "where there are no such pairs), with an interval that holds for all these words at once; 0 is no "
            "difference. It can rule a bias out: its upper end is the most that any word may differ",
            bounds=(0.0, 2.0),
            worse="higher",
        ),
        Metric(
            "trait_agreement",
            "agreement with people",
            "of the traits by which both the words and people order two groups, the share with the same order",
            worse="higher",
            keys=("a", "b"),
        ),
    ),
    tables={
        "words": TableWords("each word with each pair of groups", ("group_a", "group_b", "word")),
        "names": TableWords("each name with its length and frequency", ("group", "name")),
        "projection": TableWords("the names in two dimensions (t-SNE)", ("group", "name")),
        "traits": TableWords("pairs of groups ordered by trait", ("group_a", "group_b", "trait", "human")),
    },
    data=ProbeData(
        published=(
            DataSet(
                "sodapop",
                "SODAPOP (An et al. 2023): Social IQa questions about Bethany",
                "MIT",
                Path(__file__).parents[2] / "data" / "sodapop" / "pinned.tsv",
            ),
        ),
        needs_published=lambda preset, limit: preset == "paper" and limit is None,
    ),
    cautions=_CAUTIONS,
    claims=ProbeClaims(
        CLAIMS,
        decisive=lambda estimates: [estimate for estimate in estimates if estimate.metric == "largest_rd"],
        ranked=lambda estimates: [estimate for estimate in estimates if estimate.metric == "kmeans_accuracy"],
    ),
    place=40,
    tour_share=1.0,
    words=Wording(say_group, spelled_out, task=lambda group: "multiple-choice"),
)
