"""Downloads official data: the pinned revision, verified; resumes an interrupted download.

A file gets its name only when its content is complete and right. Until then it is a `PartialDownload`.
"""

from __future__ import annotations

import contextlib
import glob
import http
import http.client
import os
import ssl
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import IO, Any, Self
from urllib import request
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit

from assay.asking.progress import Progress, SilentProgress
from assay.datasets.catalogue import LARGEST, DataSet, PinnedFile, blob_id, file_states, pinned_files
from assay.errors import AssayError, DataError, UsageError
from assay.files.atomic import beside, is_full_disk, remove_leftovers, write_atomically
from assay.files.opening import read_whole
from assay.version import __version__

GITHUB = "https://raw.githubusercontent.com"

_CHUNK = 1 << 16
_SLOWEST = 1_000  # bytes a second
_SLOW_START = 10.0  # seconds before this is expected
_LONGEST_LINE = 300  # characters shown of what a server says
_AGAIN = (408, 425, 429)  # besides 5xx: what a server answers that could not now
_PASSING = (
    TimeoutError,
    ConnectionResetError,  # also http.client.RemoteDisconnected
    ConnectionAbortedError,
    BrokenPipeError,
    ssl.SSLEOFError,
    http.client.IncompleteRead,
    http.client.BadStatusLine,
)
_ELSEWHERE = (
    "Free space or allow writing there, or choose another folder with --data or ASSAY_DATA. Downloaded files are kept."
)


@dataclass(frozen=True)
class FetchResult:
    """What a fetch did, file by file."""

    name: str
    folder: Path
    new: tuple[Path, ...]  # not there before
    replaced: tuple[Path, ...]  # there before, but not right: that content is gone now
    kept: tuple[Path, ...]  # there and right before
    size: int  # bytes of what is new or replaced


def fetch(
    data_set: DataSet,
    folder: Path,
    *,
    progress: Progress | None = None,
    mirror: str | None = None,
    timeout: float = 30.0,
    pauses: Sequence[float] = (1.0, 4.0, 10.0),
) -> FetchResult:
    """Download the files of a data set that are missing from the folder or differ from the pinned ones.

    mirror: the address under which REPOSITORY/COMMIT/PATH is found (default: ASSAY_MIRROR, else GitHub). timeout:
    seconds without data before a connection is given up. pauses: seconds to wait before each retry, if an error may be
    temporary. If a server lacks a file, or has it with other content, the error comes after all other files.
    """
    name, files, folder = data_set.name, pinned_files(data_set), data_set.folder(folder).parent
    base, meter = _base(mirror), progress or SilentProgress()
    session = _ConnectionSettings(timeout, pauses)
    new: list[Path] = []
    replaced: list[Path] = []
    kept: list[Path] = []
    failures: list[DataError] = []
    size = 0
    meter.start(name, len(files), "files")
    for file in files:
        path, before = folder / file.place, file_states(file, folder)
        right = [state.path for state in before if state.state == "ok"]
        wrong = [state.path for state in before if state.state == "different"]
        if right:
            _remove(_parts(path))  # of a program that was killed when the file had its name
        else:
            try:
                size += _fetch_file(file, address(base, file), path, session)
            except DataError as error:
                failures.append(error)
                continue
            new += [] if wrong else [path]
        for other in wrong:
            if right or other != path:  # not overwritten: right is the other form, plain or compressed
                with writing(other):
                    other.unlink(missing_ok=True)
        kept += right
        replaced += wrong
        meter.advance(1, stored=bool(right))
    if failures:
        more = f" {len(failures) - 1} more failed the same way." if len(failures) > 1 else ""
        raise DataError(failures[0].problem + more, failures[0].remedy, code=failures[0].code)
    return FetchResult(name, folder, tuple(new), tuple(replaced), tuple(kept), size)


def address(base: str, file: PinnedFile) -> str:
    """The address of a file on GitHub or a mirror."""
    return f"{base}/{file.repository}/{file.commit}/{quote(file.source)}"


def _base(mirror: str | None) -> str:
    base = mirror or os.environ.get("ASSAY_MIRROR") or GITHUB
    try:
        parts = urlsplit(base)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.query and not parts.fragment
    except ValueError:
        fine = False
    if fine and parts.username is not None:
        problem = "the mirror's address contains a user name or a password, which messages would show."
        remedy = "Name a mirror that needs none."
        raise UsageError(problem, remedy, code="bad-option", key="mirror")
    if not fine:
        remedy = "Write it like https://example.org/github, or unset it."
        raise UsageError(f"the mirror {base!r} is not a server's address.", remedy, code="bad-option", key="mirror")
    return base.rstrip("/")


# --- one file


@dataclass(frozen=True)
class _ConnectionSettings:
    """How to connect to servers: timeout and retries."""

    timeout: float
    pauses: Sequence[float]


def _fetch_file(file: PinnedFile, url: str, path: Path, session: _ConnectionSettings) -> int:
    """Download a file to its place; returns its size. If its content is wrong, it is downloaded once more."""
    with PartialDownload(path) as part:
        for tries_left in (2, 1, 0):
            content = part.content()  # right at once where a program was killed before it was in its place
            if blob_id(content) == file.blob:
                with writing(path):
                    write_atomically(path, content)
                return len(content)
            if tries_left < 2:
                part.restart()
            if tries_left:
                _complete(part, url, path, session)
        got = f"{len(content):,} bytes with blob id {blob_id(content)}"
        remedy = f"The network changes files: try another one or ASSAY_MIRROR, or {_by_hand(path)}."
        raise DataError(
            f"{url}: this is not the pinned file; got {got}, expected {file.blob}.", remedy, code="wrong-download"
        )


def _complete(part: PartialDownload, url: str, path: Path, session: _ConnectionSettings) -> None:
    """Complete a part file, with retries if an error may be temporary."""
    for pause in (*session.pauses, None):
        try:
            _watched(part, url, session)
            return
        except (OSError, http.client.HTTPException) as error:
            if isinstance(error, HTTPError):
                error.close()
            if pause is None or not _may_pass(error):
                raise _failed(error, url, path, session) from error
        time.sleep(pause)


def _watched(part: PartialDownload, url: str, session: _ConnectionSettings) -> None:
    """`_receive`, given up where a server sends so little at a time that it never times out."""
    failed: list[BaseException] = []

    def receive() -> None:
        try:
            _receive(part, url, session)
        except BaseException as error:  # handed on to the caller
            failed.append(error)

    work, began, before = Thread(target=receive, daemon=True), time.monotonic(), part.size
    work.start()
    while work.is_alive():
        work.join(0.2)
        seconds = time.monotonic() - began
        if seconds > _SLOW_START + session.timeout and part.size - before < seconds * _SLOWEST:
            raise OSError(f"less than {_SLOWEST:,} bytes a second for {seconds:.0f} seconds")
    if failed:
        raise failed[0]


def _receive(part: PartialDownload, url: str, session: _ConnectionSettings) -> None:
    """One request for the whole file or the rest of it. The server may still send the whole file."""
    begin = part.size
    headers = {"User-Agent": f"assay/{__version__}"} | ({"Range": f"bytes={begin}-"} if begin else {})
    try:
        response = request.build_opener(_HttpOnly()).open(
            request.Request(url, headers=headers), timeout=session.timeout
        )
    except HTTPError as error:
        if error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE or not begin:
            raise
        error.close()
        part.restart()
        return _receive(part, url, session)
    with response:
        partial = response.status == http.HTTPStatus.PARTIAL_CONTENT
        if begin and not (partial and response.headers.get("Content-Range", "").startswith(f"bytes {begin}-")):
            part.restart()
            if partial:  # of another part than was asked for
                return _receive(part, url, session)
        length, before = response.length, part.size  # no length: sent in chunks, which say themselves when they end
        while chunk := response.read1(_CHUNK):
            part.append(chunk)
            if part.size > LARGEST:
                part.restart()
                problem = f"{url}: longer than {LARGEST:,} bytes, which no official file is."
                remedy = "The server sends another file; name another server with ASSAY_MIRROR."
                raise DataError(problem, remedy, code="wrong-download")
        if length is not None and part.size - before < length:
            raise ConnectionAbortedError(f"the connection ended after {part.size - before:,} of {length:,} bytes")


# --- on disk, as far as it has come


class PartialDownload:
    """The downloaded part of a file: a hidden file beside it, which stays if the download fails or is stopped.

    Its name has the machine and process that write it. The next download continues a copy of it; whether its writer
    still runs does not matter, because the content's id is checked at the end.
    """

    def __init__(self, path: Path) -> None:
        """Continue the longest part that other downloads left. A download that still runs keeps its own open file."""
        self._path = beside(path, "part")
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            remove_leftovers(path.parent)
            left = _parts(path)
            begun = max((_read_if_there(part) for part in left), key=len, default=b"")
            self._file: IO[bytes] = self._path.open("w+b")
            self.size = 0
            self.append(begun)
        _remove(part for part in left if part != self._path)

    def append(self, chunk: bytes) -> None:
        with writing(self._path):
            self._file.write(chunk)
            self._file.flush()
        self.size += len(chunk)

    def restart(self) -> None:
        with writing(self._path):
            self._file.seek(0)
            self._file.truncate()
        self.size = 0

    def content(self) -> bytes:
        with writing(self._path):
            self._file.seek(0)
            return self._file.read()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        if error is None or not self.size:
            with contextlib.suppress(OSError):  # removed by another download
                self._path.unlink()


def _parts(path: Path) -> list[Path]:
    return list(path.parent.glob(f".{glob.escape(path.name)}.*.part"))


def _remove(parts: Iterable[Path]) -> None:
    for part in parts:
        with contextlib.suppress(OSError):  # gone already, or in use on a system that minds
            part.unlink()


def _read_if_there(path: Path) -> bytes:
    try:
        return read_whole(path, LARGEST)
    except OSError:
        return b""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn file system errors into a DataError with a remedy for the data folder."""
    try:
        yield
    except UsageError as error:  # of write_atomically, whose remedy is about runs
        problem = error.problem.removeprefix(f"{error.file}: ")
        raise UsageError(problem, _ELSEWHERE, code=error.code, file=error.file) from error
    except OSError as error:
        code = "no-space" if is_full_disk(error) else "cannot-write"
        raise UsageError(f"cannot be written ({error.strerror}).", _ELSEWHERE, code=code, file=path) from error


# --- the network


class _HttpOnly(request.HTTPSHandler, request.HTTPHandler, request.HTTPRedirectHandler):
    """Makes one request. Redirects are followed only to web addresses; urllib would also open files. None leads from
    outside to this machine or its network: before a request is sent, it is looked where the connection leads, because
    names, and numbers such as 2130706433, may stand for this machine. Where a proxy connects to is not known here.
    """

    _outside: bool | None = None
    """Whether the last answer came from outside; None: not known, so addresses have to tell."""

    def do_open(self, http_class: Any, req: request.Request, **options: Any) -> Any:
        def connection(host: str, **more: Any) -> Any:
            made = http_class(host, **more)
            connect = made.connect

            def connect_and_look() -> None:
                connect()
                if req.host != urlsplit(req.full_url).netloc:  # a proxy
                    self._outside = None
                    return
                local = _is_local(made.sock.getpeername()[0])
                if local and self._outside:
                    made.close()
                    raise OSError(f"a redirect from outside to {req.full_url}, which is in this network")
                self._outside = not local

            made.connect = connect_and_look
            return made

        return super().do_open(connection, req, **options)

    def redirect_request(
        self, req: request.Request, fp: IO[bytes], code: int, msg: str, headers: http.client.HTTPMessage, newurl: str
    ) -> request.Request | None:
        new, before = urlsplit(newurl), urlsplit(req.full_url)
        outside = not _is_local(before.hostname) if self._outside is None else self._outside
        if new.scheme not in ("http", "https") or (outside and _is_local(new.hostname)):
            raise HTTPError(newurl, code, f"a redirect to {newurl}, which is not followed", headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)

    def http_error_302(
        self, req: request.Request, fp: IO[bytes], code: int, msg: str, headers: http.client.HTTPMessage
    ) -> Any:
        try:
            return super().http_error_302(req, fp, code, msg, headers)
        except ValueError as error:
            told = f"a redirect to a malformed address: {error}"
            raise HTTPError(req.full_url, code, told, headers, fp) from None

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


def _is_local(host: str | None) -> bool:
    """
    >>> _is_local("localhost"), _is_local("10.0.0.1"), _is_local("example.org")
    (True, True, False)
    """
    named = (host or "").rstrip(".")
    try:
        return not ip_address(named).is_global
    except ValueError:
        return not named or named == "localhost" or named.endswith(".localhost")


def _may_pass(error: Exception) -> bool:
    """Whether an error may be temporary: not if a file or server is missing or a certificate is wrong."""
    if isinstance(error, HTTPError):
        return error.code >= 500 or error.code in _AGAIN
    cause = error.reason if isinstance(error, URLError) else error
    return isinstance(cause, _PASSING)


def _failed(error: Exception, url: str, path: Path, session: _ConnectionSettings) -> AssayError:
    mirror = f"with ASSAY_MIRROR, or {_by_hand(path)}."
    if isinstance(error, HTTPError) and error.code in (404, 410):
        remedy = f"A mirror must have REPOSITORY/COMMIT/PATH under its address; name another mirror {mirror}"
        return DataError(f"{url}: the server has no such file ({error.code}).", remedy, code="download-failed")
    cause = error.reason if isinstance(error, URLError) and not isinstance(error, HTTPError) else error
    if isinstance(cause, HTTPError):
        problem = f"the server answered {cause.code} ({_line(cause.reason)})"
    elif isinstance(cause, TimeoutError):
        problem = f"no answer for {session.timeout:g} seconds"
    elif isinstance(cause, OSError) and cause.strerror:
        problem = cause.strerror
    else:
        problem = _line(cause) or type(cause).__name__
    remedy = f"Check the network and try again, which resumes the download; or name a mirror {mirror}"
    return UsageError(f"{url}: could not be downloaded: {problem}.", remedy, code="download-failed")


def _line(said: object) -> str:
    """The beginning of what a server said, on one line."""
    words = " ".join(str(said).split())
    return words if len(words) <= _LONGEST_LINE else f"{words[:_LONGEST_LINE]}…"


def _by_hand(path: Path) -> str:
    return f"put the file there yourself: {path}, or the same compressed (.gz)"
