"""Studies: many models, some made on the way, asked many probes, from one file; with one page over everything.

file.py           what a study file says
schedule.py       who is made from whom, what is asked of whom, in which order
steps.py          the three kinds of steps: make a model, run a probe, compare two runs
prepare.py        everything checked, counted and digested before anything runs
data_files.py, ready_models.py     the files and the ready models that it names
makers.py         who trains, debiases and audits
work.py, processes.py, runner.py   one step; in this process or in several; all steps, each when it can be done
record.py         study.json: what was done, from which recipes
run_study.py      all of it in its order: `study` and `plan`
lineage.py, task_scores.py         who came from whom, and what models score at their tasks
page.py, changes.py                report.html
"""

from __future__ import annotations

from assay.lab.studies.file import packaged_studies, read_study
from assay.lab.studies.makers import Makers
from assay.lab.studies.record import State
from assay.lab.studies.run_study import Planned, Studied, plan, require_jobs, study
from assay.lab.studies.runner import Failure, Told

__all__ = [
    "Failure",
    "Makers",
    "Planned",
    "State",
    "Studied",
    "Told",
    "packaged_studies",
    "plan",
    "read_study",
    "require_jobs",
    "study",
]
