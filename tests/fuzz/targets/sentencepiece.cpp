#include "formats/sentencepiece/sentencepiece_tokenizer.h"
#include "fuzz/harness.h"
#include "fuzz/targets.h"
#include "headlight/base/utf8.h"
#include "headlight/formats/tokenizers/tokenizer_file.h"

namespace headlight::fuzz {

// A tokenizer.model, after a text to encode and a zero byte. A rule of the normalizer may be too
// long for a text.
void sentencepiece(std::string_view input) {
  const std::string_view text = take_text(input).substr(0, 256);
  std::unique_ptr<Tokenizer> tokenizer;
  if (!accepted([&] { tokenizer = sentencepiece_tokenizer(input, "input"); })) {
    return;
  }
  for (std::int32_t id = 0; id < tokenizer->vocab_size(); ++id) {
    tokenizer->token_label(id);
  }
  const std::string json = to_tokenizer_json(*tokenizer);
  const std::unique_ptr<Tokenizer> again = parse_tokenizer_json(json, "written");
  demand(to_tokenizer_json(*again) == json, "the tokenizer that was written reads as another");
  accepted([&] {
    const auto ids = tokenizer->encode_bytes(text, {.read_special = true, .parallel = true});
    demand(again->encode_bytes(text, {.read_special = true, .parallel = false}) == ids,
           "the tokenizer that was written gives other ids");
    tokenizer->decode(ids);
    tokenizer->encode(replace_invalid_utf8(text));
  });
}

}  // namespace headlight::fuzz
