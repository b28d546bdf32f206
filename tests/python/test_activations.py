"""Caches, hooks and interventions."""

import json
import pathlib
from typing import Any

import numpy as np
import pytest
from conftest import program
from numpy.typing import NDArray

import headlight as hl

TEXT = "One day Mina lost her red kite."


def test_cache_has_the_names_and_shapes_of_transformer_lens(model: hl.Model) -> None:
    output, cache = model.run_with_cache([TEXT, "a b"])
    b, t = 2, max(output.lengths)
    assert output.logits == pytest.approx(model([TEXT, "a b"]).logits, abs=1e-5)
    bare, _ = model.run_with_cache([TEXT, "a b"], ["resid_post"])
    assert np.array_equal(bare.logits, model([TEXT, "a b"]).logits)
    with pytest.raises(ValueError, match="inputs: sequence 0 has 65 tokens"):
        model.run_with_cache([5] * 65)
    shapes = {
        "hook_embed": (b, t, 32),
        "blocks.0.hook_resid_pre": (b, t, 32),
        "blocks.1.attn.hook_q": (b, t, 4, 8),
        "blocks.1.attn.hook_z": (b, t, 4, 8),
        "blocks.0.attn.hook_pattern": (b, 4, t, t),
        "blocks.0.mlp.hook_post": (b, t, 128),
        "ln_final.hook_normalized": (b, t, 32),
    }
    for name, shape in shapes.items():
        assert cache[name].shape == shape, name
        assert np.isfinite(cache[name]).all(), name
    pattern = cache["pattern", 1]
    assert pattern is cache["blocks.1.attn.hook_pattern"] is cache["pattern.1"]
    for maps, length in zip(pattern, output.lengths):
        assert maps[:, :length, :length].sum(axis=-1) == pytest.approx(1, abs=1e-5)
        assert not maps[:, length:].any()
    assert np.array_equal(cache["blocks.0.hook_resid_post"], cache["blocks.1.hook_resid_pre"])
    with pytest.raises(KeyError):
        cache["z.7"]
    _, chosen = model.run_with_cache(TEXT, ["z.1", "resid_post"])
    assert set(chosen) == {
        "blocks.1.attn.hook_z", "blocks.0.hook_resid_post", "blocks.1.hook_resid_post",
    }  # fmt: skip
    with pytest.raises(ValueError, match="names: .*did you mean"):
        model.run_with_cache(TEXT, ["resid_pst"])


def test_cache_equals_the_files_of_the_program(
    model: hl.Model, run: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    program("cache", run, "--text", TEXT, "--names", "z,mlp_post", "--out", tmp_path / "a.npz")
    _, cache = model.run_with_cache(TEXT, ["z", "mlp_post"])
    written = np.load(tmp_path / "a.npz")
    for name in cache:
        assert np.array_equal(cache[name][0], written[name]), name


def test_interventions_act_inside_the_with_statement(model: hl.Model) -> None:
    plain = model(TEXT).logits
    with model.intervene("off 1.1; scale 0.3 0.5"):
        changed = model(TEXT).logits
        _, cache = model.run_with_cache(TEXT, ["z.1"])
        assert not cache["z.1"][:, :, 1].any()
        assert model.generate(TEXT, max_new_tokens=3, temperature=0).tokens[0] == changed[0, -1].argmax()
    assert not np.array_equal(changed, plain)
    assert np.array_equal(model(TEXT).logits, plain)
    with pytest.raises(ValueError, match="intervene: "):
        model.intervene("off 7.1")


def test_hooks_change_values_in_place(model: hl.Model) -> None:
    def halve(value: NDArray[Any], point: hl.HookPoint) -> None:
        value[:, :, 1] *= 0.5

    with model.intervene("scale 1.1 0.5"):
        expected = model([TEXT, "a b"]).logits
    with model.hooks({"z.1": halve}):
        logits, cache = model.run_with_cache([TEXT, "a b"], ["z.1"])
    _, plain = model.run_with_cache([TEXT, "a b"], ["z.1"])
    assert np.array_equal(logits.logits, expected)
    assert np.array_equal(cache["z.1"][:, :, 1], 0.5 * plain["z.1"][:, :, 1])


def test_hooks_see_and_replace_values(model: hl.Model) -> None:
    plain = model([TEXT, "a b"])
    seen: list[tuple[str, int, tuple[int, ...]]] = []

    def look(value: NDArray[Any], point: hl.HookPoint) -> None:
        seen.append((point.name, point.layer, value.shape))
        assert point.lengths == plain.lengths

    def without_head(value: NDArray[Any], point: hl.HookPoint) -> NDArray[Any]:
        changed = value.copy()
        changed[:, :, 1] = 0
        return changed

    with model.hooks({"resid_pre": look, "blocks.1.attn.hook_pattern": look}):
        logits = model([TEXT, "a b"]).logits
    assert np.allclose(logits, plain.logits, atol=1e-5)  # patterns change the last bits
    t = max(plain.lengths)
    assert [name for name, _, _ in seen] == [
        "blocks.0.hook_resid_pre", "blocks.1.hook_resid_pre",
        "blocks.1.attn.hook_pattern", "blocks.1.attn.hook_pattern",
    ]  # fmt: skip
    assert seen[0][2] == (2, t, 32) and seen[2][2] == (4, plain.lengths[0], plain.lengths[0])
    with model.hooks({"blocks.1.attn.hook_z": without_head}):
        hooked = model([TEXT, "a b"]).logits
    with model.intervene("off 1.1"):
        assert np.array_equal(model([TEXT, "a b"]).logits, hooked)


def test_errors_of_hooks_reach_the_caller(model: hl.Model) -> None:
    plain = model(TEXT).logits

    def fail(value: NDArray[Any], point: hl.HookPoint) -> None:
        raise ZeroDivisionError(point.name)

    for call in (lambda: model(TEXT), lambda: model.generate(TEXT), lambda: list(model.stream(TEXT))):
        with model.hooks({"z.1": fail}), pytest.raises(ZeroDivisionError, match="blocks.1"):
            call()
    with model.hooks({"z.1": lambda value, point: value[:, :1]}):
        with pytest.raises(ValueError, match="hook_z: the hook returned shape"):
            model(TEXT)
    with model.hooks({"z.1": lambda value, point: "x"}):
        with pytest.raises(ValueError, match="hook_z: expected an array of numbers"):
            model(TEXT)
    scope = model.hooks({"z.1": lambda value, point: None})
    with scope, pytest.raises(RuntimeError, match="active already"), scope:
        pass
    with pytest.raises(ValueError, match="hooks: expected whole points"):
        model.hooks({"z.1.1": fail})
    assert np.array_equal(model(TEXT).logits, plain)


def test_a_hook_cannot_run_its_model(model: hl.Model, run: pathlib.Path) -> None:
    with model.hooks({"logits": lambda value, point: model("a").logits}):
        with pytest.raises(RuntimeError, match="a hook cannot run"):
            model(TEXT)
    other = hl.load(run)
    with model.hooks({"logits": lambda value, point: other(TEXT).logits * 2}):
        assert np.array_equal(model(TEXT).logits, other(TEXT).logits * 2)
