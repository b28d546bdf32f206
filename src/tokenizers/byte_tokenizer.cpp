#include "headlight/tokenizers/byte_tokenizer.h"

#include "tokenizers/special_names.h"

namespace headlight {

std::vector<std::int32_t> ByteTokenizer::encode_bytes(std::string_view bytes,
                                                      const EncodeOptions& options) const {
  return ids_of_segments(*this, bytes, options, [](std::string_view text, const auto& add) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      add(static_cast<std::uint8_t>(text[i]), text.substr(i, 1));
    }
  });
}

std::string ByteTokenizer::token_bytes(std::int32_t id) const {
  require_id(id);
  return id == end_of_text() ? std::string() : std::string(1, static_cast<char>(id));
}

}  // namespace headlight
