"""Makes a language pack from lists of words and phrases.

A phrase is a regular expression of words in their usual spelling; case and accents do not matter, since phrases and
answers are folded alike. English phrases are read in every language, because models answer in English to questions in
others; English words that are common words elsewhere ("so", "as") are left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from assay.languages import (
    LETTERS,
    WORD,
    AnswerPatterns,
    Language,
    LetterPatterns,
    QuestionWording,
    en,
    without_accents,
)

Phrases = Sequence[str]

_FULL_STOPS = {**dict.fromkeys("。｡।॥", ". "), "！": "! ", "？": "? ", "；": "; ", "…": ". "}
_COMMAS = {**dict.fromkeys("，、､", ", "), "：": ": "}
_OPENING, _CLOSING = "（【「『〈《［｛", "）】」』〉》］｝"
_BRACKETS = {**dict.fromkeys(_OPENING, " ("), **dict.fromkeys(_CLOSING, ") ")}
_QUOTES = dict.fromkeys("“”„«»‹›¿¡", " ")
_NUMBERED = {circle: f"({letter})" for circle, letter in zip("①②③④⑤", "ABCDE", strict=True)}
CHARACTERS: Mapping[str, str] = {**_FULL_STOPS, **_COMMAS, **_BRACKETS, **_QUOTES, **_NUMBERED}
"""Punctuation and circled numbers, as answers in all languages but English are rewritten."""

_NOT_LATIN = r"(?![a-zA-Z0-9_])\w"
_LATIN_BEFORE, _LATIN_AFTER = r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])"


def pack(
    code: str,
    name: str,
    asking: QuestionWording,
    *,
    answer: Phrases,
    option: Phrases,
    question: Phrases,
    unknown: Phrases,
    cannot_answer: Phrases,
    refusal: Phrases,
    denial: Phrases = (),
    denial_after: Phrases = (),
    between: Phrases = (),
    is_: Phrases = (),
    so: Phrases = (),
    choose: Phrases = (),
    after_letter: Phrases = (),
    linked: Phrases = (),
    reasons: Phrases = (),
    opens: Phrases = (),
    turns: Phrases = (),
    contrasts: Phrases = (),
    grammar: Phrases = (),
    articles: Phrases = (),
    titles: Phrases = (),
    corrections: Phrases = (),
    weak_corrections: Phrases = (),
    suppositions: Phrases = (),
    possibilities: Phrases = (),
    asks: Phrases = (),
    yes: Phrases = (),
    leads: Phrases = (),
    commitments: Phrases = (),
    concessions: Phrases = (),
    wrong: Phrases = (),
    doubts: Phrases = (),
    doubt_hints: str = "",
    aside_hints: str = "",
    no: str = "no",
    relatives: Phrases = (),
    of: str = "",
    of_after_relatives: str = "",
    possessed: str = "",
    endings: str = "",
    inner: str = "",
    attached: str = "",
    suffixes: bool = False,
    unknown_at_end: bool = False,
    in_words: bool = True,
    marks: str = "",
    characters: Mapping[str, str] | None = None,
    accents: bool = False,
    checked_by_speaker: bool = False,
) -> Language:
    """A pack. Lists that are left out are empty.

    Before an answer come `answer` ("the answer") with or without `is_`, or `so`; before a letter also `option` or
    `choose`, after it `after_letter`. `unknown` says that the text does not give the answer, `cannot_answer` that the
    question cannot be answered, `refusal` that the model will not. `opens` begins what is not known, `turns` ends it;
    with `unknown_at_end` it comes before these phrases. `denial` comes before an option, perhaps with words of
    `between` after it, `denial_after` behind it, and `wrong` behind an option or the letters of several.

    `corrections` take back what comes before, `weak_corrections` may only add to it. `suppositions` begin what is only
    considered ("tempting to say"), `possibilities` what may be ("could be"), up to one of `contrasts` ("but"). `asks`
    begins a question, `yes` and `no` answer it. `leads` are words before an option that is the answer ("it was"),
    `commitments` make it one ("most likely"), `concessions` begin what does not matter in the end ("although").
    `doubts` deny an option from further away ("I don't think it was"). Someone has `relatives`: "the wife of the pilot"
    (`of`, or `of_after_relatives` where more words serve there) and "the pilot's wife" (`possessed`) are not the pilot.
    `aside_hints` has words of `corrections`, `suppositions` and `possibilities`, one of each phrase at least, and
    `doubt_hints` of `doubts`: answers without any of them are not searched for these.

    `articles` may come before an option, `endings` may be joined to its
    last word and `inner` to the others; `attached` to a letter. With `suffixes` a phrase may end within a word. Without
    `in_words`, blanks do not separate words. `marks` are characters of words beside letters, such as vowel signs.
    """
    table = str.maketrans({**CHARACTERS, **(characters or {})})

    def folded(phrases: Phrases) -> str:
        pattern = "|".join(phrases).translate(table)
        return (pattern if pattern.isascii() else without_accents(pattern, keep=accents)).casefold()

    def own(phrases: str) -> str:
        """Phrases at the edges of words."""
        if not phrases:
            return _NEVER
        return rf"(?<![^ ])(?:{phrases}){'[^ .]*' if suffixes else edge}" if in_words else f"(?:{phrases})"

    def either(phrases: Phrases, english: str) -> re.Pattern[str]:
        return re.compile(rf"{own(folded(phrases))}|(?<![^ ])(?:{english})\b")

    word = rf"(?:[^\W_]|[{marks}])+" if marks else WORD
    edge = r"(?![^ ])"
    raw, raw_end = (rf"(?<![\w{marks}])", rf"(?![\w{marks}])") if in_words else ("", "")
    answer_words, being, joined = folded(answer), folded(is_) or _NEVER, folded(linked) or _NEVER

    def unless_empty(phrases: Phrases, english: str) -> str:
        return f"{folded(phrases)}|{english}" if phrases else english

    def considered(phrases: Phrases, english: str) -> re.Pattern[str]:
        """What is only considered, up to a word that turns or the end of the sentence."""
        until = rf"[^.;!?\n]*?(?={raw}(?:{unless_empty(contrasts, en.CONTRAST)}){raw_end}|[.;!?\n]|$)"
        return re.compile(rf"{raw}(?:{unless_empty(phrases, english)}){raw_end}{until}", re.IGNORECASE)

    others = rf"(?: (?:{joined}) (?:(?:{folded(option) or _NEVER}) )?[{LETTERS}])*"
    denied_after = [en.DENIED]
    if denial_after:
        denied_after.append(folded(denial_after))
    if wrong:
        denied_after.append(rf"{others} (?:{folded(wrong)})(?![^ ])")
    gap = " " if in_words else " ?"
    follows = rf"(?:{being}){raw_end}"
    final = rf"{raw}(?:{answer_words})[\"'\s]*(?::|=|{follows})[\s:]*|{raw}(?:{folded(so) or _NEVER}){raw_end},?\s*"
    prefix = rf"(?:{raw}(?i:{answer_words}|{folded(option)})(?i:\s*(?:{being}))?[\"'\s]*[:=]?[\"'\s(]*|{en.TOLD})"
    chosen = rf"(?:{raw}(?i:{folded(choose) or _NEVER})\s*[\"']?|{en.CHOSEN})"
    article = folded(articles)
    beside = "|".join(part for part in (article, folded(between), folded(option)) if part)
    return Language(
        code,
        name,
        asking,
        AnswerPatterns(
            final=re.compile(rf"{final}|{en.FINAL}", re.IGNORECASE),
            final_hints=("",),
            heading=re.compile(rf"(?:(?:{article or _NEVER}) )?(?:{answer_words})(?: ?(?:{being}))?{gap}|{en.HEADING}"),
            question=re.compile(
                rf"^[^\S\n]*(?:{folded(question)}|{en.QUESTION})\s*\d*\s*:", re.IGNORECASE | re.MULTILINE
            ),
            letters=LetterPatterns(
                prefix,
                chosen,
                f"{joined}|{en.LINKED}",
                rf"(?:{raw}(?i:{joined})\s+|{en.NEXT})"
                if in_words and not suffixes
                else rf"(?:(?:{joined})\s*|{en.NEXT})",
                rf"{being}|{folded(reasons) or _NEVER}|{en.FOLLOW}",
                rf"(?i:{folded(after_letter)})" if after_letter else "",
                attached or ("" if in_words and not suffixes else _NOT_LATIN),
                r"(?<![A-Za-z])",
                _LATIN_BEFORE,
                _LATIN_AFTER,
            ),
            unknown=either([*unknown, *cannot_answer], f"{en.NOT_TOLD}|{en.CANNOT_ANSWER}"),
            unknown_for_sure=either(unknown, en.NOT_TOLD),
            refusal=either(refusal, f"{en.DECLINES}|{en.OWN_REASONS}"),
            opens=re.compile(rf"{own(folded(opens))}|\b(?:whether|who|whom|which|that)\b"),
            turns=re.compile(rf"{own(folded(turns))}|\b(?:but|however|although|perhaps|probably|therefore)\b"),
            reason=re.compile(rf" (?:\.|because|{folded(reasons) or _NEVER})(?: |$)")
            if in_words
            else re.compile(rf" \.(?: |$)|(?:{folded(reasons)})"),
            alternative=re.compile(rf"(?:(?:{joined}|{folded(turns) or _NEVER}|or|and|maybe){gap})+"),
            denial=re.compile(
                (rf"(?<![^ ])(?:{folded(denial) or _NEVER})" if in_words else f"(?:{folded(denial) or _NEVER})")
                + rf"{gap}(?:(?:{beside}){gap}){{0,2}}$"
                rf"|(?:{en.DENIAL}) (?:be )?(?:(?:the|an?|option|{beside}) )?$"
            ),
            denial_after=re.compile("|".join(denied_after)),
            doubt=re.compile(
                rf"{en.DOUBT}|(?<![^ ])(?:{folded(doubts)}) (?:(?:{beside}) ){{0,2}}$" if doubts else en.DOUBT
            ),
            doubt_hints=en.DOUBT_HINTS | frozenset(folded([doubt_hints]).split()),
            grammar=re.compile(rf"{folded(grammar) or _NEVER}|{article or _NEVER}|{beside}"),
            article=re.compile(rf"(?:{article}) (?=.)" if article else _NEVER),
            articles=tuple(filter(str.isalpha, (folded([phrase]) for phrase in articles))),
            ending=re.compile(f"(?:{folded([endings])})? " if endings else " "),
            correction=en.correction(
                en.CLAUSE_START,
                unless_empty(corrections, en.STRONG_CORRECTION),
                unless_empty(weak_corrections, en.WEAK_CORRECTION),
            ),
            supposition=considered(suppositions, en.SUPPOSITION),
            possibility=considered(possibilities, en.POSSIBILITY),
            asked=en.question_sentence(unless_empty(asks, en.ASKED)),
            aside_hints=en.ASIDE_HINTS | frozenset(folded([aside_hints]).split()) if in_words else None,
            no=folded([no]),
            yes=re.compile(rf"\W*(?:{unless_empty(yes, en.YES)}){raw_end}", re.IGNORECASE),
            lead=re.compile(rf"(?:{folded(leads)}|{article or _NEVER}) |{en.LEAD}" if leads else en.LEAD),
            commitment=re.compile(rf"(?<![^ ])(?:{unless_empty(commitments, en.COMMITMENT)})(?![^ ])"),
            concession=re.compile(rf"(?<![^ ])(?:{unless_empty(concessions, en.CONCESSION)})(?![^ ])"),
            owner=re.compile(
                rf"(?:{folded([possessed])})(?:\w+ )?(?:{folded(relatives)})(?![^ .])|{en.OWNER}"
                if possessed
                else en.OWNER
            ),
            relative=re.compile(unless_empty(relatives, en.RELATIVES)),
            of_at_end=re.compile(rf"(?:{folded([of_after_relatives or of])})$" if of else _NEVER),
            of=re.compile(folded([of]) if of else _NEVER),
            possessed=re.compile(folded([possessed]) if possessed else en.POSSESSED),
            inner=inner,
            titles=re.compile(rf"\b({folded(titles)}) \.") if titles else None,
            unknown_at_end=unknown_at_end,
            in_words=in_words,
            part=True,
            word=re.compile(word),
            pieces=re.compile(rf"""{word}|[{LETTERS}]|[.!?;](?=["')\]]{{0,3}}(?:\s|$))|\n"""),
        ),
        table,
        accents,
        checked_by_speaker,
    )


_NEVER = r"(?!)"
