"""Compares ids of `headlight tokenizer encode` for a tokenizer.model with those of SentencePiece.

Small unigram and BPE models are trained on data/toy.txt and Korean text, with and without byte
fallback, blanks and normalizer rules, and with tokens that the user defines. The texts are random
strings of all of Unicode and, for each model, strings of its own tokens. The texts that ids give are
compared, too.
"""

import random

import sentencepiece

from texts import CORPUS, compare_ids, random_strings

KOREAN = [
    "어텐션은 입력의 어느 부분을 볼지 정한다.",
    "모델은 다음 토큰의 확률을 계산한다.",
    "옛날 옛적에 작은 마을에 한 소녀가 살았습니다.",
    "학습률이 너무 크면 손실이 줄지 않는다.",
    "오늘은 날씨가 좋아서 강가를 걸었다.",
]
NO_RULES = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}
DEFINED = ["<sep>", "▁▁▁", "@@", "ab", "é"]
# Keys of sentencepiece.SentencePieceTrainer.
MODELS = {
    "unigram": {"model_type": "unigram"},
    "unigram, bytes": {"model_type": "unigram", "byte_fallback": True},
    "unigram, user-defined": {"model_type": "unigram", "user_defined_symbols": DEFINED},
    "unigram, no prefix": {"model_type": "unigram", "add_dummy_prefix": False, **NO_RULES},
    "unigram, lower case": {"model_type": "unigram", "normalization_rule_name": "nmt_nfkc_cf"},
    "BPE": {"model_type": "bpe"},
    "BPE of Llama's kind": {"model_type": "bpe", "byte_fallback": True, "split_digits": True, **NO_RULES},
    "BPE, bytes and rules": {"model_type": "bpe", "byte_fallback": True},
    "BPE, user-defined": {"model_type": "bpe", "byte_fallback": True, "user_defined_symbols": DEFINED},
    "BPE of Gemma's kind": {"model_type": "bpe", "byte_fallback": True, "add_dummy_prefix": False,
                            "allow_whitespace_only_pieces": True, "split_by_whitespace": False,
                            "control_symbols": ["<start>", "<stop>"], **NO_RULES},
}


def train(path, settings, corpus):
    options = {"vocab_size": 900, "hard_vocab_limit": False, "num_threads": 1, "minloglevel": 2}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus), model_prefix=str(path.with_suffix("")), **options, **settings)
    return sentencepiece.SentencePieceProcessor(model_file=str(path))


def strings_of_tokens(draw, model, count):
    """Texts of the model's tokens, with blanks and marks between some."""
    tokens = [model.id_to_piece(id).replace("▁", " ") for id in range(model.vocab_size())
              if not model.is_control(id) and not model.is_unknown(id) and not model.is_byte(id)]
    joints = ["", "", "", " ", "  ", "▁", "\u3000", "ﬁ", "Ａ", "\u200b"]
    return ["".join(draw.choice(tokens) + draw.choice(joints) for _ in range(draw.randint(1, 30)))
            for _ in range(count)]


def check(table, program, options):
    draw = random.Random(options.seed)
    corpus = CORPUS.read_text(encoding="utf-8").splitlines()[:4000] + 40 * KOREAN
    for name, settings in MODELS.items():
        folder = program.folder / name
        folder.mkdir()
        model = train(folder / "tokenizer.model", settings, corpus)
        texts = random_strings(draw, options.strings) + strings_of_tokens(draw, model, options.strings)
        compare_ids(table, f"ids of SentencePiece: {name}", program, folder, texts, model.encode(texts),
                    "--special_tokens=off")
        for text in texts[-20:]:
            ids = model.encode(text)
            table.good(f"text of SentencePiece: {name}",
                       model.unk_id() in ids or program.decoded(folder, ids) == model.decode(ids), repr(text))


OPTIONS = {"--strings": dict(type=int, default=2000)}
