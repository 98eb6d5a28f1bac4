"""A SODAPOP run in the terminal: the words that fool the model most clearly, then which groups they tell apart."""

from __future__ import annotations

from collections.abc import Sequence

from assay.report import words
from assay.report.content import Content
from assay.report.plaintext import clipped, visible
from assay.report.printer import Printer, Row
from assay.report.sodapop_figures import Separation, read_separations
from assay.report.sodapop_words import Pair, Word, clearest, read_pairs

MOST_WORDS = 12
MOST_PAIRS = 16
LONG = 24  # characters of a word or a group
MARK = "*"  # of what is clear of chance


def print_words(printer: Printer, content: Content) -> bool:
    """Prints what a SODAPOP run found; says whether there was anything of its own to print."""
    pairs = read_pairs(content)
    separations = read_separations(content, pairs)
    if not pairs and not separations:
        return False
    _print_words(printer, content, pairs)
    _print_separations(printer, separations)
    return True


def _print_words(printer: Printer, content: Content, pairs: Sequence[Pair]) -> None:
    found = clearest(pairs)
    clear = [word for word in found if word.clear]
    if not found:
        printer.line("Words: none could be compared.")
        printer.line()
        return
    shown = [word.towards_first for word in found[:MOST_WORDS]]
    rows = [Row(_word_cells(word), "bold" if word.clear else "") for word in shown]
    heads = ["word", "more often for", "than for"]
    title = "Words that fool the model, the clearest first" if clear else "Words that fool the model, the largest RD"
    printer.table(title, heads, ["RD", content.level, "p", "q"], rows)
    different = len({word.word for word in clear})
    where = f"in {sum(bool(pair.clear) for pair in pairs)} of {words.plural(len(pairs), 'comparison')} of two groups"
    if clear:
        printer.line(
            f"{MARK} clear of chance: q, corrected for the number of words, is at most {words.CLEAR}. So are "
            f"{words.plural(len(clear), 'difference')} of {words.plural(different, 'word')}, {where}."
        )
    else:
        printer.line(f"No word is clear of chance: q is above {words.CLEAR} in each comparison of two groups.")
    printer.line(
        "RD: by how much more often the word wins for the first group, relative to the mean of both; 0 is even, "
        "2 the most.",
        "dim",
    )
    explained = sum(word.explained for word in clear)
    if explained:
        shrink = (
            "shrinks to less than half, or turns round" if explained == 1 else "shrink to less than half, or turn round"
        )
        printer.line(
            f"{explained} of the {len(clear)} {shrink}, with the names' pieces and frequency regressed out.", "dim"
        )
    _print_pools(printer, content)
    printer.line()


def _print_pools(printer: Printer, content: Content) -> None:
    match content.setting("distractors"):
        case "shared":
            printer.line("All names were tried with the same wrong answers (shared pools).", "dim")
        case "per_name":
            printer.line(
                "Each name has wrong answers of its own (per-name pools): the report has the RD that these alone give.",
                "dim",
            )


def _print_separations(printer: Printer, separations: Sequence[Separation]) -> None:
    if not separations:
        return
    rows = []
    for each in separations[:MOST_PAIRS]:
        e = each.line.estimate
        figures = [f"{words.fixed(e.value)}{MARK if each.above else ''}", words.fixed(e.floor), words.probability(e.p)]
        rows.append(Row([each.line.group, *figures, words.count(e.n)], "bold" if each.above else ""))
    printer.table("Groups told apart by the words (KMeans)", ["groups"], ["accuracy", "chance", "p", "names"], rows)
    above, tested = sum(each.above for each in separations), sum(each.tested for each in separations)
    left_out = len(separations) - len(rows)
    more = f" {words.plural(left_out, 'pair')} not shown." if left_out else ""
    printer.line(
        f"{above or 'None'} of {words.plural(tested, 'pair')} better than chance ({MARK} p at most "
        f"{words.CLEAR}; about {words.CLEAR * tested:.1f} would be by chance).{more}"
    )
    printer.line("chance: above 0.5, since the better way to match clusters and groups is taken.", "dim")
    printer.line()


def _word_cells(word: Word) -> list[str]:
    named = (word.word, words.people_words(word.a), words.people_words(word.b))
    return [
        *(clipped(visible(each), LONG) for each in named),
        f"{words.fixed(word.rd)}{MARK if word.clear else ''}",
        words.fixed_interval(word.low, word.high),
        words.probability(word.p),
        words.probability(word.q),
    ]
