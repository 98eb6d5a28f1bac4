"""Downloading official data, from a real server on this machine that breaks in the ways that servers break."""

from __future__ import annotations

import errno
import gzip
import io
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.client import HTTPMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib import request
from urllib.error import HTTPError
from urllib.parse import unquote

import pytest

from assay.datasets.catalogue import DataSet, blob_id, pinned_files, verify
from assay.datasets.download import GITHUB, FetchResult, _HttpOnly, address, fetch
from assay.errors import AssayError, DataError, UsageError
from raising import raises

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LONG = bytes(range(256)) * 2000  # more than a few packets
MIDDLE = 3 << 16  # a place in it
TWO_ADDRESSES = pytest.mark.skipif(sys.platform != "linux", reason="127.0.0.2 is this machine on Linux alone")
FILES = {
    "bbq/data/Age.jsonl": LONG,
    "bbq/templates/new_templates - Age.csv": b"a,b\n1,2\n",
    "bbq/LICENSE": b"do as you like\n",
}
AGE = "bbq/data/Age.jsonl"
SPACED = "bbq/templates/new_templates - Age.csv"

FETCH = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # which whoever runs the tests may ignore
from pathlib import Path
from assay.datasets.download import fetch
from assay.datasets.catalogue import DataSet
data_set = DataSet("bbq", "made up", "none", Path(sys.argv[1]))
fetch(data_set, Path(sys.argv[2]), mirror=sys.argv[3], pauses=(0.01, 0.01))
"""


@dataclass
class Server:
    """What it serves, how it shall misbehave, and what it was asked."""

    address: str = ""
    files: dict[str, bytes] = field(default_factory=dict)  # by place in the data folder
    moods: dict[str, deque[Mood]] = field(default_factory=lambda: defaultdict(deque))  # of the next answers
    asked: list[tuple[str, str | None]] = field(default_factory=list)  # place, Range
    lines: list[str] = field(default_factory=list)  # paths as they came
    agents: set[str] = field(default_factory=set)
    headers: set[str] = field(default_factory=set)  # names of all that came
    release: threading.Event = field(default_factory=threading.Event)  # ends what stalls

    def ranges(self, place: str) -> list[str | None]:
        return [wanted for asked, wanted in self.asked if asked == place]


Mood = Callable[["Handler", bytes], None]


class Handler(BaseHTTPRequestHandler):
    server: _Loopback

    def do_GET(self) -> None:
        script = self.server.script
        script.lines.append(self.path)
        place = "bbq/" + unquote(self.path).partition(f"/{COMMIT}/")[2]
        wanted = self.headers.get("Range")
        script.asked.append((place, wanted))
        script.agents.add(self.headers.get("User-Agent", ""))
        script.headers |= set(self.headers)
        content = script.files.get(place)
        moods = script.moods[place]
        if moods:
            moods.popleft()(self, content or b"")
        elif content is None or not re.match("(/mirror)?/some/repository/", self.path):
            self.send_error(404)
        else:
            obliging(self, content)

    def begins(self) -> int:
        match = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        return int(match[1]) if match else 0

    def answer(self, status: int, body: bytes, length: int | None = None, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, format: str, *arguments: object) -> None:
        pass


class _Loopback(ThreadingHTTPServer):
    daemon_threads = True
    script: Server

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # a client that was killed


# --- moods


def obliging(handler: Handler, content: bytes) -> None:
    begin = handler.begins()
    if begin >= len(content) > 0:
        return handler.answer(416, b"")
    if begin:
        span = f"bytes {begin}-{len(content) - 1}/{len(content)}"
        return handler.answer(206, content[begin:], Content_Range=span)
    return handler.answer(200, content)


def whole(handler: Handler, content: bytes) -> None:
    handler.answer(200, content)


def status(code: int) -> Mood:
    return lambda handler, content: handler.answer(code, b"an error page")


def sends(other: bytes) -> Mood:
    """Something else, as if it were the file."""
    return lambda handler, content: obliging(handler, other)


def cut(size: int) -> Mood:
    """The connection ends `size` bytes further on."""

    def mood(handler: Handler, content: bytes) -> None:
        begin = handler.begins()
        span = f"bytes {begin}-{len(content) - 1}/{len(content)}"
        headers = {"Content_Range": span} if begin else {}
        handler.answer(206 if begin else 200, content[begin : begin + size], len(content) - begin, **headers)

    return mood


def stall(size: int) -> Mood:
    """Nothing more comes after `size` bytes."""

    def mood(handler: Handler, content: bytes) -> None:
        handler.answer(200, content[:size], len(content))
        handler.server.script.release.wait(60)

    return mood


def reset(handler: Handler, content: bytes) -> None:
    """The connection ends before any answer."""
    handler.close_connection = True


def shifted(handler: Handler, content: bytes) -> None:
    """Another range than was asked for."""
    handler.answer(206, content[7:], Content_Range=f"bytes 7-{len(content) - 1}/{len(content)}")


def chunked(handler: Handler, content: bytes) -> None:
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    for begin in range(0, len(content), 10_000):
        piece = content[begin : begin + 10_000]
        handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
    handler.wfile.write(b"0\r\n\r\n")


def redirect(target: str) -> Mood:
    return lambda handler, content: handler.answer(302, b"", Location=target)


# --- fixtures


@contextmanager
def serving(host: str = "127.0.0.1") -> Iterator[Server]:
    script = Server(files=dict(FILES))
    with _Loopback((host, 0), Handler) as loopback:
        loopback.script = script
        thread = threading.Thread(target=loopback.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        script.address = f"http://{host}:{loopback.server_address[1]}"
        yield script
        script.release.set()
        loopback.shutdown()
        thread.join()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "*")
    monkeypatch.delenv("ASSAY_MIRROR", raising=False)
    with serving() as script:
        yield script


@pytest.fixture(autouse=True)
def manifest(tmp_path: Path) -> Path:
    """The made-up files are the official ones."""
    path = tmp_path / "pinned.tsv"
    rows = [("some/repository", COMMIT, blob_id(FILES[place]), place[4:], place) for place in FILES]
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    return path


def made_up(folder: Path) -> DataSet:
    """The data set of the manifest that lies near a test's data folder."""
    return DataSet("bbq", "made up", "none", folder.parents[1] / "pinned.tsv")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "not there yet" / "data"


def get(server: Server, folder: Path, *, tries: int = 3, timeout: float = 20.0) -> FetchResult:
    return fetch(made_up(folder), folder, mirror=server.address, timeout=timeout, pauses=(0.01,) * (tries - 1))


def fails(
    server: Server, folder: Path, code: str, kind: type[AssayError], *, tries: int = 3, timeout: float = 20.0
) -> AssayError:
    """The error of a fetch that fails; it must have one line that says what, and one that says what to do."""
    with raises(code, kind) as caught:
        get(server, folder, tries=tries, timeout=timeout)
    assert type(caught.value) is kind
    assert "\n" not in caught.value.problem
    assert caught.value.remedy.strip()
    assert "\n" not in caught.value.remedy
    return caught.value


def put(folder: Path, place: str, content: bytes) -> Path:
    path = folder / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def leave_part(folder: Path, place: str, content: bytes, who: str = "elsewhere-1") -> Path:
    """What a killed download left."""
    path = folder / place
    return put(folder, path.with_name(f".{path.name}.{who}.part").relative_to(folder).as_posix(), content)


def files_in(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


class Meter:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def start(self, label: str, total: int, unit: str = "questions") -> None:
        self.told.append((label, total))

    def advance(self, count: int, *, stored: bool = False) -> None:
        self.told.append("stored" if stored else "fetched")


# --- getting everything


def test_a_data_set_within_another_folder_is_completed_there(server: Server, folder: Path) -> None:
    first, *others = FILES
    there = put(folder / "collection", first, FILES[first])
    known = replace(made_up(folder), within="collection")
    done = fetch(known, folder, mirror=server.address, pauses=())
    assert done.kept == (there,)
    assert done.new == tuple(folder / "collection" / place for place in others)


def test_all_files_come_and_verify_and_nothing_else_is_left(server: Server, folder: Path) -> None:
    done = get(server, folder)
    assert files_in(folder) == FILES
    assert {state.state for state in verify(made_up(folder), folder)} == {"ok"}
    assert done.new == tuple(folder / place for place in FILES)
    assert (done.replaced, done.kept, done.size) == ((), (), sum(map(len, FILES.values())))
    assert all(agent.startswith("assay/") for agent in server.agents)


def test_names_with_blanks_are_encoded(server: Server, folder: Path) -> None:
    get(server, folder)
    assert f"/some/repository/{COMMIT}/templates/new_templates%20-%20Age.csv" in server.lines


def test_a_second_fetch_asks_for_nothing(server: Server, folder: Path) -> None:
    get(server, folder)
    server.asked.clear()
    meter = Meter()
    done = fetch(made_up(folder), folder, mirror=server.address, progress=meter)
    assert server.asked == []
    assert done.kept == tuple(folder / place for place in FILES)
    assert meter.told == [("bbq", 3), "stored", "stored", "stored"]


def test_compressed_files_that_are_right_are_kept(server: Server, folder: Path) -> None:
    packed = put(folder, f"{AGE}.gz", gzip.compress(LONG))
    meter = Meter()
    done = fetch(made_up(folder), folder, mirror=server.address, progress=meter)
    assert server.ranges(AGE) == []
    assert not (folder / AGE).exists()
    assert done.kept == (packed,)
    assert meter.told == [("bbq", 3), "stored", "fetched", "fetched"]


def test_without_a_mirror_files_come_from_github_at_the_pinned_commit(folder: Path) -> None:
    file = next(file for file in pinned_files(made_up(folder)) if file.path == SPACED)
    assert address(GITHUB, file) == (
        f"https://raw.githubusercontent.com/some/repository/{COMMIT}/templates/new_templates%20-%20Age.csv"
    )


@pytest.mark.parametrize("end", ["", "/", "/mirror", "/mirror/"])
def test_the_mirror_may_be_named_in_the_environment_with_or_without_a_slash(
    server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    monkeypatch.setenv("ASSAY_MIRROR", server.address + end)
    fetch(made_up(folder), folder)
    assert files_in(folder) == FILES


@pytest.mark.parametrize(
    "mirror", ["file:///etc", "ftp://host/x", "example.org/x", "http://", "http://[", "http://h/?x"]
)
def test_a_mirror_must_be_a_web_address(folder: Path, mirror: str) -> None:
    with raises("bad-option", UsageError, key="mirror") as wrong:
        fetch(made_up(folder), folder, mirror=mirror)
    assert repr(mirror) in str(wrong.value)
    assert not folder.exists()


def test_a_mirror_with_a_password_is_refused_without_telling_it(folder: Path) -> None:
    with raises("bad-option", UsageError, key="mirror") as wrong:
        fetch(made_up(folder), folder, mirror="https://me:secret@example.org/x")
    assert "secret" not in str(wrong.value)


def test_a_file_sent_in_chunks_comes_whole(server: Server, folder: Path) -> None:
    server.moods[AGE].append(chunked)
    get(server, folder, tries=1)
    assert files_in(folder) == FILES


# --- going on


def test_a_cut_connection_goes_on_where_it_ended(server: Server, folder: Path) -> None:
    server.moods[AGE] += [cut(100_000), cut(50_000)]
    get(server, folder)
    assert server.ranges(AGE) == [None, "bytes=100000-", "bytes=150000-"]
    assert files_in(folder) == FILES


def test_a_download_that_stays_cut_fails_keeps_its_part_and_goes_on_next_time(server: Server, folder: Path) -> None:
    server.moods[AGE] += [cut(100_000), cut(50_000)]
    error = fails(server, folder, "download-failed", UsageError, tries=2)
    assert f"{server.address}/some/repository/{COMMIT}/data/Age.jsonl" in error.problem
    assert "50,000 of 412,000" in error.problem
    assert str(folder / AGE) in error.remedy
    (left,) = files_in(folder).values()
    assert left == LONG[:150_000]
    assert verify(made_up(folder), folder)[0].state == "missing"
    get(server, folder)
    assert server.ranges(AGE)[-1] == "bytes=150000-"
    assert files_in(folder) == FILES


@contextmanager
def a_program_that_waits(server: Server, folder: Path, manifest: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A fetch in another process whose first download has stopped in the middle."""
    server.moods[AGE].append(stall(MIDDLE))
    command = [sys.executable, "-c", FETCH, str(manifest), str(folder), server.address]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as program:
        try:
            wait_until(lambda: [len(content) for content in files_in(folder).values()] == [MIDDLE])
            yield program
        finally:
            program.kill()


def wait_until(true: Callable[[], bool]) -> None:
    ends = time.monotonic() + 30
    while not true():
        assert time.monotonic() < ends, "nothing happened for 30 seconds"
        time.sleep(0.01)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "Ctrl-C"])
def test_a_stopped_program_leaves_its_part_and_the_next_one_goes_on(
    server: Server, folder: Path, manifest: Path, how: signal.Signals
) -> None:
    with a_program_that_waits(server, folder, manifest) as program:
        program.send_signal(how)
        program.communicate(timeout=30)
    ((name, left),) = files_in(folder).items()
    assert re.fullmatch(rf"bbq/data/\.Age\.jsonl\.\w*-{program.pid}\.part", name)
    assert left == LONG[:MIDDLE]
    get(server, folder)
    assert server.ranges(AGE) == [None, f"bytes={MIDDLE}-"]
    assert files_in(folder) == FILES


def test_the_part_of_a_program_that_was_killed_when_the_file_was_whole_is_removed(server: Server, folder: Path) -> None:
    get(server, folder)
    leave_part(folder, AGE, LONG, "a-1")
    get(server, folder)
    assert server.ranges(AGE) == [None]
    assert files_in(folder) == FILES


def test_the_longest_part_is_taken_and_the_others_removed(server: Server, folder: Path) -> None:
    leave_part(folder, AGE, LONG[:1000], "a-1")
    leave_part(folder, AGE, LONG[:3000], "b-2")
    leave_part(folder, AGE, LONG[:2000], f"c-{os.getpid()}")
    get(server, folder)
    assert server.ranges(AGE) == ["bytes=3000-"]
    assert files_in(folder) == FILES


def test_a_part_that_is_complete_is_not_fetched_again(server: Server, folder: Path) -> None:
    leave_part(folder, AGE, LONG)
    get(server, folder)
    assert server.ranges(AGE) == []
    assert files_in(folder) == FILES


def test_a_server_that_ignores_ranges_begins_anew(server: Server, folder: Path) -> None:
    leave_part(folder, AGE, LONG[:1000])
    server.moods[AGE].append(whole)
    get(server, folder)
    assert server.ranges(AGE) == ["bytes=1000-"]
    assert files_in(folder) == FILES


def test_a_part_longer_than_the_file_begins_anew(server: Server, folder: Path) -> None:
    leave_part(folder, AGE, LONG + b"more")
    get(server, folder, tries=1)
    assert server.ranges(AGE) == [f"bytes={len(LONG) + 4}-", None]  # 416, and then
    assert files_in(folder) == FILES


def test_a_range_that_was_not_asked_for_begins_anew(server: Server, folder: Path) -> None:
    leave_part(folder, AGE, LONG[:1000])
    server.moods[AGE] += [shifted, sends(b"wrong")]  # the first does not count as wrong content: it is not looked at
    get(server, folder, tries=1)
    assert server.ranges(AGE) == ["bytes=1000-", None, None]
    assert files_in(folder) == FILES


def test_a_part_of_something_else_is_noticed_and_fetched_from_the_beginning(server: Server, folder: Path) -> None:
    leave_part(folder, AGE, b"x" * 1000)
    get(server, folder, tries=1)
    assert server.ranges(AGE) == ["bytes=1000-", None]
    assert files_in(folder) == FILES


def test_two_programs_at_once_both_finish(server: Server, folder: Path, manifest: Path) -> None:
    with a_program_that_waits(server, folder, manifest) as program:
        get(server, folder)
        server.release.set()  # the other one's connection ends; it goes on from its part, which has no name any more
        _, complaint = program.communicate(timeout=30)
    assert program.returncode == 0, complaint
    assert server.ranges(AGE) == [None, f"bytes={MIDDLE}-", f"bytes={MIDDLE}-"]
    assert files_in(folder) == FILES


def test_many_programs_at_once_leave_the_right_files_and_nothing_else(
    server: Server, folder: Path, manifest: Path
) -> None:
    command = [sys.executable, "-c", FETCH, str(manifest), str(folder), server.address]
    programs = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(4)]
    complaints = [program.communicate(timeout=60)[1] for program in programs]
    assert [program.returncode for program in programs] == [0] * 4, complaints
    assert files_in(folder) == FILES


# --- trying again, or not


@pytest.mark.parametrize("mood", [status(503), status(500), status(429), reset], ids=["503", "500", "429", "reset"])
def test_what_may_pass_is_tried_again(server: Server, folder: Path, mood: Mood) -> None:
    server.moods[AGE] += [mood, mood]
    get(server, folder, tries=3)
    assert len(server.ranges(AGE)) == 3
    assert files_in(folder) == FILES


def test_a_server_that_falls_silent_is_given_up_and_tried_again(server: Server, folder: Path) -> None:
    server.moods[AGE].append(stall(70_000))
    get(server, folder, timeout=0.3)
    assert server.ranges(AGE)[0] is None
    assert server.ranges(AGE)[1] is not None
    assert files_in(folder) == FILES


def test_silence_for_good_says_for_how_long(server: Server, folder: Path) -> None:
    server.moods[AGE] += [stall(0), stall(0)]
    error = fails(server, folder, "download-failed", UsageError, tries=2, timeout=0.2)
    assert "0.2 seconds" in error.problem
    assert files_in(folder) == {}


def test_an_error_that_does_not_pass_ends_after_the_last_try(server: Server, folder: Path) -> None:
    server.moods[AGE] += [status(503)] * 3
    error = fails(server, folder, "download-failed", UsageError, tries=3)
    assert " 503 " in error.problem
    assert "ASSAY_MIRROR" in error.remedy
    assert len(server.ranges(AGE)) == 3
    assert files_in(folder) == {}


def test_a_file_that_is_not_there_is_asked_for_once(server: Server, folder: Path) -> None:
    del server.files[SPACED]
    error = fails(server, folder, "download-failed", DataError)
    assert "new_templates%20-%20Age.csv: " in error.problem
    assert "(404)" in error.problem
    assert str(folder / SPACED) in error.remedy
    assert server.ranges(SPACED) == [None]
    assert files_in(folder).keys() == FILES.keys() - {SPACED}, "the others come"


def test_several_files_that_are_not_there_are_counted(server: Server, folder: Path) -> None:
    del server.files[AGE], server.files[SPACED]
    error = fails(server, folder, "download-failed", DataError)
    assert "Age.jsonl: " in error.problem
    assert " 1 more" in error.problem
    assert files_in(folder).keys() == {"bbq/LICENSE"}


@pytest.mark.parametrize("code", [400, 401, 403])
def test_a_refusal_is_not_tried_again(server: Server, folder: Path, code: int) -> None:
    server.moods[AGE].append(status(code))
    assert f" {code} " in fails(server, folder, "download-failed", UsageError).problem
    assert server.ranges(AGE) == [None]


def test_no_server_at_all_fails_at_once(server: Server, folder: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as gone:
        port = gone.server_address[1]
    server.address = f"http://127.0.0.1:{port}"
    began = time.monotonic()
    with raises("download-failed", UsageError) as failed:
        fetch(made_up(folder), folder, mirror=server.address)  # with the real pauses
    assert os.strerror(errno.ECONNREFUSED) in str(failed.value)
    assert time.monotonic() - began < 0.9
    assert files_in(folder) == {}


# --- redirects


def test_redirects_to_web_addresses_are_followed(server: Server, folder: Path) -> None:
    server.moods[AGE].append(redirect(f"{server.address}/some/repository/{COMMIT}/data/Age.jsonl"))
    get(server, folder, tries=1)
    assert files_in(folder) == FILES


@pytest.mark.parametrize("scheme", ["file", "ftp", "data"])
def test_redirects_to_anything_else_are_not(server: Server, folder: Path, tmp_path: Path, scheme: str) -> None:
    put(tmp_path, "age", LONG)
    target = {"file": f"file://{tmp_path}/age", "ftp": "ftp://127.0.0.1/age", "data": "data:text/plain,x"}[scheme]
    server.moods[AGE].append(redirect(target))
    error = fails(server, folder, "download-failed", UsageError)
    assert target in error.problem
    assert files_in(folder) == {}


def test_redirects_in_a_circle_end_with_one_line(server: Server, folder: Path) -> None:
    round_ = redirect(f"{server.address}/some/repository/{COMMIT}/data/Age.jsonl")
    server.moods[AGE] += [round_] * 30
    assert " 302 " in fails(server, folder, "download-failed", UsageError).problem


@pytest.mark.parametrize("target", ["http://[::1/x", "http://a:b/x", "http://" + "a" * 70 + ".org/x"])
def test_redirects_to_malformed_addresses_are_clear_errors(server: Server, folder: Path, target: str) -> None:
    server.moods[AGE] += [redirect(target)] * 9
    fails(server, folder, "download-failed", UsageError)
    assert files_in(folder) == {}


@pytest.mark.parametrize(
    "inwards", ["http://localhost/x", "http://10.0.0.1/x", "http://169.254.169.254/latest", "http://[::1]/x"]
)
def test_redirects_from_outside_do_not_lead_inwards(inwards: str) -> None:
    asked = request.Request("https://example.org/x")
    with pytest.raises(HTTPError, match="is not followed"):
        _HttpOnly().redirect_request(asked, io.BytesIO(), 302, "", HTTPMessage(), inwards)
    assert _HttpOnly().redirect_request(asked, io.BytesIO(), 302, "", HTTPMessage(), "https://example.com/y")


@pytest.mark.parametrize("host", ["127.1", "2130706433", "0x7f000001", "0177.0.0.1", "files.example.org", "127.0.0.1."])
@pytest.mark.parametrize("hops", [1, 2])
@TWO_ADDRESSES
def test_nor_do_names_and_numbers_that_stand_for_this_machine(
    server: Server, folder: Path, host: str, hops: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here 127.0.0.2 is outside, and files.example.org is a name that its owner gave to 127.0.0.1."""
    from assay.datasets import download as module

    real, look_up = module._is_local, socket.getaddrinfo
    monkeypatch.setattr(module, "_is_local", lambda host: host != "127.0.0.2" and real(host))
    named = {"files.example.org": "127.0.0.1"}
    monkeypatch.setattr(socket, "getaddrinfo", lambda name, *rest: look_up(named.get(name, name), *rest))
    with serving("127.0.0.2") as outside:
        place = f"/some/repository/{COMMIT}/data/Age.jsonl"
        inwards = server.address.replace("127.0.0.1", host) + place
        outside.moods[AGE] += [redirect(outside.address + place)] * (hops - 1) + [redirect(inwards)]
        error = fails(outside, folder, "download-failed", UsageError, tries=1)
    assert host in error.problem
    assert server.lines == [], "nothing was sent"
    assert files_in(folder) == {}


def test_servers_inside_may_redirect_to_each_other(
    server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look_up = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda name, *rest: look_up("127.0.0.1", *rest))
    address = server.address
    server.address = address.replace("127.0.0.1", "mirror.example.org")
    target = f"{address.replace('127.0.0.1', 'files.example.org')}/some/repository/{COMMIT}/data/Age.jsonl"
    server.moods[AGE].append(redirect(target))
    get(server, folder, tries=1)
    assert files_in(folder) == FILES


@TWO_ADDRESSES
def test_another_host_is_told_nothing_but_what_is_wanted(
    server: Server, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".netrc").write_text("default login me password secret\n", encoding="ascii")

    def mood(handler: Handler, content: bytes) -> None:
        target = f"{other.address}/some/repository/{COMMIT}/data/Age.jsonl"
        handler.answer(302, b"", Location=target, Set_Cookie="a=secret", WWW_Authenticate="Basic realm=x")

    with serving("127.0.0.2") as other:
        server.moods[AGE].append(mood)
        get(server, folder, tries=1)
        assert other.ranges(AGE) == [None]
        assert other.headers == {"Host", "User-Agent", "Accept-Encoding", "Connection"}
    assert files_in(folder) == FILES


FLOODS = {
    "a long header": (b"X: ", b"x" * 65_536),
    "many headers": (b"", b"X: x\r\n" * 1000),
    "a long status": (None, b"x" * 65_536),
    "many beginnings": (None, b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
    "other bytes": (None, bytes(range(256)) * 256),
}


@pytest.mark.parametrize(("before", "piece"), FLOODS.values(), ids=FLOODS)
def test_a_server_that_never_comes_to_the_point_is_left(
    server: Server, folder: Path, before: bytes | None, piece: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.datasets import download as module

    monkeypatch.setattr(module, "_SLOW_START", 0.5)

    def flood(handler: Handler, content: bytes) -> None:
        handler.wfile.write(b"" if before is None else b"HTTP/1.1 200 OK\r\n" + before)
        while not server.release.wait(0.01):
            handler.wfile.write(piece)

    server.moods[AGE] += [flood] * 9
    began = time.monotonic()
    error = fails(server, folder, "download-failed", UsageError, tries=2, timeout=0.5)
    assert time.monotonic() - began < 20
    assert error.problem.isprintable()
    assert len(error.problem) < 600
    assert files_in(folder) == {}


@pytest.mark.slow
@pytest.mark.parametrize("where", ["headers", "body", "chunks"])
def test_a_server_that_drips_bytes_is_left(
    server: Server, folder: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.datasets import download as module

    monkeypatch.setattr(module, "_SLOW_START", 0.5)

    def drip(handler: Handler, content: bytes) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
        if where == "body":
            handler.wfile.write(b"Content-Length: 1000000\r\n\r\n")
        elif where == "chunks":
            handler.wfile.write(b"Transfer-Encoding: chunked\r\n\r\n")
        while not server.release.wait(0.05):
            handler.wfile.write(b"0" if where == "chunks" else b"x")
            handler.wfile.flush()

    server.moods[AGE] += [drip] * 9
    began = time.monotonic()
    error = fails(server, folder, "download-failed", UsageError, tries=2, timeout=0.5)
    assert time.monotonic() - began < 20
    assert "bytes a second" in error.problem


def test_what_a_server_says_reaches_no_terminal_as_control_sequences(server: Server, folder: Path) -> None:
    def rude(handler: Handler, content: bytes) -> None:
        handler.wfile.write(b"HTTP/1.1 403 \x1b]0;owned\x07\x1b[2J\r\nContent-Length: 0\r\n\r\n")

    server.moods[AGE] += [rude] * 9
    error = fails(server, folder, "download-failed", UsageError)
    assert "403" in error.problem
    assert "\x1b" not in str(error)


# --- wrong content


def test_wrong_content_is_fetched_once_more(server: Server, folder: Path) -> None:
    server.moods[AGE].append(sends(b"a login page"))
    get(server, folder, tries=1)
    assert server.ranges(AGE) == [None, None]
    assert files_in(folder) == FILES


@pytest.mark.parametrize("before", [b"", LONG[:1000]], ids=["fresh", "continued"])
def test_content_that_stays_wrong_is_an_error_and_leaves_no_file(server: Server, folder: Path, before: bytes) -> None:
    if before:
        leave_part(folder, AGE, before)
    wrong = LONG[:-1] + b"!"
    server.files[AGE] = wrong
    error = fails(server, folder, "wrong-download", DataError)
    assert blob_id(wrong) in error.problem
    assert blob_id(LONG) in error.problem
    assert len(server.ranges(AGE)) == 2
    assert files_in(folder).keys() == FILES.keys() - {AGE}


def test_a_wrong_file_is_replaced_and_named(server: Server, folder: Path) -> None:
    path = put(folder, AGE, b"somebody's edits")
    done = get(server, folder)
    assert files_in(folder) == FILES
    assert done.replaced == (path,)
    assert path not in done.new


def test_a_wrong_compressed_file_gives_way_to_the_right_one(server: Server, folder: Path) -> None:
    packed = put(folder, f"{AGE}.gz", gzip.compress(b"other"))
    assert get(server, folder).replaced == (packed,)
    assert files_in(folder) == FILES


@pytest.mark.parametrize("right", [AGE, f"{AGE}.gz"], ids=["plain", "compressed"])
def test_beside_a_right_form_the_wrong_one_goes_without_a_download(server: Server, folder: Path, right: str) -> None:
    contents = {AGE: b"other", f"{AGE}.gz": gzip.compress(b"other")}
    contents[right] = LONG if right == AGE else gzip.compress(LONG)
    paths = {place: put(folder, place, content) for place, content in contents.items()}
    done = get(server, folder)
    assert server.ranges(AGE) == []
    assert done.kept == (paths.pop(right),)
    assert done.replaced == tuple(paths.values())
    assert {state.state for state in verify(made_up(folder), folder)} == {"ok"}


def test_two_wrong_forms_give_way_to_one_right_file(server: Server, folder: Path) -> None:
    wrong = (put(folder, AGE, b"other"), put(folder, f"{AGE}.gz", b"other"))
    assert get(server, folder).replaced == wrong
    assert files_in(folder) == FILES


@pytest.mark.parametrize("place", [AGE, f"{AGE}.gz"])
def test_a_wrong_file_stays_until_the_right_one_is_there(server: Server, folder: Path, place: str) -> None:
    put(folder, place, b"somebody's edits")
    server.files[AGE] = b"wrong as well"
    fails(server, folder, "wrong-download", DataError)
    assert files_in(folder) == {place: b"somebody's edits"} | {other: FILES[other] for other in FILES if other != AGE}


def test_a_server_that_never_ends_is_left(server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from assay.datasets import download as module

    monkeypatch.setattr(module, "LARGEST", 100_000)
    error = fails(server, folder, "wrong-download", DataError)
    assert "100,000" in error.problem
    assert files_in(folder).keys() == FILES.keys() - {AGE}


# --- the disk


def test_a_folder_that_may_not_be_written_is_a_clear_error(server: Server, folder: Path) -> None:
    folder.mkdir(parents=True)
    folder.chmod(0o555)
    try:
        if os.access(folder, os.W_OK):
            pytest.skip("this user may write everywhere")
        error = fails(server, folder, "cannot-write", UsageError)
    finally:
        folder.chmod(0o755)
    assert error.file == folder / AGE
    assert os.strerror(errno.EACCES) in error.problem
    assert "--data or ASSAY_DATA" in error.remedy
    assert server.asked == [], "nothing is downloaded that cannot be kept"


def test_a_file_in_the_folders_place_is_a_clear_error(server: Server, folder: Path) -> None:
    put(folder.parent, folder.name, b"")
    error = fails(server, folder, "cannot-write", UsageError)
    assert error.file == folder / AGE
    assert "--data or ASSAY_DATA" in error.remedy
    assert server.asked == []


def test_a_full_disk_is_a_clear_error_about_the_data_folder(
    server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    error = fails(server, folder, "no-space", UsageError)
    assert error.file == folder / AGE
    assert error.problem.count(str(error.file)) == 1
    assert "--data or ASSAY_DATA" in error.remedy
    assert "--out" not in error.remedy
    assert AGE not in files_in(folder)


def test_a_complete_folder_that_may_not_be_written_is_fine(server: Server, folder: Path) -> None:
    get(server, folder)
    folders = [folder, *(path for path in folder.rglob("*") if path.is_dir())]
    for path in folders:
        path.chmod(0o555)
    try:
        assert len(get(server, folder).kept) == 3
    finally:
        for path in folders:
            path.chmod(0o755)
