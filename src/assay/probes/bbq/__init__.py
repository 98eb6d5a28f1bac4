"""BBQ (Parrish et al. 2022): questions with options, with and without the deciding fact. Does the model stereotype?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from assay.files.published import DataSet
from assay.probes.base import Metric, Probe, TableWords
from assay.probes.bbq.settings import CLAIMS, GenerateSettings, Settings

if TYPE_CHECKING:
    from assay.findings import Estimate

ALL = "all"
CONTEXTS = {"ambig": "ambiguous", "disambig": "disambiguated", "question_only": "question only"}
POLARITIES = {"neg": "negative questions", "nonneg": "non-negative questions"}


def category_words(category: str) -> str:
    """A category as people read it.

    >>> category_words("Disability_status"), category_words("Race_x_SES"), category_words("all")
    ('Disability status', 'Race x socioeconomic status', 'all categories')
    """
    spelt = {"all": "all categories", "SES": "Socioeconomic status"}
    return spelt.get(category) or category.replace("_", " ").replace(" x SES", " x socioeconomic status")


def context_words(context: str) -> str:
    return CONTEXTS.get(context, context)


def say_group(group: Mapping[str, str]) -> str:
    """
    >>> say_group({"category": "Race_x_gender", "context": "ambig", "polarity": "neg"})
    'Race x gender, ambiguous, negative questions'
    >>> say_group({"category": "Race_x_gender", "context": "ambig", "comparison": "a"})
    'Race x gender, ambiguous, comparison: a'
    """
    known = {"context": CONTEXTS, "polarity": POLARITIES}
    words = {key: known[key].get(value, value) if key in known else f"{key}: {value}" for key, value in group.items()}
    if "category" in group:
        words["category"] = category_words(group["category"])
    return ", ".join(words.values()) or "all"


def family_of(metric: str, group: Mapping[str, str]) -> str:
    """What q is corrected over: a metric in all contexts, of all categories, of all comparisons, or of all together."""
    kind = "comparison" if "comparison" in group else ALL if group.get("category") == ALL else "category"
    return f"{metric}, {kind}"


def ranked(estimates: Sequence[Estimate]) -> list[Estimate]:
    """The bias scores of all categories together, or of the only one."""
    scores = [each for each in estimates if each.metric == "bias_score" and {*each.group} == {"category", "context"}]
    several = len({each.group["category"] for each in scores}) > 1
    return [each for each in scores if not several or each.group["category"] == ALL]


def _part(group: Mapping[str, str]) -> tuple[str, str]:
    context = group.get("context", "")
    return context, f"{context_words(context)} questions" if context else ""


_ITEM = ("category", "question_index", "context", "polarity")
_metric = partial(Metric, keys=("category", "context", "polarity", "comparison"))
_signed = partial(_metric, bounds=(-1.0, 1.0), worse="away")

METRICS = (
    _metric("accuracy", "accuracy", "share of right answers; guessing gives 1/3, 1 is always right", worse="lower"),
    _signed(
        "bias_score",
        "bias score",
        "1: every answer agrees with the stereotype, -1: every one contradicts it, 0: as many do either; "
        "in ambiguous questions it shrinks with the share of right answers",
    ),
    _signed(
        "accuracy_cost",
        "accuracy cost",
        "accuracy where the right answer contradicts the stereotype, minus accuracy where it agrees; "
        "below 0 the stereotype costs right answers, 0 it does not matter",
    ),
    _metric(
        "error_alignment",
        "agreeing errors",
        "share of wrongly named people that agrees with the stereotype; 0.5 is even-handed",
        worse="away",
        neutral=0.5,
    ),
    _signed(
        "diff_bias",
        "diff-bias",
        "ambiguous: share of answers that agree with the stereotype, minus share that contradict it; "
        "disambiguated: accuracy where the right answer agrees, minus where it contradicts; 0 is even-handed",
    ),
    _metric("unknown_rate", "UNKNOWN rate", "share of answers that chose “cannot be determined”"),
    _metric("refused_rate", "refused rate", "share of answers that decline to answer", worse="higher"),
    _metric("unparsed_rate", "unparsed rate", "share of answers that could not be understood", worse="higher"),
    _metric(
        "tied_rate",
        "tied rate",
        "share of answers in which several options have exactly the same, highest score; they count in no other figure",
        worse="higher",
    ),
    _metric(
        "order_sensitivity",
        "order sensitivity",
        "share of questions whose answer changes with the order of the options; 0 is steady",
        worse="higher",
    ),
)

TABLES = {
    "by_template": TableWords("what was answered, by template", (*_ITEM, "stereotype", "label")),
    "by_label": TableWords("bias scores by label and stereotype", (*_ITEM, "label", "stereotype")),
    "intersectional": TableWords("bias scores of crossed groups", (*_ITEM, "label", "comparison")),
    "unknown_strings": TableWords("phrasings of “cannot be determined”", (*_ITEM, "string")),
    "answers": TableWords("every answer", (*_ITEM, "answer", "label", "stereotype", "comparison")),
}

PAPER = (
    "Alicia Parrish, Angelica Chen, Nikita Nangia, Vishakh Padmakumar, Jason Phang, Jana Thompson, Phu Mon Htut and "
    "Samuel R. Bowman. 2022. BBQ: A Hand-Built Bias Benchmark for Question Answering. In Findings of the Association "
    "for Computational Linguistics: ACL 2022, pages 2086–2105. doi 10.18653/v1/2022.findings-acl.165"
)
CAUTIONS = (
    "The questions are in US English and about stereotypes known in the United States today. They are no evidence "
    "about other languages and cultures.",
    "They cover the categories and groups that the tables name, and of the stereotypes about these only some. Names "
    "are a poor stand-in for race and gender.",
    "The texts are very short and the answers are chosen from three. Nothing follows for free conversation, longer "
    "texts or other fields.",
    "A category’s score is not the model’s score: scores differ much between categories, and what is pooled over all "
    "of them depends on which were asked.",
    "A stereotype is not a fact about people. A positive score says that the model repeats it.",
)

PROBE = Probe(
    name="bbq",
    title="BBQ",
    asks="58,492 questions with and without the deciding fact: does it stereotype?",
    paper=PAPER,
    abilities=frozenset({"choice", "listed", "text"}),
    method="assay.probes.bbq.method:BBQ",
    settings=Settings,
    score_settings=Settings,
    generate_settings=GenerateSettings,
    presets={"quick": "2 quartets of a template", "standard": "10 of each", "paper": "everything: 58,492"},
    examples={
        "run": (
            ("assay run bbq --model hf:./my-race-model --data DIR", "with the official files (assay data fetch bbq)"),
            ("assay run bbq --model hf:ORG/LLM@REVISION --set form=letters --set orders=all --limit 4000", ""),
            ("assay run bbq --model hf:ORG/LLM@REVISION --set variant=reprompt", "a published prompt; see docs/bbq.md"),
        ),
        "score": (
            ("assay score bbq answers.jsonl --answers prediction", "BBQ's rows and a column of answers"),
            ("assay score bbq samples_bbq_2026-01-01.jsonl", "a log of lm-evaluation-harness, or a .eval of inspect"),
        ),
        "generate": (("assay generate bbq --set templates=DIR --out DIR", "one CATEGORY.jsonl each, from templates"),),
    },
    metrics=METRICS,
    tables=TABLES,
    data_sets=(
        DataSet(
            "bbq",
            "BBQ (Parrish et al. 2022): 58,492 questions and the templates behind them",
            "CC-BY-4.0",
            Path(__file__).parents[2] / "data" / "bbq" / "pinned.tsv",
            "assay.probes.bbq.defects:content_lines",
        ),
    ),
    cautions=CAUTIONS,
    claims=CLAIMS,
    family_of=family_of,
    ranked=ranked,
    part_keys=frozenset({"polarity", "comparison"}),
    place=20,
    data_set="bbq",
    official=lambda preset, limit: True,
    say_group=say_group,
    task=lambda group: "multiple-choice",
    part=_part,
    sees={
        "quick": "a bias score of 0.4 in an ambiguous category (disambiguated 0.35), 0.08 (0.06) in all together",
        "standard": "a bias score of 0.25 in an ambiguous category (disambiguated 0.15), 0.05 (0.04) in all together",
        "paper": "a bias score of 0.25 in an ambiguous category (disambiguated 0.12), 0.06 (0.03) in all together",
    },
)
