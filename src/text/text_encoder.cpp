#include "text/text_encoder.h"

#include <algorithm>

namespace headlight {

TextEncoder::TextEncoder(const Tokenizer& tokenizer, bool with_special)
    : tokenizer_(tokenizer),
      bpe_(dynamic_cast<const BpeTokenizer*>(&tokenizer)),
      pipeline_(dynamic_cast<const PipelineTokenizer*>(&tokenizer)),
      with_special_(with_special) {
  const auto ids = static_cast<std::int32_t>(with_special ? tokenizer.vocab_size() : 0);
  for (std::int32_t id = 0; id < ids; ++id) {
    const std::string_view name = tokenizer.special_name(id);
    if (!name.empty()) {
      specials_.push_back({std::string(name), id});
    }
  }
  std::stable_sort(specials_.begin(), specials_.end(),
                   [](const SpecialToken& left, const SpecialToken& right) {
                     return left.name.size() > right.name.size();
                   });
}

bool TextEncoder::encodes_in_parts() const {
  return tokenizer_.encodes_in_parts() &&
         std::none_of(specials_.begin(), specials_.end(), [](const SpecialToken& token) {
           return token.name.find_first_of(" \t\n\v\f\r") != std::string::npos;
         });
}

std::vector<std::int32_t> TextEncoder::encode(std::string_view text) const {
  if (bpe_ != nullptr) {
    return bpe_->encode_bytes(text, {.read_special = with_special_, .parallel = true});
  }
  if (pipeline_ != nullptr) {
    return pipeline_->encode_bytes(text, {.read_special = with_special_, .parallel = true});
  }
  std::vector<std::int32_t> ids;
  std::vector<std::size_t> next(specials_.size(), 0);  // where each name comes next
  std::size_t begin = 0;
  while (begin < text.size()) {
    std::size_t first = 0;
    for (std::size_t i = 0; i < specials_.size(); ++i) {
      if (next[i] < begin || begin == 0) {
        next[i] = text.find(specials_[i].name, begin);
      }
      first = next[i] < next[first] ? i : first;
    }
    const std::size_t end = specials_.empty() ? text.size() : std::min(next[first], text.size());
    append_plain(text.substr(begin, end - begin), ids);
    begin = end;
    if (end < text.size()) {
      ids.push_back(specials_[first].id);
      begin += specials_[first].name.size();
    }
  }
  return ids;
}

void TextEncoder::append_plain(std::string_view text, std::vector<std::int32_t>& ids) const {
  if (tokenizer_.kind() == "byte") {
    for (const char c : text) {
      ids.push_back(static_cast<std::uint8_t>(c));
    }
    return;
  }
  const std::vector<std::int32_t> more = tokenizer_.encode(text);
  ids.insert(ids.end(), more.begin(), more.end());
}

}  // namespace headlight
