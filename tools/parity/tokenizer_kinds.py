"""Small tokenizers of every kind that Headlight reads, made by Hugging Face `tokenizers`.

Each is trained on a given text with the stages of the model it is named after: its normalizer,
pre-tokenizer, decoder and post-processor, and added tokens of the same kinds.
"""

import base64
import json
import zlib

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors,
                        trainers)

MARK = "\u2581"
VOCABULARY = 1500
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
# Rules of SentencePiece (normalization_rule_tsv): E9 to 65 301, FB01 to 66 69, 3000 and A to 20,
# 65 308 to EB.
CHARSMAP = zlib.decompress(base64.b64decode(
    "eNol0wWsF0QcB/B7b8CUUdLd3Y1IiXR3N5ISQyya95QuBenu7u5GGDwaQUkFJgwslFRQPn+97bPv3W+/3W67uxAvhFAwhISJQ2TExJWPDmPih/Cm"
    "+SoZLWPiRYeYQiGstYrNFEICtUSak5KEt0hGCpKTipSkITXpSEsG0mOLkJEsZCYbWclBdnKRkzzkJh95KUB+Cv1/5FCEwhSjKCUoTilKUobSlOVt"
    "yvEOFShPJSpSmXepwntUoyo1qE4talKH2tSjLg2oTyMa0oTGNKMpLWhOK1rShta0oy0daE8nOvI+nelKF7rTjZ70oBcf0Ifekb4R0aGv/JB+fER/"
    "PuFjPuNTBjKAwQxiKEMYzjBiIxfPF3zOSEYwmlGMZQzjGcdEJvAlk5jMV3zNFKYxlRlMZxYzmcNs5jGXBcxnEQtZwmKWsZQVLGcVK1nDataFyFsM"
    "YQPr2cRGtrCZbWxlB9vZxU72sJt97OUA+znEQY5wmGMc5TjfROpzo8IJeYqTnCaOs5zhPOe4yAW+5RJXuMz3fMc1rnKD69ziJj/yA3e4zW9vRIW7"
    "8h4/ReoxUeG+fMgDfuHnSB+/8ojf+ZM/eMJjnvGUFzznb/7iFS/5l3/++3td42JDt57hyJrwGoO2i/4="
))
ALPHABET = pre_tokenizers.ByteLevel.alphabet()
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2 = LLAMA3.replace("{1,3}", "")
# Patterns of Mistral Nemo and DeepSeek V3, matched by PCRE2.
CASES = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DEEPSEEK = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def template(token, tokenizer):
    return processors.TemplateProcessing(single=f"{token} $A", pair=f"{token} $A {token} $B:1",
                                         special_tokens=[(token, tokenizer.token_to_id(token))])


def byte_bpe(texts, size, special=("<|endoftext|>",), files=None, **options):
    """Byte-level BPE of GPT-2's kind, learned from texts or from files."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=list(special), initial_alphabet=ALPHABET,
                                  show_progress=False, **options)
    if files:
        tokenizer.train([str(path) for path in files], trainer)
    else:
        tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def train(tokenizer, corpus, special, alphabet):
    trainer = trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=special, initial_alphabet=alphabet,
                                  limit_alphabet=400, show_progress=False)
    tokenizer.train_from_iterator(corpus.splitlines(keepends=True), trainer)
    return tokenizer


def with_model(tokenizer, **changes):
    """The same with other values of keys of its model."""
    root = json.loads(tokenizer.to_str())
    root["model"].update(changes)
    return Tokenizer.from_str(json.dumps(root))


def split(regex):
    return pre_tokenizers.Split(Regex(regex), behavior="isolated")


def split_then_bytes(*steps):
    last = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return pre_tokenizers.Sequence([*steps, last])


def byte_level(corpus, pre_tokenizer, special, normalizer=None):
    tokenizer = Tokenizer(models.BPE())
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return train(tokenizer, corpus, special, ALPHABET)


def neox(corpus):
    """Runs of blanks are added tokens, which are looked for in normalized text."""
    pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    special = ["<|endoftext|>", "<|padding|>"]
    tokenizer = byte_level(corpus, pre_tokenizer, special, normalizers.NFC())
    tokenizer.add_tokens([AddedToken(" " * n, normalized=True) for n in range(24, 1, -1)])
    return tokenizer


def prefixed(corpus):
    """A blank before every text, and added tokens that take blanks along or stand alone."""
    tokenizer = byte_level(corpus, pre_tokenizers.ByteLevel(add_prefix_space=True), ["<|endoftext|>"])
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True), AddedToken("<r>", rstrip=True)])
    tokenizer.add_tokens([AddedToken("key", single_word=True), AddedToken("é", normalized=False)])
    return tokenizer


def llama3(corpus):
    """Pieces that are tokens are taken as they are."""
    tokenizer = byte_level(corpus, split_then_bytes(split(LLAMA3)), ["<|end_of_text|>"])
    root = json.loads(tokenizer.to_str())
    # A token that no merge produces.
    root["model"]["vocab"]["Ġxyzzy"] = len(root["model"]["vocab"])
    root["model"]["ignore_merges"] = True
    tokenizer = Tokenizer.from_str(json.dumps(root))
    tokenizer.add_special_tokens(["<|begin_of_text|>", "<|eot_id|>"])
    bytes_first = processors.ByteLevel(trim_offsets=False)
    first = template("<|begin_of_text|>", tokenizer)
    tokenizer.post_processor = processors.Sequence([bytes_first, first])
    return tokenizer


def qwen2(corpus):
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    tokenizer = byte_level(corpus, split_then_bytes(split(QWEN2)), special, normalizers.NFC())
    tokenizer.add_tokens([AddedToken("<think>", normalized=False), AddedToken("<tool>")])
    return tokenizer


def smollm2(corpus):
    """Bytes that the text does not have are no tokens."""
    tokenizer = Tokenizer(models.BPE())
    digits = pre_tokenizers.Digits(individual_digits=True)
    bytes_last = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, bytes_last])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer = train(tokenizer, corpus, ["<|endoftext|>", "<|im_start|>"], [])
    return with_model(tokenizer, unk_token="<|endoftext|>")


def pcre2(regex):
    def make(corpus):
        return byte_level(corpus, split_then_bytes(split(regex)), ["</s>", "<s>"])

    return make


def behaviors(behavior, invert):
    def make(corpus):
        step = pre_tokenizers.Split(Regex(r"\s+|\d"), behavior=behavior, invert=invert)
        return byte_level(corpus, split_then_bytes(step), ["<|endoftext|>"])

    return make


def sentence_piece(corpus, special, bytes_there=True):
    """Characters with marks for blanks, learned word by word, as SentencePiece does."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement=MARK)
    return train(tokenizer, corpus, special + (BYTES if bytes_there else []), [MARK])


def without_byte_specials(tokenizer):
    """The bytes stay in the vocabulary alone."""
    root = json.loads(tokenizer.to_str())
    root["added_tokens"] = [token for token in root["added_tokens"] if token["content"] not in BYTES]
    root["model"]["byte_fallback"] = True
    return Tokenizer.from_str(json.dumps(root))


def text_of_marks(*more):
    return decoders.Sequence([decoders.Replace(MARK, " "), decoders.ByteFallback(), decoders.Fuse(), *more])


def llama2(corpus):
    tokenizer = without_byte_specials(sentence_piece(corpus, ["<unk>", "<s>", "</s>"]))
    tokenizer.pre_tokenizer = None
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(MARK), normalizers.Replace(" ", MARK)])
    tokenizer.decoder = text_of_marks(decoders.Strip(" ", 1, 0))
    tokenizer.post_processor = template("<s>", tokenizer)
    return tokenizer


def crossing(corpus):
    """Tokens that hold several words, so that no text may be cut at blanks."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    tokenizer.normalizer = normalizers.Replace(" ", MARK)
    special = ["<unk>", "<s>", "</s>"] + BYTES
    tokenizer = without_byte_specials(train(tokenizer, corpus, special, [MARK]))
    tokenizer.decoder = llama2(corpus).decoder
    return tokenizer


def mistral(corpus):
    tokenizer = without_byte_specials(sentence_piece(corpus, ["<unk>", "<s>", "</s>"]))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(MARK, prepend_scheme="first", split=False)
    tokenizer.decoder = text_of_marks(decoders.Strip(" ", 1, 0))
    tokenizer.post_processor = template("<s>", tokenizer)
    tokenizer.add_special_tokens(["[INST]", AddedToken("<n>", normalized=True)])
    return tokenizer


def metaspace(scheme, bytes_there):
    def make(corpus):
        special = ["<unk>", "<s>", "</s>"]
        tokenizer = sentence_piece(corpus, special, bytes_there)
        if bytes_there:
            tokenizer = without_byte_specials(tokenizer)
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(MARK, prepend_scheme=scheme, split=True)
        tokenizer.decoder = decoders.Metaspace(MARK, prepend_scheme=scheme, split=True)
        return tokenizer

    return make


def gemma3(corpus):
    special = ["<pad>", "<eos>", "<bos>", "<unk>"]
    tokenizer = without_byte_specials(sentence_piece(corpus, special))
    tokenizer.normalizer = normalizers.Replace(" ", MARK)
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", behavior="merged_with_previous")
    tokenizer.decoder = text_of_marks()
    tokenizer.post_processor = template("<bos>", tokenizer)
    added = ["\n\n", "\n\n\n", "\t\t", MARK * 2, MARK * 3, "<td>", "</td>"]
    tokenizer.add_tokens([AddedToken(content, normalized=False) for content in added])
    tokenizer.add_special_tokens(["<start_of_turn>", "<end_of_turn>"])
    return tokenizer


def bert(lowercase: bool):
    def make(corpus):
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = decoders.WordPiece()
        special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        trainer = trainers.WordPieceTrainer(vocab_size=VOCABULARY, special_tokens=special, show_progress=False)
        tokenizer.train_from_iterator(corpus.splitlines() + ["e\u00e9 \ud55c\uae00 \u4e16\u754c naive"], trainer)
        if lowercase:
            tokenizer.post_processor = processors.TemplateProcessing(
                single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
                special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
        else:
            tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
        return tokenizer

    return make


def unigram(normalizer, pre_tokenizer, bytes_there):
    """A Unigram model whose pieces are the characters and words of the corpus."""
    def make(corpus):
        listed = sorted({MARK + word for word in corpus.split()} | {"th", "er", "in", MARK})
        characters = sorted(set("".join(corpus.split())))
        pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
        pieces += [(piece, -2.5 - 0.01 * i) for i, piece in enumerate(listed)]
        pieces += [(piece, -3.5 - 0.01 * i) for i, piece in enumerate(characters)]
        pieces += [(piece, 0.0) for piece in BYTES if bytes_there]
        tokenizer = Tokenizer(models.Unigram(pieces, unk_id=2, byte_fallback=bytes_there))
        if normalizer:
            tokenizer.normalizer = normalizer
        tokenizer.pre_tokenizer = pre_tokenizer
        tokenizer.decoder = decoders.Metaspace()
        tokenizer.add_special_tokens(["<pad>", "</s>", "<unk>", AddedToken("<mask>", lstrip=True)])
        tokenizer.add_tokens([AddedToken("<think>", normalized=True)])
        return tokenizer

    return make


def t5(corpus):
    """T5Tokenizer of transformers 5."""
    steps = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    tokenizer = unigram(None, pre_tokenizers.Sequence(steps), False)(corpus)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)])
    return tokenizer


def converted(corpus):
    """The steps that transformers 4 makes of a SentencePiece model."""
    steps = [normalizers.Precompiled(CHARSMAP), normalizers.Strip(left=False),
             normalizers.Replace(Regex(" {2,}"), MARK)]
    return unigram(normalizers.Sequence(steps), pre_tokenizers.Metaspace(), True)(corpus)


def words(corpus):
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Whitespace(), pre_tokenizers.Punctuation("merged_with_next")])
    tokenizer.decoder = decoders.Fuse()
    trainer = trainers.WordLevelTrainer(vocab_size=VOCABULARY, special_tokens=["<unk>", "</s>"], show_progress=False)
    tokenizer.train_from_iterator(corpus.splitlines(), trainer)
    return tokenizer


KINDS = {
    "GPT-NeoX": neox, "blank first": prefixed, "Llama 3": llama3, "Qwen2": qwen2, "SmolLM2": smollm2, "Llama 2": llama2,
    "Mistral": mistral, "Gemma 3": gemma3, "tokens of words": crossing,
    "Metaspace always": metaspace("always", True),
    "Metaspace first": metaspace("first", True),
    "Metaspace never, unknown": metaspace("never", False),
    "removed": behaviors("removed", False),
    "with previous": behaviors("merged_with_previous", False),
    "with next": behaviors("merged_with_next", True),
    "contiguous": behaviors("contiguous", False),
    "Mistral Nemo": pcre2(CASES), "DeepSeek": pcre2(DEEPSEEK), "BERT": bert(True), "BERT, cased": bert(False), "T5": t5,
    "converted from SentencePiece": converted, "words": words,
}
