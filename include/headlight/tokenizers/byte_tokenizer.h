#pragma once

#include "headlight/tokenizers/tokenizer.h"

namespace headlight {

// One token per byte of UTF-8: ids 0 ... 255 are the bytes, 256 is <|endoftext|>. Every text can be
// encoded.
class ByteTokenizer final : public Tokenizer {
 public:
  ByteTokenizer() : Tokenizer(256) {}

  std::string_view kind() const override { return "byte"; }
  Index vocab_size() const override { return 257; }
  std::vector<std::int32_t> encode_bytes(std::string_view bytes,
                                         const EncodeOptions& options = {}) const override;
  std::string token_bytes(std::int32_t id) const override;
};

}  // namespace headlight
