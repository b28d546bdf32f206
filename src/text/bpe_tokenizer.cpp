#include "headlight/text/bpe_tokenizer.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "headlight/text/bpe_pattern.h"
#include "headlight/text/utf8.h"
#include "kernels/parallel.h"
#include "text/bpe_encoder.h"
#include "text/bpe_state.h"

namespace headlight {
namespace {

constexpr std::size_t kParallelPart = std::size_t{1} << 20;  // bytes

// A special token in a text, or the text's end.
struct FoundSpecial {
  std::size_t begin = 0;
  const SpecialToken* token = nullptr;
};

FoundSpecial find_special(const BpeState& state, std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!state.begins_special[static_cast<std::uint8_t>(text[i])]) {
      continue;
    }
    for (const SpecialToken& token : state.specials) {
      if (text.substr(i).starts_with(token.name)) {
        return {i, &token};
      }
    }
  }
  return {text.size(), nullptr};
}

// Frees each part once it is copied.
std::vector<std::int32_t> joined(std::vector<std::vector<std::int32_t>> parts) {
  std::size_t size = 0;
  for (const auto& part : parts) {
    size += part.size();
  }
  std::vector<std::int32_t> result;
  result.reserve(size);
  for (auto& part : parts) {
    result.insert(result.end(), part.begin(), part.end());
    part = {};
  }
  return result;
}

}  // namespace

BpeTokenizer::BpeTokenizer(BpeVocabulary vocabulary, std::string_view name)
    : state_(std::make_shared<const BpeState>(std::move(vocabulary), name)) {}

Index BpeTokenizer::vocab_size() const {
  return static_cast<Index>(state_->vocabulary.tokens.size());
}

std::vector<std::int32_t> BpeTokenizer::encode(std::string_view text) const {
  require_utf8(text, "[encode] text");
  return encode_bytes(text);
}

std::vector<std::int32_t> BpeTokenizer::encode_parallel(std::string_view text) const {
  require_utf8(text, "[encode] text");
  const std::vector<std::string_view> parts = split_between_pieces(text, kParallelPart);
  const auto count = static_cast<Index>(parts.size());
  std::vector<std::vector<std::int32_t>> ids(parts.size());
  std::vector<std::exception_ptr> errors(parts.size());
  kernels::parallel_for(count, 1, [&](Index begin, Index) {
    const auto part = static_cast<std::size_t>(begin);
    try {
      ids[part] = encode_bytes(parts[part]);
    } catch (...) {
      errors[part] = std::current_exception();
    }
  });
  for (const std::exception_ptr& error : errors) {
    if (error) {
      std::rethrow_exception(error);
    }
  }
  return joined(std::move(ids));
}

std::vector<std::int32_t> BpeTokenizer::encode_bytes(std::string_view bytes) const {
  return BpeEncoder(*state_, bytes).run();
}

std::vector<std::int32_t> BpeTokenizer::encode_with_special(std::string_view text) const {
  require_utf8(text, "[encode_with_special] text");
  std::vector<std::int32_t> ids;
  while (!text.empty()) {
    const FoundSpecial found = find_special(*state_, text);
    const auto plain = encode_bytes(text.substr(0, found.begin));
    ids.insert(ids.end(), plain.begin(), plain.end());
    text.remove_prefix(found.begin);
    if (found.token != nullptr) {
      ids.push_back(found.token->id);
      text.remove_prefix(found.token->name.size());
    }
  }
  return ids;
}

std::string BpeTokenizer::token_bytes(std::int32_t id) const {
  require_id(id);
  return state_->vocabulary.tokens[static_cast<std::size_t>(id)];
}

std::int32_t BpeTokenizer::end_of_text() const { return state_->end_of_text; }

std::string_view BpeTokenizer::special_name(std::int32_t id) const {
  if (id < 0 || id >= vocab_size() ||
      !state_->vocabulary.tokens[static_cast<std::size_t>(id)].empty()) {
    return {};
  }
  const auto& specials = state_->specials;
  const auto found = std::find_if(specials.begin(), specials.end(),
                                  [&](const SpecialToken& token) { return token.id == id; });
  return found == specials.end() ? std::string_view() : std::string_view(found->name);
}

const BpeVocabulary& BpeTokenizer::vocabulary() const { return state_->vocabulary; }

}  // namespace headlight
