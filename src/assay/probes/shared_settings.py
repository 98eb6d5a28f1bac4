"""Settings that several probes have."""

from __future__ import annotations

from typing import Any

from assay.asking.messages import ANSWER_MODES
from assay.config.settings import MOST_DRAWS, RESAMPLES, setting


def draws_setting(help: str) -> Any:
    """How often something is drawn at random."""
    return setting(RESAMPLES, help, least=1, most=MOST_DRAWS, example=str(RESAMPLES))


def answer_setting(auto: str = "the first of these that the endpoint supports") -> Any:
    description = f"for endpoints: where an option's probability comes from; auto: {auto}"
    return setting("auto", description, choices=("auto", *ANSWER_MODES))


def samples_setting() -> Any:
    return setting(10, "answers drawn for each question if answer=samples", least=1, example="10")


def tokens_setting(least: str) -> Any:
    description = f"the most tokens of a written answer, including reasoning ({least}; for endpoints 512)"
    return setting(None, description, least=1, example="512")


def chat_setting() -> Any:
    return setting("auto", "off ignores a tokenizer's chat template", choices=("auto", "off"))


def share_setting(default: float, description: str) -> Any:
    """A setting that is a share of the answers."""
    return setting(default, description, least=0, most=1, real=True, example=f"{default:g}")


def unusable_setting() -> Any:
    return share_setting(
        0.5, "answers cannot be used if more than this share of them is refused, cut off, empty or not understood"
    )


def excess_setting() -> Any:
    return share_setting(
        0.25, "answers follow the place if the share of one place exceeds the expected share by this much"
    )


def same_setting() -> Any:
    return share_setting(0.8, "answers also follow the place if this share of exchanged pairs got the same place")


def ruled_out_setting(default: float) -> Any:
    """The field of a probe's settings that sets `ClaimRule.ruled_out`."""
    description = "the largest bias that “no clear bias” may leave open"
    return setting(default, description, least=0, most=2, real=True, example=f"{default:g}")
