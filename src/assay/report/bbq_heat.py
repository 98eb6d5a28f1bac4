"""BBQ's heat maps: bias scores by label and stereotype, and of crossed groups by comparison."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from assay.probes.bbq.showcase import comparison_words
from assay.report.bars import signed_scale
from assay.report.bbq_tables import Score, scores
from assay.report.content import Content
from assay.report.heat import Heat, heat_map
from assay.report.words import CONTEXTS, category_words

Key = tuple[str, str]  # row, column


@dataclass(frozen=True)
class Map:
    """The heat map of a category in a context."""

    category: str
    context: str
    heat: Heat


def label_maps(content: Content, contexts: Sequence[str]) -> list[Map]:
    """Bias scores of labels with single stereotypes, a map for each category and context (Figure 4)."""
    found = [row for c in contexts for row in scores(content, "by_label", "label", "stereotype", c, 1) if row.detail]
    return _maps(found, contexts)


def crossed_maps(content: Content, contexts: Sequence[str]) -> list[Map]:
    """Bias scores of crossed groups by how the other person differs (Figures 8 to 10)."""
    found = [row for c in contexts for row in scores(content, "intersectional", "target", "comparison", c, 1)]
    letters = dict.fromkeys(sorted({(row.category, row.detail) for row in found}))
    columns = [comparison_words(*letter) for letter in letters]
    return [
        replace(each, heat=in_columns(each.heat, columns))
        for each in _maps([replace(row, detail=comparison_words(row.category, row.detail)) for row in found], contexts)
    ]


def _maps(found: Sequence[Score], contexts: Sequence[str]) -> list[Map]:
    """All on one scale, so that colours mean the same in each."""
    end = signed_scale(row.value for row in found).high
    maps = []
    for category in dict.fromkeys(row.category for row in found):
        for context in contexts:
            own = {(r.who, r.detail): r for r in found if (r.category, r.context) == (category, context)}
            name = f"{category_words(category)}, {CONTEXTS.get(context, context)}"
            beside = known_beside(
                {
                    "low": {key: row.low for key, row in own.items()},
                    "high": {key: row.high for key, row in own.items()},
                    "n": {key: row.n for key, row in own.items()},
                }
            )
            if heat := heat_map(name, {key: rounded(row.value) for key, row in own.items()}, beside, end):
                maps.append(Map(category, context, heat))
    return maps


def known_beside(beside: Mapping[str, Mapping[Key, float | None]]) -> dict[str, dict[Key, float | None]]:
    """Numbers beside a map's values, without those that nothing is known of."""
    return {
        name: {key: None if value is None else rounded(value) for key, value in numbers.items()}
        for name, numbers in beside.items()
        if any(value is not None for value in numbers.values())
    }


def in_columns(heat: Heat, columns: Iterable[str]) -> Heat:
    """A map with its columns in this order in place of similar ones together."""
    wanted = list(dict.fromkeys(columns))
    order = sorted(range(len(heat.columns)), key=lambda place: wanted.index(heat.columns[place]))

    def placed(rows: Sequence[Sequence[float | None]]) -> list[list[float | None]]:
        return [[row[place] for place in order] for row in rows]

    return replace(
        heat,
        columns=[heat.columns[place] for place in order],
        values=placed(heat.values),
        beside={name: placed(numbers) for name, numbers in heat.beside.items()},
    )


def rounded(value: float) -> float:
    """To what a reader can use, which keeps the page small."""
    return float(f"{value:.5g}")
