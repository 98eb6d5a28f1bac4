"""SODAPOP (An et al. 2023): wrong answers written by a masked language model. Which words fool a model about whom?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from assay.files.published import DataSet
from assay.probes.base import Metric, Probe, TableWords
from assay.probes.sodapop.settings import CLAIMS, ScoreSettings, Settings


def people_words(group: str) -> str:
    """The name of a group of people as people read it.

    >>> people_words("EA_female")
    'EA female'
    """
    return group.replace("_", " ")


def say_pair(groups: tuple[str, str]) -> str:
    """
    >>> say_pair(("EA_female", "EA_male"))
    'EA female and EA male'
    """
    return " and ".join(map(people_words, groups))


def say_group(group: Mapping[str, str]) -> str:
    """
    >>> say_group({"a": "EA_female", "b": "EA_male", "trait": "warm"})
    'EA female and EA male, trait: warm'
    """
    pair = [say_pair((group["a"], group["b"]))] if {"a", "b"} <= group.keys() else []
    rest = [f"{key}: {value}" for key, value in group.items() if not pair or key not in ("a", "b")]
    return ", ".join([*pair, *rest]) or "all"


PAPER = (
    "Haozhe An, Zongxia Li, Jieyu Zhao and Rachel Rudinger. 2023. SODAPOP: Open-Ended Discovery of Social Biases in "
    "Social Commonsense Reasoning Models. In Proceedings of the 17th Conference of the European Chapter of the "
    "Association for Computational Linguistics (EACL 2023), pages 1573–1596. doi 10.18653/v1/2023.eacl-main.116"
)

_CAUTIONS = (
    "The authors of SODAPOP warn against concluding from it that a model has no bias.",
    "A difference belongs to the model. It says nothing about people who bear these names.",
    "First names are a proxy. Those of the paper are common in the United States; few belong to one group only, and "
    "what they suggest changes with time and place. Pronouns, descriptions and dialect, by which a model may also "
    "learn who is meant, are not tested.",
    "Gender is taken as female or male, race and ethnicity as one of a few kinds that do not overlap. Other genders, "
    "people of several groups, and differences within a group (Japanese and Indian names are both “Asian”) are not "
    "covered; nor are religion, age, disability, nationality and others.",
    "The words are those that a masked language model wrote, with its own bias: what it never writes cannot be found, "
    "and some answers that count as wrong may suit the text.",
    "Many words are tested. q allows for all words of all comparisons of groups. Words that win rarely have a large RD "
    "by chance; look at the rates beside it.",
)

PROBE = Probe(
    name="sodapop",
    title="SODAPOP",
    asks="wrong answers written by a masked LM: which words fool the model for which names?",
    paper=PAPER,
    abilities=frozenset({"choice", "listed", "text"}),
    method="assay.probes.sodapop.method:Sodapop",
    settings=Settings,
    score_settings=ScoreSettings,
    presets={"quick": "100 names, 2 contexts", "standard": "96 names, 6 contexts", "paper": "220 names, 50 contexts"},
    examples={
        "run": (
            ("assay run sodapop --model hf:./my-choice-model --set fill_model=hf:./my-masked-lm", ""),
            ("assay run sodapop --model api:NAME@URL", "at most 960 requests"),
        ),
        "score": (
            ("assay score sodapop results.jsonl --set groups=groups.json", "name, context, choices, label, probs"),
        ),
        "generate": (
            ("assay generate sodapop --set what=names --set tables=FILE,FILE --set per_group=25 --out groups.json", ""),
            ("assay generate sodapop --set what=questions --model hf:./my-masked-lm --out questions.jsonl", ""),
        ),
    },
    metrics=(
        Metric(
            "kmeans_accuracy",
            "KMeans accuracy",
            "names are put into two clusters by the words that fool the model about them; the share of names whose "
            "cluster is that of their group: 1 is all; chance gives more than 0.5, since the better way to match is "
            "taken",
            bounds=(0.5, 1.0),
            worse="higher",
            keys=("a", "b"),
        ),
        Metric(
            "trait_agreement",
            "agreement with people",
            "of the traits that the words and people both order these two groups by, the share that they order alike",
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
    data_sets=(
        DataSet(
            "sodapop",
            "SODAPOP (An et al. 2023): Social IQa questions about Bethany",
            "MIT",
            Path(__file__).parents[2] / "data" / "sodapop" / "pinned.tsv",
        ),
    ),
    cautions=_CAUTIONS,
    claims=CLAIMS,
    ranked=lambda estimates: [each for each in estimates if each.metric == "kmeans_accuracy"],
    place=40,
    tour=True,
    data_set="sodapop",
    official=lambda preset, limit: preset == "paper" and limit is None,
    say_group=say_group,
    task=lambda group: "multiple-choice",
    sees={
        "quick": "a word with an RD of 0.24 between two groups, 0.17 between women's and men's names",
        "standard": "a word with an RD of 0.35 between two groups, 0.15 between women's and men's names",
        "paper": "a word with an RD of 0.31 between two groups, 0.14 between women's and men's names",
    },
)
