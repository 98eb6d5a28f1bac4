"""BBQ as a method: plans with and without contexts, the options that answers name, and the paper's scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.answers import REFUSED, TIED, UNPARSED, parse_answer, parse_released
from assay.asking.messages import readable_prompt
from assay.asking.plan import Ask
from assay.asking.queries import Answers, Status
from assay.config.settings import GENERATE, SCORE, as_written, read_settings
from assay.datasets.catalogue import data_folder
from assay.errors import UsageError
from assay.languages import ENGLISH, language
from assay.presentation.elements import Presentation, Section
from assay.probes.base import Method, Prepared, Request, Stage
from assay.probes.bbq import across, ask_items, category_words, compare_runs, present
from assay.probes.bbq import settings as forms
from assay.probes.bbq import source as sources
from assay.probes.bbq.analyse import OUT_OF_CHOICE, findings_of
from assay.probes.bbq.ask_items import SteppedAnswers, ask_in_steps, choose_form, prompt_records, stages_of
from assay.probes.bbq.choose_examples import PROBABILITIES, PartAnswers, choose_examples, likelihoods
from assay.probes.bbq.diagnose import diagnosis_of
from assay.probes.bbq.edition_language import SETTINGS, EditionLanguage, language_labels
from assay.probes.bbq.editions import ORIGINAL, absent_categories, categories_of, edition, language_of, set_name
from assay.probes.bbq.generation import BBQQuestionWriter
from assay.probes.bbq.grounds import grounds_of, lost_answers
from assay.probes.bbq.items import QUARTET
from assay.probes.bbq.logs import LOGS, logs_in
from assay.probes.bbq.plan import BBQPlan
from assay.probes.bbq.prompt_sources import digests_of, read_wording, wordings_by_prompt
from assay.probes.bbq.score_files import answered_files, answering_model
from assay.probes.bbq.settings import BBQGenerateSettings, BBQSettings
from assay.probes.bbq.source import ItemSample, ItemSource
from assay.probes.bbq.tallies import AnsweredItems
from assay.probes.contrast import Contrast
from assay.probes.diagnose import all_ties, leads, ties_of
from assay.probes.question_format import answer_mode_note, option_scores, softmax
from assay.results.diagnosis import Ties
from assay.results.findings import NEAR_TIE, Estimate, Findings, Table
from assay.results.run import Run

PROMPT_STAGE = "prompt "
"""Before a prompt's id, the name of its part of a run."""

PROMPT_ABILITIES = frozenset({"text", "listed"})
"""Models with one of these abilities read a prompt; examples and run.json show it."""


@dataclass(frozen=True)
class BBQPrepared(Prepared):
    """The plans by name; none for answers from files."""

    plans: Mapping[str, BBQPlan]
    chosen: BBQSettings


@dataclass(frozen=True)
class BBQAnswers:
    """The answers to every plan; `scored` says that all options were scored in every question."""

    said: Sequence[PartAnswers]
    scored: bool
    near_ties: Mapping[str, int]
    ties: Ties | None = None
    lost: Mapping[str, int] = field(default_factory=dict)  # by why they say nothing (`grounds.LOST`)


class BBQ(Method[BBQPrepared, BBQAnswers]):
    """BBQ on the official data, on files in the same format, or on a set made like it."""

    presets: Mapping[str, int | None] = {"quick": forms.QUICK, "standard": forms.STANDARD, "paper": None}
    logs = LOGS
    answer_options = frozenset({"labels-from", "only"})
    varied_by = SETTINGS

    def source(self, settings: BBQSettings, request: Request) -> ItemSource:
        require_edition_settings(settings)
        if settings.edition != ORIGINAL:
            place, language = data_folder(request.data), language_of(settings.edition, settings.language)
            wanted = settings.categories, settings.defects, request.skip_bad
            return sources.of_edition(place, settings.edition, language, *wanted)
        metadata = Path(settings.metadata) if settings.metadata else None
        if metadata and not metadata.is_file():
            problem, remedy = f"metadata is {metadata}, which is not a file.", "--set metadata=additional_metadata.csv"
            raise UsageError(problem, remedy, code="bad-setting", key="metadata")
        read = settings.target_loc, settings.defects, request.skip_bad
        return sources.official(data_folder(request.data), settings.categories, metadata, *read)

    def prepare(self, request: Request, ask: Ask) -> BBQPrepared:
        settings = read_settings(BBQSettings, request.settings, self.probe.name)
        source = self.source(settings, request)
        sample = ItemSample(per_template=self.presets[request.preset], seed=request.seed)
        if request.limit is not None:
            sample = ItemSample(in_all=-(-request.limit // len(QUARTET)), seed=request.seed)
        code = (
            source.language if ask.abilities & PROMPT_ABILITIES else ENGLISH
        )  # others read the question and options only
        by_prompt = wordings_by_prompt(read_wording(settings, code), settings, source.files)
        words, orders, chat = next(iter(by_prompt.values())), option_orders_of(settings), settings.chat == "auto"
        form = choose_form(settings, words, ask.abilities, ask.ways)
        way = ask_items.endpoint_arguments(settings, form, words, ask)
        plan = BBQPlan(source, sample, form, all_orders=orders == forms.ALL_ORDERS, chat=chat, words=words, **way)
        plan = replace(plan, shuffled=orders == forms.SHUFFLED)
        plans = {} if settings.context == "none" else {self.probe.name: plan}
        if settings.context != "given":
            plans["question only"] = replace(plan, contexts=False)
        if len(by_prompt) > 1:
            plans = {f"{PROMPT_STAGE}{name}": replace(plan, words=each) for name, each in by_prompt.items()}
        dataset = source.read()
        absent = absent_categories(source.edition, {example.category for example in dataset.examples})
        notes = [
            *notes_on_set(settings),
            *dataset.notes,
            *sources.note_on(source),
            *([answer_mode_note(plan.answer, plan.samples)] if plan.answer else []),
        ]
        if absent and not settings.categories:
            names = ", ".join(map(category_words, absent))
            notes.append(f"{len(absent)} of the {len(categories_of(source.edition))} categories are missing: {names}")
        said = {**recorded_settings(settings), **({"answer": plan.answer} if plan.answer else {})}
        about = said, dataset.files, stages_of(plans), notes, request.seed
        told = prompt_records(plans) if ask.abilities & PROMPT_ABILITIES else {}
        return BBQPrepared(*about, plans, settings, prompts=told, brought=digests_of(words))

    def gather(self, prepared: BBQPrepared, ask: Ask) -> BBQAnswers:
        settings = prepared.chosen
        said, ties, always = [], {}, True
        decided: list[Ties | None] = []
        lost: Counter[str] = Counter()
        for label, plan in prepared.plans.items():
            put = ask_in_steps(plan, ask, label)
            answers = put.answers
            scored = plan.ability in ("choice", "listed")
            always &= scored and not answers.status.any()
            scores = option_scores(answers, settings.likelihood, partial(_options, plan)) if scored else None
            shares = None
            if plan.ability == "sample":
                shares, chosen = ask_items.vote(plan, answers, settings.parsing, _read)
            elif scores is not None:
                ties[label], chosen = near_ties(scores), best(scores)
                decided.append(ties_of(leads(scores)))
            else:
                chosen = _parsed(plan, answers, settings.parsing)
            chosen[np.isin(answers.status, (Status.REFUSED, Status.FILTERED))] = REFUSED
            chosen[np.isin(answers.status, (Status.FAILED, Status.UNCLEAR))] = UNPARSED
            lost += lost_answers(chosen, answers.status)
            of_order = plan.stored(chosen).reshape(-1, len(plan.orders))
            answered = AnsweredItems(plan.dataset, of_order, not plan.contexts, plan.drawn_orders)
            part = _said(plan, answers, answered, scores, settings.likelihood, shares)
            said.append(replace(part, prompt=_prompts(put)) if ask.abilities & PROMPT_ABILITIES else part)
        if settings.prompts == forms.ALL_PROMPTS:
            said = [_of_prompts(said, [label.removeprefix(PROMPT_STAGE) for label in prepared.plans])]
        return BBQAnswers(said, bool(always), ties, all_ties(decided), lost)

    def findings(self, prepared: BBQPrepared, data: BBQAnswers) -> Findings:
        found = findings_of(
            self.probe.name,
            [part.answered for part in data.said],
            refusals=prepared.chosen.refusals,
            resamples=prepared.chosen.resamples,
            seed=prepared.seed,
            scored=data.scored,
            near_ties=data.near_ties,
            without={} if prepared.chosen.edition == ORIGINAL else edition(prepared.chosen.edition).without,
            also=() if prepared.chosen.edition == ORIGINAL else [OUT_OF_CHOICE],
        )
        listed = not any(plan.form == forms.FREE for plan in prepared.plans.values())
        diagnosis = diagnosis_of([part.answered for part in data.said], data.ties, prepared.chosen, listed=listed)
        grounds = grounds_of(
            [part.answered for part in data.said],
            found.estimates,
            diagnosis,
            prepared.chosen,
            lost=data.lost,
            held=next((plan.source.read() for plan in prepared.plans.values()), None),
            seed=prepared.seed,
            tokens=next((plan.tokens for plan in prepared.plans.values()), 0),
        )
        return replace(found, examples=choose_examples(data.said), diagnosis=diagnosis, grounds=grounds)

    def read_files(
        self, files: Sequence[Path], request: Request, answers: str | None
    ) -> tuple[BBQPrepared, BBQAnswers]:
        settings = read_settings(BBQSettings, request.settings, self.probe.name, remedy=SCORE)
        require_edition_settings(settings)
        model = answering_model(files)
        said, notes = answered_files(files, settings, request, answers)
        notes = [*notes_on_set(settings), *notes]
        stages = [Stage(self.probe.name, len(said.answered.dataset))]
        prepared = BBQPrepared(
            {**recorded_settings(settings), "orders": forms.STORED},
            {},
            stages,
            notes,
            request.seed,
            {},
            settings,
            model=model,
        )
        return prepared, BBQAnswers([said], False, {}, lost=lost_answers(said.answered.chosen))

    def logs_in(self, folder: Path) -> Sequence[Path]:
        return logs_in(folder)

    def generation(self, request: Request) -> Any:
        settings = read_settings(BBQGenerateSettings, request.settings, self.probe.name, remedy=GENERATE)
        return BBQQuestionWriter.of(settings, request)

    def recall(self, run: Run, again: Any) -> Any:
        return compare_runs.recalled_run(run)

    def contrast(self, one: Any, other: Any, *, settings: Mapping[str, Any], common: bool) -> Contrast:
        return compare_runs.compare_answers(self.probe, one, other, resamples=settings["resamples"], common=common)

    def contrast_about(
        self, one: Any, other: Any, about: Sequence[Estimate], *, settings: Mapping[str, Any]
    ) -> Contrast:
        drawn = {"resamples": settings["resamples"], "exchanges": settings["exchanges"]}
        return compare_runs.compare_answers(self.probe, one, other, common=False, about=about, **drawn)

    def varieties(self, settings: Sequence[Mapping[str, Any]]) -> Sequence[str]:
        return language_labels([EditionLanguage.of(setting) for setting in settings])

    def present(self, run: Run) -> Presentation:
        return present.present(run)

    def across(self, runs: Sequence[Run]) -> Sequence[Section]:
        return across.across(runs)

    def side_by_side(self, models: Sequence[tuple[str, Findings]]) -> Mapping[str, Table]:
        return compare_runs.side_by_side(models)

    @property
    def titles(self) -> Mapping[str, str]:
        return {
            compare_runs.BESIDE: compare_runs.TITLE,
            "scores": "Bias scores, accuracies and accuracy gaps side by side",
        }


def option_orders_of(settings: BBQSettings) -> str:
    """The orders of options to ask; auto: stored, or shuffled where an edition has UNKNOWN at one place."""
    if settings.orders != "auto":
        return settings.orders
    last = settings.edition != ORIGINAL and edition(settings.edition).unknown_last
    return forms.SHUFFLED if last else forms.STORED


def recorded_settings(settings: BBQSettings) -> dict[str, str | int | None]:
    """The settings for run.json, with the order and language that were chosen."""
    language = language_of(settings.edition, settings.language)
    return {**as_written(settings), "orders": option_orders_of(settings), "language": language}


def notes_on_set(settings: BBQSettings) -> list[str]:
    """What must be said of an edition: that it is not BBQ, and that its files were never seen, if so."""
    if settings.edition == ORIGINAL:
        return []
    own = edition(settings.edition)
    name = set_name(own, language_of(own.name, settings.language))
    untested = "; assay's reader of it was never tested on the published files"
    return [f"the questions are those of {name}; this is not a BBQ result{'' if own.on_real_files else untested}"]


def require_edition_settings(settings: BBQSettings) -> None:
    """Refuses settings of BBQ's own files for an edition, and languages that a set does not have."""
    language_of(settings.edition, settings.language)
    if settings.edition == ORIGINAL:
        return
    only = {
        "metadata": settings.metadata,
        "target_loc": settings.target_loc != "auto",
    }
    for key in (key for key, given in only.items() if given):
        problem = f"{key} is for BBQ’s own files; edition={settings.edition} has no such thing."
        raise UsageError(problem, "Leave it out.", code="unsupported", key=key)


def _parsed(plan: BBQPlan, answers: Answers, parsing: str) -> NDArray[np.int64]:
    """The option that every written answer names, as shown; REFUSED or UNPARSED if it names none."""
    texts = answers["text"]
    return np.array([_read(plan, row, bytes(texts[row]).decode(), parsing) for row in range(len(answers))], np.int64)


def _read(plan: BBQPlan, row: int, text: str, parsing: str) -> int:
    (example, order), options = plan.shown(row), plan.asked(row).options
    info = [example.info[place][0] for place in order]
    if plan.words.unknown:
        info[order.index(example.unknown)] = plan.words.unknown
    if parsing == "released":
        return parse_released(text, options, info)
    return parse_answer(text, options, info, letters=plan.form != forms.FREE, language=language(plan.words.language))


def _said(
    plan: BBQPlan,
    answers: Answers,
    part: AnsweredItems,
    scores: NDArray[np.float64] | None,
    likelihood: str,
    shares: NDArray[np.float64] | None,
) -> PartAnswers:
    """The answers that examples show: those to the stored order of the options, which comes first."""
    orders = len(plan.orders)
    scores, shares = (None if each is None else plan.in_stored_order(each) for each in (scores, shares))
    if shares is not None:
        return PartAnswers(
            part, shares[::orders], ask_items.SHARES, lambda row: bytes(answers["text"][row * orders, 0]).decode()
        )
    if scores is None:
        return PartAnswers(part, written=lambda row: bytes(answers["text"][row * orders]).decode())
    if "tokens" in answers.arrays:
        return PartAnswers(part, scores[::orders], likelihoods(likelihood, plan.form == forms.LETTERS))
    return PartAnswers(part, softmax(scores[::orders]), PROBABILITIES)


def _of_prompts(said: Sequence[PartAnswers], names: Sequence[str]) -> PartAnswers:
    """The answers to all prompts together; examples show those to the first."""
    first = said[0].answered
    chosen = np.concatenate([part.answered.chosen for part in said], axis=1)
    return replace(said[0], answered=replace(first, chosen=chosen, prompts=tuple(names)))


def _options(plan: BBQPlan, row: int) -> tuple[str, ...]:
    """The texts that an answer has scores for."""
    return plan.words.choice(plan.form, plan.asked(row)).options


def _prompts(put: SteppedAnswers) -> Callable[[int], str]:
    """The question of an example as it was asked, with the options in the stored order."""

    def prompt(row: int) -> str:
        query = put.told(row * len(put.plan.orders))
        return readable_prompt(query.prompt, query.dialogue)

    return prompt


def best(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """The option with the highest score in every row; TIED if several share it, UNPARSED without scores (NaN)."""
    sharing = (scores == scores.max(axis=1, keepdims=True)).sum(axis=1)  # NaN is equal to nothing
    return np.select([sharing == 0, sharing > 1], [UNPARSED, TIED], scores.argmax(axis=1)).astype(np.int64)


def near_ties(scores: NDArray[np.float64]) -> int:
    """In how many rows the two highest scores differ by less than NEAR_TIE."""
    ordered = np.sort(scores, axis=1)
    return int((ordered[:, -1] - ordered[:, -2] < NEAR_TIE).sum())
