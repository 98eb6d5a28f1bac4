"""Studies: many models, some made on the way, asked many probes, from one file; with one page over everything.

file.py        what a study file says, and who came from whom
schedule.py    who is made from whom, what is asked of whom, in which order
steps.py       the three kinds of steps: make a model, run a probe, compare two runs
prepare.py     files and models found, everything checked, counted and digested before anything runs
work.py        who trains, debiases and audits; one step, in this process or in another
record.py      study.json: what was done, from which recipes
run_study.py   all of it in its order: `study` and `plan`
page.py        report.html: models, probes, and what changed against the models that they are compared with
"""

from __future__ import annotations

from assay.lab.studies.run_study import StepFailure, StudyListener, StudyPreview, StudyResult, plan, require_jobs, study
from assay.lab.studies.step_context import StudyActions
from assay.lab.studies.study_file import packaged_studies, read_study
from assay.lab.studies.study_record import StepState

__all__ = ["StepFailure", "StepState", "StudyActions", "StudyListener", "StudyPreview", "StudyResult"]
__all__ += ["packaged_studies", "plan", "read_study", "require_jobs", "study"]
