"""The built-in model's arithmetic as ONNX graphs, written out by hand from ONNX's standard operators.

A graph traced from torch copies, transposes and renames weights; these take every tensor as it lies in
weights.safetensors, so the weights exist once, for onnxruntime and for transformers.

There are two, since onnxruntime computes all outputs of a graph, wanted or not. `everywhere` computes the last layer at
all positions. `places` computes it only where its heads look, at the given places and at the first position of every
row, which saves a seventh of the time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET, IR_VERSION = 17, 8

ROWS, PLACES = ("input_ids", "attention_mask", "token_type_ids"), "mask_places"
"""Inputs, int64: (row, position) each, and (place,), places among all positions of all rows, row by row."""


Axes = Mapping[str, Sequence[str | int]]


class Builder:
    """Nodes and constants of a graph in the making. Every method returns the name of what it adds."""

    def __init__(self, epsilon: float) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}
        self.epsilon = epsilon
        self._shared: dict[tuple[str, str], str] = {}

    def node(self, kind: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        output = output or f"{kind}.{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def constant(self, value: float | int | Sequence[int]) -> str:
        array = np.array(value, np.float32 if isinstance(value, float) else np.int64)
        name = f"constant {value}"
        self.constants[name] = numpy_helper.from_array(array, name)
        return name

    def shared(self, kind: str, name: str, **attributes: Any) -> str:
        """A node for a weight, made once however often it is asked for."""
        if (kind, name) not in self._shared:
            self._shared[kind, name] = self.node(kind, name, **attributes)
        return self._shared[kind, name]

    def float32(self, weight: str) -> str:
        return self.shared("Cast", weight, to=TensorProto.FLOAT)

    def rows(self, table: str, index: str) -> str:
        """Rows of a table of embeddings; only those become float32."""
        return self.float32(self.node("Gather", table, index))

    def linear(self, x: str, name: str) -> str:
        transposed = self.shared("Transpose", self.float32(f"{name}.weight"), perm=[1, 0])
        return self.node("Add", self.node("MatMul", x, transposed), self.float32(f"{name}.bias"))

    def norm(self, x: str, name: str) -> str:
        weight, bias = self.float32(f"{name}.weight"), self.float32(f"{name}.bias")
        return self.node("LayerNormalization", x, weight, bias, axis=-1, epsilon=self.epsilon)

    def gelu(self, x: str) -> str:
        error = self.node("Erf", self.node("Div", x, self.constant(2**0.5)))
        return self.node("Mul", self.node("Mul", x, self.node("Add", error, self.constant(1.0))), self.constant(0.5))


def write_graphs(config: Any, weights: Path, everywhere: Path, places: Path) -> None:
    """The graphs of a BertConfig, in the folder of its weights."""
    rows, place = ["row", "position"], ["place"]
    build = Builder(config.layer_norm_eps)
    _everywhere(build, config)
    outputs: Axes = {"start": rows, "end": rows, "hidden": [*rows, config.hidden_size]}
    used = _write(everywhere, build, dict.fromkeys(ROWS, rows), outputs, weights)
    build = Builder(config.layer_norm_eps)
    _places(build, config)
    outputs = {"mask": [*place, config.vocab_size], "choice": ["row"]}
    used |= _write(places, build, {**dict.fromkeys(ROWS, rows), PLACES: place}, outputs, weights)
    if unused := {tensor.name for tensor in _tensors(weights)} - used:
        raise SystemExit(f"the graphs leave out {', '.join(sorted(unused))}")


def _write(file: Path, build: Builder, inputs: Axes, outputs: Axes, weights: Path) -> set[str]:
    """Write a graph; returns the names of the weights that it uses."""
    used = {name for node in build.nodes for name in node.input}
    tensors = [tensor for tensor in _tensors(weights) if tensor.name in used]
    graph = helper.make_graph(
        build.nodes,
        f"assay-builtin-{file.stem}",
        [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()],
        [*build.constants.values(), *tensors],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    file.write_bytes(model.SerializeToString(deterministic=True))
    onnx.checker.check_model(str(file), full_check=True)
    return {tensor.name for tensor in tensors}


class Encoder:
    """BERT's embeddings and layers."""

    def __init__(self, build: Builder, config: Any) -> None:
        self.build = build
        self.width, self.heads = config.hidden_size, config.num_attention_heads
        absent = build.node("Sub", build.constant(1.0), build.float32("attention_mask"))
        lowest = build.node("Mul", absent, build.constant(float(np.finfo(np.float32).min)))
        self.bias = build.node("Unsqueeze", lowest, build.constant([1, 2]))  # (row, 1, 1, position)
        self._made: dict[tuple[str, str], tuple[str, str]] = {}

    def below(self, layer: int) -> str:
        """Hidden states (row, position, width) below a layer."""
        x = self._embedded()
        for number in range(layer):
            x = self._everywhere(x, number)
        return x

    def _embedded(self) -> str:
        node, constant, tables = self.build.node, self.build.constant, "bert.embeddings"
        words = self.build.rows(f"{tables}.word_embeddings.weight", "input_ids")
        types = self.build.rows(f"{tables}.token_type_embeddings.weight", "token_type_ids")
        position = node("Range", constant(0), self.length(), constant(1))
        places = self.build.rows(f"{tables}.position_embeddings.weight", position)
        return self.build.norm(node("Add", node("Add", words, types), places), f"{tables}.LayerNorm")

    def length(self) -> str:
        return self.build.node("Gather", self.build.node("Shape", "input_ids"), self.build.constant(1))

    def _everywhere(self, x: str, number: int) -> str:
        """A layer at all positions: (row, position, width) to the same."""
        keys, values = self._seen(x, number)
        shape = [0, 0, self.heads, self.width // self.heads]
        query = self._split(x, f"{_layer(number)}.attention.self.query", shape, [0, 2, 1, 3])
        mixed = self.build.node("Transpose", self._attend(query, keys, values, self.bias), perm=[0, 2, 1, 3])
        return self._rest(self.build.node("Reshape", mixed, self.build.constant([0, 0, self.width])), x, number)

    def at_places(self, x: str, number: int, places: str) -> str:
        """A layer at some places among all positions of all rows: (place, width)."""
        node = self.build.node
        row = node("Div", places, self.length())
        flat = node("Reshape", x, self.build.constant([-1, self.width]))
        keys, values, bias = (node("Gather", each, row, axis=0) for each in (*self._seen(x, number), self.bias))
        return self._single(node("Gather", flat, places), keys, values, bias, number)

    def at_first(self, x: str, number: int) -> str:
        """A layer at the first position of every row: (row, width)."""
        first = self.build.node("Gather", x, self.build.constant(0), axis=1)
        return self._single(first, *self._seen(x, number), self.bias, number)

    def _single(self, x: str, keys: str, values: str, bias: str, number: int) -> str:
        """A layer at one position of each of some rows."""
        shape = self.build.constant([0, self.heads, 1, self.width // self.heads])
        query = self.build.node("Reshape", self.build.linear(x, f"{_layer(number)}.attention.self.query"), shape)
        mixed = self._attend(query, keys, values, bias)  # (row, head, 1, part)
        return self._rest(self.build.node("Reshape", mixed, self.build.constant([0, self.width])), x, number)

    def _seen(self, x: str, number: int) -> tuple[str, str]:
        """Keys (row, head, part, position) and values (row, head, position, part)."""
        name, shape = f"{_layer(number)}.attention.self", [0, 0, self.heads, self.width // self.heads]
        if (x, name) not in self._made:
            keys = self._split(x, f"{name}.key", shape, [0, 2, 3, 1])
            self._made[x, name] = keys, self._split(x, f"{name}.value", shape, [0, 2, 1, 3])
        return self._made[x, name]

    def _split(self, x: str, name: str, shape: list[int], order: list[int]) -> str:
        """A linear layer's result by attention heads, in another order of axes."""
        apart = self.build.node("Reshape", self.build.linear(x, name), self.build.constant(shape))
        return self.build.node("Transpose", apart, perm=order)

    def _attend(self, query: str, keys: str, values: str, bias: str) -> str:
        node, part = self.build.node, self.build.constant(float((self.width // self.heads) ** 0.5))
        scores = node("Add", node("Div", node("MatMul", query, keys), part), bias)
        return node("MatMul", node("Softmax", scores, axis=-1), values)

    def _rest(self, mixed: str, x: str, number: int) -> str:
        """What a layer does behind its attention."""
        build, layer = self.build, _layer(number)
        seen = build.linear(mixed, f"{layer}.attention.output.dense")
        x = build.norm(build.node("Add", seen, x), f"{layer}.attention.output.LayerNorm")
        thought = build.linear(build.gelu(build.linear(x, f"{layer}.intermediate.dense")), f"{layer}.output.dense")
        return build.norm(build.node("Add", thought, x), f"{layer}.output.LayerNorm")


def _layer(number: int) -> str:
    return f"bert.encoder.layer.{number}"


def _everywhere(build: Builder, config: Any) -> None:
    """Logits of being an answer's first and last token, and the hidden states."""
    node, constant, encoder = build.node, build.constant, Encoder(build, config)
    hidden = encoder.below(config.num_hidden_layers)
    node("Identity", hidden, output="hidden")
    span = build.linear(hidden, "qa_outputs")  # (row, position, 2)
    node("Gather", span, constant(0), axis=2, output="start")
    node("Gather", span, constant(1), axis=2, output="end")


def _places(build: Builder, config: Any) -> None:
    """Logits of the vocabulary at the given places, and of every row as an option."""
    node, constant, encoder = build.node, build.constant, Encoder(build, config)
    last = config.num_hidden_layers - 1
    x = encoder.below(last)
    at = encoder.at_places(x, last, PLACES)
    changed = build.gelu(build.linear(at, "cls.predictions.transform.dense"))
    words = build.norm(changed, "cls.predictions.transform.LayerNorm")
    table, bias = (build.float32(name) for name in ("bert.embeddings.word_embeddings.weight", "cls.predictions.bias"))
    node("Gemm", words, table, bias, transB=1, output="mask")
    pooled = node("Tanh", build.linear(encoder.at_first(x, last), "bert.pooler.dense"))
    node("Squeeze", build.linear(pooled, "classifier"), constant([1]), output="choice")


def _tensors(file: Path) -> list[onnx.TensorProto]:
    """The tensors of a safetensors file as ONNX's external data: 8 bytes of length, that much JSON, then the arrays."""
    with file.open("rb") as opened:
        begin = int.from_bytes(opened.read(8), "little")
        header = json.loads(opened.read(begin))
    tensors = []
    for name, entry in sorted(header.items()):
        if name == "__metadata__":
            continue
        low, high = entry["data_offsets"]
        where = {"location": file.name, "offset": 8 + begin + low, "length": high - low}
        pairs = [onnx.StringStringEntryProto(key=key, value=str(value)) for key, value in where.items()]
        tensors.append(
            TensorProto(
                name=name,
                data_type=TensorProto.FLOAT16,
                dims=entry["shape"],
                data_location=TensorProto.EXTERNAL,
                external_data=pairs,
            )
        )
    return tensors
