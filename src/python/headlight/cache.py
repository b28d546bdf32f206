"""Values of a pass by their names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
from numpy.typing import ArrayLike, NDArray

from ._headlight import Model, ops, point_name

Cell = tuple[int, int, str]
Stack = NDArray[Any]


class ActivationCache(dict[str | tuple[str, int], NDArray[Any]]):
    """Arrays by TransformerLens's names; short names ("z.3") and pairs ("z", 3) find them, too.

    `tokens` holds the labels of the tokens of each sequence, and `cells` the characters that they
    form: (first token, one past the last, label). Tokens that cut a character share a cell.

    accumulated_resid, decompose_resid, stack_head_results and logit_attrs are those of
    TransformerLens: stacks [N, B, T, C] of parts of the residual stream, with the labels of the parts
    if `return_labels`. `layer` is the layer whose input they are of; None or -1: the final norm.
    `apply_ln` divides them by the scale of the norm there, `pos_slice` chooses positions of T. They
    throw KeyError for points that the cache lacks, and ValueError for a model with norms after
    additions, whose stream is no sum.
    """

    def __init__(
        self,
        arrays: dict[str | tuple[str, int], NDArray[Any]] | None = None,
        tokens: list[list[str]] | None = None,
        cells: list[list[Cell]] | None = None,
        model: Model | None = None,
    ) -> None:
        super().__init__(arrays or {})
        self.model = model
        self.tokens = tokens or []
        self.cells = cells or [[(i, i + 1, label) for i, label in enumerate(labels)] for labels in self.tokens]

    def column(self, name: str) -> NDArray[Any]:
        """Returns one neuron or element [B, T], such as "neuron.3.17" or "resid_post.2.5"."""
        point, _, number = name.rpartition(".")
        if not point or not number.isdigit():
            raise ValueError(f"name: expected a column such as neuron.3.17, got '{name}'")
        full = point_name(point)
        values = self[full]
        if values.ndim != 3:
            raise ValueError(f"name: expected a point without heads, got '{name}'")
        items = self[full + "/items"].tolist() if full + "/items" in self else range(values.shape[2])
        if int(number) not in items:
            raise KeyError(name)
        return values[:, :, list(items).index(int(number))]

    def heads(self, name: str | tuple[str, int]) -> list[int]:
        """Returns the numbers of the heads of a point, such as "z.3": 0, 1, 2 ... unless some were pruned."""
        values = self[name]
        full = _full_name(name)
        if values.ndim != 4:
            raise ValueError(f"name: expected a point with heads, got '{name}'")
        items = full + "/items"
        axis = 1 if full.endswith(("hook_pattern", "hook_attn_scores")) else 2
        return [int(number) for number in self[items]] if items in self else list(range(values.shape[axis]))

    def place(self, name: str | tuple[str, int], head: int) -> int:
        """Returns the index of a head in the axis of heads of a point: cache["z.3"][:, :, cache.place("z.3", 5)]."""
        heads = self.heads(name)
        if head not in heads:
            raise ValueError(f"head: {_full_name(name)} has the heads {heads}, got {head}")
        return heads.index(head)

    def __contains__(self, key: object) -> bool:
        if super().__contains__(key):
            return True
        try:
            return super().__contains__(_full_name(key))  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return False  # no name of a point

    def get(self, key: Any, default: Any = None) -> Any:
        """Returns the array of a name, short or TransformerLens's; `default` if there is none."""
        return self[key] if key in self else default

    def copy(self) -> ActivationCache:
        """Returns a cache of the same arrays, with their tokens and heads."""
        return ActivationCache(dict(self), self.tokens, self.cells, self.model)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "model": None}  # copies and pickles hold the arrays alone

    def accumulated_resid(
        self,
        layer: int | None = None,
        incl_mid: bool = False,
        apply_ln: bool = False,
        pos_slice: int | slice | None = None,
        mlp_input: bool = False,
        return_labels: bool = False,
    ) -> Any:
        """Returns the residual stream at the input of each layer up to `layer`, and after the last.

        `incl_mid` adds it between attention and MLP. `apply_ln` at the last layer applies the whole
        final norm to each, with its weights.
        """
        end, layers = self._layer(layer), self._config().n_layer
        names = []
        for number in range(min(end + 1, layers)):
            names.append((f"{number}_pre", f"resid_pre.{number}"))
            if (incl_mid and number < end) or (mlp_input and number == end):
                names.append((f"{number}_mid", f"resid_mid.{number}"))
        if end == layers:
            names.append(("final_post", f"resid_post.{layers - 1}"))
        stack = numpy.stack([_at(self[name], pos_slice) for _, name in names])
        if apply_ln:
            is_last = end == layers
            stack = self._final_norm(stack) if is_last else self.apply_ln_to_stack(stack, end, mlp_input, pos_slice)
        return (stack, [label for label, _ in names]) if return_labels else stack

    def decompose_resid(
        self,
        layer: int | None = None,
        mlp_input: bool = False,
        mode: str = "all",
        apply_ln: bool = False,
        pos_slice: int | slice | None = None,
        incl_embeds: bool = True,
        return_labels: bool = False,
    ) -> Any:
        """Returns the embeddings and the outputs of attention and MLP of each layer before `layer`.

        They sum to the stream there. `mode`: "all", "attn" or "mlp"; `mlp_input` adds attention of
        the layer itself.
        """
        if mode not in ("all", "attn", "mlp"):
            raise ValueError(f'mode: expected "all", "attn" or "mlp", got {mode!r}')
        end = self._layer(layer)
        parts: dict[str, Stack] = dict(self._embeddings()) if incl_embeds else {}
        for number in range(end + 1):
            is_before = number < end
            if mode != "mlp" and (is_before or mlp_input):
                parts[f"{number}_attn_out"] = self["attn_out", number]
            if mode != "attn" and is_before and self._config().mlp:
                parts[f"{number}_mlp_out"] = self["mlp_out", number]
        values = [_at(part, pos_slice) for part in parts.values()]
        stack = numpy.stack(values) if values else self._nothing(pos_slice)
        stack = self.apply_ln_to_stack(stack, end, mlp_input, pos_slice) if apply_ln else stack
        return (stack, list(parts)) if return_labels else stack

    def stack_head_results(
        self,
        layer: int | None = None,
        return_labels: bool = False,
        incl_remainder: bool = False,
        pos_slice: int | slice | None = None,
        apply_ln: bool = False,
    ) -> Any:
        """Returns what each head of the layers before `layer` adds to the stream: "L0H0", "L0H1" ...

        `incl_remainder` adds the rest of the stream. Without the point `result` the cache needs `z`.
        """
        end = self._layer(layer)
        parts: dict[str, Stack] = {}
        for number in range(end):
            results = _at(self._results(number), pos_slice)
            point = "result" if f"result.{number}" in self else "z"
            for place, head in enumerate(self.heads(f"{point}.{number}")):
                parts[f"L{number}H{head}"] = results[..., place, :]
        stack = numpy.stack(list(parts.values())) if parts else self._nothing(pos_slice)
        labels = list(parts)
        if incl_remainder:
            name = f"resid_post.{end - 1}" if end else "resid_pre.0"
            rest = _at(self[name], pos_slice) - stack.sum(0)
            stack, labels = numpy.concatenate([stack, rest[None]]), [*labels, "remainder"]
        stack = self.apply_ln_to_stack(stack, end, False, pos_slice) if apply_ln else stack
        return (stack, labels) if return_labels else stack

    def logit_attrs(
        self,
        residual_stack: Stack,
        tokens: str | int | ArrayLike,
        incorrect_tokens: str | int | ArrayLike | None = None,
        pos_slice: int | slice | None = None,
    ) -> Stack:
        """Returns what each part of a stack [N, B, T, C] adds to the logit of a token, [N, B, T].

        The token is a text of one token, an id, or ids [B] or [B, T]; of `incorrect_tokens` the logit
        is subtracted. The gain of the final norm is part of the direction, as after fold_ln in
        TransformerLens; its shift and the head's bias, which are no part of a stack, and a cap of
        the logits are not. `pos_slice` is that of the stack.
        """
        directions = self._directions(tokens)
        if incorrect_tokens is not None:
            directions = directions - self._directions(incorrect_tokens)
        scaled = self.apply_ln_to_stack(residual_stack, None, False, pos_slice)
        if directions.ndim == 2 and scaled.ndim == 4:
            directions = directions[:, None]  # a token of each sequence
        attributions: Stack = (scaled * directions).sum(-1)
        return attributions

    def apply_ln_to_stack(
        self,
        residual_stack: Stack,
        layer: int | None = None,
        mlp_input: bool = False,
        pos_slice: int | slice | None = None,
    ) -> Stack:
        """Returns a stack as the norm at the input of `layer` scales it in this pass.

        Parts keep their share of the whole: the scale is that of the stream. Layer norms also subtract the
        mean of each part. Needs `ln1_scale`, `ln2_scale` (mlp_input) or `ln_final_scale`.
        """
        end = self._layer(layer)
        is_last = end == self._config().n_layer
        name = "ln_final_scale" if is_last else f"ln{2 if mlp_input else 1}_scale.{end}"
        scale = _at(self[name], pos_slice)
        if self._config().norm_type == "layer":
            residual_stack = residual_stack - residual_stack.mean(-1, keepdims=True)
        scaled: Stack = residual_stack / numpy.where(scale == 0, 1, scale)  # 0: behind the end
        return scaled

    def _model(self) -> Model:
        if self.model is None:
            raise ValueError("model: expected a cache of run_with_cache()")
        return self.model

    def _config(self) -> Any:
        config = self._model().config
        if config.norm == "post":
            raise ValueError("model: norms after additions change the stream, which is no sum of parts")
        return config

    def _layer(self, layer: int | None) -> int:
        layers: int = self._config().n_layer
        if layer is None or layer == -1:
            return layers
        if not 0 <= layer <= layers:
            raise ValueError(f"layer: expected 0 to {layers}, got {layer}")
        return layer

    def _nothing(self, pos_slice: int | slice | None) -> Stack:
        return numpy.empty((0, *_at(self["resid_pre.0"], pos_slice).shape), self["resid_pre.0"].dtype)

    def _embeddings(self) -> Iterator[tuple[str, Stack]]:
        yield "embed", self["embed"]
        rest = self["resid_pre.0"] - self["embed"]
        if rest.any():
            yield "pos_embed" if self._config().position == "learned" else "embed_norm", rest

    def _results(self, layer: int) -> Stack:
        if f"result.{layer}" in self:
            return self["result", layer]
        z, weight = self["z", layer], self._model().weights[f"blocks.{layer}.attn.W_O"]
        results: Stack = numpy.einsum("bthd,hdc->bthc", z, weight)
        return results

    def _norm_weights(self) -> tuple[Stack | None, Stack | None]:
        """Returns gain and shift of the final norm."""
        weights, plus_one = self._model().weights, self._config().norm_gain_plus_one
        gain = weights["ln_final.w"] if "ln_f.weight" in weights else None
        shift = weights["ln_final.b"] if "ln_f.bias" in weights else None
        return (gain + 1 if gain is not None and plus_one else gain), shift

    def _final_norm(self, stack: Stack) -> Stack:
        gain, shift = self._norm_weights()
        epsilon = self._config().layer_norm_epsilon
        if self._config().norm_type == "layer":
            return ops.layer_norm(stack, gain, shift, epsilon).numpy()
        return ops.rms_norm(stack, gain, epsilon).numpy()

    def _directions(self, tokens: str | int | ArrayLike) -> Stack:
        """Returns the directions of the final norm's output that raise the logits of tokens, [..., C]."""
        if isinstance(tokens, str):
            ids = self._model().tokenizer.encode(tokens)
            if len(ids) != 1:
                raise ValueError(f"tokens: expected one token, got the {len(ids)} of {tokens!r}")
            tokens = int(ids[0])
        gain, _ = self._norm_weights()
        rows = self._model().weights["unembed.W_U"].T[numpy.asarray(tokens)]
        scale = self._config().logit_scale or 1
        directions: Stack = rows * scale if gain is None else rows * gain * scale
        return directions

    def __missing__(self, key: str | tuple[str, int]) -> NDArray[Any]:
        name = _full_name(key)
        if name == key or name not in self:
            raise KeyError(key)
        return self[name]


def _at(values: Stack, pos_slice: int | slice | None) -> Stack:
    """Returns positions of values [B, T, ...]; one position has no axis."""
    return values if pos_slice is None else values[:, pos_slice]


def _full_name(key: str | tuple[str, int]) -> str:
    return point_name(key if isinstance(key, str) else ".".join(map(str, key)))
