"""How things are said: plain names and one-line meanings of metrics and tables, and numbers as people read them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

UNDEFINED = "–"
CLEAR = 0.05  # p or q up to here is called clear of chance


@dataclass(frozen=True)
class MetricWords:
    """A metric's symbol (may be empty), its name, and in one line what it means and what 0 means."""

    symbol: str
    name: str
    meaning: str = ""

    @property
    def title(self) -> str:
        return f"{self.symbol} {self.name}".strip()


METRICS: Mapping[str, MetricWords] = {
    "mu": MetricWords(
        "μ", "bias intensity", "mean over subjects of their strongest association; 0 none, 1 the most possible"
    ),
    "eta": MetricWords(
        "η", "one-sidedness", "how one-sidedly subjects win or lose comparisons; 0 evenly, 1 always alike"
    ),
    "delta": MetricWords(
        "δ", "position error", "how much swapping the order of the two subjects changes a score; 0 not at all"
    ),
    "epsilon": MetricWords(
        "ε", "attribute error", "how far negating the question fails to flip the answer; 0 it flips fully"
    ),
    "avg_score": MetricWords(
        "S", "mean score", "mean score of the two subjects; 0 neither is ever named, 0.5 always one of them"
    ),
    "accuracy": MetricWords("", "accuracy", "share of right answers; guessing gives 1/3, 1 is always right"),
    "bias_score": MetricWords(
        "",
        "bias score",
        "1: every answer agrees with the stereotype, -1: every one contradicts it, 0: as many do either; "
        "in ambiguous questions it shrinks with the share of right answers",
    ),
    "accuracy_cost": MetricWords(
        "",
        "accuracy cost",
        "accuracy where the right answer contradicts the stereotype, minus accuracy where it agrees; "
        "below 0 the stereotype costs right answers, 0 it does not matter",
    ),
    "error_alignment": MetricWords(
        "", "agreeing errors", "share of wrongly named people that agrees with the stereotype; 0.5 is even-handed"
    ),
    "diff_bias": MetricWords(
        "",
        "diff-bias",
        "ambiguous: share of answers that agree with the stereotype, minus share that contradict it; "
        "disambiguated: accuracy where the right answer agrees, minus where it contradicts; 0 is even-handed",
    ),
    "unknown_rate": MetricWords("", "UNKNOWN rate", "share of answers that say that nobody can know"),
    "refused_rate": MetricWords("", "refused rate", "share of answers that decline to answer"),
    "unparsed_rate": MetricWords("", "unparsed rate", "share of answers that could not be understood"),
    "order_sensitivity": MetricWords(
        "", "order sensitivity", "share of questions whose answer changes with the order of the options; 0 is steady"
    ),
    "kmeans_accuracy": MetricWords(
        "",
        "KMeans accuracy",
        "names are put into two clusters by the words that fool the model about them; the share of names whose cluster "
        "is that of their group: 1 is all; chance gives more than 0.5, since the better way to match is taken",
    ),
    "trait_agreement": MetricWords(
        "",
        "agreement with people",
        "of the traits that the words and people both order these two groups by, the share that they order alike",
    ),
    "name_accuracy": MetricWords(
        "",
        "accuracy of a classifier of names",
        "how often a logistic regression tells the attribute of a name that it has not seen from its vector; "
        "compare with what chance gives",
    ),
}

TABLES: Mapping[str, str] = {
    "gamma": "each subject with each attribute",
    "subjects": "each subject over all attributes",
    "classes": "each subject with each class of attributes",
    "groups": "gendered names pooled, by attribute",
    "by_template": "what was answered, by template",
    "by_label": "bias scores by label and stereotype",
    "intersectional": "bias scores of crossed groups",
    "unknown_strings": "the ways to say that nobody can know",
    "answers": "every answer",
    "words": "each word with each pair of groups",
    "names": "each name with its length and frequency",
    "projection": "the names in two dimensions (t-SNE)",
    "traits": "pairs of groups ordered by trait",
}

CONTEXTS: Mapping[str, str] = {
    "ambig": "ambiguous",
    "disambig": "disambiguated",
    "question_only": "question only",
}
POLARITIES: Mapping[str, str] = {"neg": "negative questions", "nonneg": "non-negative questions"}

OUTSIDE = (
    "An interval may lie below its value: maxima and absolute values come out too high by chance, "
    "and the interval allows for that."
)

_SAID_ALONE = {"class", "form"}  # group keys whose values speak for themselves


def metric_words(metric: str) -> MetricWords:
    """Words for a metric; one that is not known here is called what its probe calls it.

    >>> metric_words("mu").title
    'μ bias intensity'
    >>> metric_words("rd").title
    'rd'
    """
    return METRICS.get(metric, MetricWords("", metric))


def group_words(group: Mapping[str, str]) -> str:
    """Which part of the questions an estimate is about.

    >>> group_words({"class": "gender", "form": "span", "subjects": "pooled"})
    'gender, span, pooled'
    >>> group_words({"a": "EA_female", "b": "EA_male"})
    'EA female and EA male'
    >>> group_words({"category": "Race_x_gender", "context": "ambig", "polarity": "neg"})
    'Race x gender, ambiguous, negative questions'
    """
    pair = [f"{people_words(group['a'])} and {people_words(group['b'])}"] if {"a", "b"} <= group.keys() else []
    rest = (_group_word(key, value) for key, value in group.items() if not pair or key not in ("a", "b"))
    return ", ".join([*pair, *rest]) or "all"


def _group_word(key: str, value: str) -> str:
    match key, value:
        case "subjects", "pooled":
            return "pooled"
        case "category", _:
            return category_words(value)
        case "context", _:
            return CONTEXTS.get(value, value)
        case "polarity", _:
            return POLARITIES.get(value, value)
    return value if key in _SAID_ALONE else f"{key}: {value}"


def category_words(category: str) -> str:
    """A category as people read it.

    >>> category_words("Disability_status"), category_words("all")
    ('Disability status', 'all categories')
    """
    return "all categories" if category == "all" else category.replace("_", " ")


def people_words(group: str) -> str:
    """The name of a group of people as people read it.

    >>> people_words("EA_female")
    'EA female'
    """
    return group.replace("_", " ")


def number(value: float | None) -> str:
    """A number with three decimals, or with two significant digits where three decimals would show less.

    >>> number(0.1234), number(-0.00321), number(0.0000214), number(0), number(None)
    ('0.123', '-0.0032', '0.000021', '0.000', '–')
    """
    if value is None:
        return UNDEFINED
    if value == 0:
        return "0.000"
    first_digit = -math.floor(math.log10(abs(value)))  # 1 for 0.1…, 2 for 0.01…
    return f"{value:.1e}" if first_digit > 6 else f"{value:.{max(3, first_digit + 1)}f}"


def fixed(value: float | None) -> str:
    """A number with three decimals, so that a column lines up.

    >>> fixed(0.1234), fixed(-0.0001), fixed(None)
    ('0.123', '0.000', '–')
    """
    return UNDEFINED if value is None else f"{round(value, 3) + 0.0:.3f}"


def fixed_interval(low: float | None, high: float | None) -> str:
    """
    >>> fixed_interval(-0.1, 0.25), fixed_interval(None, None)
    ('-0.100 to 0.250', '–')
    """
    return UNDEFINED if low is None or high is None else f"{fixed(low)} to {fixed(high)}"


def interval(low: float | None, high: float | None) -> str:
    """An interval in words, which may be broken over two lines.

    >>> interval(-0.1, 0.25), interval(None, None)
    ('-0.100 to 0.250', '–')
    """
    return UNDEFINED if low is None or high is None else f"{number(low)} to {number(high)}"


def share(value: float | None) -> str:
    """A share or a difference of shares as a percentage, with the decimals that it takes to tell it from 0 and 100.

    >>> share(0.411), share(-0.0139), share(0.000348), share(0.9999), share(0), share(None)
    ('41.1%', '-1.4%', '0.035%', '99.99%', '0%', '–')
    """
    if value is None:
        return UNDEFINED
    hundred = 100 * value
    if hundred in (-100, 0, 100):
        return f"{hundred:.0f}%"
    least = max(1, 1 - math.floor(math.log10(abs(hundred))))
    rounded = (f"{hundred:.{decimals}f}" for decimals in range(least, 9))
    return next((text for text in rounded if abs(float(text)) != 100), f"{hundred:.1e}") + "%"


def share_interval(low: float | None, high: float | None) -> str:
    """
    >>> share_interval(0.326, 0.514), share_interval(None, None)
    ('32.6% to 51.4%', '–')
    """
    return UNDEFINED if low is None or high is None else f"{share(low)} to {share(high)}"


def share_points(difference: float) -> str:
    """A difference of two shares.

    >>> share_points(0.0139), share_points(0.01), share_points(0)
    ('1.4 percentage points', '1.0 percentage points', '0 percentage points')
    """
    return f"{share(difference).removesuffix('%')} percentage points"


def probability(value: float | None) -> str:
    """A p- or q-value; below a thousandth only that.

    >>> probability(0.0004), probability(0.0321), probability(None)
    ('<0.001', '0.032', '–')
    """
    if value is None:
        return UNDEFINED
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def equals(value: float | None) -> str:
    """A probability after its letter: "= 0.032" or "< 0.001".

    >>> equals(0.0321), equals(0.0004)
    ('= 0.032', '< 0.001')
    """
    text = probability(value)
    return f"< {text[1:]}" if text.startswith("<") else f"= {text}"


def count(value: int) -> str:
    return f"{value:,}"


def percent(level: float) -> str:
    """A confidence level.

    >>> percent(0.95), percent(0.999)
    ('95%', '99.9%')
    """
    return f"{level * 100:.6g}%"


def plural(amount: int, one: str, many: str = "") -> str:
    """An amount with its noun.

    >>> plural(1, "row"), plural(1200, "row"), plural(2, "is", "are")
    ('1 row', '1,200 rows', '2 are')
    """
    return f"{count(amount)} {one if amount == 1 else many or one + 's'}"
