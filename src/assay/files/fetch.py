"""Downloading official data: the pinned revision, verified, and continued where an earlier download ended.

A file appears under its name only when its content is complete and right. Until then it grows in a `PartFile`.
"""

from __future__ import annotations

import http
import http.client
import os
import ssl
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib import request
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit

from assay import __version__
from assay.errors import AssayError, DataError, UsageError
from assay.files.atomic import write_atomically
from assay.files.part_file import PartFile, writing
from assay.files.published import DataSet, PinnedFile, pinned_files
from assay.files.verify import blob_id, file_states
from assay.progress import Progress, Silent

GITHUB = "https://raw.githubusercontent.com"

_CHUNK = 1 << 16
_LARGEST = 256 << 20  # bytes; no pinned file comes near it, a server that never ends would
_AGAIN = (408, 425, 429)  # besides 5xx: what a server answers that could not now


@dataclass(frozen=True)
class Fetched:
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
) -> Fetched:
    """Get the files of a data set that are not in the folder yet, or not as they should be.

    mirror: the address below which REPOSITORY/COMMIT/PATH is found (default: ASSAY_MIRROR, else GitHub).
    timeout: seconds without a sign of life before a connection is given up. pauses: seconds to wait before each further
    try, where a server or connection fails in a way that may pass. A file that a server does not have, or has with
    other content, is an error after all others were fetched.
    """
    name, files = data_set.name, pinned_files(data_set)
    base, meter = _base(mirror), progress or Silent()
    session = _Session(_opener(), timeout, pauses)
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
        if not right:
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
        more = f" So it is with {len(failures) - 1} more." if len(failures) > 1 else ""
        raise DataError(failures[0].problem + more, failures[0].remedy, code=failures[0].code)
    return Fetched(name, folder, tuple(new), tuple(replaced), tuple(kept), size)


def address(base: str, file: PinnedFile) -> str:
    """Where a file is found below GitHub's or a mirror's address."""
    return f"{base}/{file.repository}/{file.commit}/{quote(file.source)}"


def _base(mirror: str | None) -> str:
    base = mirror or os.environ.get("ASSAY_MIRROR") or GITHUB
    try:
        parts = urlsplit(base)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.query and not parts.fragment
    except ValueError:
        fine = False
    if not fine:
        raise UsageError(
            f"the mirror {base!r} is no address of a server.",
            "Write it like https://example.org/github, or unset it.",
            code="bad-option",
            key="mirror",
        )
    return base.rstrip("/")


# --- one file


@dataclass(frozen=True)
class _Session:
    """How to reach servers, and how patiently."""

    opener: request.OpenerDirector
    timeout: float
    pauses: Sequence[float]


def _fetch_file(file: PinnedFile, url: str, path: Path, session: _Session) -> int:
    """Download a file and put it in its place; returns its size."""
    with PartFile(path) as part:
        content = _verified(file, part, url, path, session)
        with writing(path):
            write_atomically(path, content)
    return len(content)


def _verified(file: PinnedFile, part: PartFile, url: str, path: Path, session: _Session) -> bytes:
    """The right content. What is complete and wrong gets one more try, from the beginning."""
    content = part.content()
    if blob_id(content) == file.blob:  # killed when all was there but not yet in its place
        return content
    for _ in range(2):
        _complete(part, url, path, session)
        content = part.content()
        if blob_id(content) == file.blob:
            return content
        part.restart()
    raise DataError(
        f"{url}: not the pinned file; got {len(content):,} bytes with blob id {blob_id(content)}, "
        f"expected {file.blob}.",
        f"Something on the way changes files: try another network or ASSAY_MIRROR, or {_by_hand(path)}.",
        code="wrong-download",
    )


def _complete(part: PartFile, url: str, path: Path, session: _Session) -> None:
    """Bring a part file to its end, with further tries where a failure may pass."""
    for pause in (*session.pauses, None):
        try:
            _receive(part, url, session)
            return
        except (OSError, http.client.HTTPException) as error:
            if isinstance(error, HTTPError):
                error.close()
            if pause is None or not _may_pass(error):
                raise _failed(error, url, path, session) from error
        time.sleep(pause)


def _receive(part: PartFile, url: str, session: _Session) -> None:
    """One request: for the whole file, or for the rest of it. The server may give the whole all the same."""
    begin = part.size
    headers = {"User-Agent": f"assay/{__version__}"} | ({"Range": f"bytes={begin}-"} if begin else {})
    try:
        response: http.client.HTTPResponse = session.opener.open(
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
        while chunk := response.read(_CHUNK):
            part.append(chunk)
            if part.size > _LARGEST:
                part.restart()
                raise DataError(
                    f"{url}: longer than {_LARGEST:,} bytes, which no official file is.",
                    "The server sends something else; name another one with ASSAY_MIRROR.",
                    code="wrong-download",
                )
        if length is not None and part.size - before < length:
            raise ConnectionAbortedError(f"the connection ended after {part.size - before:,} of {length:,} bytes")


# --- the network


class _HttpOnly(request.HTTPRedirectHandler):
    """Follows redirects to web addresses alone."""

    def redirect_request(
        self, req: request.Request, fp: IO[bytes], code: int, msg: str, headers: http.client.HTTPMessage, newurl: str
    ) -> request.Request | None:
        if urlsplit(newurl).scheme not in ("http", "https"):
            raise HTTPError(newurl, code, f"a redirect to {newurl}, which is not followed", headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> request.OpenerDirector:
    """Knows http, https, proxies and redirects; unlike urllib's own, neither files nor ftp."""
    opener = request.OpenerDirector()
    for handler in (
        request.ProxyHandler(),
        request.UnknownHandler(),
        request.HTTPHandler(),
        request.HTTPSHandler(),
        request.HTTPDefaultErrorHandler(),
        request.HTTPErrorProcessor(),
        _HttpOnly(),
    ):
        opener.add_handler(handler)
    return opener


def _may_pass(error: Exception) -> bool:
    """Whether trying again makes sense: not where a file or server is missing, nor where a certificate is wrong."""
    if isinstance(error, HTTPError):
        return error.code >= 500 or error.code in _AGAIN
    cause = error.reason if isinstance(error, URLError) else error
    return isinstance(cause, _PASSING)


_PASSING = (
    TimeoutError,
    ConnectionResetError,  # also http.client.RemoteDisconnected
    ConnectionAbortedError,
    BrokenPipeError,
    ssl.SSLEOFError,
    http.client.IncompleteRead,
    http.client.BadStatusLine,
)


def _failed(error: Exception, url: str, path: Path, session: _Session) -> AssayError:
    if isinstance(error, HTTPError) and error.code in (404, 410):
        return DataError(
            f"{url}: the server has no such file ({error.code}).",
            f"A mirror must have REPOSITORY/COMMIT/PATH below its address; name another one with ASSAY_MIRROR, or "
            f"{_by_hand(path)}.",
            code="download-failed",
        )
    cause = error.reason if isinstance(error, URLError) and not isinstance(error, HTTPError) else error
    if isinstance(cause, HTTPError):
        problem = f"the server answered {cause.code} ({' '.join(str(cause.reason).split())})"
    elif isinstance(cause, TimeoutError):
        problem = f"no answer for {session.timeout:g} seconds"
    elif isinstance(cause, OSError) and cause.strerror:
        problem = cause.strerror
    else:
        problem = str(cause) or type(cause).__name__
    return UsageError(
        f"{url}: could not be fetched: {problem}.",
        f"Check the network and try again, which goes on from here; or name a mirror with ASSAY_MIRROR, or "
        f"{_by_hand(path)}.",
        code="download-failed",
    )


def _by_hand(path: Path) -> str:
    return f"put the file there yourself: {path}, or the same compressed (.gz)"
