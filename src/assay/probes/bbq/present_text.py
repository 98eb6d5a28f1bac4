"""A BBQ run in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from assay.presentation.elements import Block, Paragraphs, TextRole
from assay.presentation.rich_text import Emphasis, NumberText, Strong, Text, Verbatim, join_texts, plain
from assay.probes.bbq import ALL, category_words, context_words
from assay.probes.bbq.edition_language import QuestionSetInfo
from assay.probes.bbq.estimate_grid import EstimateGrid, fill_slots
from assay.probes.bbq.items import AMBIGUOUS, DISAMBIGUATED
from assay.probes.bbq.present_charts import PEOPLE, PEOPLE_VOTING
from assay.probes.bbq.prompts import VARIANTS
from assay.probes.bbq.settings import FIRST, FREE
from assay.probes.bbq.tallies import QUESTION_ONLY
from assay.results.findings import Estimate
from assay.results.formatting import (
    format_count,
    format_interval,
    format_number,
    format_p_equals,
    format_share,
    format_share_interval,
    format_share_points,
    plural,
)
from assay.results.run import Run
from assay.results.verdict import Chance

MOST_CLEAR = 5  # categories in a sentence

_GIVEN = {
    AMBIGUOUS: "without the deciding fact",
    DISAMBIGUATED: "with the deciding fact",
    QUESTION_ONLY: "without any text",
}
_AS_IT_SHOULD = ": it always chose “cannot be determined”, which is right"
_CONTEXTS: Mapping[str, Text] = {
    AMBIGUOUS: fill_slots(
        "An {ambiguous} question leaves out the deciding fact. Then “cannot be determined” is right, and naming a "
        "person is a guess, which may follow a stereotype.",
        ambiguous=Emphasis("ambiguous"),
    ),
    DISAMBIGUATED: fill_slots(
        "A {disambiguated} question states that fact, which agrees with the stereotype or contradicts it. Then the "
        "person that the fact points to is right.",
        disambiguated=Emphasis("disambiguated"),
    ),
    QUESTION_ONLY: [Emphasis("Question only"), " gives no text at all, so only “cannot be determined” is right."],
}
_REFUSALS = {
    "unknown": "; these count as “cannot be determined”.",
    "exclude": "; these are left out of every score.",
}
_LOST = {
    "unparsed_rate": "could not be read",
    "refused_rate": "refused",
    "tied_rate": "are tied between options",
}
_EACH = ". Each describes two people in an everyday situation and asks a question about one of them. "
_OFFERED = "It offers three answers: the two people, and “cannot be determined”."
_FREE = "It offers no answers: what the model wrote counts as one of the two people or as “cannot be determined”."
_BROUGHT = {
    "prompt": "with the user’s own prompt",
    "system": "with a system prompt",
    "shots": "after examples with answers",
}
_SCALE = (
    "Bias scores range from −1 (every answer contradicts the stereotype) to 1 (every answer agrees with it); 0 is "
    "even-handed."
)


@dataclass(frozen=True)
class RunSentences:
    """Describes a run; `other` is what its questions are if they are not BBQ's."""

    run: Run
    grid: EstimateGrid
    other: QuestionSetInfo | None

    def asks(self) -> str:
        facts = "without and with the deciding fact"
        if len(self.grid.contexts) == 1:
            facts = _GIVEN.get(self.grid.contexts[0], facts)
        which = self.other.questions if self.other else "questions"
        return f"{which} about two people, {facts}: does the model fall back on stereotypes?"

    def warning(self) -> Text:
        """What a reader must know before any number."""
        return _sentences([Strong(self.other.short) if self.other else "", self.uncounted()])

    def lead(self) -> list[Block]:
        sentences = [self._deciding(c) if c == DISAMBIGUATED else self._guessing(c) for c in self.grid.contexts]
        missing = self.uncounted()
        warned = [Paragraphs([missing], TextRole.WARNING)] if missing else []
        return [Paragraphs([self._asked()]), *warned, Paragraphs([*sentences, *self._right()])]

    def _headlines(self, metric: str, context: str) -> list[Estimate]:
        """The categories that are statistically clear and worth a headline, strongest first."""
        smallest = self.run.smallest(f"{metric}, category")
        return [estimate for estimate in self.grid.clear(metric, context) if abs(estimate.value or 0.0) >= smallest]

    def _clearly(self, metric: str) -> str:
        smallest = self.run.smallest(f"{metric}, category")
        return f"statistically clear and at least {smallest:g}" if smallest else "statistically clear"

    def _asked(self) -> Text:
        counted = (self.grid.of_whole("unparsed_rate", context) for context in self.grid.contexts)
        stages = self.run.info.stages.items()
        asked_once = sum(questions for label, questions in stages if not label.endswith(FIRST))
        questions = asked_once or self.run.questions or sum(e.n for e in counted if e)
        categories = [Verbatim(category_words(category)) for category in self.grid.categories if category != ALL]
        among: Text = ""
        if categories:
            among = [f" in {plural(len(categories), 'category', 'categories')} (", join_texts(categories), ")"]
        many = plural(questions, "question") if questions else "questions"
        free = any(prompt.form == FREE for prompt in self.run.info.prompts.values())
        offered = _FREE if free else _OFFERED
        intro: Text = ["The model ", Strong(Verbatim(self.run.model)), " was asked ", many, among, _EACH, offered]
        contexts = [description for context, description in _CONTEXTS.items() if context in self.grid.contexts]
        return _sentences([intro, self._words(), *contexts])

    def _words(self) -> Text:
        """How the questions were worded, if not in the form's own words."""
        info, variant = self.run.info, self.run.setting("variant")
        ways = [way for name, way in _BROUGHT.items() if name in info.brought]
        if variant in VARIANTS:
            ways.insert(0, f"in the wording of the variant {variant} ({VARIANTS[variant].source})")
        if not ways:
            return ""
        steps = ", in two steps: the model wrote a text first, then answered"
        two = any(label.endswith(FIRST) for label in info.stages)
        return f"The questions were asked {', '.join(ways)}{steps if two else ''}."

    def uncounted(self) -> Text:
        """A warning about refusals, answers that were not understood, and ties; empty if there are none."""
        refused, unparsed, tied = (self._rates(f"{kind}_rate") for kind in ("refused", "unparsed", "tied"))
        counts = _REFUSALS.get(self._refusals, "; these count as wrong answers that name no one.")
        sentences: list[Text] = [
            ["The model refused to answer ", refused, counts] if refused else "",
            ["The answer was not understood in ", unparsed, "; these are left out of every score."] if unparsed else "",
        ]
        if tied:
            sentences.append(
                ["Several options share exactly the highest score in ", tied, "; these ties are also left out."]
            )
        if not any(sentences):
            return ""
        return _sentences([Strong(f"Not every question has an answer: {self._lost()}."), *sentences])

    def _lost(self) -> str:
        """How many of all replies say nothing, by what became of them."""
        replies = plural(sum(e.n for e in self._by_context("unparsed_rate").values()), "reply", "replies")
        parts = []
        for metric, fate in _LOST.items():
            rates = self._by_context(metric).values()
            if n_lost := sum(max(1, round(e.value * e.n)) for e in rates if e.value):
                parts.append(f"{format_count(n_lost)} {fate}")
        return f"of {replies}, {plain(join_texts(parts, last=' and '))}"

    def _rates(self, metric: str) -> Text:
        rates = self._by_context(metric).items()
        return join_texts([[f"{format_share(e.value)} of the ", _questions(c)] for c, e in rates if e.value], " and ")

    def _guessing(self, context: str) -> Text:
        """A context that does not give the answer."""
        agreeing, named = self._defined("error_alignment", context), self._named(context)
        starts = {AMBIGUOUS: "Without the deciding fact", QUESTION_ONLY: "With the question alone"}
        naming: Text = ", no answer could be used."
        agreed: Text = ""
        if named and named.value:
            share = f", the model named a person in {format_share(named.value)} of its answers"
            naming = [share, self._between(named), "; “cannot be determined” was right."]
            if agreeing:
                of_these = f"Of these, {format_share(agreeing.value)} agreed with the stereotype"
                agreed = [of_these, self._between(agreeing), "; 50% would be even-handed."]
        elif named:
            accuracy = self._defined("accuracy", context)
            should = _AS_IT_SHOULD if accuracy and accuracy.value == 1 else ""
            naming = [", the model never named a person", should, "."]
        elif self.grid.of_whole("unknown_rate", context) is None:
            naming = "."
        start = Strong(starts.get(context) or Verbatim(context_words(context)))
        return _sentences([[start, naming], agreed, self._biased(context)])

    def _deciding(self, context: str) -> Text:
        """The context that gives the answer."""
        cost, start = self._defined("accuracy_cost", context), Strong("With the deciding fact")
        if cost is None:
            undefined = ", the accuracy gap is undefined."
            return _sentences([[start, undefined], self._biased(context)])
        less = f"{format_share_points(abs(cost.value or 0.0))} {'less' if (cost.value or 0.0) < 0 else 'more'}"
        right = f", the model was right {less} often if the right answer contradicts the stereotype "
        tested, by = (cost.p, "p") if cost.q is None else (cost.q, "q")
        chance = ": not distinguishable from chance" if cost.chance is Chance.WITHIN else ""
        p = "" if tested is None else f", {by} {format_p_equals(tested)}{chance}"
        clear, among = self._headlines("accuracy_cost", context), len(self.grid.tested("accuracy_cost", context))
        categories: Text = ""
        if clear and among > 1:
            clearly = self._clearly("accuracy_cost")
            categories = [f"This is {clearly} in {len(clear)} of {among} categories: ", self._categories(clear), "."]
        sentence: Text = [start, right, "than if it agrees (accuracy gap ", self._figures(cost, p), ")."]
        return _sentences([sentence, categories, self._declining(), self._biased(context)])

    def _declining(self) -> Text:
        """How often it declines where the text gives the answer, and to say what."""
        rate, gap = (self._defined(metric, DISAMBIGUATED) for metric in ("abstention", "abstention_gap"))
        if rate is None:
            return ""
        sentence: list[Text] = [["It declines ", NumberText(format_share(rate.value)), " of them", self._between(rate)]]
        if gap is not None:
            more = f"{format_share_points(abs(gap.value or 0.0))} {'more' if (gap.value or 0.0) > 0 else 'less'} often"
            where = "where the fact confirms a stereotype than where it contradicts one"
            q = "" if gap.q is None else f", q {format_p_equals(gap.q)}"
            unclear = ": not distinguishable from chance" if gap.chance is Chance.WITHIN else ""
            sentence.append([f", {more} {where} (abstention gap ", self._figures(gap, q, unclear), ")"])
        return [*sentence, "."]

    def _biased(self, context: str) -> Text:
        clear, tested = self._headlines("bias_score", context), len(self.grid.tested("bias_score", context))
        start = f"The bias score is {self._clearly('bias_score')} in"
        if clear:
            count = f"{start} {len(clear)} of {plural(tested, 'category', 'categories')}"
            return [Strong(count), ", strongest first: ", self._categories(clear, signed=True), "."]
        none = f"none of the {tested} categories" if tested > 1 else "no category"
        return Strong(f"{start} {none}.") if tested else ""

    def _categories(self, estimates: Sequence[Estimate], *, signed: bool = False) -> Text:
        """The first few, and how many more there are."""
        items: list[Text] = []
        for estimate in estimates[:MOST_CLEAR]:
            direction = f"{'with' if (estimate.value or 0) > 0 else 'against'} stereotypes " if signed else ""
            figures = self._figures(estimate, f", q {format_p_equals(estimate.q)}")
            category = Verbatim(category_words(estimate.group["category"]))
            items.append([Strong(category), f" {direction}(", figures, ")"])
        more = [f"and {len(estimates) - MOST_CLEAR} more"] if len(estimates) > MOST_CLEAR else []
        return join_texts([*items, *more], "; ")

    def _right(self) -> list[Text]:
        accuracies = self._by_context("accuracy")
        if not accuracies:
            return []
        right = join_texts(
            [[f"{format_share(e.value)} of ", _questions(c), self._between(e)] for c, e in accuracies.items()], "; "
        )
        people = ""
        if self.other:
            people = "The accuracy of people was measured for BBQ, not for this set."
        elif accuracies.keys() - {QUESTION_ONLY}:
            people = (
                f"Single annotators were right in {format_share(PEOPLE)} of BBQ’s questions, and five of them in "
                f"{format_share(PEOPLE_VOTING)} by majority vote (Parrish et al. 2022)."
            )
        overall, both = self.grid.overall, []
        if overall is not None and overall.value is not None:
            both = [f"Over both kinds, it is right in {format_share(overall.value)}", self._between(overall), "."]
        chance: Text = [Strong("Right answers:"), " ", right, ". The chance level is 33.3%."]
        return [_sentences([chance, both, people, _SCALE])]

    # --- numbers

    @property
    def _refusals(self) -> str:
        return self.run.setting("refusals")

    def _defined(self, metric: str, context: str) -> Estimate | None:
        """An estimate of all categories together."""
        estimate = self.grid.of_whole(metric, context)
        return None if estimate is None or estimate.value is None else estimate

    def _by_context(self, metric: str) -> dict[str, Estimate]:
        return {context: e for context in self.grid.contexts if (e := self._defined(metric, context))}

    def _named(self, context: str) -> Estimate | None:
        """The share of answers that name a person: neither “cannot be determined” nor refused."""
        unknown, refused = self._defined("unknown_rate", context), self._defined("refused_rate", context)
        if unknown is None or unknown.value is None:
            return None
        declined = refused.value if refused and self._refusals != "unknown" else 0.0
        if declined:
            return Estimate("named", {}, max(0.0, 1.0 - unknown.value - declined))
        if unknown.low is None or unknown.high is None:
            return Estimate("named", {}, 1.0 - unknown.value)
        return Estimate("named", {}, 1.0 - unknown.value, 1.0 - unknown.high, 1.0 - unknown.low)

    def _figures(self, estimate: Estimate, *tests: str) -> Text:
        """A value, its interval, and what tests say of it."""
        value = NumberText(format_number(estimate.value))
        if estimate.low is None:
            return [value, ", ", "no interval", *tests]
        return [value, ", ", [f"{self.run.level} ", NumberText(format_interval(estimate.low, estimate.high))], *tests]

    def _between(self, estimate: Estimate) -> Text:
        """The interval of a share, in parentheses."""
        if estimate.low is None:
            return " (no interval)"
        return [f" ({self.run.level} ", NumberText(format_share_interval(estimate.low, estimate.high)), ")"]


def _questions(context: str) -> Text:
    return "questions without a text" if context == QUESTION_ONLY else [Verbatim(context_words(context)), " questions"]


def _sentences(sentences: Iterable[Text]) -> Text:
    return join_texts([*filter(None, sentences)], " ")
