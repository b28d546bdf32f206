"""Directions of pairs of texts, singular vectors of heads, and projections on them."""

import json
import pathlib
from typing import Any

import numpy as np
import pytest
from conftest import program
from numpy.typing import NDArray

import headlight as hl

PAIRS = [
    {"clean": "One day Mina was happy.", "corrupt": "Mina was sad."},
    {"clean": "Tom was so happy", "corrupt": "Tom was so sad"},
    {"clean": "a happy kite", "corrupt": "a red kite, a red ball"},
    {"clean": "They played all day", "corrupt": "They cried"},
]
TEXT = "One day Mina lost her red kite."


def differences(model: hl.Model, point: str, *, last: bool) -> NDArray[Any]:
    """Returns the difference of each pair at a point, [P, F]."""

    def value(text: str) -> NDArray[Any]:
        rows = model.run_with_cache(text, [point])[1][point][0].astype(float)
        rows = rows.reshape(len(rows), -1)
        return np.asarray(rows[-1] if last else rows[1:].mean(0))

    return np.stack([value(pair["clean"]) - value(pair["corrupt"]) for pair in PAIRS])


def unit(vector: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(vector / np.linalg.norm(vector))


def component(rows: NDArray[Any]) -> NDArray[Any]:
    first = np.linalg.svd(rows)[2][0]
    return np.asarray(first * np.sign((rows @ first).sum()))


def held_out(rows: NDArray[Any], direction_of: Any) -> float:
    others = [np.delete(rows, number, 0) for number in range(len(rows))]
    return float(np.mean([row @ direction_of(rest) > 0 for row, rest in zip(rows, others)]))


@pytest.mark.parametrize("point", ["resid_post", "z", "mlp_out"])
def test_the_mean_difference(model: hl.Model, point: str) -> None:
    found = model.direction(PAIRS, point=point)
    for layer in range(2):
        rows = differences(model, f"{point}.{layer}", last=True)
        mean = rows.mean(0)
        assert found[f"{point}.{layer}"] == pytest.approx(mean, abs=1e-5)
        assert found["length"][layer] == pytest.approx(np.linalg.norm(mean), rel=1e-4)
        assert found["held_out"][layer] == held_out(rows, lambda rest: rest.mean(0))
        shares = (rows @ unit(mean)) ** 2
        assert found["explained"][layer] == pytest.approx(shares.sum() / (rows**2).sum(), rel=1e-4)
    assert found.labels("direction") == [f"{point}.0", f"{point}.1"]


def test_the_principal_component(model: hl.Model) -> None:
    found = model.direction(PAIRS, method="principal_component", tokens_of="mean", layers="1")
    rows = differences(model, "resid_post.1", last=False)
    first = component(rows)
    assert found["resid_post.1"] == pytest.approx(first * (rows @ first).mean(), abs=1e-4)
    assert found["explained"][0] == pytest.approx(
        (np.linalg.svd(rows)[1] ** 2)[0] / (rows**2).sum(), rel=1e-4
    )
    assert found["held_out"][0] == held_out(rows, component)
    one = model.direction(PAIRS[:1], method="principal_component", layers="1")
    expected = differences(model, "resid_post.1", last=True)[0]
    assert one["resid_post.1"] == pytest.approx(expected, abs=1e-5)
    assert np.isnan(one["held_out"][0]) and one["explained"][0] == pytest.approx(1)


def test_many_pairs(model: hl.Model) -> None:
    pairs = [
        {"clean": f"Mina lost {number % 17} of {number}", "corrupt": f"Tom saw {number}"}
        for number in range(150)
    ]

    def last(text: str) -> NDArray[Any]:
        return np.asarray(model.run_with_cache(text, ["resid_post.1"])[1]["resid_post.1"][0, -1])

    rows = np.stack([last(pair["clean"]) - last(pair["corrupt"]) for pair in pairs]).astype(float)
    found = model.direction(pairs, method="principal_component", layers="1")
    first = component(rows)
    assert found["resid_post.1"] == pytest.approx(first * (rows @ first).mean(), abs=1e-4)
    assert found["held_out"][0] == pytest.approx(held_out(rows, component), abs=1e-9)


def test_a_saved_direction_steers(model: hl.Model, tmp_path: pathlib.Path) -> None:
    found = model.direction(PAIRS)
    arrays: dict[str, Any] = {name: found[name] for name in ("resid_post.0", "resid_post.1")}
    np.savez(tmp_path / "joy.npz", **arrays)
    before = model.run_with_cache(TEXT, ["resid_post.0"])[1]["resid_post.0"]
    with model.intervene(f"add resid_post.0 {tmp_path}/joy.npz:resid_post.0*4"):
        after = model.run_with_cache(TEXT, ["resid_post.0"])[1]["resid_post.0"]
    assert after - before == pytest.approx(
        np.broadcast_to(4 * found["resid_post.0"], before.shape), abs=1e-5
    )
    vector = f"{tmp_path}/joy.npz:resid_post.0"
    again = model.direction(vector=vector, text=TEXT)
    assert again["resid_post.0"] == pytest.approx(found["resid_post.0"], abs=1e-6)
    along = before[0].astype(float) @ unit(found["resid_post.0"])
    assert again["projection_projection"] == pytest.approx(along, abs=1e-4)
    assert again.summary["projections"][0]["projection"] == pytest.approx(along[0], abs=1e-4)
    assert "<h2>resid_post.0</h2>" in again.html
    assert again.rows[0]["layer"] == 0
    with pytest.raises(ValueError, match="vector: .*expected an array v, got resid_post.0"):
        model.direction(vector=f"{tmp_path}/joy.npz:v")


def test_saved_arrays(model: hl.Model, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "arrays.npz"
    ones = np.ones(32)
    arrays: dict[str, Any] = {"mine": ones, "nan": ones * np.nan, "zero": ones * 0}
    arrays |= {"q.1": ones, "resid_pre.1": ones}
    np.savez(file, **arrays)
    np.savez(tmp_path / "texts.npz", names=np.array(["a"]))
    mine = model.direction(vector=f"{file}:mine")
    assert mine.rows[0]["layer"] is None
    assert len(mine.rows[0]["raises"]) == 5
    other = model.direction(vector=f"{file}:q.1").rows[0]
    assert other["layer"] == 1 and "raises" not in other
    refused: list[tuple[dict[str, Any], str]] = [
        ({"vector": f"{file}:nan"}, "vector: .*arrays.npz: array nan is not finite"),
        ({"vector": f"{file}:zero"}, "vector: .*arrays.npz:zero is 0"),
        ({"vector": f"{file}:mine", "text": TEXT}, "the vector's name, mine, is no point"),
        ({"vector": f"{file}:resid_pre.1", "text": TEXT, "values": "z.1"}, "values: .*stream"),
        ({"vector": f"{file}:q.1", "text": TEXT, "values": "resid_pre.1"}, "values: expected values of q"),
        ({"vector": f"{tmp_path}/texts.npz:names"}, "expected an array names, got none of numbers"),
    ]
    for arguments, message in refused:
        with pytest.raises(ValueError, match=message):
            model.direction(**arguments)
    # Only the elements of the array itself are read.
    data = file.read_bytes()
    place = data.index((ones * np.nan).tobytes())
    file.write_bytes(data[:place] + ones.tobytes() + data[place + ones.nbytes :])
    assert model.direction(vector=f"{file}:mine").rows == mine.rows
    with pytest.raises(ValueError, match="arrays.npz"):
        model.direction(vector=f"{file}:nan")
    file.write_bytes(data)
    with pytest.raises(ValueError, match="array nan is not finite"):
        with model.intervene(f"add resid_post.0 {file}:nan*4"):
            model(TEXT)


def test_texts_without_a_difference(model: hl.Model) -> None:
    opposite = [{"clean": "Mina lost", "corrupt": "Tom lost"}, {"clean": "Tom lost", "corrupt": "Mina lost"}]
    for pairs in ([{"clean": "Mina", "corrupt": "Mina"}], opposite):
        for method in ("mean_difference", "principal_component"):
            with pytest.raises(ValueError, match="pairs: expected texts with and without a property"):
                model.direction(pairs, method=method)
    layers = model.direction(PAIRS[1:2] + opposite[:1], point="resid_pre").rows
    assert all((len(layer["raises"]) > 0) == (layer["length"] > 0) for layer in layers)
    named = model.direction(PAIRS, point="embed")
    assert named.labels("direction") == ["embed"] and named["embed"].shape == (32,)
    with pytest.raises(ValueError, match="not finite"):
        with model.intervene("scale resid_post.0 3e38; scale resid_post.0 3e38"):
            model.direction(PAIRS)


def test_a_heads_output_on_the_direction_of_a_logit(model: hl.Model) -> None:
    gain = model.weights["ln_f.weight"]
    unembedding = model.weights["unembed.W_U"].astype(float)
    read = gain * (unembedding[:, 5] - unembedding[:, 6])
    read -= read.mean()
    found = model.direction(answer=5, wrong=6, text=TEXT, values="1.2")
    assert found["resid_post.1"].reshape(-1) == pytest.approx(read, abs=1e-5)
    result = model.run_with_cache(TEXT, ["result.1"])[1]["result.1"][0, :, 2].astype(float)
    assert found["projection_projection"] == pytest.approx(result @ unit(read), abs=1e-4)


@pytest.mark.parametrize("matrix", ["ov", "qk"])
def test_singular_vectors(model: hl.Model, matrix: str) -> None:
    folded = model.folded(center_writing_weights=False)
    query, key, value, output = (
        folded.weights[f"blocks.1.attn.W_{part}"][3].astype(float) for part in "QKVO"
    )
    circuit = value @ output if matrix == "ov" else query @ key.T
    left, values, right = np.linalg.svd(circuit)
    found = model.svd("1.3,0.0", matrix=matrix, components=3)
    assert found["values"].shape == (2, 8) and found["from"].shape == (2, 3, 32)
    assert found.labels("head") == ["0.0", "1.3"]
    assert found["values"][1] == pytest.approx(values[:8], rel=1e-3)
    for number in range(3):
        to = found["to"][1, number]
        sign = np.sign(right[number] @ to)
        assert to == pytest.approx(sign * right[number], abs=1e-3)
        assert found["from"][1, number] == pytest.approx(sign * left[:, number], abs=1e-3)
        assert to[np.abs(to).argmax()] > 0


def test_tokens_along_directions(model: hl.Model, run: pathlib.Path) -> None:
    answer = program("svd", run, "--heads", "1.3", "--components", 1, "--top_k", 3, "--json")
    row = json.loads(answer)["components"]
    found = model.svd("1.3", components=1)
    embedding = model.weights["embed.W_E"].astype(float) @ found["from"][0, 0]
    assert [token["id"] for token in row[0]["reads"]] == np.argsort(-embedding)[:3].tolist()
    assert [token["id"] for token in row[1]["reads"]] == np.argsort(embedding)[:3].tolist()
    assert row[1]["reads"][0]["product"] == pytest.approx(embedding.min(), abs=1e-4)
    folded = model.folded(center_writing_weights=False)
    written = found["to"][0, 0] @ folded.weights["unembed.W_U"].astype(float)
    assert [token["id"] for token in row[0]["writes"]] == np.argsort(-written)[:3].tolist()
    assert row[0]["writes"][0]["product"] == pytest.approx(written.max(), abs=1e-6)
    direction = model.direction(PAIRS, layers="1")
    logits = direction["resid_post.1"] @ folded.weights["unembed.W_U"].astype(float)
    raised = direction.rows[0]["raises"]
    assert raised[0]["product"] == pytest.approx(logits.max(), rel=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "pairs: expected one of pairs, vector and answer"),
        ({"pairs": PAIRS, "point": "pattern"}, "point: expected values of tokens, got pattern"),
        ({"pairs": PAIRS, "point": "z.1.2"}, "point: expected a whole point"),
        ({"pairs": PAIRS, "layers": "7"}, "point: this model does not compute resid_post in layers 7"),
        ({"answer": 5, "text": TEXT, "values": "1.9"}, "values: expected one of 0 to 3, got 9"),
        ({"answer": 5, "text": TEXT, "values": "mlp_post.1"}, "values: expected values of the residual"),
        ({"answer": 5, "text": TEXT, "values": "z"}, "values: expected values of one layer"),
        ({"answer": 5, "text": TEXT, "values": "1.0-1"}, "values: expected values of one layer"),
        ({"answer": 5, "wrong": 5}, "wrong: expected a token other than the answer"),
        ({"answer": 5, "point": "z"}, "point: needs pairs"),
        ({"answer": 5, "method": "principal_component"}, "method: needs pairs"),
        ({"answer": 5, "tokens_of": "mean"}, "tokens_of: needs pairs"),
        ({"vector": "joy.npz"}, "vector: expected FILE.npz:ARRAY"),
    ],
)
def test_refused_directions(model: hl.Model, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model.direction(**arguments)
    with pytest.raises(ValueError, match="2.0"):
        model.svd("2.0")
