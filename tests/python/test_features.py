"""Sparse autoencoders of SAELens, and the tuned lens."""

import json
import pathlib
import struct
import subprocess
import urllib.request
from typing import Any

import numpy as np
import pytest
from conftest import PROGRAM, program, task_ids
from numpy.typing import NDArray

import headlight as hl
from headlight import ops

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
    (folder / "cfg.json").write_text('{"architecture": "matching_pursuit"}')
    with pytest.raises(ValueError, match=r"cfg.json: architecture: .*matching_pursuit"):
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


def write_sae(folder: pathlib.Path, kind: str, hook_name: str, seed: int, **config: Any) -> hl.SparseAutoencoder:
    """Writes an autoencoder or transcoder of 32 numbers with 20 features, and reads it."""
    random = np.random.default_rng(seed)
    folder.mkdir()
    names = {"W_enc": (32, 20), "b_enc": (20,), "W_dec": (20, 32), "b_dec": (32,), "W_skip": (32, 32)}
    write_tensors(folder / "sae_weights.safetensors", {name: 0.3 * random.normal(size=shape) for name, shape in names.items()})
    config |= {"architecture": kind, "apply_b_dec_to_input": False, "metadata": {"hook_name": hook_name, **config}}
    (folder / "cfg.json").write_text(json.dumps(config))
    return hl.load_sae(folder)


def test_features_are_a_point_like_any_other(run: pathlib.Path, tmp_path: pathlib.Path) -> None:
    model = hl.load(run)
    plain = model(TEXT).logits
    name = "blocks.1.hook_resid_pre"
    sae = write_sae(tmp_path / "sae", "standard", name, 4)
    with pytest.raises(ValueError, match="this model does not compute feature"):
        model.run_with_cache(TEXT, ["feature.1"])
    model.add_sae(sae)
    output, cache = model.run_with_cache(TEXT, ["feature.1", name])
    assert np.array_equal(output.logits, plain)  # features that are only seen change nothing
    features, values = cache["feature.1"], cache[name]
    assert features == pytest.approx(sae.encode(values), abs=1e-6)
    assert "blocks.1.hook_feature" in model.run_with_cache(TEXT)[1]
    number = int(features[0].max(axis=0).argmax())
    for change, factor in ((f"off feature.1.{number}", 0.0), (f"scale feature.1.{number} 3", 3.0)):
        with model.intervene(change):
            changed = model.run_with_cache(TEXT, [name, "feature.1"])[1]
            logits = model(TEXT).logits
        moved = (factor - 1) * features[..., [number]] * sae.W_dec[number]
        assert changed[name] == pytest.approx(values + moved, abs=1e-5)  # as the model goes on with it
        with model.hooks({name: lambda value, point: value + moved}):
            assert model(TEXT).logits == pytest.approx(logits, abs=1e-5)
        assert np.abs(logits - plain).max() > 1e-4
    answer = int(plain[0, -1].argmax())
    value, seen, gradients = model.grad(TEXT, hl.logit_difference(answer, 5), ["feature.1", name])
    assert seen["feature.1"] == pytest.approx(features, abs=1e-6)
    assert gradients["feature.1"] == pytest.approx(gradients[name] @ sae.W_dec.T, abs=1e-5)
    clean, corrupt = task_ids(model)
    patched = model.patch(clean, corrupt, metric=hl.logit_difference(answer, 5), point="feature", by="position")
    assert patched["recovered"].shape[-1] == len(clean) and np.isfinite(patched["recovered"][-1]).all()
    assert np.abs(patched["recovered"][-1, -1]) > 1e-4
    with model.hooks({"feature.1": lambda value, point: value * 0}):
        assert np.abs(model.generate(TEXT, max_new_tokens=2, temperature=0).tokens - answer).shape == (2,)
    with pytest.raises(ValueError, match="hook_name: expected one autoencoder in layer 1, got two"):
        model.add_sae(sae)
    model.reset_saes()
    with pytest.raises(ValueError, match="does not compute feature"):
        model.grad(TEXT, "loss", ["feature.1"])


def test_features_of_one_layer_are_attributed_to_those_of_another(run: pathlib.Path, tmp_path: pathlib.Path) -> None:
    model = hl.load(run)
    first = write_sae(tmp_path / "a", "standard", "blocks.0.hook_resid_mid", 5)
    out = {"hook_name_out": "blocks.1.hook_mlp_out"}
    second = write_sae(tmp_path / "b", "skip_transcoder", "blocks.1.ln2.hook_normalized", 6, **out)
    model.add_sae(first)
    model.add_sae(second)
    _, cache = model.run_with_cache(TEXT, ["feature", "ln2_normalized.1"])
    later = cache["feature.1"]
    target = int(later[0, -1].argmax())
    value, features, gradients = model.grad(TEXT, f"feature.1.{target}", ["feature.0"])
    assert value == pytest.approx(later[0, -1, target], abs=1e-5)
    assert features["feature.0"] == pytest.approx(first.encode(model.run_with_cache(TEXT, ["resid_mid.0"])[1]["resid_mid.0"]), abs=1e-5)
    step = 1e-2
    largest = np.abs(gradients["feature.0"][0]).argsort(axis=None)[-3:]
    for position, number in np.array(np.unravel_index(largest, gradients["feature.0"][0].shape)).T.tolist():
        results = []
        for sign in (1, -1):

            def nudge(value: NDArray[Any], point: hl.HookPoint) -> None:
                if position < value.shape[1]:
                    value[0, position, number] += sign * step

            with model.hooks({"feature.0": nudge}):
                results.append(model.run_with_cache(TEXT, ["feature.1"])[1]["feature.1"][0, -1, target])
        assert gradients["feature.0"][0, position, number] == pytest.approx((results[0] - results[1]) / (2 * step), rel=0.05, abs=1e-3)
    # Features are switched off in the stream that a cache reads, and in the passes behind it.
    stream = ["resid_mid.0", "feature.0", "resid_post.1"]
    plain = model.run_with_cache(TEXT, stream)[1]
    largest_of_all = int(plain["feature.0"][0].max(axis=0).argmax())
    with model.intervene(f"off feature.0.{largest_of_all}"):
        changed = model.run_with_cache(TEXT, stream)[1]
    lost = plain["feature.0"][..., [largest_of_all]] * first.W_dec[largest_of_all]
    assert np.abs(lost).max() > 1e-3
    assert changed["resid_mid.0"] == pytest.approx(plain["resid_mid.0"] - lost, abs=1e-5)
    assert np.abs(changed["resid_post.1"] - plain["resid_post.1"]).max() > 1e-4
    # Switching off a feature of a transcoder takes its share from the output of the MLP.
    names = ["mlp_out.1", "resid_post.1"]
    before = model.run_with_cache(TEXT, names)[1]
    with model.intervene(f"off feature.1.{target}"):
        after = model.run_with_cache(TEXT, names)[1]
    share = later[..., [target]] * second.W_dec[target]
    for name in names:
        assert after[name] == pytest.approx(before[name] - share, abs=1e-5)
    inputs = cache["ln2_normalized.1"]
    assert second(inputs) == pytest.approx(second.decode(second.encode(inputs)) + inputs @ second.W_skip.T, abs=1e-4)
    with pytest.raises(ValueError, match="hook_name: features of a transcoder write another point"):
        second.edit(ablate=[1])(inputs)
    with pytest.raises(ValueError, match="weight: an autoencoder of architecture standard has none"):
        first.W_skip
    with pytest.raises(ValueError, match=r"metric: expected \"loss\", .*got 'feature.1'"):
        model.grad(TEXT, "feature.1", ["feature.0"])


def test_a_feature_in_the_loop_learns(run: pathlib.Path, tmp_path: pathlib.Path) -> None:
    model = hl.load(run)
    model.add_sae(write_sae(tmp_path / "sae", "standard", "blocks.1.hook_resid_pre", 7))
    gates = hl.Tensor(np.ones(20, np.float32), requires_grad=True)
    with model.hooks({"feature.1": lambda value, point: value * gates}, tensors=True):
        loss = ops.cross_entropy(model.logits(TEXT, last=True), np.array([7], np.int32))
    loss.backward()
    assert gates.grad is not None and np.abs(gates.grad.numpy()).max() > 1e-6


def test_the_program_reads_features(run: pathlib.Path, tmp_path: pathlib.Path) -> None:
    sae = write_sae(tmp_path / "sae", "standard", "blocks.1.hook_resid_pre", 4)
    model = hl.load(run)
    model.add_sae(sae)
    features = model.run_with_cache(TEXT, ["feature.1"])[1]["feature.1"]
    program("cache", run, "--text", TEXT, "--sae", tmp_path / "sae", "--names", "feature.1", "--out", tmp_path / "a.npz")
    found = np.load(tmp_path / "a.npz")["blocks.1.hook_feature"]
    assert found == pytest.approx(features[0], abs=1e-6)
    number = int(features[0].max(axis=0).argmax())
    change = f"off feature.1.{number}"
    report = json.loads(program("generate", run, "--prompt", TEXT, "--max_new_tokens", 5, "--temperature", 0, "--json",
                                "--sae", tmp_path / "sae", "--intervene", change))  # fmt: skip
    with model.intervene(change):
        assert model.generate(TEXT, max_new_tokens=5, temperature=0).text == report["text"]
    # Autoencoders that do not fit the model are refused with their folder.
    for name, hook_name, message in (
        ("deep", "blocks.9.hook_resid_pre", "hook_name: this model does not compute blocks.9.hook_resid_pre"),
        ("other", "blah", "hook_name: expected a point"),
        ("wide", "blocks.1.mlp.hook_post", "hook_name: expected 32 numbers at blocks.1.mlp.hook_post"),
        ("second", "blocks.1.hook_resid_mid", "hook_name: expected one autoencoder in layer 1, got two"),
    ):
        wrong = write_sae(tmp_path / name, "standard", hook_name, 4)
        folders = f"{tmp_path / 'sae'},{tmp_path / name}"
        for command in (("generate", run, "--prompt", TEXT), ("serve", run, "--port", 0)):
            with pytest.raises(subprocess.CalledProcessError) as refused:
                program(*command, "--sae", folders)
            assert refused.value.returncode == 2
            assert f"--sae: {tmp_path / name}: {message}" in " ".join(refused.value.stderr.split())
        with pytest.raises(ValueError, match=message):
            model.add_sae(wrong)


def test_the_server_has_features(run: pathlib.Path, tmp_path: pathlib.Path) -> None:
    model = hl.load(run)
    model.add_sae(write_sae(tmp_path / "sae", "standard", "blocks.1.hook_resid_pre", 4))
    assert PROGRAM is not None
    command = [PROGRAM, "serve", "tiny=" + str(run), "--port", "0", "--json", "--sae", str(tmp_path / "sae")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = json.loads(server.stdout.readline())["address"]

        def answer(path: str, **members: Any) -> Any:
            data = json.dumps(members).encode() if members else None
            request = urllib.request.Request(address + path, data, {"Content-Type": "application/json"})
            with urllib.request.urlopen(request) as response:
                return json.load(response)

        try:
            assert answer("/v1/models")["data"][0]["features"] == ["feature.1"]
            features = model.run_with_cache(TEXT, ["feature.1"])[1]["feature.1"]
            change = f"scale feature.1.{int(features[0].max(axis=0).argmax())} 9"
            changed = answer("/api/predict", text=TEXT, intervene=change)
            text = answer("/v1/completions", prompt=TEXT, max_tokens=5, temperature=0, intervene=change)
            clean, corrupt = task_ids(model)
            members: dict[str, Any] = {"answer": "o", "wrong": "e", "point": "feature", "by": "position"}
            patched = answer("/api/patch", clean=clean, corrupt=corrupt, **members)
            assert answer("/api/attribute", text=TEXT, intervene=change)["logit"] is not None
        finally:
            server.terminate()
    loss = model.loss(TEXT)
    assert changed["before"]["loss"] == pytest.approx(float(loss), abs=1e-4)
    with model.intervene(change):
        assert changed["after"]["loss"] == pytest.approx(float(model.loss(TEXT)), abs=1e-4)
        assert abs(changed["after"]["loss"] - changed["before"]["loss"]) > 1e-4
        assert text["choices"][0]["text"] == model.generate(TEXT, max_new_tokens=5, temperature=0).text
    own = model.patch(clean, corrupt, "o", "e", point="feature", by="position")
    recovered = [cell["recovered"] for cell in patched["cells"]]
    assert recovered == pytest.approx(own["recovered"].ravel().tolist(), abs=1e-4)


def test_hooks_do_not_see_the_pass_that_checks_an_autoencoder(run: pathlib.Path, tmp_path: pathlib.Path) -> None:
    model = hl.load(run)
    seen: list[Any] = []
    with model.hooks({"resid_post.0": lambda value, point: seen.append(value)}):
        model.add_sae(write_sae(tmp_path / "sae", "standard", "blocks.1.hook_resid_pre", 4))
        with pytest.raises(ValueError, match="hook_name: expected 32 numbers"):
            model.add_sae(write_sae(tmp_path / "wide", "standard", "blocks.0.mlp.hook_post", 4))
        assert not seen
        model(TEXT)
    assert seen
