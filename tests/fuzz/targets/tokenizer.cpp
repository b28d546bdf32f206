#include "headlight/tokenizers/tokenizer.h"

#include <memory>

#include "fuzz/harness.h"
#include "fuzz/targets.h"
#include "headlight/base/utf8.h"
#include "headlight/formats/tokenizers/tokenizer_file.h"
#include "headlight/tokenizers/bpe_tokenizer.h"
#include "tokenizers/pipeline/pipeline_tokenizer.h"

namespace headlight::fuzz {
namespace {

std::unique_ptr<Tokenizer> read_tokenizer(std::string_view input) {
  if (take_byte(input) % 2 == 0) {
    return parse_tokenizer_json(input, "input");
  }
  const std::string_view vocabulary = take_text(input);
  return parse_gpt2_vocabulary(vocabulary, input, "input");
}

// A tokenizer from a file must work, and must read the same after it is written.
void use(const Tokenizer& tokenizer, std::string_view text) {
  for (Index id = 0; id < tokenizer.vocab_size(); ++id) {
    tokenizer.token_label(static_cast<std::int32_t>(id));
  }
  const std::string valid = replace_invalid_utf8(text.substr(0, 256));
  const std::string back = tokenizer.decode(tokenizer.encode(valid));
  // Normalizers and blanks between words may change the text.
  const auto* pipeline = dynamic_cast<const PipelineTokenizer*>(&tokenizer);
  demand(tokenizer.unknown().has_value() || pipeline != nullptr || back == valid,
         "decode(encode(text)) is another text");
  if (pipeline != nullptr) {
    pipeline->encode_bytes(text.substr(0, 256), {.read_special = true, .parallel = true});
  }
  if (const auto* bpe = dynamic_cast<const BpeTokenizer*>(&tokenizer)) {
    const std::string_view bytes = text.substr(0, 256);
    demand(bpe->decode_bytes(bpe->encode_bytes(bytes)) == bytes, "bytes were lost");
    bpe->encode_bytes(valid, {.read_special = true});
  }
  const std::string json = to_tokenizer_json(tokenizer);
  demand(to_tokenizer_json(*parse_tokenizer_json(json, "written")) == json,
         "the tokenizer that was written reads as another");
}

}  // namespace

void tokenizer(std::string_view input) {
  std::unique_ptr<Tokenizer> result;
  if (accepted([&] { result = read_tokenizer(input); })) {
    accepted([&] { use(*result, input); });  // a rule of the normalizer may be too long for a text
  }
}

}  // namespace headlight::fuzz
