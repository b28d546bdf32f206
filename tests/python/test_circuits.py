"""Circuits that are saved, measured on other pairs, and compared."""

import json
import pathlib
from typing import Any

import numpy as np
import pytest
from conftest import program, task_ids
from numpy.typing import NDArray

import headlight as hl


@pytest.fixture(scope="module")
def pairs(model: hl.Model) -> list[Any]:
    clean, corrupt = task_ids(model)
    others = [[9, *ids[1:]] for ids in (clean, corrupt)]
    return [(clean, corrupt, 5, 6), (others[0], others[1], 5, 6)]


def names(rows: list[dict[str, Any]]) -> set[tuple[str, str, str | None]]:
    return {(row["from"], row["to"], row["into"]) for row in rows}


def test_a_found_circuit_is_measured_again(model: hl.Model, pairs: list[Any]) -> None:
    found = model.circuit(pairs, edges=20, random_sets=2)
    assert len(found.rows) == found.summary["kept"]
    again = model.circuit(pairs, circuit=found.rows, random_sets=2)
    for key in ("kept", "faithfulness", "random", "edges"):
        assert again.summary[key] == pytest.approx(found.summary[key], abs=1e-6), key
    assert again["pair_circuit"] == pytest.approx(found["pair_circuit"], abs=1e-6)
    assert names(again.rows) == names(found.rows)
    assert [point["edges"] for point in again.summary["curve"]][-1] == len(found.rows)
    measures = found.summary["measures"]
    assert found["pair_circuit"].tolist() == [pair["circuit"] for pair in measures]
    shares = sum(pair["circuit"] - pair["cut"] for pair in measures)
    shares /= sum(pair["clean"] - pair["cut"] for pair in measures)
    assert found.summary["faithfulness"] == pytest.approx(shares, abs=1e-6)
    assert model.circuit(pairs, circuit=found, other=found).rows == again.rows
    few = model.circuit(pairs, circuit=found.rows, edges=5)
    assert names(few.rows) <= names(found.rows) and few.summary["kept"] <= 5


def test_other_pairs_metrics_and_ablations(model: hl.Model, pairs: list[Any]) -> None:
    found = model.circuit(pairs[:1], edges=20).rows
    cases: list[dict[str, Any]] = [
        {"metric": "log_probability"}, {"ablation": "mean"}, {"ablation": "resample"},
    ]  # fmt: skip
    for arguments in cases:
        held_out = [pair[:3] for pair in pairs] if "metric" in arguments else pairs
        summary = model.circuit(held_out, circuit=found, **arguments).summary
        assert summary["kept"] == len(found) and len(summary["measures"]) == 2
        for measured, (clean, corrupt, *_) in zip(summary["measures"], pairs):
            for key, ids in (("clean", clean), ("corrupt", corrupt)):
                row = model([ids]).logits[0, len(ids) - 1].astype(float)
                other = np.log(np.exp(row).sum()) if "metric" in arguments else row[6]
                assert measured[key] == pytest.approx(row[5] - other, abs=1e-4)
    whole = [dict(zip(("from", "to", "into"), edge)) for edge in every_edge(model, pairs)]
    measured = model.circuit(pairs, circuit=whole).summary
    assert measured["faithfulness"] == pytest.approx(1, abs=1e-5)
    assert measured["kept"] == measured["edges"]


def every_edge(model: hl.Model, pairs: list[Any]) -> list[tuple[str, str, str | None]]:
    found = model.circuit(pairs, edges=1)
    labels = (found.labels(key) for key in ("from", "to", "into"))
    return [(start, end, into or None) for start, end, into in zip(*labels)]


def test_a_circuit_of_one_edge(model: hl.Model, pairs: list[Any]) -> None:
    clean, corrupt, *_ = pairs[0]
    streams = ["resid_pre.0", "resid_post.1"]
    first, second = (model.run_with_cache([ids], streams)[1] for ids in (clean, corrupt))

    def direct(value: NDArray[Any], point: hl.HookPoint) -> NDArray[Any]:
        return np.asarray(second["resid_post.1"] + first["resid_pre.0"] - second["resid_pre.0"])

    with model.hooks({"resid_post.1": direct}):
        logits = model([clean]).logits[0, len(clean) - 1]
    edge = {"from": "embed", "to": "logits"}
    measured = model.circuit(pairs[:1], circuit=[edge]).summary["measures"][0]
    assert measured["circuit"] == pytest.approx(logits[5] - logits[6], abs=1e-4)
    assert measured["cut"] == pytest.approx(measured["corrupt"], abs=1e-6)


def test_edges_that_lead_nowhere_are_counted(model: hl.Model, pairs: list[Any]) -> None:
    path = [{"from": "embed", "to": "logits"}]
    dead = [{"from": "embed", "to": "0.0", "into": "v"}, {"from": "embed", "to": "0.1", "into": "k"}]
    given: dict[str, Any]
    for name in ("circuit", "other"):
        given = {name: [*path, *dead]}
        with pytest.warns(UserWarning, match=f"{name}: 2 of 3 edges lead nowhere"):
            found = model.circuit(pairs, **given)
    assert found.summary["other"]["edges"] == 1
    for name in ("circuit", "other"):
        given = {name: dead}
        with pytest.raises(ValueError, match=f"{name}: expected a path from embed to logits, but all edges lead nowhere"):
            model.circuit(pairs, **given)


def test_two_circuits_are_compared(model: hl.Model, pairs: list[Any]) -> None:
    one = model.circuit(pairs[:1], edges=30)
    two = model.circuit(pairs[1:], edges=25, ablation="corrupt", steps=1)
    compared = model.circuit(pairs[:1], circuit=one.rows, other=two.rows).summary
    shared = len(names(one.rows) & names(two.rows))
    other = compared["other"]
    assert (other["edges"], other["shared"]) == (len(two.rows), shared)
    assert other["jaccard"] == pytest.approx(shared / len(names(one.rows) | names(two.rows)))
    assert other["chance"] == pytest.approx(len(one.rows) * len(two.rows) / compared["edges"])
    alone = model.circuit(pairs[:1], circuit=two.rows).summary["faithfulness"]
    assert other["faithfulness"] == pytest.approx(alone, abs=1e-6)
    assert model.circuit(pairs[:1], edges=30, other=one.rows).summary["other"]["jaccard"] == 1
    assert one.summary["other"] is None


def test_learned_masks_rank_the_edges(model: hl.Model, pairs: list[Any]) -> None:
    for edges in (4, 8, 16):
        found = [model.circuit(pairs, edges=edges, ranking=ranking) for ranking in ("attribution", "mask")]
        misses = [abs(1 - result.summary["faithfulness"]) for result in found]
        assert misses[1] <= misses[0] + 0.01
        assert (found[1]["score"] >= 0).all() and (found[1]["score"] <= 1).all()
    again = model.circuit(pairs, circuit=found[1].rows).summary
    assert again["faithfulness"] == pytest.approx(found[1].summary["faithfulness"], abs=1e-6)


def test_the_program_saves_and_reads_a_circuit(run: pathlib.Path, model: hl.Model, tmp_path: pathlib.Path) -> None:
    clean, corrupt = task_ids(model)
    pair = {"clean": clean, "corrupt": corrupt, "answer": 5, "wrong": 6}
    (tmp_path / "pairs.jsonl").write_text(json.dumps(pair))
    task = ("circuit", run, "--pairs", tmp_path / "pairs.jsonl", "--json")
    saved = program(*task, "--edges", 12)
    (tmp_path / "circuit.json").write_text(saved)
    lines = "\n".join(map(json.dumps, json.loads(saved)["circuit"]))
    (tmp_path / "edges.jsonl").write_text(lines)
    for name in ("circuit.json", "edges.jsonl"):
        again = json.loads(program(*task, "--circuit", tmp_path / name, "--svg", tmp_path / "circuit.svg"))
        assert again["circuit"] == json.loads(saved)["circuit"]
        assert again["faithfulness"] == pytest.approx(json.loads(saved)["faithfulness"])
    assert ">logits<" in (tmp_path / "circuit.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"circuit": [{"from": "9.0", "to": "logits"}]}, "circuit: the model has no edge 9.0>logits"),
        ({"circuit": [{"from": "embed", "to": "logits"}] * 2}, "circuit: names embed>logits twice"),
        ({"circuit": [{"to": "logits"}]}, "circuit: expected edges such as"),
        ({"circuit": []}, "circuit: expected at least one edge"),
        ({"circuit": ["embed"]}, "circuit: expected dictionaries, or a Result"),
        ({"other": [{"from": "0.0", "to": "1.0", "into": "z"}]}, "other: the model has no edge 0.0>1.0.z"),
        ({"circuit": [{"from": "embed", "to": "logits"}], "faithfulness": 0.5}, "cannot be combined"),
    ],
)
def test_refused_circuits(model: hl.Model, pairs: list[Any], arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model.circuit(pairs, **arguments)
