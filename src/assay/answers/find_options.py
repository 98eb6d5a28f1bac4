"""Finds the options that a piece of text names, in whole words or by their letters."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from string import ascii_lowercase

from assay.languages import LETTERS, AnswerPatterns, Language, without_accents


@dataclass(frozen=True, slots=True)
class OptionPatterns:
    """What to look for. Texts are words; an empty one is never found."""

    by_text: Mapping[str, int]  # a text that is an option, with or without its article
    named: tuple[str, ...]  # (option,): its text, without its article if that distinguishes it from the others
    fillers: tuple[str, ...]  # (option,)
    words: tuple[frozenset[str], ...]  # (option,): its words, except those of every text
    unknown: int | None  # the option that says “cannot be determined”
    initials: bool  # some option has single letters of its own ("B. Jones")
    language: Language


@dataclass(frozen=True, slots=True)
class _OptionText:
    """An option's text, or a filler, as words."""

    words: str
    short: str  # without a leading article
    content: frozenset[str]  # its words, except those of every text
    unknown: bool  # says “cannot be determined”
    initials: bool  # has single letters of its own


@lru_cache(1 << 14)
def _text(text: str, language: Language) -> _OptionText:
    reading, words = language.reading, words_of(text, language)
    content = frozenset(word for word in _spaced(words).split() if not reading.grammar.fullmatch(word))
    article = reading.article.match(words)
    return _OptionText(
        words,
        words[article.end() :] if article else words,
        content,
        bool(reading.unknown.search(words) if reading.part else reading.unknown.fullmatch(words)),
        bool(INITIAL.search(text)),
    )


@lru_cache(4096)
def options_of(options: tuple[str, ...], fillers: tuple[str, ...] | None, language: Language) -> OptionPatterns:
    texts = [_text(option, language) for option in options]
    often = Counter(text.words for text in texts)
    often_short = Counter(text.short for text in texts)
    by_text = {text.short: option for option, text in enumerate(texts) if text.short and often_short[text.short] == 1}
    by_text |= {
        f"{article} {text}": option for text, option in by_text.items() for article in language.reading.articles
    }
    by_text |= {text.words: option for option, text in enumerate(texts) if text.words and often[text.words] == 1}
    unknown = [option for option, text in enumerate(texts) if text.unknown]
    return OptionPatterns(
        by_text,
        tuple(_spaced(text.short if often_short[text.short] == 1 else text.words) for text in texts),
        tuple(_spaced(_text(filler, language).short) for filler in fillers or ()),
        tuple(text.content for text in texts),
        unknown[0] if len(unknown) == 1 else None,
        any(text.initials for text in texts),
        language,
    )


def _spaced(words: str) -> str:
    return words.replace("-", " ")


# --- what a piece of text names

Mention = tuple[int, int, int]  # start, end, option


def _mentions(text: str, names: Sequence[str], reading: AnswerPatterns) -> list[Mention]:
    """Where options are named in whole words; a name inside a longer name does not count.

    A space of an option may be a hyphen in the text and vice versa, but a hyphen that joins the option to something
    else makes another word ("non-disabled"). An ending may follow (a possessive 's), and in languages that do not
    separate words anything may.
    """
    padded = f" {text} "
    spaced = _spaced(padded)
    mentions = []
    for option, name in enumerate(names):
        for start, end in _places(name, spaced, reading) if name else ():
            is_whole_word = padded[start - 1] == " " and reading.ending.match(padded, end)
            if is_whole_word or not reading.in_words:
                mentions.append((start - 1, end - 1, option))
    holders = {name for name in names if any(shorter in name for shorter in names if shorter and shorter != name)}
    longer = [mention for mention in mentions if names[mention[2]] in holders]
    return [
        (start, end, option)
        for start, end, option in mentions
        if not any(first <= start and end <= last and option != longer_option for first, last, longer_option in longer)
    ]


def _places(name: str, text: str, reading: AnswerPatterns) -> Iterator[tuple[int, int]]:
    """Where a name is; its words but the last may be inflected ("den alten Mann")."""
    if reading.inner and " " in name:
        yield from (match.span() for match in _inflected(name, reading.inner).finditer(text))
        return
    start = text.find(name)
    while start >= 0:
        yield start, start + len(name)
        start = text.find(name, start + len(name))


@lru_cache(4096)
def _inflected(name: str, inner: str) -> re.Pattern[str]:
    return re.compile(f"{inner} ".join(map(re.escape, name.split(" "))))


def denied(text: str, start: int, end: int, reading: AnswerPatterns) -> bool:
    """Whether "not", "rather than" or the like comes directly before, or after where a language has it there."""
    before = text[max(0, start - 48) : start]
    if reading.denial.search(before[-32:]):
        return True
    if ("n't" in before or not reading.doubt_hints.isdisjoint(before.split())) and reading.doubt.search(before):
        return True
    return reading.denial_after is not None and reading.denial_after.match(text, end) is not None


def _of_another(word: str, option: int, options: OptionPatterns) -> bool:
    """Whether a word next to an option's name belongs to another option ("pregnant" in "the pregnant employee")."""
    words = options.words
    if not word or word in words[option] or options.language.reading.grammar.fullmatch(word):
        return False
    others = frozenset().union(*words) - words[option]
    return word in others or any(
        min(len(word), len(foreign)) > 3 and (word.startswith(foreign) or foreign.startswith(word))
        for foreign in others
    )


def _meant(text: str, mentions: Sequence[Mention], reading: AnswerPatterns) -> list[tuple[Mention, bool]]:
    """The mentions whose people are meant, and whether each has an owner: not "the pilot's" in "the pilot's wife"."""
    meant = []
    ordered = sorted(mentions)
    for i, mention in enumerate(ordered):
        start, end, _ = mention
        before = ordered[i - 1] if i else None
        after = ordered[i + 1] if i + 1 < len(ordered) else None
        possessed = before is not None and reading.possessed.fullmatch(text, before[1], start) is not None
        if not (
            reading.owner.match(text, end)
            or (start and _of_a_relative(text[max(before[1] if before else 0, start - 48) : start], reading))
            or (before is not None and reading.of.fullmatch(text, before[1], start))
            or (after is not None and reading.possessed.fullmatch(text, end, after[0]))
        ):
            meant.append((mention, possessed))
    return meant


def _of_a_relative(before: str, reading: AnswerPatterns) -> bool:
    """Whether "the wife of" or the like ends a text."""
    of = reading.of_at_end.search(before)
    return of is not None and reading.relative.fullmatch(before[: of.start()].rpartition(" ")[2]) is not None


def _unsaid(text: str, reading: AnswerPatterns) -> list[tuple[int, int]]:
    """The parts that say only what is not known or not answered ("… whether it was the nurse"); they name no one."""
    parts, start = [], 0
    for sentence in text.split(" . "):
        end = len(sentence)
        refusal, unknown = reading.refusal.search(sentence), reading.unknown.search(sentence)
        if reading.unknown_at_end and unknown and reading.opens.search(sentence, 0, unknown.end()):
            turned = [turn.end() for turn in reading.turns.finditer(sentence, 0, unknown.start())]
            parts.append((start + (turned[-1] if turned else 0), start + unknown.end()))
        if refusal:
            turn = reading.turns.search(sentence, refusal.end())
            parts.append((start + refusal.start(), start + (turn.start() if turn else end)))
        if unknown:
            turn = reading.turns.search(sentence, unknown.end())
            until = turn.start() if turn else end
            opens = reading.opens.search(sentence, 0, until)
            if opens:
                parts.append((start + opens.start(), start + until))
        start += end + 3
    return parts


def people_in(text: str, options: OptionPatterns) -> list[Mention]:
    """Where people are named, in the options' words or, failing that, in those of the fillers."""

    reading = options.language.reading

    def before(start: int, end: int) -> str:
        return text[:start].rpartition(" ")[0].rpartition(" ")[2]

    def behind(start: int, end: int) -> str:
        return text[end:].removeprefix("'s").strip().partition(" ")[0]

    def named(names: Sequence[str], *beside: Callable[[int, int], str]) -> list[Mention]:
        mentions = [mention for mention in _mentions(text, names, reading) if mention[2] != options.unknown]
        if not mentions:
            return []
        starts, ends = {start for start, _, _ in mentions}, {end + 1 for _, end, _ in mentions}
        return [
            (start, end, option)
            for (start, end, option), has_owner in _meant(text, mentions, reading)
            if has_owner
            or start in ends  # directly after another one ("Ann, Bo"): both are named
            or end + 1 in starts
            or not any(_of_another(word(start, end), option, options) for word in beside)
        ]

    return named(options.named, before) or named(options.fillers, before, behind)


def named_options(text: str, options: OptionPatterns) -> set[int]:
    """The options that a text of sentences names."""
    people, reading = people_in(text, options), options.language.reading
    named = {option for start, end, option in people if not denied(text, start, end, reading)}
    if not hinted(text, options.language):
        return named
    unknown = [
        match
        for match in reading.unknown.finditer(text)
        if not any(start <= match.start() and match.end() <= end for start, end, _ in people)
    ]
    if named and (unknown or reading.refusal.search(text)):
        unsaid = _unsaid(text, reading)
        inside = {start for start, _, _ in people if any(first <= start < last for first, last in unsaid)}
        certain = [mention for mention in people if mention[0] not in inside]
        named = {option for start, end, option in certain if not denied(text, start, end, reading)}
    if options.unknown is None:
        return named
    # The option's own text counts after any word where nobody else can be the one who can't answer.
    if unknown or (not people and _mentions(text, [options.named[options.unknown]], reading)):
        return named | {options.unknown}
    return named


def denied_options(text: str, options: OptionPatterns) -> set[int]:
    """The people whom a text of sentences names only to deny them."""
    reading = options.language.reading
    return {option for start, end, option in people_in(text, options) if denied(text, start, end, reading)}


# --- letters: (b), B., option B


@lru_cache
def _letter_forms(options: int, language: Language) -> re.Pattern[str]:
    """Letters that name an option: in brackets, alone, before punctuation, after "option", …; not the article."""
    patterns = language.reading.letters
    letter = f"[{ascii_lowercase[:options]}{ascii_lowercase[:options].upper()}]"
    small = f"[{ascii_lowercase[:options]}]"
    large = f"[{ascii_lowercase[:options].upper()}]"
    article = rf"(?!(?<=[AaI])\s+(?!(?i:{patterns.follow})\b)\w)"  # before any other word, A and I are words
    loose = rf"{large}(?![\w'-]){article}"
    if patterns.attached:
        loose = rf"{large}(?:(?={patterns.attached})|(?![\w'-]){article})"
    start = r"^[^\w\n]*"
    before_letter = patterns.start.replace(r"\b", r"(?<!\w.)").replace("(?<![A-Za-z0-9])", "(?<![A-Za-z0-9].)")
    return re.compile(
        rf"(?:(?P<bracket>{patterns.before}[(\[{{<]\s*{letter})\s*[)\]}}>]|(?P<alone>{start}{letter})[^\w\n]*$"
        rf"|(?P<head>{start}{letter})(?=\)|[.:\]](?![^\s\"'(])|,\s|\s[-–—]\s)"
        rf"|(?P<first>{start}{loose})(?=\s{f'|{patterns.attached}' if patterns.attached else ''})"
        rf"|(?P<told>{patterns.prefix}{loose})|(?P<small>{patterns.prefix}{small})(?=[\"']?(?:[).,:;]|\s*$)))[).:\]]*"
        rf"|(?P<chosen>{patterns.chosen}{loose})"
        rf"|(?P<pair>{patterns.start}{large})(?=\s*(?:(?i:{patterns.linked})|&|/|,)\s*\(?{large}{patterns.end})"
        rf"|(?P<clause>{large}(?<=[.,:;!?–—&|/-]\s.)(?![\w'-]))(?=[\"')\]]*\s*(?:[.,:;!?|&–—]|$))"
        rf"|(?P<next>{patterns.next}{large}{patterns.end}(?!['-]){article})"
        + (rf"|(?P<after>{large}{before_letter})(?={patterns.after})" if patterns.after else ""),
        re.MULTILINE,
    )


def with_letters(text: str, options: int, language: Language) -> str:
    """The text with characters of LETTERS in place of letters that name an option."""

    def stand_in(match: re.Match[str]) -> str:
        matched = match[match.lastgroup or 0]
        return f"{matched[:-1]} {LETTERS[ascii_lowercase.index(matched[-1].lower())]} "

    forms = _letter_forms(options, language)
    if language.reading.letters.attached:
        return forms.sub(stand_in, text)
    pieces, done = [], 0
    for letter in _letters_alone(options).finditer(text):  # most texts have none: forms.sub, but faster
        match = forms.search(text, max(done, letter.start() - _LONGEST_PREFIX)) if letter.start() >= done else None
        if match:
            pieces += [text[done : match.start()], stand_in(match)]
            done = match.end()
    return "".join([*pieces, text[done:]]) if pieces else text


_LONGEST_PREFIX = 64


@lru_cache
def _letters_alone(options: int) -> re.Pattern[str]:
    """Single letters, except the article a."""
    letters = ascii_lowercase[1:options]
    return re.compile(rf"(?<!\w)(?:[A{letters}{letters.upper()}]|a(?!\s+\w))(?!\w)")


def lettered_options(text: str, reading: AnswerPatterns) -> dict[int, int]:
    """The letters in a text of sentences: option -> its first place."""
    places: dict[int, int] = {}
    for match in A_LETTER.finditer(text):
        if not denied(text, *match.span(), reading):
            places.setdefault(LETTERS.index(match[0]), match.start())
    return places


# --- words of a text


_APOSTROPHES = str.maketrans(dict.fromkeys("’‘ʼ`´′", "'"))
NO_LETTERS = str.maketrans(dict.fromkeys(LETTERS, " "))
A_LETTER = re.compile(f"[{LETTERS}]")
INITIAL = re.compile(r"\b(?:[B-Z]\b|A\.)")


def _folded(text: str, language: Language) -> str:
    """Lower case, plain apostrophes, no accents where the language can do without them."""
    text = with_plain_apostrophes(text)
    if language.characters is not None:
        text = language.plain(text)
    elif not text.isascii() and not unicodedata.is_normalized("NFKD", text):
        text = without_accents(text)
    return text.casefold()


def with_plain_apostrophes(text: str) -> str:
    return text.replace("`", "'") if text.isascii() else text.translate(_APOSTROPHES)


def words_of(text: str, language: Language) -> str:
    """The words of a text, separated by spaces. Hyphens and apostrophes inside words are part of them."""
    return " ".join(language.reading.word.findall(_folded(text, language)))


@lru_cache(64)  # several rules look at the same text
def sentences_of(text: str, language: Language) -> str:
    """The words and letters of a text, with " . " where a sentence or a line ends."""
    reading = language.reading
    pieces = reading.pieces.findall(_folded(text, language))
    text = " ".join("." if piece in ".!?;\n" else piece for piece in pieces)
    return reading.titles.sub(r"\1", text) if reading.titles and "." in text else text


@lru_cache(64)
def hinted(text: str, language: Language) -> bool:
    """Whether the text may say “cannot be determined” or refuse: most texts have no word of these phrases."""
    hints = language.reading.hints
    return hints is None or "n't" in text or not hints.isdisjoint(text.split())
