#include "headlight/tokenizers/byte_tokenizer.h"

#include "tokenizers/special_names.h"
#include "tokenizers/token_ranges.h"

namespace headlight {

std::vector<std::int32_t> ByteTokenizer::encode_bytes(std::string_view bytes,
                                                      const EncodeOptions& options) const {
  std::vector<std::int32_t> ids;
  ids.reserve(bytes.size());
  const auto add = [&](std::int32_t id, std::string_view text) {
    ids.push_back(id);
    if (options.ranges != nullptr) {
      options.ranges->push_back(range_of(AlignedText{bytes}.part(text)));
    }
  };
  for (const TextSegment& segment : special_segments(*this, bytes, options)) {
    if (segment.id >= 0) {
      add(segment.id, segment.name);
      continue;
    }
    for (std::size_t i = 0; i < segment.text.size(); ++i) {
      add(static_cast<std::uint8_t>(segment.text[i]), segment.text.substr(i, 1));
    }
  }
  return ids;
}

std::string ByteTokenizer::token_bytes(std::int32_t id) const {
  require_id(id);
  return id == end_of_text() ? std::string() : std::string(1, static_cast<char>(id));
}

}  // namespace headlight
