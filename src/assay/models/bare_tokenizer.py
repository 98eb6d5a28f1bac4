"""A tokenizer.json without transformers: what `Encoder` needs, from the tokenizers library alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


class BareTokenizer:
    """A `FastTokenizer` for one tokenizer.json. The file says which tokens are special, but not what each is for."""

    def __init__(self, file: Path, *, mask_token: str, pad_token: str) -> None:
        from tokenizers import Tokenizer

        backend = Tokenizer.from_file(str(file))
        backend.no_truncation()
        backend.no_padding()
        self.backend_tokenizer: Any = backend
        self.mask_token = mask_token
        self.pad_token_id: int = backend.token_to_id(pad_token)
        added = backend.get_added_tokens_decoder().values()
        self.all_special_tokens: Sequence[str] = [token.content for token in added if token.special]
        unknown = getattr(backend.model, "unk_token", None)
        self.unk_token_id: int | None = None if unknown is None else backend.token_to_id(unknown)

    def __call__(self, text: str, text_pair: str | None = None) -> Mapping[str, Any]:
        return {"input_ids": self.backend_tokenizer.encode(text, text_pair).ids}
