"""Hooks through which gradients flow: vectors, masks and subspaces that learn on a frozen model."""

import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import task_ids
from numpy.typing import NDArray

import headlight as hl
from headlight import nn, ops, optim

RANDOM = np.random.default_rng(5)
TEXTS = ["One day Mina lost her red kite.", "Ben saw"]


def finite_difference(
    f: Callable[[NDArray[Any]], float], x: NDArray[Any], places: int = 4
) -> dict[tuple[int, ...], float]:
    """Returns the derivatives at some places of x."""
    chosen = RANDOM.choice(x.size, min(places, x.size), replace=False)
    derivatives = {}
    for place in map(tuple, np.array(np.unravel_index(chosen, x.shape)).T.tolist()):
        step = np.zeros_like(x)
        step[place] = 1e-5
        derivatives[place] = (f(x + step) - f(x - step)) / 2e-5
    return derivatives


def assert_gradient(f: Callable[[hl.Tensor], hl.Tensor], values: NDArray[Any]) -> None:
    x = hl.Tensor(values, requires_grad=True)
    f(x).backward()
    assert x.grad is not None and np.abs(x.grad.numpy()).max() > 1e-6
    numbers = finite_difference(lambda v: f(hl.Tensor(v)).item(), values)
    for place, expected in numbers.items():
        assert x.grad.numpy()[place] == pytest.approx(expected, abs=1e-7, rel=1e-5)


@pytest.fixture(scope="module")
def wide(run: pathlib.Path) -> hl.Model:
    return hl.load(run, dtype="float64")


def chosen(logits: hl.Tensor) -> hl.Tensor:
    """Returns one number of logits [B, T, V]."""
    return ops.sum(ops.log_softmax(logits[:, 3])[:, 7]) + 0.1 * ops.sum(logits[0, 5, 3:9])


@pytest.mark.parametrize("point", ["embed", "resid_pre.1", "z.0", "pattern.1", "mlp_post.0", "logits"])
def test_gradients_through_hooks_equal_finite_differences(wide: hl.Model, point: str) -> None:
    _, cache = wide.run_with_cache(TEXTS, [point])
    shape = cache[hl.point_name(point)].shape
    shape = shape[1:] if point != "pattern.1" else shape[1:2] + (1, 1)

    def of(vector: hl.Tensor) -> hl.Tensor:
        length = [0]

        def hook(value: hl.Tensor, place: hl.HookPoint) -> hl.Tensor:
            length[0] += 1
            return value * (1 + vector) if point == "pattern.1" else value + vector

        with wide.hooks({point: hook}, tensors=True):
            result = chosen(wide.logits(TEXTS))
        assert length[0] == (2 if point == "pattern.1" else 1)
        return result

    assert_gradient(of, RANDOM.normal(size=shape) * 0.1)


def test_hooks_with_tensors_change_values_as_those_with_arrays(model: hl.Model) -> None:
    def of_tensor(value: hl.Tensor, point: hl.HookPoint) -> hl.Tensor:
        assert value.shape[:2] == (len(point.lengths), max(point.lengths))
        return value * 0.5

    def of_array(value: NDArray[Any], point: hl.HookPoint) -> None:
        value *= 0.5

    lengths = model(TEXTS).lengths
    with model.hooks({"z.1": of_tensor, "resid_post.0": lambda value, point: None}, tensors=True):
        logits, generated = model(TEXTS).logits, model.generate(TEXTS[1], max_new_tokens=4, temperature=0)
        traced, last = model.logits(TEXTS), model.logits(TEXTS, last=True)
    with model.hooks({"z.1": of_array}):
        assert np.array_equal(model(TEXTS).logits, logits)
        assert model.generate(TEXTS[1], max_new_tokens=4, temperature=0).text == generated.text
    assert np.array_equal(traced.numpy(), logits) and not traced.requires_grad
    assert last.numpy() == pytest.approx(np.stack([logits[i, n - 1] for i, n in enumerate(lengths)]), abs=1e-5)
    cases: list[tuple[Callable[..., Any], str]] = [
        (lambda value, point: value.numpy(), "hook_z: expected the hook to return a Tensor or None"),
        (lambda value, point: value[:1], r"hook_z: the hook returned float32 \[1, .*expected float32 \[2, "),
        (lambda value, point: hl.Tensor(value, dtype="float64"), "returned float64"),
    ]
    for function, message in cases:
        with model.hooks({"z.1": function}, tensors=True), pytest.raises(ValueError, match=message):
            model.logits(TEXTS)


def test_a_vector_and_a_mask_are_trained_on_a_frozen_model(model: hl.Model) -> None:
    before = model(TEXTS[0]).logits
    vector = hl.Tensor(np.zeros(32, np.float32), requires_grad=True)
    gates = hl.Tensor(np.zeros((4, 1), np.float32), requires_grad=True)
    optimizer = optim.AdamW({"vector": vector, "gates": gates}, weight_decay=0)
    losses = []
    hooks: dict[str, Callable[..., hl.Tensor]] = {
        "resid_post.1": lambda value, point: value + vector,
        "z.1": lambda value, point: value * ops.sigmoid(gates),
    }
    for _ in range(40):
        with model.hooks(hooks, tensors=True):
            loss = ops.cross_entropy(model.logits(TEXTS, last=True), np.array([9, 9], np.int32))
        vector.zero_grad()
        gates.zero_grad()
        loss.backward()
        optimizer.step(0.1)
        losses.append(loss.item())
    assert losses[-1] < 0.92 * losses[0] and np.abs(gates.numpy()).min() > 0
    assert np.array_equal(model(TEXTS[0]).logits, before)
    assert all(weight.requires_grad and weight.grad is None for weight in model.gpt.parameters().values())


def test_gradients_equal_those_of_pytorch(model: hl.Model, tmp_path: pathlib.Path) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    model.save(tmp_path)
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path)
    base, source = (np.array([ids], np.int32) for ids in task_ids(model))
    subspace = nn.Subspace(32, 3, seed=2)
    _, cache = model.run_with_cache(source, ["resid_post.0"])
    values = cache["resid_post.0"]
    with model.hooks({"resid_post.0": lambda value, point: subspace(value, values)}, tensors=True):
        logits = model.logits(base)
    ops.sum(ops.log_softmax(logits[:, -1])[:, 7]).backward()
    directions = torch.tensor(subspace.directions.numpy(), requires_grad=True)
    basis = torch.linalg.qr(directions.T).Q  # the same space
    stream = torch.from_dlpack(values)

    def exchange(module: Any, inputs: Any, output: Any) -> Any:
        hidden = output[0] if isinstance(output, tuple) else output
        moved = hidden + (stream - hidden) @ basis @ basis.T
        return (moved, *output[1:]) if isinstance(output, tuple) else moved

    theirs.transformer.h[0].register_forward_hook(exchange)
    expected = theirs(torch.from_numpy(base).long()).logits
    torch.log_softmax(expected[:, -1], -1)[:, 7].sum().backward()
    assert logits.numpy() == pytest.approx(expected.detach().numpy(), abs=1e-4)
    assert subspace.directions.grad is not None
    assert subspace.directions.grad.numpy() == pytest.approx(directions.grad.numpy(), abs=1e-4)


def test_a_subspace_exchanges_its_part(wide: hl.Model) -> None:
    base, source = RANDOM.normal(size=(2, 5, 6)).astype(np.float32)
    whole = nn.Subspace(6, 6, seed=1)
    basis = whole.basis().numpy()
    assert basis @ basis.T == pytest.approx(np.eye(6), abs=1e-5)
    assert whole(hl.Tensor(base), source).numpy() == pytest.approx(source, abs=1e-5)
    plane = nn.Subspace(6, 2)
    rows = plane.basis().numpy()
    expected = base + (source - base) @ rows.T @ rows
    assert plane(hl.Tensor(base), source).numpy() == pytest.approx(expected, abs=1e-5)
    assert list(plane.parameters()) == ["directions"]
    plane.directions = hl.Tensor(RANDOM.normal(size=(2, 6)))
    kept = plane.directions.numpy().copy()

    def of(directions: hl.Tensor) -> hl.Tensor:
        plane.directions = directions
        return ops.sum(plane(hl.Tensor(base, dtype="float64"), source.astype(float)) ** 2)

    assert_gradient(of, kept)
    with pytest.raises(ValueError, match="size: expected 1 to 4, got 5"):
        nn.Subspace(4, 5)


def test_custom_ops_have_the_gradient_of_their_function() -> None:
    def product(a: hl.Tensor, b: hl.Tensor) -> Any:
        x, y = a.numpy().copy(), b.numpy().copy()
        return np.sin(x) * y, lambda g: (g * np.cos(x) * y, np.sin(x) * g.numpy())

    other = RANDOM.normal(size=(2, 3))
    values = RANDOM.normal(size=(2, 3))
    assert_gradient(lambda x: ops.sum(ops.custom(product, x * 2, other) ** 2), values)
    assert_gradient(lambda x: ops.sum(ops.custom(product, other, x) * x), values)
    x = hl.Tensor([1.0, 2.0], requires_grad=True)
    stopped = ops.custom(lambda a: (a.numpy() * 3, lambda g: None), x)
    (ops.sum(stopped * x)).backward()
    assert x.grad is not None and x.grad.numpy().tolist() == [3.0, 6.0]
    with hl.no_grad():
        assert not ops.custom(lambda a: (a, lambda g: g), x).requires_grad
    with pytest.raises(ValueError, match=r"function: expected \(value, gradient function\), got 3"):
        ops.custom(lambda a: 3, x)  # type: ignore[arg-type, return-value]
    with pytest.raises(ValueError, match="gradient: expected 1 gradients from the function, got 2"):
        ops.sum(ops.custom(lambda a: (a, lambda g: (g, g)), x)).backward()
    with pytest.raises(ValueError, match="custom gave a gradient of shape"):
        ops.sum(ops.custom(lambda a: (a, lambda g: g[:1]), x)).backward()
    with pytest.raises(ZeroDivisionError):
        ops.sum(ops.custom(lambda a: (a, lambda g: 1 / 0), x)).backward()


def test_modules_of_pytorch_are_layers(model: hl.Model) -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(1)
    module = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.GELU(), torch.nn.Linear(5, 2))
    values = RANDOM.normal(size=(3, 4)).astype(np.float32)
    x = hl.Tensor(values, requires_grad=True)
    loss = ops.sum(nn.Torch(module)(x * 2) ** 2)
    loss.backward(retain_graph=True)
    y = torch.tensor(values, requires_grad=True)
    ours = [parameter.grad.clone() for parameter in module.parameters()]
    module.zero_grad()
    expected = (module(y * 2) ** 2).sum()
    expected.backward()
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5) and x.grad is not None
    assert x.grad.numpy() == pytest.approx(y.grad.numpy(), abs=1e-5)
    for found, parameter in zip(ours, module.parameters()):
        assert found.numpy() == pytest.approx(parameter.grad.numpy(), abs=1e-5)
    loss.backward()
    assert x.grad.numpy() == pytest.approx(2 * y.grad.numpy(), abs=1e-4)
    autoencoder = torch.nn.Linear(32, 32)
    optimizer = torch.optim.Adam(autoencoder.parameters(), 0.01)
    layer = nn.Torch(autoencoder)
    losses = []
    for _ in range(15):
        with model.hooks({"resid_post.1": lambda value, point: layer(value)}, tensors=True):
            error = ops.cross_entropy(model.logits(TEXTS, last=True), np.array([9, 9], np.int32))
        optimizer.zero_grad()
        error.backward()
        optimizer.step()
        losses.append(error.item())
    assert losses[-1] < 0.9 * losses[0]


def test_a_pass_begins_at_a_layer_or_with_embeddings(model: hl.Model) -> None:
    names = ["embed", "resid_pre", "pattern.1", "ln_final"]
    whole, cache = model.run_with_cache(TEXTS, names)
    traced = model.logits(TEXTS).numpy()
    lengths = whole.lengths
    for layer in (0, 1):
        start: dict[str, Any] = {"start_at_layer": layer, "lengths": lengths}
        stream = cache["resid_pre", layer]
        assert np.array_equal(model(stream, **start).logits, traced)
        assert np.array_equal(model.logits(stream, **start).numpy(), traced)
        output, rest = model.run_with_cache(stream, ["resid_pre", "pattern.1", "ln_final"], **start)
        assert output.logits == pytest.approx(whole.logits, abs=1e-5)
        assert set(rest) == {name for name in cache if name != "hook_embed"} - (
            {hl.point_name("resid_pre.0")} if layer else set()
        )
        for name, values in rest.items():
            assert values == pytest.approx(cache[name], abs=1e-5)
    assert np.array_equal(model(cache["embed"], lengths=lengths).logits, traced)
    only = model(cache["embed"][1, : lengths[1]]).logits
    assert only[0] == pytest.approx(traced[1, : lengths[1]], abs=1e-5)
    with model.hooks({"embed": lambda value, point: seen.append(value.copy())}):
        seen: list[NDArray[Any]] = []
        model(cache["embed"], lengths=lengths)
    assert np.array_equal(seen[0], cache["embed"])
    after = model.run_with_cache(TEXTS, ["resid_post.1"])[1]["resid_post.1"]
    assert model(after, start_at_layer=2, lengths=lengths).logits == pytest.approx(traced, abs=1e-5)
    ids = [model.tokenizer.encode(text, prompt=True).tolist() for text in TEXTS]
    targets = [row[1:] + [-1] for row in ids]
    given = model(cache["embed"], lengths=lengths, targets=targets)
    assert given.loss == model(TEXTS, targets="next").loss
    stream = cache["resid_pre.1"]
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: model(TEXTS, start_at_layer=1), "start_at_layer: needs values"),
        (lambda: model(stream, start_at_layer=3), "start_at_layer: expected 0 to 2, got 3"),
        (lambda: model(stream[..., :8]), r"inputs: expected values of shape \[T, 32\]"),
        (lambda: model(stream, lengths=[1]), "lengths: expected 2 numbers, got 1"),
        (lambda: model(stream, lengths=[1, 0]), "lengths: expected 1 to"),
        (lambda: model(stream, targets="next"), "targets: expected ids"),
        (lambda: model.logits(hl.Tensor(stream, dtype="float64")), "inputs: expected the type float32"),
    ]
    for call, message in cases:
        with pytest.raises(ValueError, match=message):
            call()


def test_embeddings_are_trained(wide: hl.Model) -> None:
    _, cache = wide.run_with_cache(TEXTS[0], ["embed", "resid_pre.1"])
    assert_gradient(lambda x: chosen(wide.logits(x)), cache["embed"])
    assert_gradient(lambda x: chosen(wide.logits(x, start_at_layer=1)), cache["resid_pre.1"])
