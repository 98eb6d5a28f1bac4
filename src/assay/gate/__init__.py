"""The gate: checks runs against the limits of a policy, so that a build fails when one is exceeded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.gate.policy import Limit, Policy, read_policy
    from assay.gate.verdicts import Judgement, Outcome, ReasonCode, Verdicts

__all__ = ["Judgement", "Limit", "Outcome", "Policy", "ReasonCode", "Verdicts", "gate", "read_policy"]


def gate(folder: str | Path, policy: str | Path | Policy) -> Verdicts:
    """Check a run, or all runs in a folder, against a policy: the path of a TOML file, or one built in Python."""
    from assay.gate.check import judge_folder
    from assay.gate.policy import Policy, read_policy

    return judge_folder(Path(folder), policy if isinstance(policy, Policy) else read_policy(policy))


def __getattr__(name: str) -> Any:
    from importlib import import_module

    homes = {
        "policy": ("Limit", "Policy", "read_policy"),
        "verdicts": ("Judgement", "Outcome", "ReasonCode", "Verdicts"),
    }
    for home, names in homes.items():
        if name in names:
            return getattr(import_module(f"assay.gate.{home}"), name)
    raise AttributeError(f"module 'assay.gate' has no attribute {name!r}")
