"""The program that `chat_templates.py` starts: answers requests to run chat templates, which come by standard input.

It has its own limits. Where a prompt takes too long, the process ends, whatever it is doing; where the template needs
too much memory, Python says so (on Linux). It imports nothing from assay, which need not be on its path.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

MEGABYTES = 512
"""What a template may need, in addition to the libraries."""
LONGEST = 1 << 26
"""The most characters of the prompts of a request."""


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever started this, whose end closes standard input
    from transformers.utils.chat_template_utils import render_jinja_template

    _limit_memory()
    with Path(os.devnull).open("wb") as nowhere:
        _say({"ready": True})
        for line in sys.stdin.buffer:
            request = json.loads(line)
            faulthandler.dump_traceback_later(request["seconds"], exit=True, file=nowhere)  # even within one step
            answer = _answer(render_jinja_template, request)
            faulthandler.cancel_dump_traceback_later()
            _say(answer)


def _answer(render: Any, request: Any) -> dict[str, Any]:
    """The prompts, or why there are none."""
    texts: list[str] = []
    length = 0
    try:
        arguments = {"chat_template": request["template"], "add_generation_prompt": True, **request["tokens"]}
        for messages in request["conversations"]:
            texts += render(conversations=[messages], **arguments)[0]
            length += len(texts[-1])
            if length > LONGEST:
                return {"error": f"its prompts are longer than {LONGEST:,} characters"}
    except MemoryError:
        return {"error": f"it needs more than {MEGABYTES} MB of memory"}
    except Exception as error:  # a template may raise anything
        return {"error": (str(error).splitlines() or [type(error).__name__])[0]}
    return {"texts": texts}


def _limit_memory() -> None:
    """Where the system can: others than Linux have no such limit, or do not say how much is in use."""
    if sys.platform == "linux":
        import resource

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        most = pages * resource.getpagesize() + (MEGABYTES << 20)
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _say(answer: dict[str, Any]) -> None:
    sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
