#include "tokenizers/special_names.h"
#include "support/models/byte_vocabulary.h"
#include "support/test.h"

// Returns a tokenizer of the bytes and <|endoftext|>, <|im_start|>, <|im_end|>, <|im_end|>2, <a>.
BpeTokenizer chat_tokenizer() {
  return BpeTokenizer(
      byte_vocabulary({"<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|im_end|>2", "<a>"}));
}

std::string warning_of(const Tokenizer& tokenizer, const std::vector<std::string>& texts,
                       std::string_view without = {}) {
  SpecialNameCount count(tokenizer, without);
  for (const std::string& text : texts) {
    count.add(text);
  }
  return count.warning("--text");
}

TEST_CASE("names of special tokens spelled out in a text are counted in one line") {
  const BpeTokenizer tokenizer = chat_tokenizer();
  CHECK(warning_of(tokenizer, {"", "<|im_start", "plain"}).empty());
  CHECK(warning_of(tokenizer, {"<|im_start|>user\nhi<|im_end|>", "<|im_start|>x"}) ==
        "--text: names of special tokens are read as plain text: '<|im_start|>' (2), '<|im_end|>' "
        "(1); "
        "--special_tokens on reads them as tokens");
  // The longest name counts; the name `without`, which has its own warning, does not.
  CHECK(warning_of(tokenizer, {"<|im_end|>2<|endoftext|>"}, "<|endoftext|>") ==
        "--text: names of special tokens are read as plain text: '<|im_end|>2' (1); "
        "--special_tokens on "
        "reads them as tokens");
  CHECK(warning_of(tokenizer, {"<a><|im_end|>2<|im_end|><|im_start|><|endoftext|>"}) ==
        "--text: names of special tokens are read as plain text: '<|endoftext|>' (1), "
        "'<|im_start|>' (1), "
        "'<|im_end|>' (1) and 2 more names; --special_tokens on reads them as tokens");
  CHECK(warning_of(ByteTokenizer(), {"<|endoftext|>"})
            .starts_with("--text: names of special tokens"));
}

TEST_CASE("names of special tokens are not counted if they are read as tokens") {
  BpeTokenizer tokenizer = chat_tokenizer();
  tokenizer.set_reads_special(true);
  CHECK(warning_of(tokenizer, {"<|im_start|>"}).empty());
  CHECK(tokenizer.encode("<|im_start|>a<|im_end|>2<|im_end|>") == Ids{257, 'a', 259, 258});
  CHECK(tokenizer.encode_bytes("<a>", {.read_special = true, .parallel = true}) == Ids{260});
  tokenizer.set_reads_special(false);
  CHECK(tokenizer.encode("<a>") == Ids{'<', 'a', '>'});
}
