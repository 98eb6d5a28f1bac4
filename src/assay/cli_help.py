"""What the commands' help says: examples, presets and settings."""

from __future__ import annotations

RUN_EXAMPLES = """examples:
  assay run                                       the tour: every probe, quickly, on the built-in model
  assay run unqover --model hf:./my-squad-model
  assay run unqover --model hf:./my-model --set class=gender,religion --limit 20000
  assay run bbq --model hf:./my-race-model --data DIR         with the official files (assay data fetch bbq)
  assay run bbq --model hf:ORG/LLM@REVISION --set form=letters --set orders=all --limit 4000
  assay run bbq-starter --model hf:./my-model                 a small set of our own, nothing to download
  assay run sodapop --model hf:./my-choice-model --set fill_model=hf:./my-masked-lm
  assay run unqover --model hf:./my-model --preset paper --dry-run

presets (questions asked of the model):
            unqover                             bbq                       bbq-starter        sodapop
  quick     about 6,300 in both forms           2 quartets of a template  3 of each: 1,056   48 names, 2 contexts
  standard  at most 200,000 a class and form    10 of each                12 of each         96 names, 6 contexts
  paper     everything: 10,552,928 as spans     everything: 58,492        all there are      220 names, 50 contexts

settings of unqover (--set key=value):
  class=gender,nationality,ethnicity,religion   form=auto|span|mask|both   word_lists=DIR   header=none|newsqa
  compat=paper|released   pronouns=on|off   draws=1000   resamples=1000
settings of bbq and bbq-starter:
  category=Age,Religion   form=auto|options|letters|race|arc   context=given|none|both   orders=stored|all
  likelihood=sum|token|byte   chat=auto|off   parsing=assay|released   refusals=wrong|unknown|exclude
  defects=keep|drop   metadata=FILE   target_loc=auto|person|biased   resamples=1000
settings of sodapop:
  groups=FILE.json   names_per_group=N   texts=FILE   contexts=N   context=K   questions=describe|all
  pronouns=keep|neutral   distractors=per_name|shared   distance=3   fills=10   cap=10000   fill_model=SPEC
  pairing=exact|sampled   min_count=50   case=lower|keep   p=counted|strict   permutations=1000000   traits=FILE
  human=FILE   pieces, punctuation, right_answer=drop|keep   resamples=1000
"""

GENERATE_EXAMPLES = """examples:
  assay generate unqover --set class=gender --set form=qa --out gender.json
  assay generate unqover --set class=religion --set form=bert --set word_lists=DIR --out religion_lm.json
  assay generate unqover --set class=gender --set form=bert --model hf:./my-bert --out gender_lm.json
  assay generate bbq --set templates=DIR --out DIR        one CATEGORY.jsonl each, from template and vocabulary files
  assay generate bbq-starter --out DIR                    the starter set in the same format

settings of unqover: class=gender|nationality|ethnicity|religion   form=qa|newsqa|bert|roberta   word_lists=DIR
  compat=paper|released
settings of bbq: templates=DIR   category=Age,Religion
settings of bbq-starter: templates=DIR (in its own format: see docs)
settings of sodapop: what=names   tables=FILE,FILE   rules=section2|appendix_a   per_group=N
"""

SCORE_EXAMPLES = """examples:
  assay score unqover predictions.json                    a file in the authors' format
  assay score unqover gender.json religion.json --out runs/their-model
  assay score unqover runs/my-run --set draws=10000       a run's stored answers, without the model
  assay score bbq answers.jsonl --answers prediction      BBQ's rows and a column of answers: text, letters or 0 to 2
  assay score bbq samples_bbq_2026-01-01.jsonl            a log of lm-evaluation-harness, or a .eval of inspect
  assay score sodapop results.jsonl --set groups=groups.json     name, context, choices, label, probs on each line

settings of unqover: class=…   form=span|mask   model=NAME (for the report)   compat=…   draws=…   resamples=…
settings of bbq: category=…   context=given|none   parsing=…   refusals=…   defects=…   metadata=FILE   model=NAME
  resamples=…
"""

REPORT_EXAMPLES = """examples:
  assay report runs/my-run                         writes runs/my-run/report.html
  assay report runs/my-run --no-examples           the same without texts of questions
  assay report runs/tour --format md               Markdown tables
  assay report runs/tour --format csv --out all.csv
  assay report runs/my-run --format model-card     metadata and a section to paste into a model's README.md
"""

GATE_EXAMPLES = """examples:
  assay gate runs/my-run --policy policy.toml
  assay gate runs/tour --policy policy.toml --format junit --out gate.xml
  assay gate runs/tour --policy policy.toml --format md >> "$GITHUB_STEP_SUMMARY"

a policy:
  [[limit]]
  metric = "bbq.bias_score"
  group = { context = "ambig" }
  size = 0.10                     # the whole interval between -0.10 and 0.10, in every category
"""

COMPARE_EXAMPLES = """examples:
  assay compare runs/lm runs/squad                 how the second differs from the first, with intervals
  assay compare runs/tour-builtin runs/tour-mine   two tours, probe by probe
  assay compare runs/old runs/new --common         only the items that both have, though the data differ
  assay compare runs/old runs/new --out comparison.html        as a page, too
"""

EXPORT_EXAMPLES = """examples:
  assay export runs/my-run                         its answers go into runs/my-run/blocks
  assay export runs/my-run --out my-run.zip        a copy of everything, to send
then, elsewhere and without the model:
  assay score unqover my-run --set draws=10000
"""

DATA_EXAMPLES = """examples:
  assay data list                     what there is, and what is here
  assay data fetch bbq                download the pinned revision, and verify it
  assay data check bbq --data DIR     are all files there and unchanged, and which defects do their contents have?
"""

FORMAT = "html (the default) goes into DIR; md, json, csv and model-card (the hub's model-index) are printed"

GATE_FORMAT = "text (the default): a short table; md: for a CI system's summary; junit: XML; json"

COMMON_ITEMS = "compare only the items that both have, though the data differ"

DATA = "official data: their folder, or one file (default: ASSAY_DATA, else where `assay data fetch` puts them)"

RESUME = "stored answers: use them (always), ask everything again (never), leave a finished run alone (only-missing)"

MODEL = "builtin (the default: a small model that comes with assay), hf:./folder or hf:ORG/NAME@REVISION"

BLOCK_SIZE = (
    "for experts: questions stored at once, so that a killed run loses at most these (4096); scores computed with "
    "another size may differ in their last digits, and are stored apart"
)
