"""A kind of model: `always:first` and `always:second` choose the option at that place."""

import hashlib
from dataclasses import dataclass

from assay.asking.queries import Answer, ChoiceQuery, Status
from assay.errors import UsageError
from assay.models.base import ModelSpec, Options

HELP = "always:first or always:second: chooses the option at that place"


def find(name: str, rest: str, options: Options) -> ModelSpec:
    """The model of this name; the digest covers all that decides its answers."""
    if rest not in ("first", "second"):
        raise UsageError(f"there is no model {name!r}.", HELP)
    digest = hashlib.sha256(f"always 1 {rest}".encode()).hexdigest()
    return ModelSpec(name, "always", rest, digest, frozenset({"choice"}))


def load(spec: ModelSpec) -> "Always":
    return Always(spec)


@dataclass(frozen=True)
class Always:
    spec: ModelSpec

    async def answer(self, query: ChoiceQuery) -> Answer:
        """As a model behind an endpoint answers: one query at a time, many of them at once."""
        return Answer(Status.OK, (1.0, 0.0) if self.spec.place == "first" else (0.0, 1.0))
