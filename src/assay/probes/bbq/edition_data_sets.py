"""Where the files of BBQ's relatives come from: assay fetches those that it can pin, users bring the others."""

from __future__ import annotations

from pathlib import Path

from assay.datasets.catalogue import DataSet

FAMILY = "bbq_family"
_PINNED = Path(__file__).parents[2] / "data" / "editions"
_GITHUB = "https://github.com"


def _data_set(name: str, description: str, licence: str, *, bring: str = "") -> DataSet:
    pinned = None if bring else _PINNED / f"{name}.tsv"
    return DataSet(name, description, licence, pinned, "assay.probes.bbq.defects:edition_content_lines", bring, FAMILY)


DATA_SETS = (
    _data_set("kobbq", "KoBBQ (Jin et al. 2024), Korean: the 2,280 questions of its test set", "MIT"),
    _data_set("esbbq", "EsBBQ (Ruiz-Fernández et al. 2025), Spanish: 27,320 questions", "Apache-2.0"),
    _data_set("ggbbq", "GG-BBQ (Satheesh et al. 2025), German: 11,868 questions about gender", "CC-BY-4.0"),
    _data_set("cabbq", "CaBBQ (Ruiz-Fernández et al. 2025), Catalan: 27,344 questions", "Apache-2.0"),
    _data_set(
        "mbbq",
        "MBBQ (Neplenbroek et al. 2024), English, Spanish, Dutch, Turkish: 10,088 questions each, and a control set",
        "none stated",
        bring=f"its repository states no licence. The files are data/*.jsonl of {_GITHUB}/Veranep/MBBQ.",
    ),
    _data_set(
        "basqbbq",
        "BasqBBQ (Zulaika and Saralegi 2025), Basque: eight categories",
        "CC-BY-NC-SA-4.0",
        bring="it knows no ids to verify the files by, and their licence excludes commercial use. They are "
        f"data/BasqBBQ/*.jsonl of {_GITHUB}/orai-nlp/BasqBBQ.",
    ),
    _data_set(
        "bharatbbq",
        "BharatBBQ (Tomar et al. 2025), India, in English: 54,048 questions",
        "none stated",
        bring="its repository states no licence. The files are BharatBBQ_Dataset/Examples/*_examples.csv of "
        f"{_GITHUB}/sahoonihar/BharatBBQ.",
    ),
    _data_set(
        "jbbq",
        "JBBQ (Yanaka et al. 2025), Japanese: 50,856 questions",
        "on request",
        bring=f"its authors send it on request, and nobody else may pass it on: see {_GITHUB}/ynklab/JBBQ_data.",
    ),
)
