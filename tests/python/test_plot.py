"""Figures and pages."""

import copy
import pathlib
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from conftest import task_ids

import headlight as hl
from headlight.cache import ActivationCache

TEXT = "One day Mina lost her red kite."


def words(figure: hl.plot.Figure) -> str:
    """Returns the text of an SVG figure, which must be valid XML."""
    return " ".join(ET.fromstring(figure.source).itertext())


def test_attention_of_a_cache(model: hl.Model) -> None:
    output, cache = model.run_with_cache([TEXT, "a b"], ["pattern"])
    assert [len(tokens) for tokens in cache.tokens] == output.lengths
    one = hl.plot.attention(cache, 1, 2)
    assert one.source != hl.plot.attention(cache, 1, 3).source and "1" in words(one)
    assert hl.plot.attention(cache, 0).source.count("<svg") >= 1
    assert hl.plot.attention(cache, 0, sequence=1).source != hl.plot.attention(cache, 0).source
    with pytest.raises(ValueError, match=r"weights: expected shape \[H, T, T\]"):
        hl.plot.attention_maps(np.eye(2), ["a", "b"])
    with pytest.raises(ValueError):
        hl.plot.attention_maps(np.full((1, 2, 2), 3.0), ["a", "b"])


SYLLABLES = "\ub9d0\ud588\ub2e4"  # the model has tokens of single bytes for them
CUT = re.compile("<0x|&lt;0x|\ufffd")


def test_characters_of_several_tokens_are_whole(model: hl.Model) -> None:
    texts = [f"Mina {SYLLABLES}", f"Ben\n {SYLLABLES}"]
    _, cache = model.run_with_cache(texts, ["pattern", "mlp_post.1"])
    cells = cache.cells[0]
    assert len(cells) < len(cache.tokens[0]) and [
        cell[2].strip() for cell in cells[-3:]
    ] == list(SYLLABLES)
    assert CUT.search("".join(cache.tokens[0])) and copy.deepcopy(cache).cells == cache.cells
    figure = hl.plot.attention(cache, 1, 2)
    assert not CUT.search(figure.source) and "\ub9d0" in words(figure)

    begins = [begin for begin, _, _ in cells]  # a plain version of the merged weights
    maps = cache["pattern", 1][0, 2:3, : len(cache.tokens[0]), : len(cache.tokens[0])]
    sums = np.add.reduceat(np.add.reduceat(maps.astype(float), begins, axis=2), begins, axis=1)
    means = sums / np.array([end - begin for begin, end, _ in cells])[:, None]
    plain = hl.plot.attention_maps(means, [cell[2] for cell in cells], layer=1, heads=[2])
    assert figure.source == plain.source.replace(f"{len(cells)} tokens", f"{len(cells)} characters")

    difference = hl.plot.attention_difference(cache, cache, 1, 2)
    assert not CUT.search(difference.source)
    page = hl.plot.text(cache, ["neuron.1.17"], sequence=1).source
    assert not CUT.search(page) and all(f"{syllable}</span>" in page for syllable in SYLLABLES)
    examples = model.top_examples(texts, "neuron.1.17", count=2)
    page = hl.plot.top_examples(examples).source
    assert not CUT.search(page) and page.count('class="m"') == 2
    with pytest.raises(ValueError, match="cells: expected cells of 2 tokens"):
        hl.plot.attention_maps(np.eye(2)[None], ["a", "b"], cells=[(0, 1, "a")])


def test_differences_join_the_tokens_that_either_text_joins(model: hl.Model) -> None:
    weights = np.eye(3)[None, None]
    one, other = (
        ActivationCache({"blocks.0.attn.hook_pattern": weights}, [list("abc")], [cells])
        for cells in ([(0, 2, "\ub9d0"), (2, 3, "x")], [(0, 1, "a"), (1, 2, "b"), (2, 3, "x")])
    )
    shown = words(hl.plot.attention_difference(one, other, 0))
    assert "\ub9d0/ab" in shown and "x" in shown


def test_heads_loss_and_models(model: hl.Model, run: pathlib.Path, tmp_path: pathlib.Path) -> None:
    result = model.ablate([TEXT, "One day"])
    assert "Rise" in words(hl.plot.heads(result["rise"], "Rise"))
    history = hl.open_run(run)
    assert "validation" in words(hl.plot.loss(history))
    assert "tiny, training" in words(hl.plot.loss([history, history]))
    figure = hl.plot.model(model)
    figure.save(tmp_path / "model.svg")
    assert (tmp_path / "model.svg").read_text() == figure.source
    assert getattr(model, "_repr_html_")() == figure.source and "tiny" in words(figure)
    with pytest.raises(ValueError, match="rows and columns, got 0"):
        hl.plot.heads(np.zeros((0, 0)))


def test_pages_stay_inside_a_frame(model: hl.Model) -> None:
    page = hl.plot.model_view(model, [TEXT, "</script><b>"], view="head")
    assert page.source.startswith("<!") and "tiny" in page.source
    shown = getattr(page, "_repr_html_")()
    assert shown.startswith('<iframe srcdoc="&lt;!') and shown.count("<") == 2
    with pytest.raises(ValueError, match="view: expected model, head, neuron or grid"):
        hl.plot.model_view(model, TEXT, view="all")


def test_differences_and_weights_by_values(model: hl.Model) -> None:
    _, cache = model.run_with_cache(["a b c", "a c b"], ["pattern"])
    figure = hl.plot.attention_difference(cache, cache, 1, 2, other_sequence=1)
    assert "Difference of weights" in words(figure) and "/" in words(figure)
    assert "가중치의 차이" in words(
        hl.plot.attention_difference(cache, cache, 1, other_sequence=1, lang="ko")
    )
    _, longer = model.run_with_cache(TEXT, ["pattern"])
    with pytest.raises(ValueError, match="other: expected"):
        hl.plot.attention_difference(cache, longer, 1)
    weighted = hl.plot.value_weighted(model, TEXT, 1, 2)
    assert "Value-weighted" in words(weighted)
    assert weighted.source != hl.plot.attention(longer, 1, 2).source
    assert "tiny · value-weighted" in hl.plot.model_view(model, TEXT, value_weighted=True).source
    with pytest.raises(ValueError, match="lang: expected en or ko"):
        hl.plot.attention(cache, 0, lang="fr")


def test_scatter_plots(model: hl.Model) -> None:
    clean, corrupt = task_ids(model)
    both = model.patch(clean, corrupt, 5, 6, point="z", method="both")
    shown = words(hl.plot.attribution(both))
    assert "recovered (patched)" in shown and "8 points, r = " in shown and "1.2: " in shown
    places = model.patch(clean, corrupt, 5, 6, point="resid_pre", method="both")
    assert "1 @0" in words(hl.plot.attribution(places))
    with pytest.raises(ValueError, match="both"):
        hl.plot.attribution(model.patch(clean, corrupt, 5, 6))
    texts = [TEXT, "One day"]
    scores = model.head_scores(texts, repeats=2)
    shown = words(hl.plot.scores_and_ablation(scores, model.ablate(texts), "previous_token"))
    assert "previous_token" in shown and "rise of the loss without the head, nats a token" in shown
    with pytest.raises(ValueError, match="y: expected 2 numbers, got 1"):
        hl.plot.scatter([1.0, 2.0], [1.0])


def test_circuits_of_tokens(model: hl.Model) -> None:
    shown = words(hl.plot.ov_circuit(model, 1, 2, " the cat"))
    assert "OV of head 1.2" in shown and "attended token" in shown
    assert "QK of head 0.1" in words(hl.plot.qk_circuit(model, 0, 1, [5, 6], [7]))
    with pytest.raises(ValueError, match="rows: expected 2 labels, got 1"):
        hl.plot.matrix(np.eye(2), ["a"])


def test_a_figure_is_saved_under_the_name_of_its_format(
    model: hl.Model, tmp_path: pathlib.Path
) -> None:
    page = hl.plot.text(model.run_with_cache(TEXT)[1], "neuron.1.17")
    with pytest.raises(ValueError, match=r"HTML page: expected a name that ends in .html"):
        page.save(tmp_path / "x.svg")
    with pytest.raises(ValueError, match=r"SVG: expected a name that ends in .svg"):
        hl.plot.model(model).save(tmp_path / "x.html")
    assert not list(tmp_path.iterdir())
    page.save(tmp_path / "x.html")
    assert (tmp_path / "x.html").read_text() == page.source


def test_coloured_texts(model: hl.Model) -> None:
    _, cache = model.run_with_cache([TEXT, "a <b>"], ["mlp_post.1", "resid_post.0"])
    page = hl.plot.text(cache, ["neuron.1.17", "resid_post.0.3"], title="Neurons")
    assert page.source.startswith("<!doctype") and "neuron.1.17" in page.source
    assert "<b>" not in hl.plot.text(cache, "neuron.1.17", sequence=1).source
    assert cache.column("neuron.1.17").shape == cache["mlp_post.1"].shape[:2]
    _, one = model.run_with_cache(TEXT, ["neuron.1.17"])
    length = len(one.tokens[0])
    assert np.allclose(one.column("neuron.1.17")[0], cache.column("neuron.1.17")[0, :length])
    for name, error in (("neuron.1", ValueError), ("neuron.1.999", KeyError)):
        with pytest.raises(error):
            cache.column(name)


def test_most_active_texts(model: hl.Model, tmp_path: pathlib.Path) -> None:
    texts = ["One day Mina lost her red kite.", "Ben ran.", "The cat sat on the mat and slept."]
    examples = model.top_examples(texts, "neuron.1.17", count=2)
    assert len(examples) == 2 and examples[0].value >= examples[1].value
    best = examples[0]
    _, cache = model.run_with_cache(texts[best.sequence], ["neuron.1.17"])
    column = cache.column("neuron.1.17")[0]
    assert best.value == pytest.approx(column.max(), abs=1e-5)
    assert best.position == int(column.argmax())
    assert best.values[best.position - best.begin] == best.value
    page = hl.plot.top_examples(examples, "Neuron 1.17").source
    assert page.count('class="m"') == 2 and "Neuron 1.17" in page
    assert f"text {best.sequence}, token {best.position}" in page and "token" in repr(best)
    long = texts[0] * 40
    parts = model.top_examples([texts[1], long], "neuron.1.17", count=50)
    positions = [part.position for part in parts if part.sequence == 1]
    assert len(positions) == len(parts) - 1 > 2
    assert 64 < max(positions) < len(model.tokenizer.encode(long))
    # A token file stays on the disk, and gives the same texts.
    ids = model.tokenizer.encode(long)
    np.asarray(ids, np.uint16).tofile(tmp_path / "ids.bin")
    stored = model.top_examples(tmp_path / "ids.bin", "neuron.1.17", count=50)
    held = model.top_examples(ids, "neuron.1.17", count=50)
    assert [(one.position, one.value) for one in stored] == [(one.position, one.value) for one in held]
    with pytest.raises(ValueError, match="point: expected one neuron"):
        model.top_examples(texts, "mlp_post.1")
    with pytest.raises(ValueError, match="sae: expected both"):
        model.top_examples(texts, "resid_post.1", feature=3)


def test_runs_show_their_loss(run: pathlib.Path) -> None:
    assert "validation" in getattr(hl.open_run(run), "_repr_html_")()
