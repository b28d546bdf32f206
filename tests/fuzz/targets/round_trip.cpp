#include <vector>

#include "fuzz/harness.h"
#include "fuzz/targets.h"
#include "headlight/base/utf8.h"
#include "headlight/tokenizers/bpe_trainer.h"
#include "headlight/tokenizers/byte_tokenizer.h"
#include "headlight/tokenizers/char_tokenizer.h"
#include "headlight/tokenizers/streaming_decoder.h"

namespace headlight::fuzz {
namespace {

// Small tokenizer with merges of letters, blanks, digits, line ends and bytes of Hangul.
BpeTokenizer learned_tokenizer() {
  BpeTrainer trainer({.vocab_size = 400});
  trainer.feed(
      "the cat sat on the mat, the other cat sat on the other mat;\n\n  it's 1024 o'clock, isn't "
      "it? 고양이가 매트에 앉았다. 고양이가 또 매트에 앉았다.\r\n\tthe 100 cats of 2024 can't "
      "sit.");
  return BpeTokenizer(trainer.finish());
}

std::string streamed(const Tokenizer& tokenizer, const std::vector<std::int32_t>& ids) {
  StreamingDecoder decoder(tokenizer);
  std::string text;
  for (const std::int32_t id : ids) {
    text += decoder.push(id);
  }
  return text + decoder.finish();
}

void check_bytes(const BpeTokenizer& tokenizer, std::string_view bytes) {
  const std::vector<std::int32_t> ids = tokenizer.encode_bytes(bytes);
  demand(tokenizer.decode_bytes(ids) == bytes, "bpe: decode(encode(bytes)) is something else");
  demand(tokenizer.encode_bytes(bytes, {.parallel = true}) == ids, "bpe: in parallel, other ids");
  demand(streamed(tokenizer, ids) == tokenizer.decode(ids), "bpe: streamed, another text");
  demand(tokenizer.decode(ids) == replace_invalid_utf8(bytes), "bpe: decode is another text");
}

void check_text(const Tokenizer& tokenizer, std::string_view text) {
  const std::vector<std::int32_t> ids = tokenizer.encode(text);
  demand(tokenizer.decode(ids) == text, "decode(encode(text)) is another text");
  demand(streamed(tokenizer, ids) == text, "streamed, another text");
}

}  // namespace

void round_trip(std::string_view input) {
  static const BpeTokenizer learned = learned_tokenizer();
  static const ByteTokenizer bytes;
  check_bytes(learned, input);
  const std::string_view valid = input.substr(0, valid_utf8_prefix(input));
  check_text(learned, valid);
  check_text(bytes, valid);
  check_text(build_char_tokenizer(valid), valid);
  demand(accepted([&] { bytes.encode(input); }) == (valid.size() == input.size()),
         "what is UTF-8 is not agreed upon");
  const std::vector<std::int32_t> special = learned.encode_bytes(valid, {.read_special = true});
  demand(learned.decode_bytes(special).size() <= valid.size(), "special tokens made text");
}

}  // namespace headlight::fuzz
