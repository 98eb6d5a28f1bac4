"""Step 1: distractors. Algorithm 1 breadth-first, every masked answer asked once, strings as arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.asking.plan import Ask, TokenPlan, digest_of
from assay.probes.sodapop.contexts import Context
from assay.probes.sodapop.plans import MASKED, FillPlan, Strings
from assay.probes.sodapop.settings import SodapopSettings
from assay.probes.sodapop.split_words import is_vocabulary, is_word, said, split

Fills = NDArray[np.int32]  # (row, fill): places in a list of words, or NONE

NONE = -1
_MOST = 1 << 62


@dataclass(frozen=True)
class DistractorPools:
    """The distractors of one context, for some names: the names' own pools, one after another.

    Strings (string, word) are places in `words`; both are sorted by text, but that string 0 is the right answer. It is
    in a pool only where it may stay and a fill brought it back.
    """

    words: tuple[str, ...]
    glue: tuple[str, ...]
    strings: Strings
    offsets: NDArray[np.int64]  # (name + 1,)
    members: NDArray[np.int64]  # (member,): strings

    @property
    def names(self) -> int:
        return len(self.offsets) - 1

    @property
    def rights(self) -> NDArray[np.int64]:
        """Where the right answers are among scores of each name's right answer and distractors in turn (name,)."""
        return self.offsets[:-1] + np.arange(self.names)

    def of(self, name: int) -> NDArray[np.int64]:
        return self.members[self.offsets[name] : self.offsets[name + 1]]

    def leads(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """By how much each distractor scores higher than its name's right answer (member,)."""
        return np.delete(scores, self.rights) - np.repeat(scores[self.rights], np.diff(self.offsets))


def grow(
    ask: Ask, context: Context, names: Sequence[str], settings: SodapopSettings, label: str, seed: int
) -> DistractorPools:
    """The pools of all names in a context: `distance` rounds, each asking for every name at once."""
    parts = split(context.answer)
    words: dict[str, int] = {}  # those of the right answer, then those that fills bring, with their indices
    right = np.array([[words.setdefault(word, len(words)) for word in parts.words]], np.int32)  # (1, word)
    pools = [right for _ in names]
    frontier = [right for _ in names]
    returned = [False for _ in names]  # whether a fill brought the right answer back
    forms_asked = [np.zeros((0, right.shape[1]), np.int32) for _ in names]
    word_of_token: dict[int, int] = {}  # the filling model's tokens -> indices in words, or NONE
    texts = tuple((filled.context, filled.prompt) for filled in map(context.filled, names))
    for turn in range(settings.distance):
        masked = [new_rows(masked_forms(new), old) for new, old in zip(frontier, forms_asked, strict=True)]
        rows = np.concatenate(masked)
        if not len(rows):
            break
        owner = np.repeat(np.arange(len(names)), [len(forms) for forms in masked]).astype(np.int32)
        arrays = ask.keep({"strings": rows, "name": owner})
        plan = FillPlan(
            names=tuple(names),
            texts=texts,
            words=tuple(words),
            glue=parts.glue,
            arrays=arrays,
            rows=len(rows),
            top=settings.fills,
        )
        tokens = ask(plan, f"{label}, words {turn + 1} of {settings.distance}")["token"]
        fills = _word_indices(ask, tokens, words, word_of_token, settings, label)
        ends = np.cumsum([len(forms) for forms in masked])
        for name, (forms, end) in enumerate(zip(masked, ends.tolist(), strict=True)):
            strings = filled_strings(forms, fills[end - len(forms) : end])
            returned[name] |= bool((strings == right).all(axis=1).any())
            forms_asked[name] = np.concatenate([forms_asked[name], forms])
            frontier[name] = new_rows(strings, pools[name])
            pools[name] = np.concatenate([pools[name], frontier[name]])
    for name, right_returned in enumerate(returned):
        if settings.right_answer != "keep" or not right_returned:
            pools[name] = pools[name][1:]  # without the right answer
    # The seed, the context and the name decide what is drawn, and not the names' order.
    key = [seed, context.text, context.question, context.answer]
    rngs = [np.random.default_rng(int(digest_of([*key, name]), 16)) for name in names]
    return _capped(list(words), parts.glue, right, pools, settings.cap, rngs)


def masked_forms(strings: Strings) -> Strings:
    """Each string with each of its words masked in turn (form, word).

    >>> masked_forms(np.array([[4, 7]], np.int32)).tolist()
    [[-1, 7], [4, -1]]
    """
    count, width = strings.shape
    forms = np.repeat(strings, width, axis=0)
    forms[np.arange(count * width), np.tile(np.arange(width), count)] = MASKED
    return forms


def filled_strings(masked: Strings, fills: Fills) -> Strings:
    """Masked strings (row, word) with each of their fills (row, fill) put in; NONE is no fill.

    >>> filled_strings(np.array([[-1, 7]], np.int32), np.array([[3, -1, 5]], np.int32)).tolist()
    [[3, 7], [5, 7]]
    """
    row, fill = np.nonzero(fills != NONE)
    strings = masked[row]
    strings[strings == MASKED] = fills[row, fill]  # one in every row, in the rows' order
    return strings


def _word_indices(
    ask: Ask,
    tokens: NDArray[np.int32],
    words: dict[str, int],
    word_of_token: dict[int, int],
    settings: SodapopSettings,
    label: str,
) -> Fills:
    """Tokens (row, fill) as indices of words, both of which grow; NONE for those that are dropped."""
    distinct, number = np.unique(tokens, return_inverse=True)
    fresh = [token for token in distinct.tolist() if token not in word_of_token]
    if fresh:
        answers = ask(TokenPlan(tuple(fresh)), f"{label}, tokens")
        for token, text, is_whole in zip(fresh, answers["text"].tolist(), answers["whole"].tolist(), strict=True):
            word = bytes(text).decode()
            usable = bool(word) and (settings.pieces == "keep" or bool(is_whole))
            usable = usable and (settings.punctuation == "keep" or is_word(word))
            word_of_token[token] = words.setdefault(word, len(words)) if usable else NONE
    indices = np.array([word_of_token[token] for token in distinct.tolist()], np.int32)
    return indices[number].reshape(tokens.shape)


def _capped(
    texts: Sequence[str],
    glue: tuple[str, ...],
    right: Strings,
    pools: Sequence[Strings],
    cap: int,
    rngs: Sequence[np.random.Generator],
) -> DistractorPools:
    """The pools, capped: a sample of the strings in the order of their words' texts, drawn with each name's generator.

    That order does not depend on what other names' pools hold, as the order in which words were found does.
    """
    order = sorted(range(len(texts)), key=texts.__getitem__)
    rank = np.empty(len(order), np.int32)  # of a word among the sorted ones
    rank[order] = np.arange(len(order))
    capped = []
    for pool, rng in zip(pools, rngs, strict=True):
        strings = unique_rows(rank[pool])
        if len(strings) > cap:
            strings = strings[np.sort(rng.choice(len(strings), cap, replace=False))]
        capped.append(strings)
    strings, rows = numbered_rows(np.concatenate([rank[right], *capped]))
    in_order = np.arange(len(strings))
    number = np.where(in_order == rows[0], 0, in_order + (in_order < rows[0]))  # the right answer first
    strings[number] = strings.copy()
    offsets = np.concatenate([[0], np.cumsum([len(pool) for pool in capped])]).astype(np.int64)
    return DistractorPools(tuple(texts[word] for word in order), glue, strings, offsets, number[rows[1:]])


def shared_pool(
    pools: DistractorPools, names: int, settings: SodapopSettings, seed: int, *, sparing: bool = False
) -> DistractorPools:
    """One pool for all names: what the given names' pools hold together, capped again.

    `sparing` prefers distractors whose words are in others, too, so that few of them make many words count.
    """
    pool, rng = np.unique(pools.members), np.random.default_rng([seed, 1 << 20])
    if len(pool) > settings.cap:
        pool = _repeating(pools, pool, settings, rng) if sparing else rng.choice(pool, settings.cap, replace=False)
        pool.sort()
    offsets = np.arange(names + 1, dtype=np.int64) * len(pool)
    return DistractorPools(pools.words, pools.glue, pools.strings, offsets, np.tile(pool, names))


def _repeating(
    pools: DistractorPools, pool: NDArray[np.int64], settings: SodapopSettings, rng: np.random.Generator
) -> NDArray[np.int64]:
    """As many of a pool's strings as it may have.

    Words that may count are taken in turn, in an order drawn at random, and strings with each are added until it has
    `min_count` of them; what is left is drawn from all others.
    """
    strings = rng.permutation(pool)
    words_in = [{said(pools.words[word], settings.case) for word in pools.strings[string]} for string in strings]
    times = Counter(word for words in words_in for word in words if is_vocabulary(word))
    words = sorted(word for word, number in times.items() if number >= settings.min_count)
    taken: dict[int, None] = {}
    for index in rng.permutation(len(words)):
        rows = [row for row, row_words in enumerate(words_in) if words[index] in row_words]
        fresh = [row for row in rows if row not in taken]
        lacking = settings.min_count - (len(rows) - len(fresh))
        fresh = fresh[: max(lacking, 0)]
        if lacking > 0 and len(taken) + len(fresh) <= settings.cap:
            taken |= dict.fromkeys(fresh)
    taken |= dict.fromkeys(range(len(strings)))
    return strings[[*taken][: settings.cap]]


# --- sets of strings


def row_keys(rows: Strings) -> NDArray[np.int64]:
    """A number for every row: equal for equal rows only, and in the rows' own order.

    Finding equal rows is then a sort of numbers; NumPy's own way, by rows, takes some ten times as long.

    >>> row_keys(np.array([[1, 5], [0, 9], [1, 5]])).tolist()
    [5, 4, 5]
    """
    keys, most = np.zeros(len(rows), np.int64), 1  # every key is below `most`
    for column in rows.T:
        low = int(column.min()) if len(column) else 0
        size = int(column.max()) - low + 1 if len(column) else 1
        if most > _MOST // size:
            distinct, keys = np.unique(keys, return_inverse=True)
            keys, most = keys.reshape(-1).astype(np.int64), len(distinct)
        keys = keys * size + (column.astype(np.int64) - low)
        most *= size
    return keys


def numbered_rows(rows: Strings) -> tuple[Strings, NDArray[np.int64]]:
    """The different rows in their order, and for every row which of these it is."""
    _, first, number = np.unique(row_keys(rows), return_index=True, return_inverse=True)
    return rows[first], number.reshape(-1)


def unique_rows(rows: Strings) -> Strings:
    """The different rows in their order: that of hashing or of finding does not matter."""
    return rows[np.unique(row_keys(rows), return_index=True)[1]]


def new_rows(rows: Strings, old: Strings) -> Strings:
    """The different rows, in their order, that are not among the old ones."""
    keys = row_keys(np.concatenate([rows, old]))
    distinct, first = np.unique(keys[: len(rows)], return_index=True)
    return rows[first[~np.isin(distinct, keys[len(rows) :])]]
