#include "headlight/text/byte_tokenizer.h"

#include "text/special_names.h"

namespace headlight {

std::vector<std::int32_t> ByteTokenizer::encode_bytes(std::string_view bytes,
                                                      const EncodeOptions& options) const {
  std::vector<std::int32_t> ids;
  ids.reserve(bytes.size());
  for (const TextSegment& segment : special_segments(*this, bytes, options.read_special)) {
    if (segment.id >= 0) {
      ids.push_back(segment.id);
      continue;
    }
    for (const char c : segment.text) {
      ids.push_back(static_cast<std::uint8_t>(c));
    }
  }
  return ids;
}

std::string ByteTokenizer::token_bytes(std::int32_t id) const {
  require_id(id);
  return id == end_of_text() ? std::string() : std::string(1, static_cast<char>(id));
}

}  // namespace headlight
