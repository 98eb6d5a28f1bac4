"""BBQ (Parrish et al. 2022): questions with options, with and without the deciding fact. Does the model stereotype?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import UsageError
from assay.findings import NEAR_TIE, Findings
from assay.plan import Ask
from assay.probes import Request, Stage
from assay.probes.bbq import source as sources
from assay.probes.bbq.analyse import findings_of
from assay.probes.bbq.answers import REFUSED, UNPARSED, parse_answer, parse_released
from assay.probes.bbq.examples import CATEGORIES, QUARTET
from assay.probes.bbq.plan import BBQPlan
from assay.probes.bbq.settings import (
    CHOICE_FORMS,
    LETTERS,
    OPTIONS,
    QUICK,
    RACE,
    STANDARD,
    STARTER_QUICK,
    STARTER_STANDARD,
    TEXT_FORMS,
    Settings,
)
from assay.probes.bbq.showcase import PROBABILITIES, Said, likelihoods, probabilities, showcase
from assay.probes.bbq.source import Sample, Source
from assay.probes.bbq.tally import Answered
from assay.queries import Answers, Status


class BBQ:
    """The probe on the official data, or on files like them."""

    name = "bbq"
    presets: Mapping[str, int | None] = {"quick": QUICK, "standard": STANDARD, "paper": None}

    def __init__(self, request: Request) -> None:
        self._settings = Settings.parse(request.settings or {})
        self._request = request
        self._source = self._find()
        limit = request.limit
        if limit is None:
            self._sample = Sample(per_template=self.presets[request.preset], seed=request.seed)
        else:
            self._sample = Sample(in_all=-(-limit // len(QUARTET)), seed=request.seed)

    def settings(self) -> Mapping[str, Any]:
        return self._settings.as_dict()

    def data(self) -> Mapping[str, str]:
        return self._source.read().files

    def notes(self) -> Sequence[str]:
        notes = [*self._source.read().notes, *sources.note_on(self._source)]
        present = {example.category for example in self._source.read().examples}
        absent = [name for name in CATEGORIES if name not in present]
        if absent and not self._settings.categories:
            notes.append(f"{len(absent)} of the {len(CATEGORIES)} categories are not here: {', '.join(absent)}")
        return notes

    def stages(self, ask: Ask) -> Sequence[Stage]:
        return [Stage(label, len(plan)) for label, plan in self.plans(ask).items()]

    def run(self, ask: Ask, model: str) -> Findings:
        parts, said, ties, scored = [], [], {}, True
        for label, plan in self.plans(ask).items():
            answers = ask(plan, label)
            scored = plan.ability == "choice"
            if scored:
                scores = self._scores(plan, answers)
                ties[label], chosen = near_ties(scores), best(scores)
            else:
                chosen = self._parsed(plan, answers)
            chosen[answers.status == Status.REFUSED] = REFUSED
            chosen[answers.status == Status.FAILED] = UNPARSED
            of_order = plan.stored(chosen).reshape(-1, len(plan.orders))
            parts.append(Answered(plan.dataset, of_order, question_only=not plan.contexts))
            said.append(self._said(plan, answers, parts[-1], scores if scored else None))
        found = findings_of(
            self.name,
            model,
            parts,
            refusals=self._settings.refusals,
            resamples=self._settings.resamples,
            seed=self._request.seed,
            scored=scored,
            near_ties=ties,
        )
        return replace(found, examples=showcase(said))

    def plans(self, ask: Ask) -> dict[str, BBQPlan]:
        """What is asked of this model: with contexts, without them, or both."""
        settings, form = self._settings, self._form(ask)
        plan = BBQPlan(
            self._source, self._sample, form, all_orders=settings.orders == "all", chat=settings.chat == "auto"
        )
        plans = {} if settings.context == "none" else {self.name: plan}
        return plans if settings.context == "given" else plans | {"question only": replace(plan, contexts=False)}

    def _find(self) -> Source:
        from assay.data.official import data_folder

        settings = self._settings
        metadata = Path(settings.metadata) if settings.metadata else None
        if metadata and not metadata.is_file():
            raise UsageError(f"metadata is {metadata}, which is no file.", "--set metadata=additional_metadata.csv")
        place = data_folder(self._request.data)
        return sources.official(
            place, settings.categories, metadata, settings.target_loc, settings.defects, self._request.skip_bad
        )

    def _form(self, ask: Ask) -> str:
        """The form asked for, or the one that suits the model."""
        able = ask.abilities & {"choice", "text"}
        if not able:
            raise UsageError(
                "this model can neither choose among options nor write an answer.",
                "BBQ needs a multiple-choice model, a text-to-text model or a causal language model.",
            )
        wanted = self._settings.form
        form = wanted if wanted != "auto" else OPTIONS if "choice" in able else RACE
        needed = "choice" if form in CHOICE_FORMS else "text"
        if needed not in able:
            others = CHOICE_FORMS if needed == "text" else TEXT_FORMS
            raise UsageError(
                f"this model has not the ability {needed!r} that form={form} needs.", f"--set form={'|'.join(others)}"
            )
        if form not in (OPTIONS, *TEXT_FORMS) and "text" not in able:
            raise UsageError(
                f"form={form} is for language models: this model was trained to compare the options themselves.",
                "--set form=options",
            )
        return form

    def _parsed(self, plan: BBQPlan, answers: Answers) -> NDArray[np.int64]:
        """The option that every written answer names, as it was shown; REFUSED or UNPARSED where it names none."""
        parse = parse_released if self._settings.parsing == "released" else parse_answer
        return np.array([parse(*self._written(plan, answers, row)) for row in range(len(answers))], np.int64)

    def _written(self, plan: BBQPlan, answers: Answers, row: int) -> tuple[str, list[str], list[str]]:
        example, order = plan.shown(row)
        text = bytes(answers["text"][row]).decode()
        return text, [example.answers[place] for place in order], [example.info[place][0] for place in order]

    def _said(self, plan: BBQPlan, answers: Answers, part: Answered, scores: NDArray[np.float64] | None) -> Said:
        """What examples show of the answers: those to the stored order of the options, which comes first."""
        orders = len(plan.orders)
        if scores is None:
            return Said(part, written=lambda row: bytes(answers["text"][row * orders]).decode())
        if "tokens" in answers.arrays:
            return Said(part, scores[::orders], likelihoods(self._settings.likelihood, plan.form == LETTERS))
        return Said(part, probabilities(scores[::orders]), PROBABILITIES)

    def _scores(self, plan: BBQPlan, answers: Answers) -> NDArray[np.float64]:
        """The options' scores (row, option) as `likelihood` wants them."""
        scores: NDArray[np.float64] = answers["score"].astype(np.float64)
        how = self._settings.likelihood
        if how == "sum":
            return scores
        if "tokens" not in answers.arrays:
            raise UsageError(
                f"likelihood={how} is for causal language models: this model gives no likelihoods.",
                "Leave it out, or say --set likelihood=sum.",
            )
        lengths: Any = answers["tokens"]
        if how == "byte":
            lengths = [[len(option.encode()) for option in plan.query(row).options] for row in range(len(plan))]
        normalised: NDArray[np.float64] = scores / np.array(lengths)
        return normalised


class BBQStarter(BBQ):
    """The same on the packaged starter set, whose results are never BBQ's."""

    name = "bbq-starter"
    presets: Mapping[str, int | None] = {"quick": STARTER_QUICK, "standard": STARTER_STANDARD, "paper": None}

    def _find(self) -> Source:
        if self._request.data is not None:
            raise UsageError("bbq-starter comes with assay and reads no data.", "assay run bbq --data DIR")
        return sources.starter(self._settings.categories)


def best(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """The option with the highest score in every row; UNPARSED where two share it, as in the authors' analysis."""
    highest = scores.max(axis=1, keepdims=True)
    tied = (scores == highest).sum(axis=1) > 1
    return np.where(tied, UNPARSED, scores.argmax(axis=1)).astype(np.int64)


def near_ties(scores: NDArray[np.float64]) -> int:
    """In how many rows the two highest scores differ by less than NEAR_TIE."""
    ordered = np.sort(scores, axis=1)
    return int((ordered[:, -1] - ordered[:, -2] < NEAR_TIE).sum())
