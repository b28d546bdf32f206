#include "headlight/text/byte_tokenizer.h"

#include <algorithm>

#include "headlight/base/utf8.h"

namespace headlight {

std::vector<std::int32_t> ByteTokenizer::encode(std::string_view text) const {
  require_utf8(text, "[encode] text");
  std::vector<std::int32_t> ids(text.size());
  std::transform(text.begin(), text.end(), ids.begin(),
                 [](char c) { return std::int32_t{static_cast<std::uint8_t>(c)}; });
  return ids;
}

std::string ByteTokenizer::token_bytes(std::int32_t id) const {
  require_id(id);
  return id == end_of_text() ? std::string() : std::string(1, static_cast<char>(id));
}

}  // namespace headlight
