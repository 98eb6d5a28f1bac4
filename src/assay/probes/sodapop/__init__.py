"""SODAPOP (An et al. 2023): wrong answers written by a masked language model. Which words fool a model about whom?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.data import data_folder
from assay.engine.arrays import save_arrays
from assay.errors import DataError, UsageError
from assay.files.opening import digest_of_file
from assay.findings import Findings
from assay.plan import Ask, WordPlan
from assay.probes import Request, Stage
from assay.probes.sodapop.analyse import Study, findings_of
from assay.probes.sodapop.contexts import STARTER, Context, neutral, paper_contexts, read_contexts, starter_contexts
from assay.probes.sodapop.controls import control_columns
from assay.probes.sodapop.kept import Kept
from assay.probes.sodapop.names import Groups, frequencies, packaged_groups, read_groups
from assay.probes.sodapop.plans import ScorePlan
from assay.probes.sodapop.pools import Pools, grow, shared_pool
from assay.probes.sodapop.rates import Counter, Rates, blind_scores, successes, vocabulary
from assay.probes.sodapop.settings import SHARED, Settings
from assay.probes.sodapop.showcase import showcase
from assay.probes.sodapop.traits import packaged_lexicon, read_human, read_lexicon
from assay.probes.sodapop.words import split
from assay.rows import Bad

PAPER_FILE = Path("sodapop") / "socialIQa_v1.4_dev_Bethany_0_2191.jsonl"
SHORT = 2
"""The quick preset asks about answers of so many words: longer ones have more distractors than it may score."""


class Sodapop:
    """The probe: pools of distractors for every context, every answer scored, then who is fooled by which words."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._settings = Settings.parse(request.settings or {}, request.preset)
        self._data: dict[str, str] = {}
        self._notes: list[str] = []
        groups = self._read_groups()
        if request.limit is not None:
            self._settings = _limited(self._settings, request.limit, len(groups.groups))
        self._groups = groups.take(self._settings.names_per_group)
        self._contexts = self._read_contexts()
        while request.limit is not None and self._settings.distance > 1 and self._most_fills() > request.limit:
            self._settings = replace(self._settings, distance=self._settings.distance - 1)

    def settings(self) -> Mapping[str, Any]:
        return self._settings.as_dict()

    def data(self) -> Mapping[str, str]:
        return self._data

    def notes(self) -> Sequence[str]:
        return self._notes

    def stages(self, ask: Ask) -> Sequence[Stage]:
        """At most so many questions: how many distractors there are is known when masks are filled."""
        self._filler(ask)
        if "choice" not in ask.abilities:
            raise UsageError("this model cannot choose among options.", "SODAPOP needs a multiple-choice model.")
        scored = len(self._groups.all_names()) * len(self._contexts) * (self._settings.cap + 1)
        return [Stage("words to fill, at most", self._most_fills()), Stage("answers, at most", scored)]

    @property
    def groups(self) -> Groups:
        """Whose names are compared."""
        return self._groups

    @property
    def contexts(self) -> Sequence[Context]:
        """What is told about them."""
        return self._contexts

    def run(self, ask: Ask, model: str) -> Findings:
        kept = Kept(self._groups, self._contexts, self._settings.case)
        findings = findings_of(model, self.rates(ask, kept), self._study(ask))
        return replace(findings, examples=showcase(findings, self._groups, kept))

    def rates(self, ask: Ask, kept: Kept | None = None) -> Rates:
        """Everybody's success rates: pools of distractors, and every answer scored; some are kept to be shown."""
        names = self._groups.all_names()
        pools = [self._pools(ask, number) for number in range(len(self._contexts))]
        words = vocabulary(pools, self._settings.min_count, self._settings.case)
        self._require_words(words)
        counter = Counter(names, words, len(pools), self._settings.case)
        pairing, seed = self._settings.pairing, self._request.seed
        for number, pool in enumerate(pools):
            plan = self._score_plan(number, pool)
            scores = ask(plan, f"context {number + 1}, answers")["score"][:, 0].astype(np.float64)
            if kept is not None:
                kept.add(number, pool, scores, words)
            won = successes(pool, scores, pairing, seed, number)
            counter.add(number, pool, won, successes(pool, blind_scores(pool, scores), pairing, seed, number))
        rates = counter.rates.frequent(self._settings.min_count)
        self._require_words(rates.words)
        return rates

    def _require_words(self, words: Sequence[str]) -> None:
        """Not where there is a limit: it may leave too little to compare, and the findings then say so."""
        if not words and self._request.limit is None:
            raise DataError(
                f"no word is in at least {self._settings.min_count} distractors of every name.",
                "Ask more (--set cap=…, contexts=…, distance=…), or lower --set min_count=….",
            )

    def _most_fills(self) -> int:
        shared = self._settings.distractors == SHARED
        names = len(self._groups.groups if shared else self._groups.all_names())
        lengths = (len(split(context.answer).words) for context in self._contexts)
        return names * sum(_most_fills(length, self._settings) for length in lengths)

    def _pools(self, ask: Ask, number: int) -> Pools:
        """The pools of one context for all names."""
        settings, seed, context = self._settings, self._request.seed, self._contexts[number]
        shared = settings.distractors == SHARED
        names = self._growers() if shared else self._groups.all_names()
        pools = grow(self._filler(ask), context, names, settings, f"context {number + 1}", seed)
        if shared:
            pools = shared_pool(pools, len(self._groups.all_names()), settings, seed)
        short = int((np.diff(pools.offsets) < 2).sum())
        if short:
            note = f"{context.place}: {short} names have fewer than two distractors there, and do not count in it"
            self._notes += [note] if note not in self._notes else []
        return pools

    def _growers(self) -> tuple[str, ...]:
        """For shared pools: one name of each group, drawn with the seed."""
        rng = np.random.default_rng(self._request.seed)
        return tuple(group.names[int(rng.integers(len(group.names)))] for group in self._groups.groups)

    def _score_plan(self, number: int, pool: Pools) -> ScorePlan:
        names, context = self._groups.all_names(), self._contexts[number]
        rows = [np.concatenate([[0], pool.of(name)]) for name in range(len(names))]  # the right answer first
        owner = np.repeat(np.arange(len(names)), [len(own) for own in rows])
        row = np.column_stack([owner, np.concatenate(rows)]).astype(np.int32)
        arrays = save_arrays({"strings": pool.strings, "row": row})
        texts = tuple((filled.context, filled.question) for filled in map(context.filled, names))
        return ScorePlan(names, texts, pool.words, pool.glue, arrays, len(row))

    def _study(self, ask: Ask) -> Study:
        settings = self._settings
        lexicon = read_lexicon(Path(settings.traits)) if settings.traits else packaged_lexicon()
        human = read_human(Path(settings.human), lexicon) if settings.human else ()
        return Study(self._groups, settings, lexicon, human, self._controls(ask), self._request.seed)

    def _controls(self, ask: Ask) -> NDArray[np.float64]:
        names = self._groups.all_names()
        pieces = ask(WordPlan(names), "names")["pieces"]
        return control_columns(names, pieces, frequencies())

    def _filler(self, ask: Ask) -> Ask:
        """Who fills masks."""
        filler = ask.of(self._settings.fill_model) if self._settings.fill_model else ask
        if "fill" not in filler.abilities:
            raise UsageError(
                f"{self._settings.fill_model or 'this model'} cannot fill masks.",
                "Name a masked language model for that: --set fill_model=builtin, or hf:./folder.",
            )
        return filler

    def _read_groups(self) -> Groups:
        path = self._settings.groups
        groups = read_groups(Path(path)) if path else packaged_groups()
        self._data[Path(path).name if path else "sodapop/names"] = groups.digest
        return groups

    def _read_contexts(self) -> list[Context]:
        settings, bad = self._settings, Bad(self._request.skip_bad)
        if settings.texts:
            path = Path(settings.texts)
            contexts = read_contexts(path, questions=settings.questions, bad=bad)
        elif self._request.preset == "paper" and self._request.limit is None:
            path = paper_file(data_folder(self._request.data))
            contexts = paper_contexts(path)
        else:
            path, contexts = STARTER, starter_contexts()
        self._data[path.name] = digest_of_file(path)
        self._notes += bad.notes("contexts")
        if settings.pronouns == "neutral":
            contexts = [neutral(context) for context in contexts]
        if settings.context is not None:
            if settings.context > len(contexts):
                raise UsageError(f"context is {settings.context}, and there are {len(contexts)}.", "--set context=1")
            return [contexts[settings.context - 1]]
        if self._request.preset == "quick" and not settings.texts:
            contexts = [context for context in contexts if len(split(context.answer).words) == SHORT]
        return contexts[: settings.contexts]


def paper_file(folder: Path) -> Path:
    for path in (folder / PAPER_FILE, folder / f"{PAPER_FILE}.gz"):
        if path.is_file():
            return path
    raise UsageError(
        f"the paper's contexts ({PAPER_FILE}) are not in {folder}.",
        "Get them with `assay data fetch sodapop`, or name a file in Social IQa's format with --set texts=FILE.",
    )


def _limited(settings: Settings, limit: int, groups: int) -> Settings:
    """Settings that score about `limit` answers: fewer contexts, then fewer names, until pools are worth having."""
    contexts, names = 1 if settings.context else settings.contexts or _CONTEXTS, settings.names_per_group or _NAMES
    while limit < groups * names * contexts * _WORTH and (contexts > 1 or names > 2):
        contexts, names = (contexts // 2, names) if contexts > 1 else (contexts, max(2, names // 2))
    cap = max(2, limit // (groups * names * contexts) - 1)
    return replace(
        settings,
        contexts=contexts,
        names_per_group=names,
        cap=min(cap, settings.cap),
        min_count=min(settings.min_count, max(1, cap // _WORTH)),
    )


_CONTEXTS, _NAMES = 20, 25
"""What a limit begins with where a preset takes all contexts or names."""
_WORTH = 15
"""Distractors: with fewer, hardly a word occurs often enough."""


def _most_fills(words: int, settings: Settings) -> int:
    """How many masked texts an answer of so many words can have.

    In the first round each of its words is masked; in every further one each of the strings that are new then, and of
    these all words but the one that was just replaced, since masking that again asks what was asked.
    """
    return int(words * sum(((words - 1) * settings.fills) ** turn for turn in range(settings.distance)))
