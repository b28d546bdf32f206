"""Tensors, gradients, layers and optimizers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import headlight as hl
from headlight import nn, ops, optim

RANDOM = np.random.default_rng(3)


def finite_difference(f: Callable[[NDArray[Any]], float], x: NDArray[Any]) -> NDArray[Any]:
    gradient = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[place] = 1e-5
        gradient[place] = (f(x + step) - f(x - step)) / 2e-5
    return gradient


def test_tensors_share_memory_with_numpy_and_dlpack() -> None:
    values = RANDOM.normal(size=(3, 4))
    tensor = hl.Tensor(values)
    assert (tensor.shape, tensor.dtype, tensor.ndim) == ((3, 4), "float64", 2)
    assert np.array_equal(tensor.numpy(), values) and not tensor.numpy().flags.writeable
    assert np.shares_memory(np.from_dlpack(tensor), tensor.numpy())
    own = values.copy()
    shared = hl.Tensor.from_dlpack(own)
    assert np.shares_memory(shared.numpy(), own)
    kept = shared[1]
    del shared
    assert np.array_equal(kept.numpy(), own[1])
    own[1, 0] = 7
    assert float(kept[0]) == 7
    copied = hl.Tensor.from_dlpack(values[:, ::2])  # not contiguous
    assert np.array_equal(copied.numpy(), values[:, ::2])
    assert not np.shares_memory(copied.numpy(), values)
    assert np.array_equal(np.asarray(tensor[1:, ::2]), values[1:, ::2])
    assert np.array_equal(np.asarray(tensor[:, 1]), values[:, 1])
    assert hl.Tensor([1, 2]).dtype == "int32" and hl.Tensor([1.0]).dtype == "float32"
    assert hl.Tensor([True]).dtype == "bool" and float(hl.Tensor(2.5)) == 2.5
    with pytest.raises(ValueError, match="tensor: expected an array of numbers, got <U1"):
        hl.Tensor("x")
    for number in [2**63, 2**64 - 1]:
        with pytest.raises(ValueError, match=f"expected integers of 32 bits, got {number}"):
            hl.Tensor(np.array([1, number], np.uint64))
    assert np.array_equal(hl.Tensor(np.array([7], np.uint64)).numpy(), [7])
    with pytest.raises(ValueError, match="shape"):
        tensor + hl.Tensor(np.zeros(3))


def test_values_equal_those_of_numpy() -> None:
    a, b = RANDOM.normal(size=(3, 4)), RANDOM.normal(size=(3, 4))
    x, y = hl.Tensor(a), hl.Tensor(b)
    assert isinstance(b / x, hl.Tensor) and isinstance(b @ ops.transpose(x), hl.Tensor)
    pairs: list[tuple[Any, Any]] = [
        (2 - x, 2 - a), (x - y, a - b), (1 / x, 1 / a), (b / x, b / a), (x * 3, a * 3),
        (x @ ops.transpose(y), a @ b.T), (-x, -a), (x**2, a**2), (x[2], a[2]), (x[-1, 1:3], a[-1, 1:3]),
        (ops.sum(x, [0]), a.sum(0)), (ops.mean(x, [1], True), a.mean(1, keepdims=True)),
        (ops.max(x), a.max()), (ops.permute(x, [1, 0]), a.T), (ops.reshape(x, [2, 6]), a.reshape(2, 6)),
        (ops.stack([x, y]), np.stack([a, b])), (ops.less(x, 0.0), a < 0), (ops.argmax(x, 1), a.argmax(1)),
        (ops.clamp(x, -1, 1), a.clip(-1, 1)), (ops.topk(x, 2)[0], -np.sort(-a, axis=1)[:, :2]),
        (ops.masked_fill(x, a > 0, 7.0), np.where(a > 0, 7.0, a)), (ops.causal_mask(3), np.triu(np.ones((3, 3)), 1)),
    ]  # fmt: skip
    for number, (tensor, expected) in enumerate(pairs):
        assert np.asarray(tensor) == pytest.approx(np.asarray(expected)), number


def test_torch_reads_tensors() -> None:
    torch = pytest.importorskip("torch")
    tensor = hl.Tensor([[1.0, 2.0]])
    assert torch.from_dlpack(tensor).tolist() == [[1.0, 2.0]]
    assert hl.Tensor.from_dlpack(torch.ones(2)).numpy().tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (x * 2 - 1 / (x * x + 3)) / (1 + x * x),
        lambda x: ops.softmax(x) * x,
        lambda x: ops.layer_norm(x) @ ops.transpose(x),
        lambda x: ops.gelu(x) ** 2 + ops.silu(-x),
        lambda x: ops.attention(x, x, x, causal=True)[0],
        lambda x: ops.concat([x[:1], ops.exp(x[1:])]),
        lambda x: ops.einsum("ij,kj->ik", x, x),
        lambda x: ops.where(ops.greater(x, 0.0), x * x, x),
    ],
)
def test_gradients_equal_finite_differences(f: Callable[[hl.Tensor], hl.Tensor]) -> None:
    values = RANDOM.normal(size=(3, 4))
    x = hl.Tensor(values, requires_grad=True)
    ops.sum(f(x)).backward()
    assert x.grad is not None
    expected = finite_difference(lambda v: ops.sum(f(hl.Tensor(v))).item(), values)
    assert x.grad.numpy() == pytest.approx(expected, abs=1e-6)


def test_graphs_and_errors() -> None:
    x = hl.Tensor([1.0, 2.0], requires_grad=True)
    (x * x).backward(np.array([1.0, 10.0], np.float32))
    assert x.grad is not None and x.grad.numpy().tolist() == [2.0, 40.0]
    x.zero_grad()
    assert x.grad is None
    with hl.no_grad():
        assert not (x * 2).requires_grad
    with pytest.raises(ValueError, match="backward"):
        (x * 2).backward()
    with pytest.raises(ValueError, match="values: expected shape"):
        x.assign([1.0])
    y = x * x
    x.assign([3.0, 3.0])
    with pytest.raises(ValueError, match="overwritten"):
        ops.sum(y).backward()


class Classifier(nn.Module):
    """Two layers and a gain, for points on either side of a line."""

    def __init__(self) -> None:
        self.layers = [nn.Linear(2, 16, seed=1), nn.Linear(16, 2, seed=2)]
        self.norm = nn.LayerNorm(16)
        self.gain = hl.Tensor([1.0], requires_grad=True)

    def forward(self, x: Any) -> hl.Tensor:
        hidden = self.norm(ops.relu(self.layers[0](x)))
        result: hl.Tensor = self.layers[1](hidden) * self.gain
        return result


@pytest.mark.parametrize(
    "make", [lambda p: optim.AdamW(p), lambda p: optim.SGD(p, momentum=0.9)]
)
def test_a_module_in_python_learns(make: Callable[[Any], optim.Optimizer]) -> None:
    x = RANDOM.normal(size=(64, 2)).astype(np.float32)
    y = (x[:, 0] > x[:, 1]).astype(np.int32)
    model = Classifier()
    assert set(model.parameters()) == {
        "layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias",
        "norm.weight", "norm.bias", "gain",
    }  # fmt: skip
    optimizer = make(model.parameters())
    schedule = optim.Schedule("cosine", learning_rate=0.05, warmup_steps=5, decay_steps=100)
    losses = []
    for step in range(100):
        model.zero_grad()
        loss = ops.cross_entropy(model(x), y)
        loss.backward()
        scale = optim.clip_scale(optim.gradient_norm(model.parameters()), 1.0)
        optimizer.step(schedule(step), gradient_scale=scale)
        losses.append(loss.item())
    assert optimizer.step_count == 100
    assert losses[-1] < 0.2 * losses[0]


def test_a_gpt_learns_by_hand() -> None:
    gpt = nn.Gpt(20, n_layer=1, n_head=2, n_embd=16, block_size=8, bias=True)
    ids = RANDOM.integers(0, 20, size=(4, 8)).astype(np.int32)
    optimizer = optim.AdamW(gpt.parameters(), weight_decay=0.0)
    first = gpt.loss(ids).item()
    for _ in range(30):
        gpt.zero_grad()
        loss = gpt.loss(ids)
        loss.backward()
        optimizer.step(1e-2)
    assert gpt.loss(ids).item() < 0.5 * first
    assert gpt(ids).shape == (32, 20)
    muon = optim.Muon({"w": gpt.parameters()["h.0.mlp.c_fc.weight"]})
    muon.step(0.01)
    with pytest.raises(ValueError, match="did you mean 'n_layer'"):
        nn.Gpt(20, n_layers=1)
    with pytest.raises(ValueError, match="n_layer"):
        nn.Gpt(20, n_layer=-1)


def test_attention_layers() -> None:
    layer = nn.MultiHeadAttention(8, 2, seed=1)
    x = RANDOM.normal(size=(1, 5, 8)).astype(np.float32)
    output, weights = layer(x, causal=True)
    assert output.shape == (1, 5, 8) and weights.shape == (1, 2, 5, 5)
    assert not np.triu(weights.numpy()[0, 0], 1).any()
    assert nn.Mlp(8, seed=1)(x).shape == (1, 5, 8)
    assert nn.Embedding(4, 3)(np.array([0, 3], np.int32)).shape == (2, 3)
    dropped = nn.Dropout(0.5)(x, seed=1).numpy()
    assert 0 < (dropped == 0).mean() < 1 and np.array_equal(nn.Dropout(0.5)(x).numpy(), x)
