"""Models behind endpoints that speak OpenAI's protocol, or one for decisions: hosted services, vLLM, llama.cpp, ….

| module              | holds                                                                  |
|---------------------|------------------------------------------------------------------------|
| `address.py`        | NAME@URL, and the key                                                  |
| `client.py`         | one request over HTTP: which errors are final or can be retried; the   |
|                     | key is removed from what comes back                                    |
| `dialects/`         | the wire formats: what is posted for a query, and what a reply says    |
| `fields.py`         | typed access to the fields of a reply                                  |
| `detect_dialect.py` | tests which of them an endpoint speaks, and remembers it               |
| `model.py`          | the model: queries to calls, replies to answers                        |

The engine handles retries, concurrency, the journal and the budget.
"""

from __future__ import annotations

from assay.asking.plan import digest_of
from assay.models.api.address import Address
from assay.models.api.model import ApiModel
from assay.models.base import ModelSpec, Options

HELP = "api:NAME@URL: a model behind an OpenAI-compatible endpoint, such as api:MODEL@http://localhost:8000/v1"

DECODING = 1
"""Part of a model's digest: raise it when the same question is posted with other settings."""


def find(name: str, rest: str, options: Options) -> ModelSpec:
    """A model and what its endpoint can do, as tested when it was first used."""
    from assay.models.api.detect_dialect import abilities_of, detect_endpoint

    address = Address.of(rest, options.key_env)
    endpoint = detect_endpoint(address, send=options.send, again=options.again)
    decoding = {"limit": endpoint.limit_key, "without": endpoint.without, "top": endpoint.top, "decoding": DECODING}
    digest = digest_of({"url": address.url, "model": address.model, **decoding, "continued": endpoint.continued})
    return ModelSpec(name, "api", address.url, digest, abilities_of(endpoint), "remote", "none", endpoint=endpoint)


def load(spec: ModelSpec) -> ApiModel:
    return ApiModel(spec)
