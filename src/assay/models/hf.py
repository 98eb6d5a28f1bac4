"""`hf:` models: whatever transformers' Auto classes load, from a folder or from the hub.

| questions                     | class of transformers         | here            |
|-------------------------------|-------------------------------|-----------------|
| span                          | AutoModelForQuestionAnswering | `hf_encoder.py` |
| masked                        | AutoModelForMaskedLM          | `hf_encoder.py` |
| with options                  | AutoModelForMultipleChoice    | `hf_encoder.py` |
| prompts                       | AutoModelForSeq2SeqLM         | `hf_text.py`    |
| with options, and prompts     | AutoModelForCausalLM          | `hf_causal.py`  |

Weights are read from safetensors and no code of the model's author runs, unless that is asked for.
"""

from __future__ import annotations

from assay.models.base import ModelSpec
from assay.models.hf_base import HFModel
from assay.models.hf_causal import CausalModel
from assay.models.hf_encoder import EncoderModel
from assay.models.hf_files import find
from assay.models.hf_text import TextModel

HELP = "hf:ORG/NAME[@REVISION] or hf:./folder: any model that transformers loads"

__all__ = ["HELP", "find", "load"]


def load(spec: ModelSpec) -> HFModel:
    """Load weights and tokenizer onto the device."""
    if "text" not in spec.abilities:
        return EncoderModel(spec)
    return CausalModel(spec) if "choice" in spec.abilities else TextModel(spec)
