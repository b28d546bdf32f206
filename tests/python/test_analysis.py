"""Analysis of heads: the numbers of the program."""

import json
import os
import pathlib
import signal
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest
from conftest import ROOT, program, task_ids
from numpy.typing import NDArray

import headlight as hl
from headlight import progress

TEXT = "One day Mina lost her red kite. She looked for it."
TASK = ("One day Mina", "One day Tom ")


@pytest.fixture(scope="session")
def stories(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("data") / "stories.txt"
    documents = (ROOT / "data/toy.txt").read_text().split("\n\n")[:12]
    path.write_text("\n\n".join(documents))
    return path


def report(*arguments: object) -> Any:
    return json.loads(program(*arguments, "--json"))


def test_head_scores(model: hl.Model, run: pathlib.Path, stories: pathlib.Path) -> None:
    expected = report("heads", run, "--data", stories, "--documents", "blank_line")["heads"]
    scores = model.head_scores(stories, documents="blank_line")
    assert scores["head"].tolist() == ["0.0", "0.1", "0.2", "0.3", "1.0", "1.1", "1.2", "1.3"]
    assert scores["verdict"].tolist() == [head["verdict"] for head in expected]
    got = {name for name in scores.dtype.names or ()}
    assert {"previous_token", "induction", "copying"} <= got
    values = [head["previous_token"] for head in expected]
    assert scores["previous_token"] == pytest.approx(values, rel=1e-5)
    texts = stories.read_text().split("\n\n")
    again = model.head_scores([text.strip() for text in texts])
    assert again["previous_token"] == pytest.approx(values, rel=1e-5)
    assert len(model.head_scores(heads="1.0,1.1", repeats=2)) == 2
    without = model.head_scores(stories, documents="blank_line", exclude_first_token=True)
    assert np.isnan(without["first_token"]).all()
    options = ("--documents", "blank_line", "--exclude_first_token")
    expected = report("heads", run, "--data", stories, *options)["heads"]
    values = [head["previous_token"] for head in expected]
    assert without["previous_token"] == pytest.approx(values, rel=1e-5)
    assert (without["previous_token"] > scores["previous_token"]).all()


def test_ablation_and_importance(model: hl.Model, run: pathlib.Path, stories: pathlib.Path) -> None:
    options = ("--data", stories, "--documents", "blank_line")
    expected = report("ablate", run, *options)
    result = model.ablate(stories, documents="blank_line")
    rises = [part["rise"]["mean"] for part in expected["parts"]]
    assert result["rise"].shape == (2, 4)
    assert result["rise"].ravel() == pytest.approx(rises, abs=1e-6)
    assert result.summary["loss"]["mean"] == pytest.approx(expected["loss"]["mean"], rel=1e-6)
    assert result.labels("head") == ["0", "1", "2", "3"]
    assert "rise" in result and "<html" in result.html
    assert getattr(result, "_repr_html_")().startswith("<iframe")
    expected = report("importance", run, *options, "--no_ablation")
    result = model.importance(stories, documents="blank_line")
    values = [head["sensitivity"]["mean"] for head in expected["heads"]]
    assert result["sensitivity"].ravel() == pytest.approx(values, rel=1e-5)
    assert len(model.ablate([TEXT, "One day"], joint=3)["pair_rise"]) == 3
    expected = report("ablate", run, *options, "--metric", "kl")
    result = model.ablate(stories, documents="blank_line", metric="kl")
    rises = [part["rise"]["mean"] for part in expected["parts"]]
    assert result["rise"].ravel() == pytest.approx(rises, abs=1e-6) and min(rises) > 0
    with pytest.raises(ValueError, match="metric: expected probability"):
        model.ablate(TEXT, metric="x")


def interrupt_soon() -> None:
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()


@pytest.mark.parametrize("call", ["ablate", "importance", "prune", "head_scores"])
def test_ctrl_c_stops_long_calls(model: hl.Model, call: str) -> None:
    data = [TEXT * 2] * 4000
    options: dict[str, Any] = {"keep": 4} if call == "prune" else {}
    start = time.monotonic()
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        getattr(model, call)(data=data, **options)
    assert time.monotonic() - start < 3
    assert np.isfinite(model(TEXT).logits).all()


class Bar:
    """A bar as tqdm's, which records the shares."""

    shares: list[float] = []
    closed = False

    def update(self, share: float) -> None:
        self.shares.append(share)

    def close(self) -> None:
        Bar.closed = True


def test_long_calls_show_their_progress(
    model: hl.Model, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headlight.progress.bar", lambda work: Bar())
    model.ablate([TEXT])
    assert not Bar.shares  # shorter than a second
    for shown in (False, True):
        assert not Bar.shares
        hl.train(
            data=[TEXT] * 20, out_dir=tmp_path / str(shown), progress=shown, max_iters=4,
            n_layer=1, n_head=2, n_embd=16, block_size=16, batch_size=2, eval_iters=1,
            callback=lambda metrics: time.sleep(0.4),
        )  # fmt: skip
    assert sum(Bar.shares) == pytest.approx(100) and Bar.closed


def test_patching_heads_shows_its_progress(
    model: hl.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares: list[float] = []

    class Recorded(Bar):
        def update(self, share: float) -> None:
            shares.append(share)

    def slow(logits: NDArray[Any]) -> float:
        time.sleep(0.2)
        return float(logits[-1, 5])

    monkeypatch.setattr("headlight.progress.bar", lambda work: Recorded())
    clean, corrupt = task_ids(model)
    model.patch(clean, corrupt, metric=slow, progress=False)
    assert not shares
    model.patch(clean, corrupt, metric=slow)
    assert sum(shares) == pytest.approx(100)


def test_there_is_no_bar_without_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    assert progress.bar("patching") is None


def test_head_scores_as_tables(model: hl.Model) -> None:
    scores = model.head_scores(TEXT, repeats=2)
    shown = getattr(scores, "_repr_html_")()
    assert shown.count("<tr>") == 1 + len(scores) and "induction" in shown and "1.3" in shown
    assert type(scores["induction"]) is np.ndarray and type(scores[:2]) is type(scores)
    assert getattr(scores[:2], "_repr_html_")().count("<tr>") == 3
    pytest.importorskip("pandas")
    frame = scores.frame()
    assert frame.loc["1.2", "previous_token"] == scores["previous_token"][6]


def test_patching_and_circuit(model: hl.Model, run: pathlib.Path) -> None:
    clean, corrupt = (model.tokenizer.encode(text, prompt=True) for text in TASK)
    length = min(len(clean), len(corrupt))
    clean, corrupt = clean[:length], corrupt[:length]
    result = model.patch(clean, corrupt, [5], [6])
    assert result["recovered"].shape == (2, 4)
    span = result.summary["clean_difference"] - result.summary["corrupt_difference"]
    recovered = (result["difference"] - result.summary["corrupt_difference"]) / span
    assert result["recovered"] == pytest.approx(recovered, abs=1e-4)
    found = model.circuit([(clean, corrupt, [5], [6])], edges=10)
    assert found.summary["kept"] <= 10 and int(found["kept"].sum()) == found.summary["kept"]
    assert len(found.labels("from")) == len(found["score"])
    record = {"clean": clean, "corrupt": corrupt, "answer": 5, "wrong": [6], "groups": {"end": "last"}}
    assert model.circuit([record], edges=10)["score"] == pytest.approx(found["score"], abs=1e-6)
    assert model.patch(pairs=[record], point="resid_pre", by="group").labels("group") == ["end"]
    others = [[9, *ids[1:]] for ids in (clean, corrupt)]
    pairs: list[Any] = [(clean, corrupt, [5], [6]), (*others, [5], [6])]
    random = model.circuit(pairs, edges=10, ablation="resample", random_sets=3).summary
    assert random["random"]["low"] <= random["random"]["mean"] <= random["random"]["high"]
    with pytest.raises(ValueError, match="ablation: expected corrupt, mean or resample"):
        model.circuit(pairs, ablation="zero")
    with pytest.raises(ValueError, match="tuples"):
        model.circuit([("a",)])
    assert model.circuit([(clean, corrupt, [5])], edges=10).summary["kept"] <= 10
    loss = model.circuit([(clean, corrupt, 5)], metric="log_probability", edges=10).summary
    logits = model(clean).logits[0, -1].astype(float)
    assert loss["clean_difference"] == pytest.approx(
        float(logits[5] - np.log(np.exp(logits).sum())), abs=1e-4
    )


def test_questions_share_a_pass_until_the_weights_change(model: hl.Model) -> None:
    def answers() -> tuple[Any, Any, Any]:
        lens = model.lens(TEXT, positions="last")["entropy"]
        return lens, model.attribute(TEXT, "e")["logit"], model.head_scores(repeats=1)["copying"]

    first, again = answers(), answers()
    name = "h.0.attn.c_proj.weight"
    kept = model.weights[name].copy()
    model.weights[name] = -kept
    changed = answers()
    model.weights[name] = kept
    for a, b, c, d in zip(first, again, changed, answers()):
        assert np.array_equal(a, b) and np.array_equal(a, d) and not np.array_equal(a, c)


def test_attribution_and_lens(model: hl.Model, run: pathlib.Path) -> None:
    result = model.attribute(TEXT, "e", by="head")
    assert result["logit"].sum() == pytest.approx(result.summary["logit"], abs=1e-4)
    logits = model(TEXT).logits[0, -1]
    assert result.summary["logit"] == pytest.approx(logits[model.tokenizer.encode("e")[0]], abs=1e-4)
    assert "1.3" in result.labels("part")
    by_id = model.attribute(TEXT, model.tokenizer.encode("e")[0])
    assert by_id["logit"].tolist() == result["logit"].tolist()
    with pytest.raises(TypeError, match="no argument target; it is now called answer"):
        model.attribute(TEXT, target="e")  # type: ignore[call-arg]
    pairs = [(TEXT, TEXT, "e", "a"), (TEXT, TEXT, "a", "e")]
    assert len(model.attribute(pairs=pairs)["totals"]) == 2
    lens = model.lens(TEXT)
    expected = report("lens", run, "--text", TEXT)
    assert lens["entropy"].shape[0] == len(expected["rows"])
    assert lens.labels("rows")[0] == "embed"
    assert np.isfinite(lens["log_probability"]).all()


def test_pruning(model: hl.Model, stories: pathlib.Path, tmp_path: pathlib.Path) -> None:
    smaller = model.prune(heads="0.1,1.2")
    with model.intervene("off 0.1, 1.2"):
        expected = model(TEXT).logits
    assert smaller(TEXT).logits == pytest.approx(expected, abs=1e-5)
    kept = model.prune(keep=5, data=stories, documents="blank_line")
    assert kept.parameter_count < model.parameter_count
    assert kept.generate("One", max_new_tokens=3).prompt_tokens > 0
    out = tmp_path / "tuned"
    tuned = model.prune(until_loss="2%", data=stories, documents="blank_line", finetune_iters=2, out=out)
    report = json.loads((out / "pruning.json").read_text())
    assert report["loss_finetuned"] != report["loss_after"]
    assert report["parameters"] == tuned.parameter_count
    assert hl.load(out)(TEXT).logits == pytest.approx(tuned(TEXT).logits, abs=1e-5)
    with pytest.raises(ValueError, match="data: expected texts, or heads"):
        model.prune()
    with pytest.raises(ValueError, match="expected either heads, or keep or until_loss with data"):
        model.prune(data=stories)


def test_data_that_cannot_be_used(model: hl.Model, tmp_path: pathlib.Path) -> None:
    cases: list[tuple[Any, str]] = [
        (tmp_path / "none.txt", "none.txt"),
        ([5], "data: expected at least two tokens"),
        ([], "data: "),
        (["a", 5], "data: expected UTF-8 text"),
    ]
    for data, message in cases:
        with pytest.raises(ValueError, match=message):
            model.ablate(data)
    with pytest.raises(ValueError, match="mode: expected zero, mean or resample"):
        model.ablate(TEXT, mode="half")
    with pytest.raises(ValueError, match="documents: expected none"):
        model.ablate(tmp_path, documents="chapter")
