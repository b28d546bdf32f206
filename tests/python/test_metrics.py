"""Gradients of metrics at points, and metrics in patching."""

from typing import Any

import numpy as np
import pytest
from conftest import task_ids
from numpy.typing import NDArray

import headlight as hl
from headlight import ops

TEXT = "One day Mina lost her red kite."


def squares(logits: hl.Tensor) -> hl.Tensor:
    return ops.sum(logits**2)


def squares_of_array(logits: hl.Tensor) -> tuple[float, NDArray[Any]]:
    array = logits.numpy()
    return float((array**2).sum()), 2 * array


def log_softmax(row: NDArray[Any]) -> NDArray[Any]:
    row = row.astype(np.float64)
    return np.asarray(row - row.max() - np.log(np.exp(row - row.max()).sum()))


def test_gradients_are_those_of_finite_differences(model: hl.Model) -> None:
    texts = [TEXT, "a b"]
    value, values, gradients = model.grad(texts, squares, ["z.0", "pattern.1", "logits"])
    output, cache = model.run_with_cache(texts, ["z.0"])
    assert value == pytest.approx(float((output.logits.astype(np.float64) ** 2).sum()), rel=1e-5)
    assert np.allclose(values["z.0"], cache["z.0"], atol=1e-5)
    assert set(gradients) == set(values) and gradients["pattern.1"].shape[:2] == (2, 4)
    assert np.allclose(gradients["logits"], 2 * values["logits"])
    again, _, same = model.grad(texts, squares_of_array, ["z.0"])
    assert again == pytest.approx(value, rel=1e-5)
    assert np.allclose(same["z.0"], gradients["z.0"], atol=1e-6)
    assert len(values.tokens) == 2

    def measured(step: float) -> float:
        def change(z: NDArray[Any], point: hl.HookPoint) -> NDArray[Any]:
            z = z.copy()
            z[0, 2, 1] += step * direction
            return z

        with model.hooks({"z.0": change}):
            return float((model(texts).logits.astype(np.float64) ** 2).sum())

    direction = np.linspace(-1, 1, 8, dtype=np.float32)
    expected = (measured(0.05) - measured(-0.05)) / 0.1
    assert float((gradients["z.0"][0, 2, 1] * direction).sum()) == pytest.approx(expected, rel=0.02)


def test_built_in_metrics_have_gradients(model: hl.Model) -> None:
    logits = model(TEXT).logits[0, -1]
    value, _, gradients = model.grad(TEXT, hl.logit_difference(5, 6), ["logits"])
    assert value == pytest.approx(logits[5] - logits[6], abs=1e-5)
    last = gradients["logits"][0, -1]
    assert last[5] == 1 and last[6] == -1 and np.abs(gradients["logits"]).sum() == 2
    assert model.grad(TEXT, hl.answer_loss(5), ["z"])[0] == pytest.approx(-log_softmax(logits)[5])
    assert model.grad(TEXT, hl.answer_probability(5), ["z"])[0] == pytest.approx(
        np.exp(log_softmax(logits)[5])
    )
    same = hl.kl_divergence(model(TEXT).logits[0])
    assert model.grad(TEXT, same, ["z"])[0] == pytest.approx(0, abs=1e-6)
    assert model.grad(TEXT, "loss", ["z"])[0] == pytest.approx(model.loss(TEXT), rel=1e-5)


def test_metrics_that_cannot_be_used(model: hl.Model) -> None:
    cases: list[tuple[Any, str]] = [
        (lambda logits: 1.0, "metric: expected a value with a gradient"),
        (lambda logits: "a", "metric: expected a function that returns a number"),
        (lambda logits: (1.0, [1.0]), "metric: expected a gradient of shape"),
        ("accuracy", "metric: "),
        (5, "metric: expected a function or a Metric"),
        (hl.answer_loss(100_000), "metric: expected a token"),
    ]
    for metric, message in cases:
        with pytest.raises(ValueError, match=message):
            model.grad(TEXT, metric, ["z"])
    with pytest.raises(ZeroDivisionError):
        model.grad(TEXT, lambda logits: (1 / 0, logits.numpy()), ["z"])
    with pytest.raises(ValueError, match="names: this model does not compute rot_q"):
        model.grad(TEXT, "loss", ["rot_q"])


def test_patching_by_a_function_of_the_logits(model: hl.Model) -> None:
    clean, corrupt = task_ids(model)
    plain = model.patch(clean, corrupt, [5], [6])
    shapes = []

    def difference(logits: NDArray[Any]) -> float:
        shapes.append(logits.shape)
        return float(logits[-1, 5] - logits[-1, 6])

    own = model.patch(clean, corrupt, metric=difference)
    assert own["recovered"] == pytest.approx(plain["recovered"], abs=1e-3)
    assert set(shapes) == {(len(clean), 400)}
    built_in = model.patch(clean, corrupt, metric=hl.logit_difference(5, 6))
    assert built_in["difference"] == pytest.approx(plain["difference"], abs=1e-5)
    metric = hl.Metric(lambda logits: logits[-1, 5] - logits[-1, 6])
    options: dict[str, Any] = {"method": "attribution", "point": "z"}
    own = model.patch(clean, corrupt, metric=metric, **options)
    expected = model.patch(clean, corrupt, [5], [6], **options)
    assert own["attribution"] == pytest.approx(expected["attribution"], abs=1e-4)


def test_patching_cells_of_any_point(model: hl.Model) -> None:
    clean, corrupt = task_ids(model)
    heads = model.patch(clean, corrupt, [5], [6], point="z", by="head")
    plain = model.patch(clean, corrupt, [5], [6])
    assert heads["recovered"] == pytest.approx(plain["recovered"], abs=1e-3)
    grid = model.patch(clean, corrupt, [5], [6], point="resid_pre", method="both")
    assert grid["recovered"].shape == grid["attribution"].shape == (2, len(clean))
    assert grid["recovered"][0].sum() == pytest.approx(1, abs=0.5)
    cells = model.patch(clean, corrupt, [5], [6], point="z", by="head,position")
    assert cells["recovered"].shape == (8, len(clean)) and cells.labels("head")[4] == "1.0"
    for metric in ("loss", "probability", "kl"):
        answer = None if metric == "kl" else [5]
        found = model.patch(clean, corrupt, answer, metric=metric, point="resid_post", by="layer")
        assert found["recovered"][-1] == pytest.approx(1, abs=1e-4), metric
    assert found.summary["clean_difference"] == pytest.approx(0, abs=1e-5)
    with pytest.raises(ValueError, match="by: expected layer, head"):
        model.patch(clean, corrupt, [5], [6], by="neuron")
    with pytest.raises(ValueError, match="answer: has no part in metric kl"):
        model.patch(clean, corrupt, [5], metric="kl")
    with pytest.raises(ValueError, match="wrong: needs metric logit_difference"):
        model.patch(clean, corrupt, [5], [6], metric="loss")
    likeliest = [int(model([corrupt]).logits[0, -1].argmax())]
    assert model.patch(clean, corrupt, [5]).summary == model.patch(clean, corrupt, [5], likeliest).summary
    with pytest.raises(ValueError, match="metric: expected logit_difference, probability"):
        model.patch(clean, corrupt, [5], [6], metric="accuracy")
    with pytest.raises(ValueError, match="metric: expected a value with a gradient"):
        model.patch(clean, corrupt, metric=lambda x: float(x[-1, 5]), method="attribution")


def test_attribution_with_both_parts_of_atp_star(model: hl.Model) -> None:
    clean, corrupt = task_ids(model)
    options: dict[str, Any] = {"point": "q", "by": "head,position", "method": "both"}
    plain = model.patch(clean, corrupt, [5], [6], **options)
    fixed = model.patch(clean, corrupt, [5], [6], qk_fix=True, **options)
    errors = [np.abs(r["attribution"] - r["recovered"]).sum() for r in (plain, fixed)]
    assert errors[1] < errors[0] + 1e-6
    dropped = model.patch(clean, corrupt, [5], [6], method="attribution", grad_drop=True)
    assert (dropped["attribution"] >= 0).all() and dropped["attribution"].shape == (2, 4)
    with pytest.raises(ValueError, match="qk_fix: needs point q, k, rot_q or rot_k, got z"):
        model.patch(clean, corrupt, [5], [6], qk_fix=True, point="z", method="both")
    with pytest.raises(ValueError, match="qk_fix: needs method"):
        model.patch(clean, corrupt, [5], [6], qk_fix=True)


def test_paths_between_all_kinds_of_nodes(model: hl.Model) -> None:
    clean, corrupt = task_ids(model)
    pairs = [(clean, corrupt, [5], [6]), (corrupt, clean, [5], [6])]
    result = model.paths(pairs, "logits")
    assert result.labels("sender")[:2] == ["embed", "0.0"] and "mlp.1" in result.labels("sender")
    assert result["recovered"].shape == (11,) and result["heads"].shape == (2, 4)
    one = model.paths(pairs[:1], ["1.0.q", "1.1.k"], "mlp.0", recompute_mlps=True)
    assert one["recovered"].shape == one["difference"].shape == (1,)
    assert model.paths(pairs, "mlp.1", "embed")["recovered"].shape == (1,)
    own = model.paths(pairs[:1], "logits", "1.2", metric=lambda x: float(x[-1, 5] - x[-1, 6]))
    place = result.labels("sender").index("1.2")
    single = model.paths(pairs[:1], "logits")
    assert own["recovered"][0] == pytest.approx(single["recovered"][place], abs=1e-3)
    for receiver, sender, message in [
        ("1.0", None, "receiver: expected q, k or v"),
        ("0.0.q", "1.0", "receiver: expected a receiver after 1.0"),
        ("logits", "mlp.7", "sender: the model has 2 layers"),
        ([], None, "receiver: expected at least one receiver"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.paths(pairs, receiver, sender)
