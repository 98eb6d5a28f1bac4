"""JBBQ (Yanaka et al. 2025): five of BBQ's categories in Japanese, with its fields and `is_additional`.

Its authors send the files on request, and nobody else may pass them on. This reads what their README describes.
"""

from __future__ import annotations

from assay.probes.bbq.editions import Edition, EditionRow, files_at
from assay.probes.bbq.read_items import RowFields, each_row, example_of
from assay.probes.bbq.targets import find_targets

_REMEDY = "Every row needs the fields of BBQ's files, as JBBQ's README describes them."


def _read(fields: RowFields) -> EditionRow:
    example = example_of(fields.row, fields.path, fields.line)
    return EditionRow(example, int(find_targets([example])[0]))


EDITION = Edition(
    name="jbbq",
    title="JBBQ",
    paper="Hitomi Yanaka, Namgi Han, Ryoma Kumon, Jie Lu, Masashi Takeshita, Ryo Sekizawa, Taisei Kato and Hiromi "
    "Arai. 2025. JBBQ: Japanese Bias Benchmark for Analyzing Social Biases in Large Language Models. In Proceedings of "
    "the 6th Workshop on Gender Bias in Natural Language Processing. arXiv:2406.02050",
    languages=("ja",),
    find=lambda path, language: files_at(path, "jbbq", r"\w+\.jsonl"),
    read=lambda path, bad: each_row(path, bad, _REMEDY, _read),
    on_real_files=False,
    culture="Japan",
)
