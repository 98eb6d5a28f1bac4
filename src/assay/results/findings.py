"""What a probe finds: estimates and tables, and the findings.json that other programs read."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from numbers import Integral, Real
from pathlib import Path, PurePath
from types import SimpleNamespace, UnionType
from typing import TYPE_CHECKING, Any

from assay.errors import DataError, UsageError
from assay.files.decoding import json_value
from assay.files.opening import read_whole, reason
from assay.results.diagnosis import Diagnosis, read_part
from assay.results.examples import Example
from assay.results.notebook_display import NotebookDisplay
from assay.results.verdict import CLEAR, Chance, Grounds, Verdict, VerdictKind

if TYPE_CHECKING:
    import pandas
    import polars

SCHEMA = 3
"""The schema of findings.json and run.json; no other is read."""

NEAR_TIE = 1e-5
"""Two machines, or two numbers of threads, may compute scores that differ by about this much."""

Cell = str | int | float | None

LARGEST = 1e100
"""No finding is larger: a larger number in a file is not assay's, and would overflow in formulas and charts."""

_CHANCES = ("p", "q")
_FINITE = ("value", "corrected", "low", "high", "floor", *_CHANCES)
_ROUNDING = 1e-9


def tidy(name: str, number: Cell) -> Cell:
    """A number without the rounding errors of its last bits: to 12 decimals; a p or q, which may be tiny, to 12 digits.

    >>> 0.31 - 0.32, tidy("value", 0.31 - 0.32), tidy("p", 0.1 * 3e-15)
    (-0.010000000000000009, -0.01, 3e-16)
    """
    if not isinstance(number, float):
        return number
    return float(f"{number:.12g}") if name in _CHANCES else round(float(number), 12) + 0.0  # never -0.0


@dataclass(frozen=True)
class Estimate:
    """A number with its interval and its n or, if it is undefined, the reason.

    `value` is the paper's statistic. Maxima and means of absolute values of noisy numbers are biased upwards;
    `corrected` is the statistic without that bias, and the interval belongs to it if it is given. `floor` is the chance
    level. `p` and `q` (corrected for multiple tests) are optional. `claimed` says whether the run claims that the
    estimate differs from chance, corrected over all claims of the run (`assay.results.verdict`); None if it is not
    tested so.

    >>> Estimate("mu", {"class": "gender"}, None, n=0, note="nothing was asked").value is None
    True
    """

    metric: str
    group: Mapping[str, str]
    value: float | None
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    n: int = 0
    p: float | None = None
    q: float | None = None
    floor: float | None = None
    note: str | None = None
    corrected: float | None = None
    claimed: bool | None = None

    def __post_init__(self) -> None:
        for name in _FINITE:
            number = getattr(self, name)
            if number is not None and not math.isfinite(number):
                raise ValueError(f"{self.metric} {dict(self.group)}: {name} is {number}; undefined is None with a note")
        if self.value is None and not self.note:
            raise ValueError(f"{self.metric} {dict(self.group)}: undefined without a note")

    @property
    def interval_of(self) -> str:
        """The number that the interval belongs to."""
        return "value" if self.corrected is None else "corrected"

    @property
    def chance(self) -> Chance:
        """Whether it is above its chance level: by `claimed`, else by q or p, else by its interval and floor.

        >>> Estimate("mu", {}, 0.3, p=0.001).chance, Estimate("mu", {}, 0.3, low=0.1, floor=0.2).chance
        (<Chance.ABOVE: 'above chance'>, <Chance.WITHIN: 'within chance'>)
        """
        if self.value is None:
            return Chance.UNDEFINED
        p = self.q if self.q is not None else self.p
        if self.claimed is not None or p is not None:
            above = self.claimed if self.claimed is not None else p is not None and p <= CLEAR
            return Chance.ABOVE if above else Chance.WITHIN
        if self.floor is not None and self.low is not None:
            return Chance.ABOVE if self.low > self.floor else Chance.WITHIN
        return Chance.UNTOLD

    @property
    def could_be_chance(self) -> bool:
        """Whether it is not distinguishable from chance: by its test, or by its interval if it is signed and untested.

        >>> Estimate("d", {}, 0.1, -0.1, 0.3).could_be_chance, Estimate("d", {}, 0.1, 0.0, 0.3).could_be_chance
        (True, False)
        """
        untested = self.chance is Chance.UNTOLD and self.low is not None and self.high is not None
        return self.chance is Chance.WITHIN or bool(untested and (self.low or 0.0) < 0 < (self.high or 0.0))

    @property
    def contained(self) -> bool:
        """Whether the interval, if any, contains the number that it belongs to."""
        number = self.value if self.corrected is None else self.corrected
        if number is None or self.low is None or self.high is None:
            return True
        return self.low - _ROUNDING <= number <= self.high + _ROUNDING

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Estimate:
        """An estimate as `as_json` writes it; `interval_of` follows from the other numbers and must agree with them."""
        try:
            estimate = cls(**{key: value for key, value in content.items() if key != "interval_of"})
        except TypeError as error:
            raise ValueError(f"not an estimate ({str(error).rpartition(') ')[2]})") from None
        if large := [name for name in _FINITE if abs(getattr(estimate, name) or 0) > LARGEST]:
            raise ValueError(f"{estimate.metric}: {large[0]} is larger than {LARGEST:g}")
        if content.get("interval_of", estimate.interval_of) != estimate.interval_of:
            raise ValueError(f"{estimate.metric}: interval_of is {content['interval_of']!r}")
        return estimate

    def tidied(self) -> Estimate:
        numbers: dict[str, Any] = {name: tidy(name, getattr(self, name)) for name in _NUMBERS}
        return replace(self, **numbers)

    def as_json(self) -> dict[str, Any]:
        return {
            "metric": self.metric,
            "group": dict(self.group),
            "value": self.value,
            "corrected": self.corrected,
            "low": self.low,
            "high": self.high,
            "interval_of": self.interval_of,
            "level": self.level,
            "n": self.n,
            "p": self.p,
            "q": self.q,
            "claimed": self.claimed,
            "floor": self.floor,
            "note": self.note,
        }


def is_claimed(row: Mapping[str, Cell]) -> bool | None:
    """Whether a row of a table is claimed; None if it was not tested."""
    claimed = row.get("claimed")
    return claimed == 1 if isinstance(claimed, int) else None


class _Group(dict[str, str]):
    """An estimate's group from a file; a key that it does not have is a DataError, as in `Table.records`."""

    def __init__(self, group: Mapping[str, str], file: Path) -> None:
        super().__init__(group)
        self.file = file

    def __missing__(self, key: str) -> str:
        problem = f"the group of an estimate has no {key!r}."
        raise DataError(problem, _REPEAT, code="missing-key", file=self.file, key=key)


class _Record(dict[str, Any]):
    def __missing__(self, column: str) -> Any:
        problem = f"a table of this run has no column {column!r}."
        raise DataError(problem, "Repeat the run to write it again.", code="missing-key", key=column)


@dataclass(frozen=True)
class Table(NotebookDisplay):
    """A long table: column names and rows; None is an empty cell in the CSV.

    `texts` names columns that are text even if they look like numbers or are empty; data frames use it.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    texts: Sequence[str] = ()
    is_tidy: bool = field(default=False, repr=False, compare=False)

    def tidied(self) -> Table:
        if self.is_tidy:
            return self
        return replace(self, rows=[[*map(tidy, self.columns, row)] for row in self.rows], is_tidy=True)

    def to_csv(self) -> str:
        lines: list[str] = []
        lines_into = SimpleNamespace(write=lambda line: lines.append(line[:-2]))
        writer = csv.writer(lines_into, lineterminator="\r\n")  # with "\n" it would not quote what has "\r"
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        return "".join(f"{line}\n" for line in lines)

    def for_spreadsheets(self) -> Table:
        """The same table without formulas: an apostrophe before texts that a spreadsheet would compute.

        >>> Table(("@a", "b"), [("=1+1", -1), ("-x", None)]).for_spreadsheets().to_csv()
        "'@a,b\\n'=1+1,-1\\n'-x,\\n"
        """
        columns, *rows = ([_as_text(cell) for cell in row] for row in (self.columns, *self.rows))
        return replace(self, columns=[str(column) for column in columns], rows=rows)

    def records(self) -> Iterable[dict[str, Cell]]:
        """The rows by column. To read a column that the table does not have is a DataError: somebody changed a file."""
        return (_Record(zip(self.columns, row, strict=True)) for row in self.rows)

    def by_column(self) -> Mapping[str, Sequence[Cell]]:
        """The cells of each column of a table that has rows; a column that it does not have is as in `records`."""
        return _Record(zip(self.columns, zip(*self.rows, strict=True), strict=True))

    def to_polars(self) -> polars.DataFrame:
        """A polars data frame (requires polars): whole numbers, numbers or text; null where undefined."""
        return _to_polars(self, {})

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas data frame (requires pandas) with Int64, Float64 and string columns; NA where undefined."""
        return _to_pandas(self, {})

    def __repr__(self) -> str:
        return f"Table({len(self.rows):,} rows: {', '.join(self.columns)})"


TABLES = "tables"
"""The folder of a run's tables."""


def table_path(name: str) -> str:
    """Where a table is, from the run's folder."""
    return f"{TABLES}/{name}.csv"


@dataclass(frozen=True)
class Findings(NotebookDisplay):
    """All findings of a probe about a model; every number is `tidy`.

    `near_ties` counts, by part of the probe, the items decided by less than NEAR_TIE: metrics that count wins may
    differ by that many between machines. It goes into run.json, as do `notes`, which readers must know and which were
    learnt from the answers. `examples` have a file of their own. `diagnosis` says whether the answers can be used.
    `grounds` are what else the probe knows for the verdict; no file has them. A probe's caller fills in the model, the
    claims and the verdict, which is None if the probe makes no claims and its answers can be used.
    """

    probe: str
    model: str
    estimates: Sequence[Estimate]
    tables: Mapping[str, Table] = field(default_factory=dict)
    near_ties: Mapping[str, int] = field(default_factory=dict)
    examples: Sequence[Example] = ()
    notes: Sequence[str] = ()
    diagnosis: Diagnosis | None = None
    verdict: Verdict | None = None
    grounds: Grounds | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "estimates", [estimate.tidied() for estimate in self.estimates])
        object.__setattr__(self, "tables", {name: table.tidied() for name, table in self.tables.items()})

    @property
    def level(self) -> str:
        """ "95% interval", or only "interval" if the estimates have several levels."""
        levels = {estimate.level for estimate in self.estimates}
        return f"{levels.pop() * 100:.6g}% interval" if len(levels) == 1 else "interval"

    @property
    def unusable(self) -> str:
        """Why the answers cannot be used, as the verdict says or, without a verdict, the diagnosis; else empty."""
        if self.verdict is not None:
            return self.verdict.why if self.verdict.says is VerdictKind.UNUSABLE else ""
        return self.diagnosis.why if self.diagnosis is not None and self.diagnosis.follows_place else ""

    def to_json(self) -> str:
        """The text of findings.json; the same findings always give the same bytes."""
        content = {
            "schema": SCHEMA,
            "probe": self.probe,
            "model": self.model,
            "verdict": None if self.verdict is None else self.verdict.as_json(),
            "diagnosis": None if self.diagnosis is None else self.diagnosis.as_json(),
            "estimates": [estimate.as_json() for estimate in self.estimates],
            "tables": {name: table_path(name) for name in self.tables},
        }
        return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def to_polars(self) -> polars.DataFrame:
        """The estimates as a polars data frame (requires polars), one row each.

        The columns are probe, model and metric, a text column for every key of a group (class, form, category, …; null
        if an estimate does not have it), then value, corrected, low, high, level, n, p, q, claimed, floor and note.
        Undefined is null. A group key with the name of another column gets the prefix `group_`.
        """
        return _to_polars(*self._frame())

    def to_pandas(self) -> pandas.DataFrame:
        """The estimates as a pandas data frame (requires pandas): the columns of `to_polars`, with NA."""
        return _to_pandas(*self._frame())

    def _frame(self) -> tuple[Table, Mapping[str, Kind]]:
        keys = list(dict.fromkeys(key for estimate in self.estimates for key in estimate.group))
        fixed = {"probe", "model", "metric", *_NUMBERS, "note"}
        columns = ["probe", "model", "metric", *(f"group_{key}" if key in fixed else key for key in keys)]
        rows = [
            [
                self.probe,
                self.model,
                estimate.metric,
                *map(estimate.group.get, keys),
                *(getattr(estimate, name) for name in _NUMBERS),
                estimate.note,
            ]
            for estimate in self.estimates
        ]
        kinds: dict[str, Kind] = {**dict.fromkeys(columns, str), **_NUMBERS, "note": str}
        return Table([*columns, *_NUMBERS, "note"], rows), kinds

    def __repr__(self) -> str:
        tables = "".join(f", {name}: {len(table.rows):,} rows" for name, table in self.tables.items())
        return f"Findings({self.probe!r} of {self.model!r}: {len(self.estimates):,} estimates{tables})"


_REPEAT = "Repeat the run to rewrite it."
_LARGEST = 256 << 20  # bytes of a table


def read_findings(folder: Path) -> Findings:
    """The findings of a run folder, tables included."""
    return read_digested(folder)[0]


def read_digested(folder: Path) -> tuple[Findings, dict[str, str]]:
    """The findings of a run folder, and the digests of the files that they were read from, by name."""
    path, digests = folder / "findings.json", dict[str, str]()
    try:
        encoded = read_whole(path)
        content = json_value(encoded)
        require_schema(content, path)
        if content["schema"] != SCHEMA:
            raise ValueError(f"its schema is {content['schema']!r}")
        estimates = [_checked(estimate, path) for estimate in content["estimates"]]
        if not isinstance(content["probe"], str) or not isinstance(content["model"], str):
            raise DataError('"probe" and "model" must be text.', _REPEAT, code="bad-findings", file=path)
        digests["findings.json"] = hashlib.sha256(encoded).hexdigest()
        tables = {}
        for name, location in content["tables"].items():
            tables[name], digests[location] = _digested_table(_inside(folder, location))
        findings = Findings(
            content["probe"],
            content["model"],
            estimates,
            tables,
            diagnosis=read_part(content.get("diagnosis"), Diagnosis),
            verdict=read_part(content.get("verdict"), Verdict),
        )
        return findings, digests
    except FileNotFoundError as error:
        raise DataError(
            "this folder has no findings.",
            "Finish the run first: repeat its `assay run` command.",
            code="unfinished-run",
            file=error.filename,
        ) from None
    except OSError as error:
        problem = f"cannot be read ({reason(error)})."
        raise DataError(problem, _REPEAT, code="unreadable-file", file=error.filename or path) from None
    except (ValueError, KeyError, TypeError, AttributeError, csv.Error) as error:
        raise DataError(
            f"not a findings.json of schema {SCHEMA} ({error}).", _REPEAT, code="bad-findings", file=path
        ) from None


def require_schema(content: Any, path: Path) -> None:
    """Refuse the findings.json or run.json of another version. Its reader checks that the schema is a number."""
    schema = content.get("schema") if isinstance(content, dict) else None
    if isinstance(schema, int) and schema != SCHEMA:
        problem = f"this run was made by another version of assay (schema {schema}, expected {SCHEMA})."
        remedy = "Repeat the run with another --out; stored replies of endpoints are used again."
        raise DataError(problem, remedy, code="other-version", file=path)


def _inside(folder: Path, location: str) -> Path:
    """A table's file, which is in the run folder."""
    path = PurePath(location)
    inside = (folder / path).resolve().is_relative_to(folder.resolve())  # also where it is a link
    if path.anchor or ".." in path.parts or not inside:
        raise ValueError(f"the table {location!r} is outside the folder")
    return folder / path


def _checked(content: dict[str, Any], path: Path) -> Estimate:
    """An estimate whose fields have the promised types; a file may break that promise."""
    estimate = Estimate.from_json(content)
    checked: list[tuple[object, type | UnionType]] = [
        (estimate.metric, str),
        (estimate.group, Mapping),
        (estimate.n, int),
        (estimate.level, int | float),
        (estimate.note, str | None),
        (estimate.claimed, bool | None),
    ]
    if all(isinstance(*pair) for pair in checked) and all(type(value) is str for value in estimate.group.values()):
        return replace(estimate, group=_Group(estimate.group, path))
    raise DataError(
        f"the format of an estimate of {str(estimate.metric)[:40]!r} is wrong.",
        "Its metric, note and group values must be text, its n a whole number and its level a number.",
        code="bad-findings",
        file=path,
    )


def read_table(path: Path) -> Table:
    """A table written by a run; columns of numbers become numbers, empty cells None."""
    return _digested_table(path)[0]


def _digested_table(path: Path) -> tuple[Table, str]:
    content = read_whole(path, _LARGEST)
    lines = list(csv.reader(io.StringIO(content.decode(), newline="")))
    if not lines:
        raise DataError("this table is empty; it has not even column names.", _REPEAT, code="bad-findings", file=path)
    columns, rows = lines[0], lines[1:]
    wrong = next((number for number, row in enumerate(rows, 2) if len(row) != len(columns)), None)
    if wrong is not None:
        raise DataError(
            f"expected {len(columns)} cells.",
            "Repeat the run to rewrite the table.",
            code="bad-findings",
            file=path,
            line=wrong,
        )
    kinds = [_kind(cells) for cells in zip(*rows, strict=True)] if rows else []
    cells = [[kind(cell) if cell else None for kind, cell in zip(kinds, row, strict=True)] for row in rows]
    return Table(columns, cells), hashlib.sha256(content).hexdigest()


_SHORT = 5  # characters of a number that cannot be above LARGEST
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[-+]?\d+)?")
_FORMULA = re.compile(r"[\s'\"]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r]")


def _as_text(cell: Cell) -> Cell:
    computed = isinstance(cell, str) and _FORMULA.match(cell) and not _NUMBER.fullmatch(cell)
    return f"'{cell}" if computed else cell


def _kind(cells: Iterable[str]) -> type[int] | type[float] | type[str]:
    """The type of a column's cells: whole numbers, numbers or text; a number above LARGEST is text."""
    fractions = False
    for cell in cells:
        if cell:
            match = _NUMBER.fullmatch(cell)
            if match is None or (len(cell) >= _SHORT and abs(float(cell)) > LARGEST):
                return str
            fractions = fractions or bool(match[1] or match[2])
    return float if fractions else int


# --- frames

Kind = type[int] | type[float] | type[str]

_NUMBERS: Mapping[str, Kind] = dict.fromkeys(("value", "corrected", "low", "high", "level"), float) | {
    "n": int,
    **dict.fromkeys(("p", "q"), float),
    "claimed": int,
    "floor": float,
}


def _to_polars(table: Table, kinds: Mapping[str, Kind]) -> polars.DataFrame:
    library = _library("polars")
    names = {int: library.Int64, float: library.Float64, str: library.String}
    cells = {column: _cells(table, index, kinds) for index, column in enumerate(table.columns)}
    return library.DataFrame([library.Series(column, values, names[kind]) for column, (values, kind) in cells.items()])


def _to_pandas(table: Table, kinds: Mapping[str, Kind]) -> pandas.DataFrame:
    library = _library("pandas")
    names = {int: "Int64", float: "Float64", str: "string"}
    cells = {column: _cells(table, index, kinds) for index, column in enumerate(table.columns)}
    return library.DataFrame({column: library.array(values, names[kind]) for column, (values, kind) in cells.items()})


def _cells(table: Table, index: int, kinds: Mapping[str, Kind]) -> tuple[list[Cell], Kind]:
    """A column, all of one type. An empty one has numbers, unless it is known to have text."""
    cells: list[Any] = [row[index] for row in table.rows]
    values = [cell for cell in cells if cell is not None]
    column, kind = table.columns[index], kinds.get(table.columns[index])
    if kind is None and (column in table.texts or not all(isinstance(cell, Real) for cell in values)):
        kind = str
    elif kind is None:
        are_integers = values and all(isinstance(cell, Integral) and abs(int(cell)) < 2**63 for cell in values)
        kind = int if are_integers else float
    return [None if cell is None else kind(cell) for cell in cells], kind


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        problem = f"to_{name}() requires {name}, which is not installed."
        raise UsageError(problem, f"pip install {name}", code="not-installed", key=name) from None
