"""Loading, tokens, weights, logits and loss."""

import gc
import json
import os
import pathlib
from typing import Any

import numpy as np
import pytest
from conftest import program

import headlight as hl

TEXT = "One day Mina lost her red kite."


def test_load_refuses_missing_and_wrong_files(tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such directory"):
        hl.load(tmp_path / "none")
    with pytest.raises(ValueError):
        hl.load(tmp_path)
    with pytest.raises(ValueError, match="dtype: expected float32"):
        hl.load(tmp_path, dtype="int4")


def test_config_has_the_names_of_training(model: hl.Model) -> None:
    config = model.config
    assert (config.n_layer, config.n_head, config.n_embd) == (2, 4, 32)
    assert (config.block_size, config.vocab_size, config.bias) == (64, 400, True)
    assert "2 layers" in repr(model)


def test_tokenizer_gives_the_ids_of_the_program(model: hl.Model, run: pathlib.Path) -> None:
    for text in [TEXT, "이야기 하나", "<|endoftext|> x", ""]:
        expected = json.loads(program("tokenizer", "encode", run, "--text", text, "--json"))["ids"]
        assert model.tokenizer.encode(text).tolist() == expected
    plain = model.tokenizer.encode("<|endoftext|>", special_tokens=False)
    assert len(plain) > 1 and model.tokenizer.decode(plain) == "<|endoftext|>"
    batch = model.tokenizer.encode_batch([TEXT, "b"])
    assert [len(ids) for ids in batch] == [len(model.tokenizer.encode(t)) for t in [TEXT, "b"]]


def test_offsets_are_characters(model: hl.Model) -> None:
    text = "a kite ✂, 연 하나."
    ids = model.tokenizer.encode(text)
    spans = model.tokenizer.offsets(ids)
    assert spans.shape == (len(ids), 2)
    assert spans[0, 0] == 0 and spans[-1, 1] == len(text)
    assert (spans[:, 0] < spans[:, 1]).all()
    covered = {place for begin, end in spans for place in range(begin, end)}
    assert covered == set(range(len(text)))
    for id, (begin, end) in zip(ids, spans):
        piece = model.tokenizer.decode([id])
        assert "�" in piece or piece == text[begin:end]


def test_bad_tokens_are_refused(model: hl.Model) -> None:
    cases: list[tuple[Any, str]] = [
        ([400], "inputs: expected token ids from 0 to 399, got 400 at position 0"),
        ([-1], "expected token ids from 0"),
        ([1.5], "inputs: expected an array of integers, got float64"),
        (np.zeros((1, 2, 3), int), r"shape \[T\] or \[B, T\]"),
        ([], "inputs: "),
        ([[1], []], "at least one token"),
        ([2**40], "integers of 32 bits"),
        (object(), "inputs: expected an array of integers, got object"),
        ([1] * 65, "64"),
    ]
    for bad, message in cases:
        with pytest.raises(ValueError, match=message) as caught:
            model(bad)
        assert "\n" not in str(caught.value)


def test_logits_equal_those_of_the_program(
    model: hl.Model, run: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    text = tmp_path / "text.txt"
    text.write_text(TEXT)
    program("eval", run, "--data", text, "--bos", "off", "--logits", tmp_path / "out.npz")
    written = np.load(tmp_path / "out.npz")
    output = model(written["tokens"], targets=written["targets"])
    assert output.logits.shape == (1, len(written["tokens"]), 400)
    assert np.array_equal(output.logits[0], written["logits"])
    rows = written["logits"].astype(np.float64)
    rows -= np.log(np.exp(rows).sum(axis=1, keepdims=True))
    expected = -rows[np.arange(len(rows)), written["targets"]].mean()
    assert output.loss == pytest.approx(expected, rel=1e-5)


def test_texts_of_different_lengths(model: hl.Model) -> None:
    long, short = TEXT, "a b"
    both = model([long, short], targets="next")
    alone = [model(text, targets="next") for text in (long, short)]
    assert both.lengths == [alone[0].lengths[0], alone[1].lengths[0]]
    assert np.isfinite(both.logits).all()
    assert not both.logits[1, both.lengths[1] :].any()
    for row, one in enumerate(alone):
        assert np.allclose(both.logits[row, : one.lengths[0]], one.logits[0], atol=1e-5)
    assert both.loss == pytest.approx(model.loss([long, short]), rel=1e-6)
    ids = [model.tokenizer.encode(text, prompt=True).tolist() for text in (long, short)]
    assert np.array_equal(model(ids).logits, both.logits)
    targets = [row[1:] + [-1] for row in ids]
    assert model(ids, targets=targets).loss == both.loss
    with pytest.raises(ValueError, match="targets: expected 2 sequences, got 1"):
        model(ids, targets=targets[:1])


def test_weights_are_views_that_outlive_the_model(run: pathlib.Path) -> None:
    model = hl.load(run)
    weights = model.weights
    name = "h.0.attn.c_attn.weight"
    matrix = weights[name]
    assert matrix.shape == (96, 32) and matrix.base is not None and not matrix.flags.writeable
    query = weights["blocks.0.attn.W_Q"]
    assert query.shape == (4, 32, 8) and np.shares_memory(query, matrix)
    assert np.array_equal(query[1], matrix[8:16].T)
    assert np.array_equal(weights["blocks.1.attn.W_V"][2], weights["h.1.attn.c_attn.weight"][80:88].T)
    output = weights["blocks.0.attn.W_O"]
    assert np.array_equal(output[3], weights["h.0.attn.c_proj.weight"][:, 24:].T)
    assert weights["unembed.W_U"].shape == (32, 400)
    with pytest.raises(KeyError):
        weights["h.7.attn"]
    assert "blocks.9.attn.W_Q" not in weights and name in weights
    assert len(list(weights)) == len(weights) == len(weights.items())
    before = matrix.copy()
    del model, weights
    gc.collect()
    assert np.array_equal(matrix, before)


def test_assigning_a_weight_changes_the_model(run: pathlib.Path) -> None:
    model = hl.load(run)
    before = model.generate(TEXT, max_new_tokens=8, temperature=0).text
    for name in ("blocks.0.attn.W_O", "blocks.0.attn.b_O", "h.0.mlp.c_proj.weight"):
        model.weights[name] = np.zeros_like(model.weights[name])
    model.weights["wte.weight"] = -model.weights["wte.weight"]
    assert not model.weights["h.0.attn.c_proj.weight"].any()
    assert model.generate(TEXT, max_new_tokens=8, temperature=0).text != before
    with pytest.raises(ValueError, match=r"expected shape \[32\], got \[3\]"):
        model.weights["ln_f.weight"] = np.zeros(3)


def test_a_forked_child_computes(model: hl.Model) -> None:
    expected = model(TEXT).logits
    child = os.fork()
    if child == 0:
        same = np.array_equal(model(TEXT).logits, expected)
        os._exit(0 if same and model.generate("One", max_new_tokens=2) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_saved_models_are_the_same(model: hl.Model, tmp_path: pathlib.Path) -> None:
    model.save(tmp_path / "saved")
    again = hl.load(tmp_path / "saved")
    assert np.array_equal(again(TEXT).logits, model(TEXT).logits)
    assert again.path == tmp_path / "saved" and "2 layers" in repr(again)


def test_training_by_hand_changes_generated_text(run: pathlib.Path) -> None:
    model = hl.load(run)
    ids = np.array([5, 6, 7, 5, 6, 7, 5, 6, 7], np.int32)
    before = model.generate([5, 6], max_new_tokens=4, temperature=0).tokens.tolist()
    optimizer = hl.optim.AdamW(model.gpt.parameters())
    for _ in range(40):
        model.gpt.zero_grad()
        model.gpt.loss(ids).backward()
        optimizer.step(3e-3)
    after = model.generate([5, 6], max_new_tokens=4, temperature=0).tokens.tolist()
    assert before != after == [7, 5, 6, 7]
    assert model.loss(ids) == pytest.approx(model.gpt.loss(ids).item(), rel=1e-5)


def test_the_tokenizer_of_an_adapter_is_that_of_its_base(
    run: pathlib.Path, tmp_path: pathlib.Path, model: hl.Model
) -> None:
    (tmp_path / "adapter_config.json").write_text('{"base_model_name_or_path": "gone"}')
    with pytest.raises(ValueError, match="base model, got gone, which is not here"):
        hl.load_tokenizer(tmp_path)
    assert hl.load_tokenizer(tmp_path, base=run).vocab_size == model.tokenizer.vocab_size
    with pytest.raises(ValueError, match="is no adapter"):
        hl.load_tokenizer(run, base=run)


def test_chat_templates(run: pathlib.Path, tmp_path: pathlib.Path, model: hl.Model) -> None:
    program("export", run, "--to", "hf", "--chat_template", "chatml", "--out", tmp_path / "chat")
    tokenizer = hl.load_tokenizer(tmp_path / "chat")
    messages = [{"role": "user", "content": "One day"}]
    text = "<|im_start|>user\nOne day<|im_end|>\n<|im_start|>assistant\n"
    assert tokenizer.decode(tokenizer.apply_chat_template(messages)) == text
    messages.append({"role": "assistant", "content": "Mina"})
    ids = tokenizer.apply_chat_template(messages, continue_final_message=True)
    assert tokenizer.decode(ids) == text + "Mina"
    with pytest.raises(ValueError, match="chat template"):
        model.tokenizer.apply_chat_template(messages)
    with pytest.raises(ValueError, match="messages: expected texts of role and content"):
        tokenizer.apply_chat_template([{"role": "user", "content": 5}])
