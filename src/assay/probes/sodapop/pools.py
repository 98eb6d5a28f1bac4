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

    def of(self, name: int) -> NDArray[np.int64]:
        return self.members[self.offsets[name] : self.offsets[name + 1]]


def grow(
    ask: Ask, context: Context, names: Sequence[str], settings: SodapopSettings, label: str, seed: int
) -> DistractorPools:
    """The pools of all names in a context: `distance` rounds, each asking for every name at once."""
    parts = split(context.answer)
    words: dict[str, int] = {}  # those of the right answer, then those that fills bring, with their places
    right = np.array([[words.setdefault(word, len(words)) for word in parts.words]], np.int32)  # (1, word)
    found = [right for _ in names]
    frontier = [right for _ in names]
    back = [False for _ in names]  # whether a fill brought the right answer back
    asked = [np.zeros((0, right.shape[1]), np.int32) for _ in names]
    kept: dict[int, int] = {}  # the filling model's tokens -> places in words, or NONE
    texts = tuple((filled.context, filled.prompt) for filled in map(context.filled, names))
    for turn in range(settings.distance):
        masked = [new_rows(masked_forms(strings), known) for strings, known in zip(frontier, asked, strict=True)]
        rows = np.concatenate(masked)
        if not len(rows):
            break
        owner = np.repeat(np.arange(len(names)), [len(own) for own in masked]).astype(np.int32)
        arrays = ask.keep({"strings": rows, "name": owner})
        plan = FillPlan(tuple(names), texts, tuple(words), parts.glue, arrays, len(rows), settings.fills)
        tokens = ask(plan, f"{label}, words {turn + 1} of {settings.distance}")["token"]
        fills = places_of(ask, tokens, words, kept, settings, label)
        ends = np.cumsum([len(own) for own in masked])
        for name, (own, end) in enumerate(zip(masked, ends.tolist(), strict=True)):
            filled_in = filled_strings(own, fills[end - len(own) : end])
            back[name] |= bool((filled_in == right).all(axis=1).any())
            asked[name] = np.concatenate([asked[name], own])
            frontier[name] = new_rows(filled_in, found[name])
            found[name] = np.concatenate([found[name], frontier[name]])
    stays = [settings.right_answer == "keep" and own for own in back]
    pools = [strings if keep else strings[1:] for strings, keep in zip(found, stays, strict=True)]
    chance = [_chance(seed, context, name) for name in names]
    return _pools(list(words), parts.glue, right, pools, settings.cap, chance)


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


def places_of(
    ask: Ask,
    tokens: NDArray[np.int32],
    words: dict[str, int],
    kept: dict[int, int],
    settings: SodapopSettings,
    label: str,
) -> Fills:
    """Tokens (row, fill) as places among the words, which grow; NONE for those that are dropped."""
    fresh = [token for token in np.unique(tokens).tolist() if token not in kept]
    if fresh:
        answers = ask(TokenPlan(tuple(fresh)), f"{label}, tokens")
        for token, text, whole in zip(fresh, answers["text"].tolist(), answers["whole"].tolist(), strict=True):
            word = bytes(text).decode()
            usable = bool(word) and (settings.pieces == "keep" or bool(whole))
            usable = usable and (settings.punctuation == "keep" or is_word(word))
            kept[token] = words.setdefault(word, len(words)) if usable else NONE
    known = np.array(sorted(kept), np.int64)
    places = np.array([kept[token] for token in known.tolist()], np.int32)
    found: Fills = places[np.searchsorted(known, tokens)]
    return found


def _chance(seed: int, context: Context, name: str) -> np.random.Generator:
    """A generator that the seed, the context and the name decide, and not their places among others."""
    return np.random.default_rng(int(digest_of([seed, context.text, context.question, context.answer, name]), 16))


def _pools(
    texts: Sequence[str],
    glue: tuple[str, ...],
    right: Strings,
    found: Sequence[Strings],
    cap: int,
    chance: Sequence[np.random.Generator],
) -> DistractorPools:
    """The pools, capped: a sample of the strings in the order of their words' texts, drawn with each name's generator.

    That order does not depend on what other names' pools hold, as the order in which words were found does.
    """
    order = sorted(range(len(texts)), key=texts.__getitem__)
    rank = np.empty(len(order), np.int32)  # the place of a word when they are sorted
    rank[order] = np.arange(len(order))
    pools = []
    for own, rng in zip(found, chance, strict=True):
        pool = unique_rows(rank[own])
        if len(pool) > cap:
            pool = pool[np.sort(rng.choice(len(pool), cap, replace=False))]
        pools.append(pool)
    strings, place = numbered_rows(np.concatenate([rank[right], *pools]))
    sorted_place = np.arange(len(strings))
    number = np.where(sorted_place == place[0], 0, sorted_place + (sorted_place < place[0]))  # the right answer first
    strings[number] = strings.copy()
    offsets = np.concatenate([[0], np.cumsum([len(pool) for pool in pools])]).astype(np.int64)
    return DistractorPools(tuple(texts[word] for word in order), glue, strings, offsets, number[place[1:]])


def shared_pool(
    pools: DistractorPools, names: int, settings: SodapopSettings, seed: int, *, sparing: bool = False
) -> DistractorPools:
    """One pool for all names: what the given names' pools hold together, capped again.

    `sparing` prefers distractors whose words are in others, too, so that few of them make many words count.
    """
    pool, rng = np.unique(pools.members), np.random.default_rng([seed, 1 << 20])
    if len(pool) > settings.cap:
        some = _repeating(pools, pool, settings, rng) if sparing else rng.choice(pool, settings.cap, replace=False)
        pool = np.sort(some)
    offsets = np.arange(names + 1, dtype=np.int64) * len(pool)
    return DistractorPools(pools.words, pools.glue, pools.strings, offsets, np.tile(pool, names))


def _repeating(
    pools: DistractorPools, pool: NDArray[np.int64], settings: SodapopSettings, rng: np.random.Generator
) -> NDArray[np.int64]:
    """As many of a pool's strings as it may have.

    Words that may count are taken in turn, in an order drawn at random, and strings with each are added until it has
    `min_count` of them; what is left is drawn from all others.
    """
    drawn = rng.permutation(pool)
    said_in = [{said(pools.words[word], settings.case) for word in pools.strings[string]} for string in drawn]
    times = Counter(word for words in said_in for word in words if is_vocabulary(word))
    words = sorted(word for word, number in times.items() if number >= settings.min_count)
    taken: dict[int, None] = {}
    for word in (words[place] for place in rng.permutation(len(words))):
        own = [place for place, others in enumerate(said_in) if word in others]
        lacking = settings.min_count - sum(place in taken for place in own)
        fresh = [place for place in own if place not in taken][: max(lacking, 0)]
        if lacking > 0 and len(taken) + len(fresh) <= settings.cap:
            taken |= dict.fromkeys(fresh)
    taken |= dict.fromkeys(range(len(drawn)))
    return drawn[[*taken][: settings.cap]]


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


def new_rows(rows: Strings, known: Strings) -> Strings:
    """The different rows, in their order, that are not among the known ones."""
    keys = row_keys(np.concatenate([rows, known]))
    own, first = np.unique(keys[: len(rows)], return_index=True)
    return rows[first[~np.isin(own, keys[len(rows) :])]]
