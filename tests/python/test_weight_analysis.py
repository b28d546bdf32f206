"""Composition, circuits of tokens and folded weights."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import headlight as hl

TEXT = "One day Mina lost her red kite."


def of_layers(model: hl.Model, name: str) -> NDArray[Any]:
    """Returns a weight of all layers, [L, ...]."""
    return np.stack([model.weights[f"blocks.{layer}.attn.{name}"] for layer in range(2)])


def test_composition(model: hl.Model) -> None:
    ov = of_layers(model, "W_V") @ of_layers(model, "W_O")
    qk = of_layers(model, "W_Q") @ of_layers(model, "W_K").swapaxes(-1, -2)
    for kind, read in {"K": qk[1, 2].T, "Q": qk[1, 2], "V": ov[1, 2]}.items():
        scores = model.composition(kind)
        assert scores.shape == (2, 4, 2, 4)
        expected = np.linalg.norm(ov[0, 1] @ read)
        expected /= np.linalg.norm(ov[0, 1]) * np.linalg.norm(read)
        assert scores[0, 1, 1, 2] == pytest.approx(expected, rel=1e-4)
        assert (scores[1] == 0).all() and (scores[0, :, 0] == 0).all()
    with pytest.raises(ValueError, match="kind: expected Q, K or V"):
        model.composition("k")


def test_circuits_of_tokens(model: hl.Model) -> None:
    embedding, unembedding = model.weights["embed.W_E"], model.weights["unembed.W_U"]
    q, k, v, o = (of_layers(model, f"W_{part}")[1, 3] for part in "QKVO")
    ov = embedding @ v @ o @ unembedding
    qk = embedding @ q @ k.T @ embedding.T
    assert model.ov_circuit(1, 3, None) == pytest.approx(ov, abs=1e-5)
    assert model.ov_circuit(1, 3, [5, 6, 9], [7]) == pytest.approx(ov[[5, 6, 9]][:, [7]], abs=1e-5)
    assert model.qk_circuit(1, 3, [5, 6], [7]) == pytest.approx(qk[[5, 6]][:, [7]], abs=1e-5)
    ids = model.tokenizer.encode("Mina")
    assert model.qk_circuit(1, 3, "Mina", [7]).shape == (len(ids), 1)
    with pytest.raises(ValueError, match="tokens_out: expected token ids from 0 to"):
        model.ov_circuit(1, 3, [5], [400])
    with pytest.raises(ValueError, match="1.4"):
        model.ov_circuit(1, 4, [5])
    with pytest.raises(ValueError, match="tokens_in: expected at least one token"):
        model.ov_circuit(1, 3, "")


def test_folded_models_have_the_same_logits(model: hl.Model) -> None:
    folded = model.folded()
    assert folded(TEXT).logits == pytest.approx(model(TEXT).logits, abs=1e-4)
    assert (folded.weights["h.0.ln_1.weight"] == 1).all()
    assert np.abs(folded.weights["embed.W_E"].mean(axis=-1)).max() < 1e-6
    assert np.abs(of_layers(folded, "W_O").mean(axis=-1)).max() < 1e-6
    assert folded.tokenizer.encode(TEXT).tolist() == model.tokenizer.encode(TEXT).tolist()
    centred = model.folded(center_unembed=True)(TEXT).logits
    assert np.abs(centred.mean(axis=-1)).max() < 1e-4
    difference = centred - model(TEXT).logits
    assert np.abs(difference - difference[..., :1]).max() < 1e-4
