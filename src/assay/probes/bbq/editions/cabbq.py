"""CaBBQ (Ruiz-Fernández et al. 2025): EsBBQ's questions in Catalan, in the same format."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from assay.probes.bbq.editions import esbbq

UNKNOWN = (
    *("No hi ha prou informació", "No hi ha informació suficient", "No ho sé", "No sé", "Falta informació"),
    *("No es pot respondre", "No se sap", "No es pot saber", "No es pot determinar"),
)

EDITION = replace(
    esbbq.EDITION,
    name="cabbq",
    title="CaBBQ",
    languages=("ca",),
    find=partial(esbbq.files, "cabbq", "data_ca"),
    read=partial(esbbq.read, UNKNOWN),
    on_real_files=False,
    parallel="esbbq",
)
