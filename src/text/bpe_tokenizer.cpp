#include "headlight/text/bpe_tokenizer.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "headlight/base/utf8.h"
#include "kernels/parallel.h"
#include "text/bpe_encoder.h"
#include "text/bpe_segments.h"
#include "text/bpe_state.h"

namespace headlight {
namespace {

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

std::vector<std::int32_t> encode_part(const BpeState& state, const BpeTextPart& part) {
  BpeEncoder encoder(state, part.bytes);
  for (const BpeSegment& segment : part.segments) {
    encoder.add(segment.text);
    if (segment.special >= 0) {
      encoder.add_token(segment.special);
    }
  }
  return encoder.take();
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
  require_utf8(text, "[encode_parallel] text");
  return encode_bytes(text, {.parallel = true});
}

std::vector<std::int32_t> BpeTokenizer::encode_with_special(std::string_view text) const {
  require_utf8(text, "[encode_with_special] text");
  return encode_bytes(text, {.read_special = true});
}

std::vector<std::int32_t> BpeTokenizer::encode_bytes(std::string_view bytes,
                                                     const BpeEncodeOptions& options) const {
  const std::vector<BpeTextPart> parts = split_for_encoding(*state_, bytes, options);
  std::vector<std::vector<std::int32_t>> ids(parts.size());
  kernels::parallel_for(static_cast<Index>(parts.size()), 1, [&](Index begin, Index) {
    const auto part = static_cast<std::size_t>(begin);
    ids[part] = encode_part(*state_, parts[part]);
  });
  return ids.size() == 1 ? std::move(ids[0]) : joined(std::move(ids));
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
