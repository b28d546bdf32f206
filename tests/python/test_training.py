"""Runs that Python starts."""

import pathlib
from typing import Any

import numpy as np
import pytest
from conftest import ROOT, program

import headlight as hl

SETTINGS: dict[str, Any] = {
    "n_layer": 1, "n_head": 2, "n_embd": 16, "block_size": 32, "batch_size": 4,
    "max_iters": 10, "eval_iters": 1, "eval_interval": 5,
}  # fmt: skip
TEXTS = [f"One day {name} found a red kite." for name in ("Mina", "Tom", "Anna", "Ben")] * 5


def test_a_run_equals_that_of_the_program(tmp_path: pathlib.Path) -> None:
    data = ROOT / "data/toy.txt"
    options = [word for key, value in SETTINGS.items() for word in (f"--{key}", value)]
    program("train", "--data", data, "--out_dir", tmp_path / "a", *options)
    run = hl.train(data=data, out_dir=tmp_path / "b", **SETTINGS)
    weights = [pathlib.Path(path, "best/model.safetensors").read_bytes()
               for path in (tmp_path / "a", run.path)]  # fmt: skip
    assert weights[0] == weights[1]
    metrics = run.metrics
    assert metrics["step"].tolist() == list(range(10)) and np.isfinite(metrics["loss"]).all()
    assert metrics["validation_step"].tolist()[-1] == 10
    assert hl.open_run(run.path).metrics["loss"].tolist() == metrics["loss"].tolist()
    assert run.model.generate("One", max_new_tokens=3).finish_reason == "length"
    assert run.model is run.model and not run.stopped


def test_texts_config_and_callback(tmp_path: pathlib.Path) -> None:
    config = tmp_path / "small.toml"
    lines = "\n".join(f"{key} = {value}" for key, value in SETTINGS.items())
    config.write_text(lines + '\nbatching = "padded"\n')
    seen: list[dict[str, Any]] = []

    def callback(metrics: dict[str, Any]) -> float | bool | None:
        seen.append(metrics)
        if "validation_loss" in metrics:
            return None
        return 0.5 if metrics["iteration"] == 2 else metrics["iteration"] < 5

    run = hl.train(config, data=TEXTS, out_dir=tmp_path / "run", callback=callback)
    steps = [metrics for metrics in seen if "loss" in metrics]
    assert [metrics["iteration"] for metrics in steps] == [0, 1, 2, 3, 4, 5] and run.stopped
    plain: list[dict[str, Any]] = []
    hl.train(config, data=TEXTS, out_dir=tmp_path / "plain", callback=plain.append)
    rates = [[m["learning_rate"] for m in got if "loss" in m][:6] for got in (steps, plain)]
    assert rates[0] == pytest.approx([r * f for r, f in zip(rates[1], [1, 1, 1, 0.5, 0.5, 0.5])])
    assert any("validation_loss" in metrics for metrics in seen)
    resumed = hl.train(out_dir=tmp_path / "run", resume=True)
    assert len(resumed.metrics["step"]) == 10 and not resumed.stopped


def test_errors_of_callbacks_and_settings(tmp_path: pathlib.Path) -> None:
    def fail(metrics: dict[str, Any]) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        hl.train(data=TEXTS, out_dir=tmp_path / "a", callback=fail, **SETTINGS)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"n_layers": 3}, "did you mean 'n_layer'"),
        ({"n_layer": "many"}, "n_layer: expected"),
        ({"n_layer": None}, "n_layer: expected a number, text or bool, got None"),
        ({"data": []}, "data"),
        ({"callback": lambda metrics: "x"}, "callback: expected None, False or a factor"),
    ]
    for i, (settings, message) in enumerate(wrong):
        arguments = {"data": TEXTS, "out_dir": tmp_path / f"wrong{i}", **SETTINGS, **settings}
        with pytest.raises(ValueError, match=message):
            hl.train(**arguments)
    with pytest.raises(ValueError, match="no such run directory"):
        hl.open_run(tmp_path / "none")


def test_a_run_that_diverges(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ArithmeticError, match="learning_rate"):
        hl.train(data=TEXTS, out_dir=tmp_path / "a", **{**SETTINGS, "grad_clip": 0.0,
                 "learning_rate": 1e30, "warmup_iters": 0, "max_iters": 50})  # fmt: skip
