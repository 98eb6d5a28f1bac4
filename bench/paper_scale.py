"""A whole audit at the paper's scale: every question of a class, with analysis and report.

    python bench/paper_scale.py --device cuda --dtype bfloat16                  all 5,488,000 questions about gender
    python bench/paper_scale.py --class religion --form mask                    154,000 masked sentences

A random BERT of base size (12 layers, 768 wide) answers through `assay.audit`, as a user's model would.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

from assay.models.base import Options
from assay.progress import Lines
from assay.runs.audit import audit
from sized import SIZES, sized


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--class", dest="cls", default="gender")
    parser.add_argument("--form", choices=("span", "mask"), default="span")
    parser.add_argument("--size", choices=SIZES, default="base")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--quick", action="store_true", help="religion and a small model")
    options = parser.parse_args()
    cls, size = ("religion", "mini") if options.quick else (options.cls, options.size)
    with tempfile.TemporaryDirectory() as place:
        os.environ["ASSAY_CACHE"] = f"{place}/cache"
        folder = sized(Path(place) / "model", options.form, SIZES[size])
        began = time.perf_counter()
        run = audit(
            f"hf:{folder}",
            "unqover",
            preset="quick" if options.quick else "paper",
            settings={"class": cls, "form": options.form},
            options=Options(options.device, options.dtype),
            out=Path(place) / "run",
            progress=Lines(),
        )
        seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    questions, model = run.info.questions or 0, run.info.model
    print(f"{cls} ({options.form}), {model.device} {model.dtype}: {questions:,} questions in {seconds:,.0f} s")
    print(f"  {questions / seconds:,.0f} questions/s from start to report, peak host memory {peak / 1e6:,.0f} MB")


if __name__ == "__main__":
    main()
