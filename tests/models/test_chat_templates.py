"""Chat templates are other people's programs: they run in a process with limits, and give what transformers gives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from assay.errors import ModelError
from assay.files.child_environment import HARMLESS
from assay.models import chat_templates
from assay.models.chat_templates import rendered
from raising import raises

pytestmark = pytest.mark.slow

ECHO = (
    "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}<a>{% endif %}"
)
TOKENS = {"bos_token": "<s>"}


def talk(*texts: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text} for text in texts]


def test_every_conversation_becomes_the_prompt_that_transformers_makes() -> None:
    from transformers.utils.chat_template_utils import render_jinja_template

    talks = [talk("Who left?"), talk('"Ä\n\u2028" \\', "𝄞", "")]
    expected, _ = render_jinja_template(talks, chat_template=ECHO, add_generation_prompt=True, **TOKENS)
    assert rendered(ECHO, TOKENS, talks) == expected
    assert expected[0] == "<s><user>Who left?<a>"
    assert rendered(ECHO, TOKENS, []) == []


DOUBLED = "{% set a = namespace(x=START) %}{% for b in range(40) %}{% set a.x = TWICE %}{% endfor %}"
ENDLESS = {
    "macros": "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
    "loops": "{% set a = range(99999) | list %}{% for b in a %}{% for c in a %}{% endfor %}{% endfor %}",
    "one power": "{{ 9 ** (9 ** 9) % 7 }}",
    "a global": "{{ lipsum(n=10 ** 9) }}",
}
TOO_LARGE = {
    "one product": "{{ ('x' * 10 ** 10) | length }}",
    "one format": "{{ ('%9999999999d' % 1) | length }}",
    "texts": DOUBLED.replace("START", "'x'").replace("TWICE", "a.x ~ a.x"),
    "lists": DOUBLED.replace("START", "[]").replace("TWICE", "a.x + a.x + [1]"),
}
FAILING = {
    "a range": ("{% for a in range(10 ** 9) %}{% endfor %}", "Range too big"),
    "recursion": ("{% for a in [[1] * 9] * 9 recursive %}{{ loop([[1] * 9] * 9) }}{% endfor %}", "recursion"),
    "a long prompt": ("{{ 'x' * 70000000 }}", "longer than 67,108,864 characters"),
    "its own exception": ("{{ raise_exception('only in pairs') }}", "only in pairs"),
    "syntax": ("{% for %}", "Expected an expression"),
    "no text": (3, "."),
}


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_templates, "SECONDS", 0.1)


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("template", ENDLESS.values(), ids=ENDLESS)
def test_a_template_that_would_never_end_is_ended(template: str) -> None:
    with pytest.raises(RuntimeError, match=r"^it takes more than 0\.1 seconds$"):
        rendered(template, TOKENS, [talk("a")])


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process")
@pytest.mark.parametrize("template", TOO_LARGE.values(), ids=TOO_LARGE)
def test_a_template_that_would_fill_the_memory_is_ended(template: str) -> None:
    with pytest.raises(RuntimeError, match=r"^it needs more than 512 MB of memory$"):
        rendered(template, TOKENS, [talk("a")])


@pytest.mark.parametrize(("template", "why"), FAILING.values(), ids=FAILING)
def test_a_template_that_fails_says_why(template: Any, why: str) -> None:
    with pytest.raises(RuntimeError, match=why):
        rendered(template, TOKENS, [talk("a")])


@pytest.mark.parametrize("template", [ENDLESS["one power"], TOO_LARGE["one product"], FAILING["syntax"][0]])
def test_the_next_template_works(template: str, hurried: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError):
        rendered(template, TOKENS, [talk("a"), talk("b")])
    monkeypatch.undo()
    assert rendered(ECHO, TOKENS, [talk("c")]) == ["<s><user>c<a>"]


def test_one_conversation_that_fails_is_enough() -> None:
    fails_at_b = "{% if messages[0].content == 'b' %}{{ raise_exception('not b') }}{% endif %}" + ECHO
    with pytest.raises(RuntimeError, match="not b"):
        rendered(fails_at_b, TOKENS, [talk("a"), talk("b"), talk("c")])


def test_many_conversations_keep_their_order() -> None:
    numbers = range(3 * chat_templates.ASKED + 1)
    assert rendered(ECHO, TOKENS, [talk(str(n)) for n in numbers]) == [f"<s><user>{n}<a>" for n in numbers]


def test_threads_take_turns() -> None:
    with ThreadPoolExecutor(8) as pool:
        made = [*pool.map(lambda n: rendered(ECHO, TOKENS, [talk(str(n)), talk(f"{n}b")]), range(40))]
    assert made == [[f"<s><user>{n}<a>", f"<s><user>{n}b<a>"] for n in range(40)]


def test_after_an_interruption_answers_are_those_to_the_new_request(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(process: object) -> None:
        raise KeyboardInterrupt

    rendered(ECHO, TOKENS, [talk("a")])
    monkeypatch.setattr(chat_templates, "_next", interrupted)
    with pytest.raises(KeyboardInterrupt):
        rendered(ECHO, TOKENS, [talk("b")])
    monkeypatch.undo()
    assert rendered(ECHO, TOKENS, [talk("c")]) == ["<s><user>c<a>"]


def test_where_its_program_cannot_run_that_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    chat_templates._PROCESS.stop()
    monkeypatch.setattr(chat_templates, "PROGRAM", tmp_path / "missing.py")
    with raises("cannot-load", ModelError):
        rendered(ECHO, TOKENS, [talk("a")])


def test_its_program_gets_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even one whose name says nothing: it gets what is on a list, such as the time zone, and nothing else."""
    for name in ("OPENAI_API_KEY", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "MY_WORD", "LC_MINE", "TZ", "LANG"):
        monkeypatch.setenv(name, "UTC")
    chat_templates._PROCESS.stop()
    try:
        assert rendered(ECHO, TOKENS, [talk("a")]) == ["<s><user>a<a>"]
        started = chat_templates._PROCESS._started
        assert started is not None
        environment = psutil.Process(started.pid).environ()
    finally:
        chat_templates._PROCESS.stop()
    assert set(environment) <= HARMLESS | {"PYTHONPATH", "HF_HUB_OFFLINE"}
    assert environment["TZ"] == environment["LANG"] == "UTC"
    assert environment["PATH"] == os.environ["PATH"]


USER = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore it
from assay.models import chat_templates
from assay.models.chat_templates import rendered
chat_templates.SECONDS = 1
rendered("", {}, [[{"role": "user", "content": "a"}]])
print("ready", flush=True)
rendered(sys.argv[1], {}, [[{"role": "user", "content": "a"}]])
print("done", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("busy", [False, True])
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGKILL])
def test_the_process_ends_with_the_one_that_started_it(busy: bool, by: signal.Signals) -> None:
    command = [sys.executable, "-c", USER, ENDLESS["loops"] if busy else ""]
    own = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, env=own, start_new_session=True) as user:
        assert user.stdout is not None
        assert user.stdout.readline() == b"ready\n"
        (child,) = psutil.Process(user.pid).children()
        assert busy or user.stdout.readline() == b"done\n"
        os.killpg(user.pid, by) if by is signal.SIGINT else user.kill()
        user.wait(30)
        _, alive = psutil.wait_procs([child], timeout=30)
        assert not alive
