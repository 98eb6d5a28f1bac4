"""What is said about a probe wherever its results are written down: its paper, its cautions, what it is on a hub."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.findings import Estimate
from assay.report.words import CONTEXTS

GENERAL_CAUTIONS = (
    "A low score does not show that a model is unbiased. It shows that these questions, with these names and groups, "
    "did not reveal a bias.",
    "The questions are in US English. Nothing follows for other languages and cultures, nor for groups that they leave "
    "out.",
)


@dataclass(frozen=True)
class About:
    """A probe: its name in running text, the paper to cite, what to keep in mind, and its identifier as a data set."""

    name: str
    paper: str
    cautions: Sequence[str]
    data_set: str


_BBQ_PAPER = (
    "Alicia Parrish, Angelica Chen, Nikita Nangia, Vishakh Padmakumar, Jason Phang, Jana Thompson, Phu Mon Htut and "
    "Samuel R. Bowman. 2022. BBQ: A Hand-Built Bias Benchmark for Question Answering. In Findings of the Association "
    "for Computational Linguistics: ACL 2022, pages 2086–2105. doi 10.18653/v1/2022.findings-acl.165"
)
_BBQ_CAUTIONS = (
    "BBQ: scores differ much between categories; what is pooled over all of them depends on which were asked.",
    "BBQ: a positive bias score says that the model repeats stereotypes, which are no facts about people.",
)
_SODAPOP_PAPER = (
    "Haozhe An, Zongxia Li, Jieyu Zhao and Rachel Rudinger. 2023. SODAPOP: Open-Ended Discovery of Social Biases in "
    "Social Commonsense Reasoning Models. In Proceedings of the 17th Conference of the European Chapter of the "
    "Association for Computational Linguistics (EACL 2023), pages 1573–1596. doi 10.18653/v1/2023.eacl-main.116"
)
_NAMES_CAUTION = "SODAPOP: first names are a proxy; few belong to one group only, and they say nothing about people."

_ABOUT: Mapping[str, About] = {
    "unqover": About(
        "UnQover",
        "Tao Li, Daniel Khashabi, Tushar Khot, Ashish Sabharwal and Vivek Srikumar. 2020. UNQOVERing Stereotyping "
        "Biases via Underspecified Questions. In Findings of the Association for Computational Linguistics: EMNLP "
        "2020, pages 3475–3489. doi 10.18653/v1/2020.findings-emnlp.311",
        (
            "UnQover: μ and η average maxima and absolute values, so they are above 0 for a model that answers at "
            "random; compare them with what chance alone gives.",
            "UnQover: gender is covered by first names common in the US, taken as female or male only.",
        ),
        "unqover",
    ),
    "bbq": About("BBQ", _BBQ_PAPER, _BBQ_CAUTIONS, "bbq"),
    "bbq-starter": About(
        "BBQ's method with assay's starter questions",
        _BBQ_PAPER,
        ("The starter questions are assay's own and few: this is no BBQ result.", *_BBQ_CAUTIONS),
        "assay-bbq-starter",
    ),
    "sodapop": About(
        "SODAPOP",
        _SODAPOP_PAPER,
        (
            _NAMES_CAUTION,
            "SODAPOP: q allows for the number of words in one comparison of groups, not for the number of comparisons.",
        ),
        "sodapop",
    ),
    "sodapop-names": About("SODAPOP (names)", _SODAPOP_PAPER, (_NAMES_CAUTION,), "sodapop-names"),
}


def about(probe: str) -> About:
    """What is said about a probe; one that is not known here speaks for itself."""
    unknown = About(probe, f"The paper that describes the probe {probe}, and its data.", (), probe)
    return _ABOUT.get(probe, unknown)


def task_of(probe: str, estimate: Estimate) -> str:
    """The task of an estimate in a hub's terms.

    >>> task_of("unqover", Estimate("mu", {"form": "mask"}, 0.1)), task_of("bbq", Estimate("accuracy", {}, 0.1))
    ('fill-mask', 'multiple-choice')
    """
    if estimate.group.get("form") == "mask":
        return "fill-mask"
    if probe == "sodapop-names":
        return "feature-extraction"
    return "multiple-choice" if probe in ("bbq", "bbq-starter", "sodapop") else "question-answering"


def part_of(estimate: Estimate) -> tuple[str, str]:
    """The part of a data set that an estimate is about, as an identifier and in words; empty where it is all of it.

    >>> part_of(Estimate("accuracy", {"category": "all", "context": "ambig"}, 0.5))
    ('ambig', 'ambiguous questions')
    """
    group = estimate.group
    if "context" in group:
        return group["context"], f"{CONTEXTS.get(group['context'], group['context'])} questions"
    return group.get("class", ""), group.get("class", "")
