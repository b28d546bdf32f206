"""Activations of generated tokens."""

import numpy as np
import pytest

import headlight as hl

TEXT = "One day Mina"


def test_activations_of_generated_tokens_are_those_of_one_pass(model: hl.Model) -> None:
    names = ["resid_post", "z.1", "pattern.0", "logits"]
    text, cache = model.generate_with_cache(TEXT, names, max_new_tokens=6, seed=3)
    assert text.text == model.generate(TEXT, max_new_tokens=6, seed=3).text
    prompt = model.tokenizer.encode(TEXT, prompt=True)
    ids = np.concatenate([prompt, text.tokens])[:-1]
    _, expected = model.run_with_cache(ids, names)
    for name in ("resid_post.1", "z.1", "pattern.0"):
        assert cache[name].shape == expected[name].shape
        assert np.allclose(cache[name], expected[name], atol=1e-4), name
    first = len(prompt) - 1
    assert np.isnan(cache["logits"][0, :first]).all()
    assert np.allclose(cache["logits"][0, first:], expected["logits"][0, first:], atol=1e-4)
    plain, _ = model.generate_with_cache(TEXT, ["z.1"], max_new_tokens=6, seed=3, use_cache=False)
    assert plain.text == text.text


def test_recordings_that_cannot_be_made(model: hl.Model) -> None:
    with pytest.raises(ValueError, match="max_new_tokens: expected a text that fits"):
        model.generate_with_cache(TEXT, ["z"], max_new_tokens=90, ignore_end_of_text=True)
    with pytest.raises(ValueError, match="prompt: expected one text"):
        model.generate_with_cache([TEXT, TEXT], ["z"])
    with pytest.raises(ValueError, match="samples: cannot be combined"):
        model.generate_with_cache(TEXT, ["z"], samples=2)
    with pytest.raises(TypeError, match="unknown argument"):
        model.generate_with_cache(TEXT, ["z"], max_tokens=2)
    assert model.generate(TEXT, max_new_tokens=2).prompt_tokens > 0  # no hook is left
