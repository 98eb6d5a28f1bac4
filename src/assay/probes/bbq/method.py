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
from assay.asking.plan import Ask
from assay.asking.queries import Answers, Status
from assay.config.settings import GENERATE, SCORE, as_written, read_settings
from assay.datasets.catalogue import data_folder
from assay.errors import UsageError
from assay.languages import ENGLISH, language
from assay.presentation.elements import Presentation, Section
from assay.probes.base import Method, Prepared, Request, Stage
from assay.probes.bbq import across, category_words, compare_runs, present
from assay.probes.bbq import settings as forms
from assay.probes.bbq import source as sources
from assay.probes.bbq.analyse import OUT_OF_CHOICE, findings_of
from assay.probes.bbq.ask_items import (
    ask_in_steps,
    choose_form,
    choose_question_format,
    prompt_as_asked,
    prompt_records,
    stages_of,
)
from assay.probes.bbq.choose_examples import PROBABILITIES, PartAnswers, choose_examples, likelihoods
from assay.probes.bbq.diagnose import diagnosis_of
from assay.probes.bbq.edition_language import SETTINGS, EditionLanguage, language_labels
from assay.probes.bbq.editions import ORIGINAL, absent_categories, categories_of, language_of, load_edition, set_name
from assay.probes.bbq.generation import BBQQuestionWriter
from assay.probes.bbq.grounds import grounds_of, lost_answers
from assay.probes.bbq.items import OPTIONS, QUARTET
from assay.probes.bbq.logs import LOGS, logs_in
from assay.probes.bbq.plan import BBQPlan
from assay.probes.bbq.prompt_sources import digests_of, read_wording, wordings_by_prompt
from assay.probes.bbq.published_rows import note_on
from assay.probes.bbq.score_files import answered_files, answering_model
from assay.probes.bbq.settings import BBQGenerateSettings, BBQSettings
from assay.probes.bbq.source import ItemSample, ItemSource
from assay.probes.bbq.tallies import AnsweredItems
from assay.probes.contrast import Contrast
from assay.probes.diagnose import all_ties, leads, ties_of
from assay.probes.question_format import answer_mode_note, count_named, most_named, option_scores, softmax
from assay.results.diagnosis import Ties
from assay.results.findings import NEAR_TIE, Estimate, Findings
from assay.results.run import Run

PROMPT_STAGE = "prompt "
"""Before a prompt's id, the name of its part of a run."""

PROMPT_ABILITIES = frozenset({"text", "listed"})
"""Models with one of these abilities read a prompt; examples and run.json show it."""

SHARES = "share of the answers that name the option"


@dataclass(frozen=True)
class BBQPrepared(Prepared):
    """The plans by name; none for answers from files."""

    plans: Mapping[str, BBQPlan]
    chosen: BBQSettings


@dataclass(frozen=True)
class BBQAnswers:
    """The answers to every plan; `scored` says that all options were scored in every question."""

    parts: Sequence[PartAnswers]
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
        folder = data_folder(request.data)
        if settings.edition != ORIGINAL:
            return sources.of_edition(
                folder,
                settings.edition,
                language_of(settings.edition, settings.language),
                categories=settings.categories,
                defects=settings.defects,
                skip_bad=request.skip_bad,
            )
        metadata = Path(settings.metadata) if settings.metadata else None
        if metadata and not metadata.is_file():
            problem, remedy = f"metadata is {metadata}, which is not a file.", "--set metadata=additional_metadata.csv"
            raise UsageError(problem, remedy, code="bad-setting", key="metadata")
        return sources.official(
            folder,
            settings.categories,
            metadata,
            meaning=settings.target_loc,
            defects=settings.defects,
            skip_bad=request.skip_bad,
        )

    def prepare(self, request: Request, ask: Ask) -> BBQPrepared:
        settings = read_settings(BBQSettings, request.settings, self.probe.name)
        source = self.source(settings, request)
        sample = ItemSample(per_template=self.presets[request.preset], seed=request.seed)
        if request.limit is not None:
            sample = ItemSample(in_all=-(-request.limit // len(QUARTET)), seed=request.seed)
        reads_prompt = bool(ask.abilities & PROMPT_ABILITIES)
        spoken = source.language if reads_prompt else ENGLISH  # other models read the question and options only
        wordings = wordings_by_prompt(read_wording(settings, spoken), settings, source.files)
        wording, option_orders = next(iter(wordings.values())), option_orders_of(settings)
        form = choose_form(settings, wording, ask.abilities, ask.ways)
        plan = BBQPlan(
            source,
            sample,
            form,
            all_orders=option_orders == forms.ALL_ORDERS,
            shuffled=option_orders == forms.SHUFFLED,
            wording=wording,
            format=choose_question_format(settings, form, wording, ask),
        )
        plans = {} if settings.context == "none" else {self.probe.name: plan}
        if settings.context != "given":
            plans["question only"] = replace(plan, contexts=False)
        if len(wordings) > 1:
            plans = {f"{PROMPT_STAGE}{id}": replace(plan, wording=wordings[id]) for id in wordings}
        mode = plan.format.way
        return BBQPrepared(
            settings={**recorded_settings(settings), **({"answer": mode} if mode else {})},
            data=source.read().files,
            stages=stages_of(plans),
            notes=_notes(settings, plan),
            seed=request.seed,
            plans=plans,
            chosen=settings,
            prompts=prompt_records(plans) if reads_prompt else {},
            brought=digests_of(wording),
        )

    def gather(self, prepared: BBQPrepared, ask: Ask) -> BBQAnswers:
        settings, all_scored = prepared.chosen, True
        parts: list[PartAnswers] = []
        ties: dict[str, int] = {}
        decided: list[Ties | None] = []
        lost: Counter[str] = Counter()
        for label, plan in prepared.plans.items():
            answers, wrote = ask_in_steps(plan, ask, label)
            scored = plan.ability in ("choice", "listed")
            all_scored &= scored and not answers.status.any()
            if scored:
                scores = option_scores(answers, settings.likelihood, partial(_scored_texts, plan))
                ties[label], chosen = near_ties(scores), best(scores)
                decided.append(ties_of(leads(scores)))
            else:
                scores, chosen = _vote(plan, answers, settings.parsing)
            chosen[np.isin(answers.status, (Status.REFUSED, Status.FILTERED))] = REFUSED
            chosen[np.isin(answers.status, (Status.FAILED, Status.UNCLEAR))] = UNPARSED
            lost += lost_answers(chosen, answers.status)
            by_order = plan.to_stored(chosen).reshape(-1, len(plan.orders))
            answered = AnsweredItems(plan.dataset, by_order, not plan.contexts, plan.drawn_orders)
            part = _part_answers(plan, answers, answered, scores, settings.likelihood)
            parts.append(replace(part, prompt=_prompts(plan, wrote)) if ask.abilities & PROMPT_ABILITIES else part)
        if settings.prompts == forms.ALL_PROMPTS:
            parts = [_together(parts, [label.removeprefix(PROMPT_STAGE) for label in prepared.plans])]
        return BBQAnswers(parts, bool(all_scored), ties, all_ties(decided), lost)

    def findings(self, prepared: BBQPrepared, data: BBQAnswers) -> Findings:
        settings, answered = prepared.chosen, [part.answered for part in data.parts]
        findings = findings_of(
            self.probe.name,
            answered,
            refusals=settings.refusals,
            resamples=settings.resamples,
            seed=prepared.seed,
            scored=data.scored,
            near_ties=data.near_ties,
            without={} if settings.edition == ORIGINAL else load_edition(settings.edition).without,
            also=() if settings.edition == ORIGINAL else [OUT_OF_CHOICE],
        )
        plans = list(prepared.plans.values())
        listed = not any(plan.form == forms.FREE for plan in plans)
        diagnosis = diagnosis_of(answered, data.ties, settings, listed=listed)
        grounds = grounds_of(
            answered,
            findings.estimates,
            diagnosis,
            settings,
            lost=data.lost,
            held=plans[0].source.read() if plans else None,
            seed=prepared.seed,
            tokens=plans[0].format.tokens if plans else 0,
        )
        return replace(findings, examples=choose_examples(data.parts), diagnosis=diagnosis, grounds=grounds)

    def read_files(
        self, files: Sequence[Path], request: Request, answers: str | None
    ) -> tuple[BBQPrepared, BBQAnswers]:
        settings = read_settings(BBQSettings, request.settings, self.probe.name, remedy=SCORE)
        require_edition_settings(settings)
        model = answering_model(files)
        part, notes = answered_files(files, settings, request, answers)
        prepared = BBQPrepared(
            settings={**recorded_settings(settings), "orders": forms.STORED},
            data={},
            stages=[Stage(self.probe.name, len(part.answered.dataset))],
            notes=[*_notes_on_edition(settings), *notes],
            seed=request.seed,
            plans={},
            chosen=settings,
            model=model,
        )
        return prepared, BBQAnswers([part], False, {}, lost=lost_answers(part.answered.chosen))

    logs_in = staticmethod(logs_in)

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
        draws = {"resamples": settings["resamples"], "exchanges": settings["exchanges"]}
        return compare_runs.compare_answers(self.probe, one, other, common=False, about=about, **draws)

    def varieties(self, settings: Sequence[Mapping[str, Any]]) -> Sequence[str]:
        return language_labels([EditionLanguage.of(setting) for setting in settings])

    def present(self, run: Run) -> Presentation:
        return present.present(run)

    def across(self, runs: Sequence[Run]) -> Sequence[Section]:
        return across.across(runs)

    side_by_side = staticmethod(compare_runs.side_by_side)

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
    last = settings.edition != ORIGINAL and load_edition(settings.edition).unknown_last
    return forms.SHUFFLED if last else forms.STORED


def recorded_settings(settings: BBQSettings) -> dict[str, str | int | None]:
    """The settings for run.json, with the order and language that were chosen."""
    language = language_of(settings.edition, settings.language)
    return {**as_written(settings), "orders": option_orders_of(settings), "language": language}


def _notes(settings: BBQSettings, plan: BBQPlan) -> list[str]:
    """What a reader must know of the questions: their set, their files, what is missing, and how they were asked."""
    source, dataset = plan.source, plan.source.read()
    notes = [*_notes_on_edition(settings), *dataset.notes, *note_on(source)]
    if plan.format.way:
        notes.append(answer_mode_note(plan.format.way, plan.format.samples))
    absent = absent_categories(source.edition, {item.category for item in dataset.examples})
    if absent and not settings.categories:
        names = ", ".join(map(category_words, absent))
        notes.append(f"{len(absent)} of the {len(categories_of(source.edition))} categories are missing: {names}")
    return notes


def _notes_on_edition(settings: BBQSettings) -> list[str]:
    """What must be said of an edition: that it is not BBQ, and that its files were never seen, if so."""
    if settings.edition == ORIGINAL:
        return []
    edition = load_edition(settings.edition)
    name = set_name(edition, language_of(edition.name, settings.language))
    untested = "" if edition.on_real_files else "; assay's reader of it was never tested on the published files"
    return [f"the questions are those of {name}; this is not a BBQ result{untested}"]


def require_edition_settings(settings: BBQSettings) -> None:
    """Refuses settings of BBQ's own files for an edition, and languages that a set does not have."""
    language_of(settings.edition, settings.language)
    if settings.edition == ORIGINAL:
        return
    for key, is_set in {"metadata": settings.metadata, "target_loc": settings.target_loc != "auto"}.items():
        if is_set:
            problem = f"{key} is for BBQ’s own files; edition={settings.edition} has no such thing."
            raise UsageError(problem, "Leave it out.", code="unsupported", key=key)


def _vote(plan: BBQPlan, answers: Answers, parsing: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The share of a question's written answers that name each option (row, option), and the option that most name.

    TIED if several are named most often. If none is named: REFUSED if an answer is a refusal, else UNPARSED.
    """
    texts = answers["text"].reshape(len(answers), plan.format.times)  # (row, sample)
    named, counts = count_named(texts, lambda row, text: _read(plan, row, text, parsing), OPTIONS)
    return counts / plan.format.times, most_named(named, counts)


def _read(plan: BBQPlan, row: int, text: str, parsing: str) -> int:
    """The option that a written answer names, as shown; REFUSED or UNPARSED if it names none."""
    (item, order), options = plan.item(row), plan.question(row).options
    fillers = [item.info[option][0] for option in order]
    if plan.wording.unknown:
        fillers[order.index(item.unknown)] = plan.wording.unknown
    if parsing == "released":
        return parse_released(text, options, fillers)
    spoken = language(plan.wording.language)
    return parse_answer(text, options, fillers, letters=plan.form != forms.FREE, language=spoken)


def _part_answers(
    plan: BBQPlan, answers: Answers, answered: AnsweredItems, scores: NDArray[np.float64], likelihood: str
) -> PartAnswers:
    """The answers that examples show: those to the stored order of the options, which comes first."""
    orders, scores = len(plan.orders), plan.in_stored_order(scores)[:: len(plan.orders)]
    if plan.ability in ("text", "sample"):
        texts = answers["text"].reshape(len(answers), plan.format.times)[::orders, 0]
        part = PartAnswers(answered, written=lambda row: bytes(texts[row]).decode())
        return replace(part, scores=scores, meaning=SHARES) if plan.ability == "sample" else part
    if "tokens" in answers.arrays:
        return PartAnswers(answered, scores, likelihoods(likelihood, plan.form == forms.LETTERS))
    return PartAnswers(answered, softmax(scores), PROBABILITIES)


def _together(parts: Sequence[PartAnswers], prompts: Sequence[str]) -> PartAnswers:
    """The answers to all prompts together; examples show those to the first."""
    first = parts[0].answered
    chosen = np.concatenate([part.answered.chosen for part in parts], axis=1)
    return replace(parts[0], answered=replace(first, chosen=chosen, prompts=tuple(prompts)))


def _scored_texts(plan: BBQPlan, row: int) -> tuple[str, ...]:
    """The texts that an answer has scores for."""
    return plan.wording.choice(plan.form, plan.question(row)).options


def _prompts(plan: BBQPlan, wrote: NDArray[np.bytes_] | None) -> Callable[[int], str]:
    """The question of an example as it was asked, with the options in the stored order."""
    return lambda row: prompt_as_asked(plan, wrote, row * len(plan.orders))


def best(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """The option with the highest score in every row; TIED if several share it, UNPARSED without scores (NaN)."""
    sharing = (scores == scores.max(axis=1, keepdims=True)).sum(axis=1)  # NaN is equal to nothing
    return np.select([sharing == 0, sharing > 1], [UNPARSED, TIED], scores.argmax(axis=1)).astype(np.int64)


def near_ties(scores: NDArray[np.float64]) -> int:
    """In how many rows the two highest scores differ by less than NEAR_TIE."""
    ordered = np.sort(scores, axis=1)
    return int((ordered[:, -1] - ordered[:, -2] < NEAR_TIE).sum())
