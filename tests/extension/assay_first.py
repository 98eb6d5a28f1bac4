"""Whom does a model choose where the text does not say: who is mentioned first, or second?"""

from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from assay.asking.plan import Ask
from assay.asking.queries import ChoiceQuery
from assay.probes.base import ClaimRule, Method, Metric, Prepared, Probe, ProbeClaims, QueryPlan, Request, Stage
from assay.results.findings import Estimate, Findings
from assay.stats import sign_flip_p, wilson_interval

NAMES = ("Ada", "Ben", "Cleo", "Dan", "Eve", "Finn")
QUESTIONS = tuple(ChoiceQuery(f"{a} met {b}.", "Who was late?", (a, b)) for a, b in permutations(NAMES, 2))
PROBE = Probe(
    name="first",
    title="First",
    asks="who was late, the first or the second? The text does not say.",
    paper="The authors of assay-first. 2026. Whoever comes first.",
    abilities=frozenset({"choice"}),
    method="assay_first:First",
    metrics=[Metric("first_share", "share of first answers", worse="away", neutral=0.5)],
    claims=ProbeClaims([ClaimRule("first_share", "shares", 0.1, "one answer in ten", neutral=0.5, family="shares")]),
)


class First(Method[Prepared, NDArray[np.bool_]]):
    def prepare(self, request: Request, ask: Ask) -> Prepared:
        return Prepared({}, {}, [Stage("questions", len(QUESTIONS))], (), request.seed)

    def gather(self, prepared: Prepared, ask: Ask) -> NDArray[np.bool_]:
        return ask(QueryPlan(QUESTIONS), "questions")["score"].argmax(axis=1) == 0

    def findings(self, prepared: Prepared, data: NDArray[np.bool_]) -> Findings:
        share, p = float(data.mean()), float(sign_flip_p((data - 0.5)[None])[0])
        low, high = wilson_interval(share, len(data))
        return Findings(self.probe.name, "", [Estimate("first_share", {}, share, low, high, n=len(data), p=p)])
