"""The questions, and what is computed from the answers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from assay.asking.plan import Ask, digest_of
from assay.asking.queries import ChoiceColumns, ChoiceQuery
from assay.config.settings import as_written, read_settings
from assay.probes.base import Method, Prepared, Request, Stage
from assay.probes.contrast import Common, Contrast, change_of
from assay.results.findings import Estimate, Findings, Table
from assay.stats import multinomial_weights, percentile_interval, sign_flip_p
from assay_order import Settings

NAMES = ("Ada", "Ben", "Cleo", "Dan", "Eve", "Finn")
Pair = tuple[str, str]


@dataclass(frozen=True)
class OrderPlan:
    """Every pair in both orders: a small recipe that always gives the same questions."""

    pairs: tuple[Pair, ...]
    ability: str = "choice"

    @property
    def digest(self) -> str:
        return digest_of(["order", 1, self.pairs])

    def __len__(self) -> int:
        return 2 * len(self.pairs)

    def columns(self, lo: int, hi: int) -> ChoiceColumns:
        asked = [pair[:: 1 if turn == 0 else -1] for pair in self.pairs for turn in (0, 1)]
        return ChoiceColumns.of([ChoiceQuery(f"{a} met {b}.", "Who was late?", (a, b)) for a, b in asked[lo:hi]])


@dataclass(frozen=True)
class OrderPrepared(Prepared):
    chosen: Settings
    pairs: tuple[Pair, ...]


@dataclass(frozen=True)
class Shares:
    """Of every pair, how often the person mentioned first was chosen: 0, 0.5 or 1."""

    pairs: tuple[Pair, ...]
    first: np.ndarray  # (pair,)


class Order(Method[OrderPrepared, Shares]):
    """For any model that can choose among options: the built-in one, an endpoint, a function."""

    def prepare(self, request: Request, ask: Ask) -> OrderPrepared:
        settings = read_settings(Settings, request.settings, self.probe.name)
        pairs = tuple(combinations(NAMES, 2))[: settings.pairs]
        stages = [Stage("pairs in both orders", 2 * len(pairs))]
        return OrderPrepared(as_written(settings), {}, stages, (), request.seed, settings, pairs)

    def gather(self, prepared: OrderPrepared, ask: Ask) -> Shares:
        scores = ask(OrderPlan(prepared.pairs), "pairs in both orders")["score"]  # (question, option)
        return Shares(prepared.pairs, (scores.argmax(axis=1) == 0).reshape(-1, 2).mean(axis=1))

    def findings(self, prepared: OrderPrepared, data: Shares) -> Findings:
        drawn = replicates(data.first, prepared.chosen.resamples, prepared.seed)
        low, high = percentile_interval(data.first.mean(), drawn, len(data.first), bounds=(0.0, 1.0))
        share = Estimate("first_share", {}, float(data.first.mean()), float(low), float(high), n=2 * len(data.first))
        rows = [(*pair, float(first)) for pair, first in zip(data.pairs, data.first, strict=True)]
        return Findings(self.probe.name, "", [share], {"pairs": Table(("first", "second", "share"), rows)})

    def read_files(self, files: Sequence[Path], request: Request, answers: str | None) -> tuple[OrderPrepared, Shares]:
        """One object a line: {"pair": ["Ada", "Ben"], "first": 0.5}."""
        settings = read_settings(Settings, request.settings, self.probe.name)
        rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        pairs = tuple((row["pair"][0], row["pair"][1]) for row in rows)
        prepared = OrderPrepared(as_written(settings), {}, (), (), request.seed, settings, pairs)
        return prepared, Shares(pairs, np.array([float(row["first"]) for row in rows]))

    def contrast(self, one: Shares, other: Shares, *, settings: Mapping[str, Any], common: bool) -> Contrast:
        both = [pair for pair in one.pairs if pair in other.pairs]
        first, second = (side.first[[side.pairs.index(pair) for pair in both]] for side in (one, other))
        counts = [Common("pairs", len(one.pairs), len(other.pairs), len(both))]
        change = change_of(
            self.probe.metric("first_share"),
            {},
            (float(first.mean()), float(second.mean())),
            n=len(both),
            replicates=tuple(replicates(side, int(settings["resamples"]), 0) for side in (first, second)),
            interval=lambda value, drawn, bounds: percentile_interval(value, drawn, len(both), bounds=bounds),
            p=float(sign_flip_p((second - first)[None])[0]),
        )
        return Contrast([change], counts)


def replicates(first: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """The share in resampled pairs, for the intervals of runs and of differences."""
    weights = multinomial_weights(np.zeros(len(first), np.int64), resamples, np.random.default_rng(seed))
    return weights @ first / len(first)
