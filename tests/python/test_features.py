"""Sparse autoencoders of SAELens, and the tuned lens."""

import json
import pathlib
import struct
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import headlight as hl

TEXT = "One day Mina lost her red kite."


def write_tensors(path: pathlib.Path, weights: dict[str, NDArray[Any]]) -> None:
    """Writes a file of safetensors."""
    header: dict[str, object] = {}
    data = b""
    for name, array in weights.items():
        raw = array.astype("<f4").tobytes()
        offsets = [len(data), len(data) + len(raw)]
        header[name] = {"dtype": "F32", "shape": array.shape, "data_offsets": offsets}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    random = np.random.default_rng(3)
    weights = {
        "W_enc": random.normal(size=(32, 50)), "b_enc": random.normal(size=50),
        "W_dec": random.normal(size=(50, 32)), "b_dec": random.normal(size=32),
        "threshold": np.full(50, 0.5),
    }  # fmt: skip
    metadata = {"hook_name": "blocks.1.hook_resid_pre", "sae_lens_version": "6.54.0"}
    write_tensors(tmp_path / "sae_weights.safetensors", weights)
    config = {"architecture": "jumprelu", "apply_b_dec_to_input": True, "metadata": metadata}
    (tmp_path / "cfg.json").write_text(json.dumps(config))
    return tmp_path


def test_features_of_a_point(model: hl.Model, folder: pathlib.Path) -> None:
    sae = hl.load_sae(folder)
    assert sae.config.architecture == "jumprelu" and sae.config.d_sae == 50
    _, cache = model.run_with_cache(TEXT, [sae.config.hook_name])
    values = cache[sae.config.hook_name]
    features = sae.encode(values)
    before = (values - sae.b_dec) @ sae.W_enc + sae.b_enc
    assert features == pytest.approx(np.where(before > 0.5, before, 0), abs=1e-4)
    assert sae.decode(features) == pytest.approx(features @ sae.W_dec + sae.b_dec, abs=1e-4)
    assert sae.decode(features[0, 0]).shape == (32,)
    assert "50 features of blocks.1.hook_resid_pre" in repr(sae)


def test_features_can_be_ablated_and_steered(model: hl.Model, folder: pathlib.Path) -> None:
    sae = hl.load_sae(folder)
    name = sae.config.hook_name
    values = model.run_with_cache(TEXT, [name])[1][name]
    feature = int(sae.encode(values)[0].max(axis=0).argmax())
    with model.hooks({name: sae.edit(ablate=[feature], steer={7: 2.0})}):
        changed = model.run_with_cache(TEXT, [name, "logits"])[1]
    expected = values - sae.encode(values)[..., [feature]] * sae.W_dec[feature] + 2 * sae.W_dec[7]
    assert changed[name] == pytest.approx(expected, abs=1e-4)
    assert np.abs(changed["logits"] - model(TEXT).logits).max() > 1e-4
    doubled = sae.edit(scale={feature: 2.0})(values)
    assert doubled == pytest.approx(
        values + sae.encode(values)[..., [feature]] * sae.W_dec[feature], abs=1e-4
    )


def test_ablation_and_steering_of_one_feature_are_combined(folder: pathlib.Path) -> None:
    sae = hl.load_sae(folder)
    values = np.random.default_rng(4).normal(size=(3, 32)).astype(np.float32)
    both = sae.edit(ablate=[7], steer={7: 2.0})(values)
    assert both == pytest.approx(sae.edit(set={7: 2.0})(values), abs=1e-4)
    scaled = sae.edit(set={7: 3.0}, scale={7: 2.0}, steer={7: 1.0})(values)
    assert scaled == pytest.approx(sae.edit(set={7: 7.0})(values), abs=1e-4)


def test_folders_that_cannot_be_used(folder: pathlib.Path) -> None:
    sae = hl.load_sae(folder)
    with pytest.raises(ValueError, match="feature: expected 0 to 49, got 50"):
        sae.edit(ablate=[50])
    with pytest.raises(ValueError, match="values: expected an array whose last axis has 32"):
        sae.encode(np.zeros((2, 33)))
    with pytest.raises(FileNotFoundError):
        hl.load_sae(folder / "none")
    (folder / "cfg.json").write_text('{"architecture": "gated"}')
    with pytest.raises(ValueError, match=r"cfg.json: architecture: .*gated"):
        hl.load_sae(folder)


def test_the_tuned_lens_translates_the_input_of_layers(
    model: hl.Model, tmp_path: pathlib.Path
) -> None:
    path = tmp_path / "params.safetensors"
    zeros = {f"{layer}.weight": np.zeros((32, 32)) for layer in range(2)}
    write_tensors(path, zeros)
    plain = model.lens(TEXT)
    assert np.array_equal(model.lens(TEXT, tuned=path)["entropy"], plain["entropy"])
    write_tensors(path, zeros | {"1.bias": np.linspace(-3, 3, 32)})
    tuned = model.lens(TEXT, tuned=tmp_path)["entropy"]
    assert np.array_equal(tuned[[0, 2]], plain["entropy"][[0, 2]])
    assert not np.allclose(tuned[1], plain["entropy"][1])
    write_tensors(path, {"0.weight": np.zeros((32, 32))})
    with pytest.raises(ValueError, match="tuned: expected a tuned lens of 2 layers"):
        model.lens(TEXT, tuned=path)
