#pragma once

#include <span>
#include <string>
#include <string_view>

#include "headlight/tokenizers/tokenizer.h"

namespace headlight {

// Decodes ids part by part to bytes; special tokens appear by name or are left out.
class BytesOfIds {
 public:
  BytesOfIds(const Tokenizer& tokenizer, bool skip_special)
      : tokenizer_(tokenizer), skip_special_(skip_special) {}

  std::string next(std::span<const std::int32_t> ids) {
    std::string bytes;
    for (const std::int32_t id : ids) {
      const std::string_view name = tokenizer_.special_name(id);
      if (!name.empty()) {
        bytes += skip_special_ ? "" : name;
      } else {
        bytes += at_start_ ? tokenizer_.first_token_bytes(id) : tokenizer_.token_bytes(id);
      }
      at_start_ = at_start_ && skip_special_ && !name.empty();
    }
    return bytes;
  }

 private:
  const Tokenizer& tokenizer_;
  bool skip_special_;
  bool at_start_ = true;  // nothing but skipped special tokens has been read
};

}  // namespace headlight
