"""Attribution to the tokens of a text; tools/parity/check_saliency.py compares it with captum."""

from typing import Any

import numpy as np
import pytest
from conftest import task_ids
from numpy.typing import NDArray

import headlight as hl
from headlight import ops

TEXT = "One day Mina lost her red kite."


def measured(model: hl.Model, ids: list[int], change: Any, answer: int, wrong: int) -> float:
    """Returns the difference of two logits after the text, with changed embeddings."""
    with model.hooks({"embed": change}):
        logits = model([ids]).logits[0, len(ids) - 1].astype(float)
    return float(logits[answer] - logits[wrong])


def test_gradients_at_the_embedding(model: hl.Model) -> None:
    ids = model.tokenizer.encode(TEXT, prompt=True).tolist()
    value, values, gradients = model.grad([ids], hl.logit_difference(5, 6), ["embed"])
    gradient, embedding = gradients["hook_embed"][0], values["hook_embed"][0]
    found = model.saliency(ids, 5, 6, method="gradient_x_input")
    assert found.summary["texts"][0]["metric"] == pytest.approx(value, abs=1e-5)
    assert found["attribution"] == pytest.approx((gradient * embedding).sum(-1), abs=1e-5)
    assert found["id"].tolist() == ids and found["position"].tolist() == list(range(len(ids)))
    lengths = model.saliency(ids, 5, 6, method="gradient")
    assert lengths["attribution"] == pytest.approx(np.linalg.norm(gradient, axis=-1), rel=1e-4)
    other = [ids[0], 7, *ids[2:]]
    pair = model.saliency(pairs=[(ids, other, 5, 6)], method="gradient_x_input")
    change = embedding - model.run_with_cache([other], ["embed"])[1]["hook_embed"][0]
    assert pair.summary["baseline"] == "corrupt"
    assert pair["attribution"] == pytest.approx((gradient * change).sum(-1), abs=1e-5)
    assert np.flatnonzero(pair["attribution"]).tolist() == [1]


def test_integrated_gradients_converge(model: hl.Model) -> None:
    ids = model.tokenizer.encode(TEXT, prompt=True).tolist()
    whole = measured(model, ids, lambda value, point: value, 5, 6)
    base = measured(model, ids, lambda value, point: value * 0, 5, 6)
    deltas = []
    for steps in (2, 20, 200):
        found = model.saliency(ids, 5, 6, steps=steps)
        text = found.summary["texts"][0]
        assert text["baseline"] == pytest.approx(base, abs=1e-5)
        assert text["sum"] == pytest.approx(found["attribution"].sum(), abs=1e-5)
        assert text["delta"] == pytest.approx(text["sum"] - (whole - base), abs=1e-5)
        deltas.append(abs(text["delta"]))
    assert deltas[2] < deltas[0] / 10 and deltas[2] < 1e-4


def test_occlusion(model: hl.Model) -> None:
    ids = model.tokenizer.encode(TEXT, prompt=True).tolist()
    found = model.saliency(ids, 5, 6, method="occlusion")["attribution"]
    whole = measured(model, ids, lambda value, point: value, 5, 6)

    def without(token: int) -> Any:
        def change(value: NDArray[Any], point: hl.HookPoint) -> NDArray[Any]:
            value = value.copy()
            value[0, token] = 0
            return value

        return change

    expected = [whole - measured(model, ids, without(token), 5, 6) for token in range(len(ids))]
    assert found == pytest.approx(np.array(expected), abs=1e-5)


def test_metrics_and_answers(model: hl.Model) -> None:
    logits = model(TEXT).logits[0, -1].astype(float)
    best = model.saliency(TEXT, method="gradient").summary
    assert best["texts"][0]["answer"]["id"] == int(logits.argmax()) and best["metric"] == "logit"
    assert best["texts"][0]["metric"] == pytest.approx(logits.max(), abs=1e-4)
    loss = model.saliency(TEXT, 5, metric="loss").summary["texts"][0]["metric"]
    assert loss == pytest.approx(np.log(np.exp(logits).sum()) - logits[5], abs=1e-4)
    squares = model.saliency(TEXT, metric=hl.Metric(lambda rows: ops.sum(rows**2)), method="occlusion")
    assert squares.summary["metric"] == "function" and "answer" not in squares.summary["texts"][0]
    answers = model.saliency(TEXT, [5, 6], [7]).summary
    several = answers["texts"][0]
    assert several["answer"]["ids"] == [5, 6] and abs(several["delta"]) < 1e-2
    assert answers["metric"] == "log_probability_difference"
    clean, corrupt = task_ids(model)
    two = model.saliency(pairs=[(clean, corrupt, 5, 6), (corrupt, clean, 6, 5)], baseline="zero", steps=5)
    assert two.labels("text") == ["text 0"] * len(clean) + ["text 1"] * len(clean)
    assert "<h2>text 1</h2>" in two.html and two.html.count("<span") == len(two["id"])


def test_values_that_are_not_finite(model: hl.Model) -> None:
    for method in ("gradient", "occlusion", "integrated_gradients"):
        with pytest.raises(ValueError, match="not finite"):
            with model.intervene("scale resid_post.1 3e38; scale resid_post.1 3e38"):
                model.saliency(TEXT, 5, method=method)
    nothing = hl.Metric(lambda rows: ops.sum(rows) * float("nan"))
    with pytest.raises(ValueError, match="not finite: metric"):
        model.saliency(TEXT, metric=nothing, method="occlusion")


def test_a_caution_about_integrated_gradients(model: hl.Model) -> None:
    cautions = set()
    for answer in range(5, 65, 2):
        found = model.saliency(TEXT, answer, answer + 1, steps=1).summary
        text = found["texts"][0]
        is_far = abs(text["delta"]) > 0.1 * abs(text["metric"] - text["baseline"])
        assert (found["caution"] is not None) == is_far
        cautions.add(found["caution"])
    assert None in cautions and len(cautions) == 2
    assert any("delta is more than 10% of the difference" in str(line) for line in cautions)
    assert model.saliency(TEXT, 5, 6, method="gradient").summary["caution"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"text": TEXT, "steps": 0}, "steps: expected 1 to"),
        ({"text": TEXT, "steps": 7, "method": "occlusion"}, "steps: needs method integrated_gradients"),
        ({"text": TEXT, "baseline": "zero", "method": "gradient"}, "baseline: cannot be combined"),
        ({"text": TEXT, "baseline": "corrupt"}, "baseline: corrupt needs a corrupt text"),
        ({"text": TEXT, "corrupt": [5]}, "corrupt: expected as many tokens"),
        ({"text": TEXT, "answer": [5, 6]}, "answer: expected one token, got 2"),
        ({"text": TEXT, "answer": 5, "wrong": 5}, "wrong: expected a token other than the answer"),
        ({"text": TEXT, "wrong": 5, "metric": "loss"}, "wrong: needs metric logit_difference"),
        ({}, "text: expected a text, or pairs"),
    ],
)
def test_refused_arguments(model: hl.Model, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model.saliency(**arguments)
