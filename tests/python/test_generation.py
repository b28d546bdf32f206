"""Generated texts and tokens."""

import json
import pathlib
from typing import Any

import numpy as np
import pytest
from conftest import program

import headlight as hl


def test_generate_gives_the_text_of_the_program(model: hl.Model, run: pathlib.Path) -> None:
    report = json.loads(
        program("generate", run, "--prompt", "One day", "--max_new_tokens", 20, "--seed", 5,
                "--temperature", 0.8, "--top_k", 50, "--top_p", 0.9, "--presence_penalty", 1,
                "--frequency_penalty", 0.5, "--logit_bias", "9=2", "10=-3", "--json")
    )  # fmt: skip
    options: dict[str, Any] = {"max_new_tokens": 20, "seed": 5, "temperature": 0.8, "top_k": 50}
    got = model.generate("One day", **options, top_p=0.9, presence_penalty=1.0,
                         frequency_penalty=0.5, logit_bias={9: 2.0, 10: -3.0})  # fmt: skip
    assert got.text != model.generate("One day", **options, top_p=0.9).text
    assert (got.text, str(got)) == (report["text"], report["text"])
    assert len(got.tokens) == report["tokens"]
    assert got.finish_reason == report["finish_reason"]


def test_stream_gives_the_tokens_of_generate(model: hl.Model) -> None:
    options: dict[str, Any] = {"max_new_tokens": 12, "seed": 3, "logprobs": 2}
    whole = model.generate("One", **options)
    stream = model.stream("One", **options)
    assert stream.finish_reason is None
    tokens = list(stream)
    assert [token.token for token in tokens] == whole.tokens.tolist()
    assert [token.logprob for token in tokens] == [choice.logprob for choice in whole.choices]
    assert "".join(token.text for token in tokens) == whole.text
    assert all(len(token.top) == 2 and token.top[0][1] >= token.top[1][1] for token in tokens)
    assert stream.finish_reason == whole.finish_reason


def test_logprobs_are_the_model_s_own(model: hl.Model) -> None:
    prompt = model.tokenizer.encode("One day", prompt=True)
    token = next(model.stream(prompt, temperature=0))
    logits = model(prompt).logits[0, -1].astype(np.float64)
    expected = logits - np.log(np.exp(logits).sum())
    assert token.rank == 1 and token.token == int(expected.argmax())
    assert token.logprob == pytest.approx(expected.max(), abs=1e-4)


def test_several_prompts_and_samples(model: hl.Model) -> None:
    texts = model.generate(["One day", "Two"], max_new_tokens=5, samples=2)
    assert len(texts) == 4
    assert texts[0].text == model.generate("One day", max_new_tokens=5).text
    assert texts[2].text == model.generate("Two", max_new_tokens=5).text


def test_stop_and_grammar(model: hl.Model) -> None:
    free = model.generate("One day", max_new_tokens=30, temperature=0).text
    stop = free[5:8]
    cut = model.generate("One day", max_new_tokens=30, temperature=0, stop=stop)
    assert cut.finish_reason == "stop" and cut.text == free[: free.index(stop)]
    answer = model.generate("", max_new_tokens=40, json_schema={"type": "boolean"}).text
    assert json.loads(answer) in (True, False)
    assert model.generate("", grammar='root ::= "a" "b"').text == "ab"


def test_cached_keys_can_be_rounded(model: hl.Model, run: pathlib.Path) -> None:
    got = model.generate("One day", max_new_tokens=20, seed=5, weights="int8", cache_type="int8")
    assert got.text == json.loads(
        program("generate", run, "--prompt", "One day", "--max_new_tokens", 20, "--seed", 5,
                "--weights", "int8", "--cache_type", "int8", "--json")
    )["text"]  # fmt: skip
    with pytest.raises(ValueError, match="cache_type"):
        model.generate("One day", cache_type="int4")


def test_wrong_options_name_themselves(model: hl.Model) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"top_k": -1}, "top_k: expected"),
        ({"temperature": "hot"}, "temperature: expected a number, got 'hot'"),
        ({"temperature": float("nan")}, "temperature: "),
        ({"max_new_tokens": 1.5}, "max_new_tokens: expected a whole number"),
        ({"weights": "int4"}, "weights: expected float32"),
        ({"samples": 0}, "samples: expected a number from 1"),
        ({"stop": 3}, "stop: expected a str"),
        ({"seed": -1}, "seed: expected"),
        ({"logit_bias": {"a": 1}}, "logit_bias: expected token ids"),
        ({"logit_bias": {3: 101}}, "logit_bias: expected numbers from -100 to 100"),
        ({"presence_penalty": 3}, "presence_penalty: expected a number from -2 to 2"),
        ({"grammar": "x"}, "grammar: "),
    ]
    for options, message in cases:
        with pytest.raises(ValueError, match=message):
            model.generate("One", **options)
    typo: dict[str, Any] = {"temprature": 1}
    with pytest.raises(TypeError, match="unknown argument temprature; did you mean 'temperature'"):
        model.generate("One", **typo)
