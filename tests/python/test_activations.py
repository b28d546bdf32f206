"""Caches, hooks and interventions."""

import copy
import json
import pathlib
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import program, task_ids
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
        "ln_final.hook_normalized": (b, t, 32), "ln_final.hook_out": (b, t, 32),
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
    assert "z.1" in cache and "z.7" not in cache and "zz" not in cache
    assert cache.get("z.1") is cache["z.1"] and cache.get("z.7") is None
    assert cache.copy().heads("z.1") == [0, 1, 2, 3]
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


def test_changed_passes_run_alone_unless_a_hook_takes_them_together(model: hl.Model) -> None:
    clean, corrupt = task_ids(model)
    largest: list[int] = []

    def look(value: NDArray[Any], point: hl.HookPoint) -> None:
        largest.append(value.shape[0])

    def raise_first(value: NDArray[Any], point: hl.HookPoint) -> None:
        value[0, :, :8] += 1

    def raise_all(value: NDArray[Any], point: hl.HookPoint) -> None:
        value[:, :, :8] += 1

    def differences(hook: Callable[..., None], **options: bool) -> NDArray[Any]:
        with model.hooks({"resid_post.0": hook, "resid_mid.1": look}, **options):
            return np.asarray(model.patch(clean, corrupt, [5], [6], by="head")["difference"])

    alone = differences(raise_first)
    assert set(largest) == {1}
    together = differences(raise_all, batched=True)
    assert max(largest) == model.config.n_head * model.config.n_layer
    assert np.allclose(alone, together, rtol=1e-5, atol=1e-5)
    assert not np.allclose(alone, differences(raise_first, batched=True), atol=1e-3)


def test_answers_do_not_depend_on_the_memory_of_changed_passes(model: hl.Model) -> None:
    clean, corrupt = ([first, *(i % 50 for i in range(3, 60))] for first in (1, 2))
    text = model.tokenizer.encode(TEXT * 4).tolist()
    rows: list[int] = []

    def look(value: NDArray[Any], point: hl.HookPoint) -> None:
        rows.append(value.shape[0] * value.shape[1])

    def answers(memory: int) -> tuple[list[NDArray[Any]], int]:
        rows.clear()
        bound: Any = {"memory": memory}
        with model.hooks({"resid_post.1": look}, batched=True):
            results = [
                model.patch(clean, corrupt, [5], [6], by="head,position", **bound)["difference"],
                model.paths([(clean, corrupt, [5], [6])], "logits", **bound)["difference"],
                model.saliency(clean, [5], method="occlusion", **bound)["attribution"],
                model.ablate([text, clean], **bound)["rise"],
                model.importance([text, clean], **bound)["ablation"],
            ]
        most = max(rows)
        pairs = [(clean, corrupt, [5], [6])]
        circuit = model.circuit(pairs, edges=9, random_sets=8, **bound)
        return [*map(np.asarray, results), np.asarray(circuit["curve_faithfulness"])], most

    (together, most), (apart, fewer) = answers(0), answers(1)
    assert fewer < most
    for a, b in zip(together, apart, strict=True):
        assert np.allclose(a, b, rtol=1e-5, atol=1e-5)


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


LOOKS = ["embed", "ln1", "ln1_normalized", "q", "pattern", "z.1", "mlp_post", "resid_post", "ln_final", "logits"]


def look(value: NDArray[Any], point: hl.HookPoint) -> NDArray[Any] | None:
    assert np.isfinite(value[..., :1]).any()
    return None


def copied(value: NDArray[Any], point: hl.HookPoint) -> NDArray[Any] | None:
    return value.copy()


@pytest.mark.parametrize("name", LOOKS)
def test_a_hook_that_only_looks_keeps_gradients(model: hl.Model, name: str) -> None:
    ids = task_ids(model)
    options: dict[str, Any] = {"method": "attribution", "point": "z"}
    plain = model.patch(*ids, [5], [6], **options)["attribution"]
    _, _, gradients = model.grad(TEXT, "loss", ["resid_pre.0", "z.0"])
    importance = model.importance(TEXT, progress=False)["taylor"]
    for function in (look, copied):
        with model.hooks({name: function}):
            assert model.patch(*ids, [5], [6], **options)["attribution"] == pytest.approx(plain, abs=1e-4)
            _, _, again = model.grad(TEXT, "loss", ["resid_pre.0", "z.0"])
            assert again["z.0"] == pytest.approx(gradients["z.0"], abs=1e-6)
            assert again["resid_pre.0"] == pytest.approx(gradients["resid_pre.0"], abs=1e-6)
            taylor = model.importance(TEXT, progress=False)["taylor"]
            assert taylor == pytest.approx(importance, abs=1e-5)


def test_a_circuit_is_found_beside_a_hook_that_only_looks(model: hl.Model) -> None:
    pairs = [(*task_ids(model), [5], [6])]
    plain = model.circuit(pairs, edges=12, progress=False)
    with model.hooks({"resid_pre": look, "z": look}):
        found = model.circuit(pairs, edges=12, progress=False)
    assert found["score"] == pytest.approx(plain["score"], abs=1e-4)
    assert found.summary["faithfulness"] == pytest.approx(plain.summary["faithfulness"], abs=1e-4)


def test_a_changed_value_is_refused_where_gradients_flow(model: hl.Model) -> None:
    def halve(value: NDArray[Any], point: hl.HookPoint) -> None:
        value *= 0.5

    ids = task_ids(model)
    calls: list[Callable[[], Any]] = [
        lambda: model.patch(*ids, [5], [6], method="attribution"),
        lambda: model.grad(TEXT, "loss", ["resid_pre.0"]),
        lambda: model.importance(TEXT, progress=False),
        lambda: model.circuit([(*ids, [5], [6])], progress=False),
        lambda: model.gpt(ids[0]),
    ]
    for call in calls:
        with model.hooks({"z.1": halve}), pytest.raises(ValueError, match="blocks.1.attn.hook_z: a hook"):
            call()
    with model.hooks({"z.1": halve}), hl.no_grad():
        assert model.gpt(ids[0]).shape[-1] == 400


def test_points_that_do_not_exist_are_refused(model: hl.Model) -> None:
    for name, message in (("z.99", "layers 0 to 1, got z.99"), ("rot_q", "does not compute rot_q")):
        with pytest.raises(ValueError, match="hooks: .*" + message):
            model.hooks({name: look})
        with pytest.raises(ValueError, match="names: .*" + message):
            model.run_with_cache(TEXT, ["z", name])
        with pytest.raises(ValueError, match="names: .*" + message):
            model.generate_with_cache(TEXT, [name])


def test_hook_normalized_is_before_gain_and_shift(model: hl.Model) -> None:
    _, cache = model.run_with_cache(TEXT)
    for name, norm in (("blocks.1.ln1", "h.1.ln_1"), ("ln_final", "ln_f")):
        normalized = cache[name + ".hook_normalized"]
        expected = normalized * model.weights[norm + ".weight"] + model.weights[norm + ".bias"]
        assert cache[name + ".hook_out"] == pytest.approx(expected, abs=1e-5)
        assert normalized.mean(axis=-1) == pytest.approx(0, abs=1e-5)


def test_models_of_float64_give_float64(run: pathlib.Path) -> None:
    model = hl.load(run, dtype="float64")
    output, cache = model.run_with_cache([TEXT, "a b"])
    assert output.logits.dtype == np.float64
    assert {values.dtype for name, values in cache.items() if "items" not in name} == {np.dtype("float64")}
    _, values, gradients = model.grad(TEXT, hl.kl_divergence(output.logits[0]), ["z.0", "pattern.1"])
    assert {array.dtype for array in [*values.values(), *gradients.values()]} == {np.dtype("float64")}
    assert np.array_equal(cache["z.0"][:1], values["z.0"]) or np.allclose(cache["z.0"][:1], values["z.0"], atol=1e-12)


def test_arrays_of_pruned_models_carry_the_numbers_of_heads(model: hl.Model) -> None:
    pruned = model.prune(heads="1.0,1.2")
    seen: list[list[int]] = []

    def keep(value: NDArray[Any], point: hl.HookPoint) -> None:
        seen.append(point.heads)
        if point.point == "z" and point.layer == 1:
            value[:, :, point.place(3)] = 0

    with pruned.hooks({"z": keep, "pattern.1": keep, "resid_pre.0": keep}):
        logits, cache = pruned.run_with_cache(TEXT, ["z", "pattern"])
    assert set(map(tuple, seen)) == {(), (0, 1, 2, 3), (1, 3)}
    with model.intervene("off 1.0, 1.2, 1.3"):
        assert logits.logits == pytest.approx(model(TEXT).logits, abs=1e-5)
    _, whole = model.run_with_cache(TEXT, ["z.0", "pattern.1"])
    assert cache.heads("z.1") == cache.heads("pattern.1") == [1, 3] and cache.heads("z.0") == [0, 1, 2, 3]
    place = cache.place("pattern.1", 3)
    assert cache["pattern.1"][:, place] == pytest.approx(whole["pattern.1"][:, 3], abs=1e-5)
    _, values, gradients = pruned.grad(TEXT, "loss", ["z.1"])
    assert values.heads("z.1") == gradients.heads("z.1") == [1, 3]
    _, generated = pruned.generate_with_cache(TEXT, ["z.1"], max_new_tokens=2)
    assert generated.heads("z.1") == [1, 3]
    assert pruned.weights["blocks.1.attn.W_Q/items"].tolist() == [1, 3]
    assert model.weights["blocks.1.attn.W_O/items"].tolist() == [0, 1, 2, 3]
    query = pruned.weights["blocks.1.attn.W_Q"][1]
    assert np.array_equal(query, model.weights["blocks.1.attn.W_Q"][3])
    with pytest.raises(ValueError, match=r"head: .*hook_pattern has the heads \[1, 3\], got 2"):
        hl.plot.attention(cache, 1, 2)
    assert "1.3" in hl.plot.attention(cache, 1).source
    with pytest.raises(ValueError, match="1.2"):
        hl.plot.value_weighted(pruned, TEXT, 1, 2)
    assert "1.3" in hl.plot.value_weighted(pruned, TEXT, 1).source
    with pruned.hooks({"z.1": lambda value, point: point.place(2)}):
        with pytest.raises(ValueError, match="blocks.1.attn.hook_z has the heads 1 and 3"):
            pruned(TEXT)


def test_rows_keep_their_names_while_texts_are_generated(model: hl.Model) -> None:
    prompts = ["One day Mina", "Ben", "So Lily met the old man"]
    lengths = [len(model.tokenizer.encode(text, prompt=True)) for text in prompts]

    def seen(texts: list[str]) -> dict[tuple[int, int, int], NDArray[Any]]:
        rows: dict[tuple[int, int, int], NDArray[Any]] = {}

        def look(value: NDArray[Any], point: hl.HookPoint) -> None:
            assert len(point.prompts) == len(value) == len(point.lengths)
            for b, name in enumerate(zip(point.prompts, point.samples, point.steps)):
                prompt, _, step = name
                length = lengths[prompts.index(texts[prompt])]
                assert (point.positions[b], point.lengths[b]) == ((0, length) if step == 0 else (length + step - 1, 1))
                assert name not in rows
                rows[name] = value[b, : point.lengths[b]].copy()

        with model.hooks({"resid_post.1": look}):
            results = model.generate(texts, samples=2, max_new_tokens=6, temperature=1.2, seed=3, stop=[" "])
        for i, result in enumerate(results):
            steps = [step for prompt, sample, step in rows if (prompt, sample) == divmod(i, 2)]
            read = len(result.tokens) - (result.finish_reason != "stop_text")
            assert len([step for step in steps if step > 0]) in (read, read - 1, read + 1)
        return rows

    together = seen(prompts)
    assert {name[:2] for name in together if name[2]} == {(i, k) for i in range(3) for k in range(2)}
    for number, text in enumerate(prompts):
        alone = seen([text])
        assert {(number, *name[1:]) for name in alone} == {name for name in together if name[0] == number}
        for name, row in alone.items():
            assert together[(number, *name[1:])] == pytest.approx(row, abs=1e-4)
    places: list[tuple[list[int], list[int], list[int]]] = []
    with model.hooks({"z.0": lambda value, point: places.append((point.prompts, point.steps, point.positions))}):
        model(prompts)
        assert places == [([0, 1, 2], [0, 0, 0], [0, 0, 0])]
        places.clear()
        for _ in model.stream("Ben", max_new_tokens=3):
            pass
        assert [(p, s) for p, s, _ in places] == [([0], [0]), ([0], [1]), ([0], [2])]


def test_parts_of_the_stream_have_the_names_of_transformer_lens(model: hl.Model) -> None:
    texts = ["One day Mina lost", "Ben"]
    output, cache = model.run_with_cache(texts)
    stream, labels = cache.accumulated_resid(incl_mid=True, return_labels=True)
    assert labels == ["0_pre", "0_mid", "1_pre", "1_mid", "final_post"]
    parts, labels = cache.decompose_resid(return_labels=True)
    assert labels == ["embed", "pos_embed", "0_attn_out", "0_mlp_out", "1_attn_out", "1_mlp_out"]
    assert parts.sum(0) == pytest.approx(stream[-1], abs=1e-5)
    assert cache.decompose_resid(1, mlp_input=True).sum(0) == pytest.approx(cache["resid_mid.1"], abs=1e-5)
    assert len(cache.decompose_resid(0, mode="mlp", incl_embeds=False)) == 0
    heads, labels = cache.stack_head_results(incl_remainder=True, return_labels=True)
    assert labels == [f"L{layer}H{head}" for layer in range(2) for head in range(4)] + ["remainder"]
    assert heads.sum(0) == pytest.approx(stream[-1], abs=1e-5)
    small = model.run_with_cache(texts, ["z", "resid_post"])[1]
    assert small.stack_head_results() == pytest.approx(heads[:-1], abs=1e-5)
    assert cache.accumulated_resid(apply_ln=True)[-1, 0] == pytest.approx(cache["ln_final"][0], abs=1e-4)
    last = cache.accumulated_resid(1, apply_ln=True, pos_slice=0)[-1]
    assert last == pytest.approx(cache["ln1_normalized.1"][:, 0], abs=1e-5)
    ids = np.array([7, 9])
    attributions = cache.logit_attrs(parts, ids, [11, 12])
    assert attributions.shape == parts.shape[:3]
    weights = model.weights
    directions = weights["unembed.W_U"][:, ids] - weights["unembed.W_U"][:, [11, 12]]
    expected = [output.logits[b, :, ids[b]] - output.logits[b, :, [11, 12][b]] for b in range(2)]
    length = output.lengths[1]
    constant = weights["ln_final.b"] @ directions
    assert attributions.sum(0)[0] + constant[0] == pytest.approx(expected[0], abs=1e-4)
    assert attributions.sum(0)[1, :length] + constant[1] == pytest.approx(expected[1][:length], abs=1e-4)
    at_end = cache.logit_attrs(cache.decompose_resid(pos_slice=-1), 7, pos_slice=-1)
    assert at_end == pytest.approx(cache.logit_attrs(parts, 7)[:, :, -1], abs=1e-6)
    cases: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: cache.decompose_resid(3), ValueError, "layer: expected 0 to 2, got 3"),
        (lambda: cache.decompose_resid(mode="mlps"), ValueError, 'mode: expected "all"'),
        (lambda: cache.logit_attrs(parts, "Mina lost"), ValueError, "tokens: expected one token"),
        (lambda: small.decompose_resid(), KeyError, "hook_embed|embed"),
        (lambda: hl.ActivationCache().decompose_resid(), ValueError, "model: expected a cache"),
    ]
    for call, error, message in cases:
        with pytest.raises(error, match=message):
            call()


def test_caches_can_be_copied_and_pickled(model: hl.Model) -> None:
    _, cache = model.run_with_cache(TEXT, ["resid_post", "ln_final_scale"])
    for other in (copy.deepcopy(cache), pickle.loads(pickle.dumps(cache))):
        assert np.array_equal(other["resid_post.1"], cache["resid_post.1"]) and other.tokens == cache.tokens
    assert cache.copy().model is model
