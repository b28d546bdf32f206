#include "headlight/tokenizers/streaming_decoder.h"

#include <algorithm>
#include <utility>

#include "headlight/base/utf8.h"

namespace headlight {

std::string StreamingDecoder::push(std::int32_t id) {
  if (std::find(shown_.begin(), shown_.end(), id) != shown_.end()) {
    return finish() + std::string(tokenizer_->special_name(id));
  }
  pending_ += at_start_ ? tokenizer_->first_token_bytes(id) : tokenizer_->token_bytes(id);
  at_start_ = at_start_ && !tokenizer_->special_name(id).empty();
  const auto complete = static_cast<std::size_t>(complete_utf8_prefix(pending_));
  std::string text = replace_invalid_utf8(std::string_view(pending_).substr(0, complete));
  pending_.erase(0, complete);
  return text;
}

std::string StreamingDecoder::finish() {
  return replace_invalid_utf8(std::exchange(pending_, std::string()));
}

}  // namespace headlight
