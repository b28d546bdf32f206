"""Figures and pages."""

import pathlib
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import headlight as hl

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
