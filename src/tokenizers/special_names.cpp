#include "tokenizers/special_names.h"

#include "base/strings/printable.h"
#include "headlight/base/error.h"

namespace headlight {
namespace {

std::vector<AddedToken> unread_names(const Tokenizer& tokenizer, std::string_view without) {
  std::vector<AddedToken> tokens;
  if (!tokenizer.reads_special()) {
    tokens = special_tokens_of(tokenizer);
    std::erase_if(tokens, [&](const AddedToken& token) { return token.content == without; });
  }
  return tokens;
}

}  // namespace

std::vector<AddedToken> special_tokens_of(const Tokenizer& tokenizer) {
  std::vector<AddedToken> tokens;
  for (std::int32_t id = 0; id < static_cast<std::int32_t>(tokenizer.vocab_size()); ++id) {
    if (const std::string_view name = tokenizer.special_name(id); !name.empty()) {
      tokens.push_back({.content = std::string(name), .id = id, .special = true});
    }
  }
  return tokens;
}

std::string_view without_end_name(const Tokenizer& tokenizer, std::string_view text) {
  const std::optional<std::int32_t> end = tokenizer.end_token();
  const std::string_view name = end ? tokenizer.special_name(*end) : std::string_view();
  if (!tokenizer.reads_special() && text.ends_with(name)) {
    text.remove_suffix(name.size());
  }
  return text;
}

std::vector<TextSegment> special_segments(const Tokenizer& tokenizer, std::string_view text,
                                          const EncodeOptions& options) {
  if (!options.read_special) {
    return {{text}};
  }
  return AddedTokenMatcher(special_tokens_of(tokenizer)).split(AlignedText{text}, options);
}

SpecialNameCount::SpecialNameCount(const Tokenizer& tokenizer, std::string_view without)
    : tokenizer_(tokenizer),
      names_(std::make_shared<const AddedTokenMatcher>(unread_names(tokenizer, without))) {}

void SpecialNameCount::add(std::string_view text) {
  for (const TextSegment& segment : names_->split(text, true)) {
    if (segment.id >= 0) {
      ++counts_[segment.id];
    }
  }
}

std::string SpecialNameCount::warning(std::string_view where, std::string_view option) const {
  constexpr std::size_t kNamed = 3;
  if (counts_.empty()) {
    return {};
  }
  std::string names;
  std::size_t named = 0;
  for (const auto& [id, count] : counts_) {
    if (named++ < kNamed) {
      names += concat_text(names.empty() ? "" : ", ", in_quotes(tokenizer_.special_name(id)), " (",
                           count, ")");
    }
  }
  names += named > kNamed ? concat_text(" and ", named - kNamed, " more names") : "";
  return concat_text(where, ": names of special tokens are read as plain text: ", names, "; ",
                     option, " reads them as tokens");
}

}  // namespace headlight
