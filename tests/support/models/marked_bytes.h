#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headlight/tokenizers/byte_tokenizer.h"
#include "tokenizers/special_names.h"

namespace headlight::test {

// Byte tokenizer with more special tokens, which follow its own: 257, 258 ...
class MarkedBytes : public Tokenizer {
 public:
  explicit MarkedBytes(std::vector<std::string_view> names)
      : Tokenizer(ByteTokenizer().end_of_text()), names_(std::move(names)) {}

  std::string_view kind() const override { return "byte"; }
  Index vocab_size() const override { return bytes_.vocab_size() + std::ssize(names_); }
  std::vector<std::int32_t> encode_bytes(std::string_view bytes,
                                         const EncodeOptions& options) const override {
    std::vector<std::int32_t> ids;
    const auto add = [&](std::int32_t id, std::string_view text) {
      ids.push_back(id);
      if (options.ranges != nullptr) {
        const auto begin = static_cast<std::size_t>(text.data() - bytes.data());
        options.ranges->push_back({begin, begin + text.size()});
      }
    };
    for (const TextSegment& segment : special_segments(*this, bytes, options)) {
      if (segment.id >= 0) {
        add(segment.id, segment.name);
      }
      for (std::size_t i = 0; segment.id < 0 && i < segment.text.size(); ++i) {
        add(static_cast<std::uint8_t>(segment.text[i]), segment.text.substr(i, 1));
      }
    }
    return ids;
  }
  std::string token_bytes(std::int32_t id) const override {
    return id < bytes_.vocab_size() ? bytes_.token_bytes(id) : "";
  }
  std::string_view special_name(std::int32_t id) const override {
    const Index place = id - bytes_.vocab_size();
    return place >= 0 && place < std::ssize(names_) ? names_[static_cast<std::size_t>(place)]
                                                    : bytes_.special_name(id);
  }

 private:
  ByteTokenizer bytes_;
  std::vector<std::string_view> names_;
};

}  // namespace headlight::test
