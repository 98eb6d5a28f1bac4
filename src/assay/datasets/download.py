"""Downloads official data: the pinned revision, verified; resumes an interrupted download.

A file gets its name only when its content is complete and right. Until then it is in a hidden file beside its path.
"""

from __future__ import annotations

import glob
import http.client
import os
import ssl
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from ipaddress import ip_address
from pathlib import Path
from threading import Thread
from typing import IO, Any
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
_BUSY = (408, 425, 429)  # besides 5xx: what a server answers that could not now
_PASSING = (TimeoutError, ConnectionError, ssl.SSLEOFError, http.client.IncompleteRead, http.client.BadStatusLine)
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
    files, folder = pinned_files(data_set), data_set.folder(folder).parent
    base, meter = _base(mirror), progress or SilentProgress()
    new: list[Path] = []
    replaced: list[Path] = []
    intact: list[Path] = []
    failures: list[DataError] = []
    size = 0
    meter.start(data_set.name, len(files), "files")
    for file in files:
        path, states = folder / file.path, file_states(file, folder)
        right = [state.path for state in states if state.state == "ok"]
        wrong = [state.path for state in states if state.state == "different"]
        if right:
            _remove(_parts(path))  # of a program that was killed when the file had its name
        else:
            try:
                size += _download(file, address(base, file), path, timeout, pauses)
            except DataError as error:
                failures.append(error)
                continue
            new += [] if wrong else [path]
        for wrong_path in wrong:
            if right or wrong_path != path:  # not overwritten: right is the other form, plain or compressed
                with _explained(wrong_path):
                    wrong_path.unlink(missing_ok=True)
        intact += right
        replaced += wrong
        meter.advance(1, stored=bool(right))
    if failures:
        more = f" {len(failures) - 1} more failed the same way." if len(failures) > 1 else ""
        raise DataError(failures[0].problem + more, failures[0].remedy, code=failures[0].code)
    return FetchResult(data_set.name, folder, tuple(new), tuple(replaced), tuple(intact), size)


def address(base: str, file: PinnedFile) -> str:
    """The address of a file on GitHub or a mirror."""
    return f"{base}/{file.repository}/{file.commit}/{quote(file.source)}"


def _base(mirror: str | None) -> str:
    base = mirror or os.environ.get("ASSAY_MIRROR") or GITHUB
    problem, remedy = (
        f"the mirror {base!r} is not a server's address.",
        "Write it like https://example.org/github, or unset it.",
    )
    with suppress(ValueError):
        parts = urlsplit(base)
        if parts.scheme in ("http", "https") and parts.hostname and not parts.query and not parts.fragment:
            if parts.username is None:
                return base.rstrip("/")
            problem = "the mirror's address contains a user name or a password, which messages would show."
            remedy = "Name a mirror that needs none."
    raise UsageError(problem, remedy, code="bad-option", key="mirror")


# --- one file


def _download(file: PinnedFile, url: str, path: Path, timeout: float, pauses: Sequence[float]) -> int:
    """Download a file to its path; returns its size. If its content is wrong, it is downloaded once more."""
    with open_part(path) as part:
        for attempt in range(3):  # none may be needed where a program was killed before the file had its name
            if attempt:
                _complete(part, url, path, timeout, pauses)
            with _explained(part.name):
                part.seek(0)
                content = part.read()
            if blob_id(content) == file.blob:
                with _explained(path):
                    write_atomically(path, content)
                return len(content)
            if attempt:
                _restart(part)
    received = f"{len(content):,} bytes with blob id {blob_id(content)}"
    remedy = f"The network changes files: try another one or ASSAY_MIRROR, or {_by_hand(path)}."
    raise DataError(
        f"{url}: this is not the pinned file; got {received}, expected {file.blob}.", remedy, code="wrong-download"
    )


def _complete(part: IO[bytes], url: str, path: Path, timeout: float, pauses: Sequence[float]) -> None:
    """Complete a part, with retries if an error may be temporary.

    A connection is given up, too, where a server sends so little at a time that it never times out.
    """
    for pause in (*pauses, None):
        received: Future[None] = Future()
        began, size_before = time.monotonic(), part.tell()
        Thread(target=_receive_into, args=(received, part, url, timeout), daemon=True).start()
        try:
            while not wait([received], 0.2).done:
                seconds = time.monotonic() - began
                if seconds > _SLOW_START + timeout and part.tell() - size_before < seconds * _SLOWEST:
                    raise OSError(f"less than {_SLOWEST:,} bytes a second for {seconds:.0f} seconds")
            received.result()
            return
        except (OSError, http.client.HTTPException) as error:
            if isinstance(error, HTTPError):
                error.close()
            if pause is None or not _may_pass(error):
                raise _failure(error, url, path, timeout) from error
        time.sleep(pause)


def _receive_into(received: Future[None], part: IO[bytes], url: str, timeout: float) -> None:
    try:
        _receive(part, url, timeout)
        received.set_result(None)
    except BaseException as error:  # handed on to the caller
        received.set_exception(error)


def _receive(part: IO[bytes], url: str, timeout: float) -> None:
    """One request for the whole file or the rest of it. The server may still send the whole file."""
    begin = part.tell()
    headers = {"User-Agent": f"assay/{__version__}"} | ({"Range": f"bytes={begin}-"} if begin else {})
    try:
        response = request.build_opener(_HttpOnly()).open(request.Request(url, headers=headers), timeout=timeout)
    except HTTPError as error:
        if error.code != HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE or not begin:
            raise
        error.close()
        _restart(part)
        return _receive(part, url, timeout)
    with response:
        is_partial = response.status == HTTPStatus.PARTIAL_CONTENT
        if begin and not (is_partial and response.headers.get("Content-Range", "").startswith(f"bytes {begin}-")):
            _restart(part)
            if is_partial:  # of another part than was asked for
                return _receive(part, url, timeout)
        length, begin = response.length, part.tell()  # no length: sent in chunks, which say themselves when they end
        while chunk := response.read1(_CHUNK):
            with _explained(part.name):
                part.write(chunk)
                part.flush()
            if part.tell() > LARGEST:
                _restart(part)
                problem = f"{url}: longer than {LARGEST:,} bytes, which no official file is."
                remedy = "The server sends another file; name another server with ASSAY_MIRROR."
                raise DataError(problem, remedy, code="wrong-download")
        if length is not None and (size := part.tell() - begin) < length:
            raise ConnectionAbortedError(f"the connection ended after {size:,} of {length:,} bytes")


def _may_pass(error: Exception) -> bool:
    """Whether an error may be temporary: not if a file or server is missing or a certificate is wrong."""
    if isinstance(error, HTTPError):
        return error.code >= 500 or error.code in _BUSY
    cause = error.reason if isinstance(error, URLError) else error
    return isinstance(cause, _PASSING) and not isinstance(cause, ConnectionRefusedError)


def _failure(error: Exception, url: str, path: Path, timeout: float) -> AssayError:
    mirror = f"with ASSAY_MIRROR, or {_by_hand(path)}."
    if isinstance(error, HTTPError) and error.code in (404, 410):
        remedy = f"A mirror must have REPOSITORY/COMMIT/PATH under its address; name another mirror {mirror}"
        return DataError(f"{url}: the server has no such file ({error.code}).", remedy, code="download-failed")
    cause = error.reason if isinstance(error, URLError) and not isinstance(error, HTTPError) else error
    if isinstance(cause, HTTPError):
        problem = f"the server answered {cause.code} ({_line(cause.reason)})"
    elif isinstance(cause, TimeoutError):
        problem = f"no answer for {timeout:g} seconds"
    elif isinstance(cause, OSError) and cause.strerror:
        problem = cause.strerror
    else:
        problem = _line(cause) or type(cause).__name__
    remedy = f"Check the network and try again, which resumes the download; or name a mirror {mirror}"
    return UsageError(f"{url}: could not be downloaded: {problem}.", remedy, code="download-failed")


def _line(text: object) -> str:
    """The beginning of what a server said, on one line."""
    words = " ".join(str(text).split())
    return words if len(words) <= _LONGEST_LINE else f"{words[:_LONGEST_LINE]}…"


def _by_hand(path: Path) -> str:
    return f"put the file there yourself: {path}, or the same compressed (.gz)"


# --- on disk, as far as it has come


@contextmanager
def open_part(path: Path) -> Iterator[IO[bytes]]:
    """The downloaded part of a file, open at its end: a hidden file beside it, which stays if the download fails or is
    stopped.

    Its name has the machine and process that write it. The next download continues a copy of the longest part; whether
    its writer still runs, with its own open file, does not matter, because the content's id is checked at the end.
    """
    part_path, is_kept = beside(path, "part"), False
    with _explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(path.parent)
        earlier = _parts(path)
        begun = max(map(_read_if_there, earlier), key=len, default=b"")
        part = part_path.open("w+b")
    try:
        with part:
            with _explained(part_path):
                part.write(begun)
                part.flush()
            _remove(set(earlier) - {part_path})
            try:
                yield part
            except BaseException:
                is_kept = part.tell() > 0
                raise
    finally:
        if not is_kept:
            _remove([part_path])


def _restart(part: IO[bytes]) -> None:
    with _explained(part.name):
        part.seek(0)
        part.truncate()


def _parts(path: Path) -> list[Path]:
    return list(path.parent.glob(f".{glob.escape(path.name)}.*.part"))


def _remove(parts: Iterable[Path]) -> None:
    for part in parts:
        with suppress(OSError):  # gone already, or in use on a system that minds
            part.unlink()


def _read_if_there(path: Path) -> bytes:
    with suppress(OSError):
        return read_whole(path, LARGEST)
    return b""


@contextmanager
def _explained(path: Path | str) -> Iterator[None]:
    """Turn file system errors into a UsageError with a remedy for the data folder."""
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
        def new_connection(host: str, **more: Any) -> Any:
            connection = http_class(host, **more)
            connect = connection.connect

            def connect_and_look() -> None:
                connect()
                if req.host != urlsplit(req.full_url).netloc:  # a proxy
                    self._outside = None
                    return
                is_local = _is_local(connection.sock.getpeername()[0])
                if is_local and self._outside:
                    connection.close()
                    raise OSError(f"a redirect from outside to {req.full_url}, which is in this network")
                self._outside = not is_local

            connection.connect = connect_and_look
            return connection

        return super().do_open(new_connection, req, **options)

    def redirect_request(
        self, req: request.Request, fp: IO[bytes], code: int, msg: str, headers: http.client.HTTPMessage, newurl: str
    ) -> request.Request | None:
        target, source = urlsplit(newurl), urlsplit(req.full_url)
        outside = not _is_local(source.hostname) if self._outside is None else self._outside
        if target.scheme not in ("http", "https") or (outside and _is_local(target.hostname)):
            raise HTTPError(newurl, code, f"a redirect to {newurl}, which is not followed", headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)

    def http_error_302(
        self, req: request.Request, fp: IO[bytes], code: int, msg: str, headers: http.client.HTTPMessage
    ) -> Any:
        try:
            return super().http_error_302(req, fp, code, msg, headers)
        except ValueError as error:
            problem = f"a redirect to a malformed address: {error}"
            raise HTTPError(req.full_url, code, problem, headers, fp) from None

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


def _is_local(host: str | None) -> bool:
    """
    >>> _is_local("localhost"), _is_local("10.0.0.1"), _is_local("example.org")
    (True, True, False)
    """
    name = (host or "").rstrip(".")
    try:
        return not ip_address(name).is_global
    except ValueError:
        return not name or name == "localhost" or name.endswith(".localhost")
