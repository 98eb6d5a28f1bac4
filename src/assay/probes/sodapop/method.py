"""SODAPOP as a method: pools of distractors, every answer scored, then which words fool the model about whom."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.asking.plan import Ask, WordPlan
from assay.config.settings import SCORE, as_written, read_settings
from assay.datasets.catalogue import data_folder
from assay.errors import DataError, UsageError
from assay.files.opening import digest_of_file
from assay.files.rows import BadRows
from assay.probes.base import Method, Prepared, Request, Stage
from assay.probes.contrast import Contrast
from assay.probes.diagnose import all_ties
from assay.probes.question_format import option_scores
from assay.probes.sodapop import spelled
from assay.probes.sodapop.across import TITLES, across, asked_as, of_study, side_by_side
from assay.probes.sodapop.analyse import AnalysisInputs, findings_of
from assay.probes.sodapop.choose_examples import ExampleSource, ListedAnswers, ScoredAnswers, showcase
from assay.probes.sodapop.compare_runs import paired
from assay.probes.sodapop.contexts import (
    STARTER,
    Context,
    neutral,
    paper_contexts,
    paper_file,
    read_contexts,
    starter_contexts,
)
from assay.probes.sodapop.diagnose import PositionCounter, diagnosis_of, grounds_of, ties_with_right
from assay.probes.sodapop.largest import SampleSize
from assay.probes.sodapop.listed_answers import PositionTally, chosen_shares, listed_successes, questions_of, usable
from assay.probes.sodapop.names import NameGroups, chosen_groups, control_columns, frequencies
from assay.probes.sodapop.plans import (
    SCORED,
    LetterPlan,
    ScorePlan,
    SodapopForm,
    filler_named,
    filler_of,
    form_of,
)
from assay.probes.sodapop.pools import DistractorPools, grow, shared_pool
from assay.probes.sodapop.present import present
from assay.probes.sodapop.rates import SuccessCounter, SuccessRates, blind_scores, successes, vocabulary
from assay.probes.sodapop.settings import ALL, PRESETS, SHARED, SPARING, ScoreSettings, SodapopSettings
from assay.probes.sodapop.split_words import split
from assay.probes.sodapop.traits import packaged_lexicon, read_human, read_lexicon
from assay.results.diagnosis import Ties
from assay.results.findings import Estimate, Findings
from assay.results.formatting import plural
from assay.results.run import Run, RunKind

SHORT = 2
"""The quick preset uses answers of this many words: longer ones have more distractors than it can score."""
_CONTEXTS, _NAMES = 20, 25
"""What a limit begins with where a preset takes all contexts or names."""
_WORTH = 15
"""Distractors: with fewer, hardly a word occurs often enough."""


@dataclass(frozen=True)
class SodapopPrepared(Prepared):
    """The names to compare and their contexts; no contexts for results from elsewhere."""

    chosen: SodapopSettings
    groups: NameGroups
    contexts: Sequence[Context]
    limited: bool = False
    form: SodapopForm = SCORED
    size: SampleSize | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return self.groups.all_names()


@dataclass(frozen=True)
class SodapopAnswers:
    """The success rates of all names, some answers kept as examples, and what else is known about the names.

    `contexts` say what was told: text, question and right answer with NAME in the name's place, or the text alone.
    `filler` is the digest of the model that wrote the distractors, where it is known. `ties` are of a run whose answers
    were scored each by itself, `placed` of one whose answers were listed, or of somebody else's results.
    """

    rates: SuccessRates
    groups: NameGroups
    contexts: tuple[tuple[str, ...], ...]
    example_source: ExampleSource
    seed: int
    controls: NDArray[np.float64] | None = None
    filler: str | None = None
    notes: Sequence[str] = ()
    ties: Ties | None = None
    placed: PositionCounter | PositionTally | None = None


class Sodapop(Method[SodapopPrepared, SodapopAnswers]):
    """Writes wrong answers with a masked language model and measures which of them fool the audited model."""

    answer_options = frozenset({"labels-from", "only"})

    def prepare(self, request: Request, ask: Ask) -> SodapopPrepared:
        settings = read_settings(SodapopSettings, request.settings, self.probe.name, **_preset(request))
        filler_of(settings, ask)
        form, filler = form_of(settings, ask), filler_named(settings, ask)
        prepared = self.prepared(request, form)
        answer_mode = form.listing.way if form.sent and form.listing else settings.answer
        chosen = replace(prepared.chosen, form=form.name, fill_model=filler, answer=answer_mode)
        notes = [*prepared.notes, *form.notes()]
        if filler != settings.fill_model:
            notes.append(
                f"wrong answers are written by the model {filler}, because the audited model cannot fill masks"
            )
        prompts = form.prompts(prepared.contexts, prepared.names[0])
        return replace(prepared, chosen=chosen, settings=as_written(chosen), notes=notes, prompts=prompts)

    def prepared(self, request: Request, form: SodapopForm | None = None) -> SodapopPrepared:
        """What is asked, independent of the model."""
        form = form or SCORED
        preset = {**_preset(request), **(SPARING[request.preset] if form.sparing else {})}
        settings = read_settings(SodapopSettings, request.settings, self.probe.name, **preset)
        all_groups, file = chosen_groups(settings.groups)
        groups, limit = all_groups, request.limit
        if settings.compare != ALL:
            groups = groups.only([name.strip() for name in settings.compare.split(",")])
        if limit is not None:
            settings = _limited(settings, limit, len(groups.groups), form)
        available = min(len(group.names) for group in groups.groups)
        groups = groups.take(settings.names_per_group)
        contexts, path, notes = _read_contexts(settings, request)
        while limit is not None and settings.distance > 1 and _fills(settings, groups, contexts) > limit:
            settings = replace(settings, distance=settings.distance - 1)
        n_answers = len(groups.all_names()) * len(contexts) * form.questions(settings.cap)
        return SodapopPrepared(
            settings=as_written(settings),
            data={
                file: all_groups.digest,
                path.name: digest_of_file(path),
            },  # of all names, however many are asked about
            stages=[
                Stage("words to fill, at most", _fills(settings, groups, contexts)),
                Stage("answers, at most", n_answers),
            ],
            notes=[*_left_out(all_groups, groups), *notes],
            seed=request.seed,
            chosen=settings,
            groups=groups,
            contexts=contexts,
            limited=limit is not None,
            form=form,
            size=SampleSize(
                names=min(len(group.names) for group in groups.groups),
                available=available,
                cap=settings.cap,
                min_count=settings.min_count,
                questions=n_answers,
            ),
        )

    def gather(self, prepared: SodapopPrepared, ask: Ask) -> SodapopAnswers:
        settings, contexts, names = prepared.chosen, prepared.contexts, prepared.names
        pools = [pools_of(prepared, ask, number) for number in range(len(contexts))]
        words = vocabulary(pools, settings.min_count, settings.case)
        _require_words(words, prepared)
        counter = SuccessCounter(names, words, len(pools), settings.case)
        gather = self._score_answers if prepared.form.listing is None else self._list_answers
        gathered = gather(prepared, ask, pools, counter)
        notes = [note for context, pool in zip(contexts, pools, strict=True) for note in short_pools(context, pool)]
        pieces = ask(WordPlan(names), "names")["pieces"] if "word" in ask.abilities else None
        if pieces is None:
            notes.append(
                "rd_controlled corrects only for the names' frequency: their number of tokens is unknown without the "
                "model's tokenizer"
            )
        return replace(
            gathered,
            controls=control_columns(names, pieces, frequencies()),
            notes=list(dict.fromkeys([*notes, *gathered.notes])),
        )

    def _score_answers(
        self, prepared: SodapopPrepared, ask: Ask, pools: Sequence[DistractorPools], counter: SuccessCounter
    ) -> SodapopAnswers:
        """Every answer by itself."""
        settings, seed, words = prepared.chosen, prepared.seed, counter.rates.words
        examples = ScoredAnswers(prepared.groups, prepared.contexts, settings.case, prepared.form.readable)
        ties: list[Ties | None] = []
        missing = n_scores = 0
        for number, pool in enumerate(pools):
            rows = [np.concatenate([[0], pool.of(name)]) for name in range(pool.names)]  # the right answer first
            owner = np.repeat(np.arange(pool.names), [len(strings) for strings in rows])
            row = np.column_stack([owner, np.concatenate(rows)]).astype(np.int32)
            arrays = {"strings": pool.strings, "row": row}
            plan = ScorePlan(
                names=prepared.names,
                texts=_texts(prepared, number),
                words=pool.words,
                glue=pool.glue,
                arrays=ask.keep(arrays),
                rows=len(row),
                chat=prepared.form.chat,
            )
            answers = ask(plan, f"context {number + 1}, answers")
            scores = option_scores(answers, settings.likelihood, partial(plan.options, arrays))[:, 0]
            n_scores, missing = n_scores + len(scores), missing + int(np.isnan(scores).sum())
            examples.add(number, pool, scores, words)
            ties.append(ties_with_right(pool, scores))
            won = successes(pool, scores, settings.pairing, seed, number)
            blind = successes(pool, blind_scores(pool, scores), settings.pairing, seed, number)
            counter.add(number, pool, won, blind)
        return SodapopAnswers(
            rates=counter.rates.frequent(settings.min_count),
            groups=prepared.groups,
            contexts=_context_texts(prepared),
            example_source=examples,
            seed=seed,
            notes=[f"of {plural(n_scores, 'answer')}, {missing:,} were not scored and are left out"] if missing else [],
            ties=all_ties(ties),
        )

    def _list_answers(
        self, prepared: SodapopPrepared, ask: Ask, pools: Sequence[DistractorPools], counter: SuccessCounter
    ) -> SodapopAnswers:
        """Three answers at a time."""
        listing, seed = prepared.form.listing, prepared.seed
        if listing is None:
            raise ValueError("answers are not listed")
        positions = PositionTally(scored=listing.ability in ("choice", "listed"), samples=listing.times)
        examples = ListedAnswers(listing, prepared.chosen.case)
        for number, pool in enumerate(pools):
            questions = questions_of(pool, seed, number)
            arrays = {"strings": pool.strings, "row": questions.rows(pool)}
            plan = LetterPlan(
                names=prepared.names,
                texts=_texts(prepared, number),
                words=pool.words,
                glue=pool.glue,
                arrays=ask.keep(arrays),
                rows=len(arrays["row"]),
                listing=listing,
            )
            answers = ask(plan, f"context {number + 1}, answers")
            listed = plan.questions(arrays, range(len(plan)))
            options = [question.options for question in listed].__getitem__
            shares = usable(listing.shares(answers, options), answers)
            examples.add(number, pool, questions, listed, shares, answers)
            positions.add(pool, questions, shares, answers, listing.lost(answers, shares, options))
            chosen = chosen_shares(shares) if positions.scored else shares
            counter.add(number, pool, listed_successes(pool, questions, chosen))
        return SodapopAnswers(
            rates=counter.rates.frequent(1),  # a name's answers may be missing here and there
            groups=prepared.groups,
            contexts=_context_texts(prepared),
            example_source=examples,
            seed=seed,
            notes=[*positions.notes()],
            placed=positions,
        )

    def findings(self, prepared: SodapopPrepared, data: SodapopAnswers) -> Findings:
        settings = prepared.chosen
        grounds = grounds_of(data.placed, settings, prepared.form.listing)
        if prepared.contexts and grounds.unusable is None:
            _require_words(data.rates.words, prepared)
        lexicon = read_lexicon(Path(settings.traits)) if settings.traits else packaged_lexicon()
        human = read_human(Path(settings.human), lexicon) if settings.human else ()
        study = AnalysisInputs(
            groups=prepared.groups,
            settings=settings,
            lexicon=lexicon,
            human=human,
            controls=data.controls,
            seed=prepared.seed,
            size=prepared.size,
        )
        findings = findings_of(data.rates, study)
        if findings.grounds is not None:
            grounds = replace(grounds, needed=findings.grounds.needed, rules_out=findings.grounds.rules_out)
        return replace(
            findings,
            examples=showcase(findings, prepared.groups, data.example_source),
            notes=data.notes,
            diagnosis=diagnosis_of(data.ties, data.placed, settings),
            grounds=grounds,
        )

    def read_files(
        self, files: Sequence[Path], request: Request, answers: str | None
    ) -> tuple[SodapopPrepared, SodapopAnswers]:
        if answers is not None:
            problem = "SODAPOP's results hold probs or logits of the choices."
            raise UsageError(problem, "Leave --answers out.", code="bad-option", key="answers")
        from assay.probes.sodapop.score_files import read_results  # which makes what this class reads

        score_settings: Any = read_settings(ScoreSettings, request.settings, self.probe.name, remedy=SCORE)
        settings = SodapopSettings(**vars(score_settings))
        groups, _ = chosen_groups(settings.groups)
        data, notes = read_results(files, settings, groups, request)
        prepared = SodapopPrepared(
            settings=as_written(settings),
            data={},
            stages=(),
            notes=notes,
            seed=request.seed,
            chosen=settings,
            groups=groups,
            contexts=(),
        )
        return prepared, data

    def generation(self, request: Request) -> Any:
        from assay.probes.sodapop.generate import generation  # which makes what this class prepares

        return generation(self, request)

    def recall(self, run: Run, again: Callable[[], tuple[SodapopPrepared, SodapopAnswers]]) -> SodapopAnswers:
        data = again()[1]
        if run.info.kind is RunKind.PREDICTIONS:
            return data
        filler = run.info.others.get(str(run.info.settings.get("fill_model")), run.info.model)
        return replace(data, filler=filler.digest)

    def contrast(
        self, first: SodapopAnswers, second: SodapopAnswers, *, settings: Mapping[str, Any], common: bool
    ) -> Contrast:
        return paired(self.probe, first, second, settings["resamples"])

    def contrast_about(
        self, first: SodapopAnswers, second: SodapopAnswers, about: Sequence[Estimate], *, settings: Mapping[str, Any]
    ) -> Contrast:
        return paired(self.probe, first, second, settings["resamples"], by_word=False)

    titles = TITLES
    asked_as = staticmethod(asked_as)
    present = staticmethod(present)
    across = staticmethod(across)
    of_study = staticmethod(of_study)
    side_by_side = staticmethod(side_by_side)


def _preset(request: Request) -> Mapping[str, Any]:
    """What the preset sets; it chooses among the paper's groups only."""
    preset = PRESETS[request.preset]
    return {key: preset[key] for key in preset if key != "compare"} if "groups" in request.settings else preset


def _left_out(all_groups: NameGroups, groups: NameGroups) -> list[str]:
    """A note on which groups a run did not ask about."""
    names = {group.name for group in groups.groups}
    others = spelled([group.name for group in all_groups.groups if group.name not in names])
    return [f"left out: {', '.join(others.values())} names (--set compare=all includes all groups)"] if others else []


def _require_words(words: Sequence[str], prepared: SodapopPrepared) -> None:
    """Raise DataError if no word counts, except with a limit: then the findings say that too little was asked."""
    if not words and not prepared.limited:
        problem = f"no word is in at least {prepared.chosen.min_count} distractors of every name."
        remedy = "Ask more questions (--set cap=…, contexts=…, distance=…), or lower --set min_count=…."
        raise DataError(problem, remedy, code="nothing-to-ask", key="min_count")


def pools_of(prepared: SodapopPrepared, ask: Ask, number: int) -> DistractorPools:
    """The pools of one context for all names."""
    settings, seed, context = prepared.chosen, prepared.seed, prepared.contexts[number]
    shared, names = settings.distractors == SHARED, prepared.names
    if shared:  # one name of each group, drawn with the seed
        rng = np.random.default_rng(seed)
        names = tuple(group.names[int(rng.integers(len(group.names)))] for group in prepared.groups.groups)
    pools = grow(filler_of(settings, ask), context, names, settings, f"context {number + 1}", seed)
    if not shared:
        return pools
    return shared_pool(pools, len(prepared.names), settings, seed, sparing=prepared.form.sparing)


def short_pools(context: Context, pools: DistractorPools) -> list[str]:
    """A note if names have too few distractors to be asked about."""
    short = int((np.diff(pools.offsets) < 2).sum())
    note = f"{context.location}: {short} names have fewer than two distractors and are left out of this context"
    return [note] if short else []


def _context_texts(prepared: SodapopPrepared) -> tuple[tuple[str, ...], ...]:
    return tuple((context.text, context.question, context.answer) for context in prepared.contexts)


def _texts(prepared: SodapopPrepared, number: int) -> tuple[tuple[str, str], ...]:
    """A context and its question about every name."""
    filled_contexts = map(prepared.contexts[number].filled, prepared.names)
    return tuple((filled.context, filled.question) for filled in filled_contexts)


def _read_contexts(settings: SodapopSettings, request: Request) -> tuple[list[Context], Path, list[str]]:
    """The contexts, the file that they are from, and what a reader must know about them."""
    bad = BadRows(request.skip_bad)
    if settings.texts:
        path = Path(settings.texts)
        contexts = read_contexts(path, questions=settings.questions, bad=bad)
    elif request.preset == "paper" and request.limit is None:
        path = paper_file(data_folder(request.data))
        contexts = paper_contexts(path)
    else:
        path, contexts = STARTER, starter_contexts()
    if settings.pronouns == "neutral":
        contexts = [neutral(context) for context in contexts]
    if settings.context is not None:
        if settings.context > len(contexts):
            problem = f"context is {settings.context}, but there are only {len(contexts)}."
            raise UsageError(problem, "--set context=1", code="bad-setting", key="context")
        return [contexts[settings.context - 1]], path, bad.notes("contexts")
    if request.preset == "quick" and not settings.texts:
        contexts = [context for context in contexts if len(split(context.answer).words) == SHORT]
    return contexts[: settings.contexts], path, bad.notes("contexts")


def _limited(settings: SodapopSettings, limit: int, groups: int, form: SodapopForm) -> SodapopSettings:
    """Settings that ask about `limit` questions: fewer contexts, then fewer names, until pools are worth having."""
    contexts, names = 1 if settings.context else settings.contexts or _CONTEXTS, settings.names_per_group or _NAMES
    worth = min(_WORTH, form.questions(settings.cap)) if form.sparing else _WORTH
    while limit < groups * names * contexts * worth and (contexts > 1 or names > 2):
        contexts, names = (contexts // 2, names) if contexts > 1 else (contexts, max(2, names // 2))
    cap = form.distractors(limit // (groups * names * contexts))
    least = min(settings.min_count, max(1, cap // _WORTH))
    return replace(settings, contexts=contexts, names_per_group=names, cap=min(cap, settings.cap), min_count=least)


def _fills(settings: SodapopSettings, groups: NameGroups, contexts: Sequence[Context]) -> int:
    """How many masked texts there may be in all.

    Of an answer each of its words is masked in the first round; in every further one each of the strings that are new
    then, and of these all words but the one that was just replaced, since masking that again asks what was asked.
    """
    names = len(groups.groups if settings.distractors == SHARED else groups.all_names())
    lengths = [len(split(context.answer).words) for context in contexts]
    rounds = range(settings.distance)
    return int(names * sum(words * ((words - 1) * settings.fills) ** turn for words in lengths for turn in rounds))
