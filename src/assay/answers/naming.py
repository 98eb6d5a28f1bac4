"""Finds the options that a piece of text names, in whole words or by their letters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from string import ascii_lowercase

from assay.answers import words as phrases
from assay.answers.words import A_LETTER, ARTICLE, INITIAL, LETTERS, hinted, words_of


@dataclass(frozen=True, slots=True)
class Options:
    """What to look for. Texts are words; an empty one is never found."""

    whole: Mapping[str, int]  # a text that is an option, with or without its article
    named: tuple[str, ...]  # (option,): its text, without its article if that distinguishes it from the others
    fillers: tuple[str, ...]  # (option,)
    words: tuple[frozenset[str], ...]  # (option,): its words, except those of every text
    unknown: int | None  # the option that says “cannot be determined”
    initials: bool  # some option has single letters of its own ("B. Jones")


@dataclass(frozen=True, slots=True)
class _Text:
    """An option's text, or a filler, as words."""

    words: str
    short: str  # without a leading article
    content: frozenset[str]  # its words, except those of every text
    unknown: bool  # says “cannot be determined”
    initials: bool  # has single letters of its own


@lru_cache(1 << 14)
def _text(text: str) -> _Text:
    words = words_of(text)
    content = frozenset(word for word in _spaced(words).split() if not phrases.GRAMMAR.fullmatch(word))
    article = ARTICLE.match(words)
    return _Text(
        words,
        words[article.end() :] if article else words,
        content,
        bool(phrases.UNKNOWN.fullmatch(words)),
        bool(INITIAL.search(text)),
    )


@lru_cache(4096)
def options_of(options: tuple[str, ...], fillers: tuple[str, ...] | None) -> Options:
    texts = [_text(option) for option in options]
    often = Counter(text.words for text in texts)
    often_short = Counter(text.short for text in texts)
    whole = {text.short: place for place, text in enumerate(texts) if text.short and often_short[text.short] == 1}
    whole |= {f"{article} {text}": place for text, place in whole.items() for article in ("the", "a", "an")}
    whole |= {text.words: place for place, text in enumerate(texts) if text.words and often[text.words] == 1}
    unknown = [place for place, text in enumerate(texts) if text.unknown]
    return Options(
        whole,
        tuple(_spaced(text.short if often_short[text.short] == 1 else text.words) for text in texts),
        tuple(_spaced(_text(filler).short) for filler in fillers or ()),
        tuple(text.content for text in texts),
        unknown[0] if len(unknown) == 1 else None,
        any(text.initials for text in texts),
    )


def _spaced(words: str) -> str:
    return words.replace("-", " ")


# --- what a piece of text names

_Mention = tuple[int, int, int]  # start, end, option


def _mentions(text: str, names: Sequence[str]) -> list[_Mention]:
    """Where options are named in whole words; a name inside a longer name does not count.

    A space of an option may be a hyphen in the text and vice versa, but a hyphen that joins the option to something
    else makes another word ("non-disabled"). A possessive 's may follow.
    """
    padded = f" {text} "
    spaced = _spaced(padded)
    found = []
    for option, name in enumerate(names):
        start = spaced.find(name) if name else -1
        while start >= 0:
            end = start + len(name)
            if padded[start - 1] == " " and (padded[end] == " " or padded.startswith("'s ", end)):
                found.append((start - 1, end - 1, option))
            start = spaced.find(name, end)
    holders = {name for name in names if any(other in name for other in names if other and other != name)}
    longer = [mention for mention in found if names[mention[2]] in holders]
    return [
        (start, end, option)
        for start, end, option in found
        if not any(first <= start and end <= last and option != other for first, last, other in longer)
    ]


def denied(text: str, start: int) -> bool:
    """Whether "not", "rather than" or the like comes directly before."""
    return phrases.DENIAL.search(text[max(0, start - 32) : start]) is not None


def _of_another(word: str, option: int, words: Sequence[frozenset[str]]) -> bool:
    """Whether a word next to an option's name belongs to another option ("pregnant" in "the pregnant employee")."""
    if not word or word in words[option] or phrases.GRAMMAR.fullmatch(word):
        return False
    others = frozenset().union(*words) - words[option]
    return word in others or any(
        min(len(word), len(other)) > 3 and (word.startswith(other) or other.startswith(word)) for other in others
    )


def _unsaid(text: str) -> list[tuple[int, int]]:
    """The parts that say only what is not known or not answered ("… whether it was the nurse"); they name no one."""
    parts, start = [], 0
    for sentence in text.split(" . "):
        end = len(sentence)
        refusal, unknown = phrases.REFUSAL.search(sentence), phrases.UNKNOWN.search(sentence)
        if refusal:
            turn = phrases.TURNS.search(sentence, refusal.end())
            parts.append((start + refusal.start(), start + (turn.start() if turn else end)))
        if unknown:
            turn = phrases.TURNS.search(sentence, unknown.end())
            until = turn.start() if turn else end
            opens = phrases.OPENS.search(sentence, 0, until)
            if opens:
                parts.append((start + opens.start(), start + until))
        start += end + 3
    return parts


def _people(text: str, options: Options) -> list[_Mention]:
    """Where people are named, in the options' words or, failing that, in those of the fillers."""

    def before(start: int, end: int) -> str:
        return text[:start].rpartition(" ")[0].rpartition(" ")[2]

    def behind(start: int, end: int) -> str:
        return text[end:].removeprefix("'s").strip().partition(" ")[0]

    def named(names: Sequence[str], *beside: Callable[[int, int], str]) -> list[_Mention]:
        found = (mention for mention in _mentions(text, names) if mention[2] != options.unknown)
        return [
            (start, end, option)
            for start, end, option in found
            if not any(_of_another(word(start, end), option, options.words) for word in beside)
        ]

    return named(options.named, before) or named(options.fillers, before, behind)


def named_options(text: str, options: Options) -> set[int]:
    """The options that a text of sentences names."""
    people = _people(text, options)
    named = {option for start, _, option in people if not denied(text, start)}
    if not hinted(text):
        return named
    unknown = [
        match
        for match in phrases.UNKNOWN.finditer(text)
        if not any(start <= match.start() and match.end() <= end for start, end, _ in people)
    ]
    if named and (unknown or phrases.REFUSAL.search(text)):
        unsaid = _unsaid(text)
        inside = {start for start, _, _ in people if any(first <= start < last for first, last in unsaid)}
        named = {option for start, _, option in people if start not in inside and not denied(text, start)}
    if options.unknown is None:
        return named
    own = options.named[options.unknown]  # counts after any word where nobody else can be the one who can't answer
    return named | {options.unknown} if unknown or (not people and _mentions(text, [own])) else named


# --- letters: (b), B., option B


@lru_cache
def _letter_forms(options: int) -> re.Pattern[str]:
    """Letters that name an option: in brackets, alone, before punctuation, after "option", …; not the article."""
    letter = f"[{ascii_lowercase[:options]}{ascii_lowercase[:options].upper()}]"
    small = f"[{ascii_lowercase[:options]}]"
    large = f"[{ascii_lowercase[:options].upper()}]"
    article = r"(?!(?<=[AaI])\s+(?!(?:is|because|since)\b)\w)"  # before any other word, A and I are words
    loose = rf"{large}(?![\w'-]){article}"
    start = r"^[^\w\n]*"
    told = r"\b(?i:option|choice|letter|answer)(?i:\s+is|\s+would\s+be)?[\"'\s]*[:=]?[\"'\s(]*"
    return re.compile(
        rf"(?:(?P<bracket>[(\[{{<]\s*{letter})\s*[)\]}}>]|(?P<alone>{start}{letter})[^\w\n]*$"
        rf"|(?P<head>{start}{letter})(?=\)|[.:\]](?![^\s\"'(])|,\s|\s[-–—]\s)|(?P<first>{start}{loose})(?=\s)"
        rf"|(?P<told>{told}{loose})|(?P<small>{told}{small})(?=[\"']?(?:[).,:;]|\s*$)))[).:\]]*"
        rf"|(?P<chosen>\b(?i:choose|pick|select|think|believe|say|guess|go\s+with|going\s+with|it\s+is|it's)\s+[\"']?{loose})"
        rf"|(?P<pair>\b{large})(?=\s*(?:and|or|nor|&|/|,)\s*\(?{large}\b)"
        rf"|(?P<next>\b(?:and|or|nor)\s+{large}\b(?!['-]){article})",
        re.MULTILINE,
    )


def with_letters(text: str, options: int) -> str:
    """The text with characters of LETTERS in place of letters that name an option."""

    def stand_in(match: re.Match[str]) -> str:
        kept = match[match.lastgroup or 0]
        return f"{kept[:-1]} {LETTERS[ascii_lowercase.index(kept[-1].lower())]} "

    return _letter_forms(options).sub(stand_in, text)


def lettered_options(text: str) -> dict[int, int]:
    """The letters in a text of sentences: option -> its first place."""
    places: dict[int, int] = {}
    for match in A_LETTER.finditer(text):
        if not denied(text, match.start()):
            places.setdefault(LETTERS.index(match[0]), match.start())
    return places
