"""Several Python threads at once; tools/test_python_tsan.sh runs this file with ThreadSanitizer."""

import pathlib
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import headlight as hl
from headlight import ops

TEXT = "One day Mina lost her red kite."


def run_together(works: list[Callable[[], None]]) -> None:
    """Runs functions in threads of their own and raises the first exception of one."""
    errors: list[BaseException] = []

    def caught(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=caught, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_threads_share_a_model(model: hl.Model) -> None:
    expected = model(TEXT).logits
    results: list[bool] = []

    def work() -> None:
        results.extend(np.array_equal(model(TEXT).logits, expected) for _ in range(20))

    run_together([work] * 4)
    assert results == [True] * 80


def test_threads_do_different_work(run: pathlib.Path) -> None:
    model, other = hl.load(run), hl.load(run)
    text = model.generate("One day", max_new_tokens=6, temperature=0).text
    loss = model.loss(TEXT)

    def generate() -> None:
        for _ in range(5):
            assert other.generate("One day", max_new_tokens=6, temperature=0).text == text

    def hooks() -> None:
        def keep(z: NDArray[Any], point: hl.HookPoint) -> NDArray[Any]:
            return z.copy()

        for _ in range(5):
            with other.hooks({"z.1": keep}):
                other.run_with_cache(TEXT, ["pattern"])

    def scores() -> None:
        assert model.head_scores(TEXT, repeats=2)["layer"].tolist() == [0] * 4 + [1] * 4
        assert model.ablate([TEXT, "One day"])["rise"].shape == (2, 4)

    def tensors() -> None:
        for _ in range(20):
            x = hl.Tensor(np.ones((40, 40), np.float32), requires_grad=True)
            ops.sum(ops.softmax(x @ x)).backward()
            shared = hl.Tensor.from_dlpack(np.ones(1000, np.float32))
            assert float(ops.sum(shared)) == 1000

    def encode() -> None:
        for _ in range(20):
            assert model.tokenizer.decode(model.tokenizer.encode(TEXT)) == TEXT
            assert abs(model.loss(TEXT) - loss) < 1e-6

    run_together([generate, hooks, scores, tensors, encode])
