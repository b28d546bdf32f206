#include "headlight/text/tokenizer.h"

#include "headlight/base/error.h"
#include "headlight/base/utf8.h"

namespace headlight {
namespace {

void append_hexadecimal(std::string_view bytes, std::string& label) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (const char c : bytes) {
    const auto byte = static_cast<std::uint8_t>(c);
    label += "<0x";
    label += kDigits[byte >> 4];
    label += kDigits[byte & 0x0F];
    label += '>';
  }
}

}  // namespace

std::string_view Tokenizer::special_name(std::int32_t id) const {
  if (id == end_of_text()) {
    return kEndOfTextName;
  }
  return id == unknown() ? kUnknownName : std::string_view();
}

std::string Tokenizer::decode_bytes(std::span<const std::int32_t> ids) const {
  std::string bytes;
  bytes.reserve(ids.size());
  bool first = true;
  for (const std::int32_t id : ids) {
    bytes += first ? first_token_bytes(id) : token_bytes(id);
    first = first && !special_name(id).empty();
  }
  return bytes;
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids) const {
  // Only the joined bytes show which of them form characters.
  return replace_invalid_utf8(decode_bytes(ids));
}

std::string Tokenizer::token_label(std::int32_t id) const {
  const std::string_view special = special_name(id);
  if (!special.empty()) {
    return std::string(special);
  }
  const std::string bytes = token_bytes(id);
  std::string label;
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const Utf8Character character = first_character(rest);
    const std::string_view taken = rest.substr(0, static_cast<std::size_t>(character.length));
    if (character.valid) {
      label += taken;
    } else {
      append_hexadecimal(taken, label);
    }
    rest.remove_prefix(taken.size());
  }
  return label;
}

std::vector<std::int32_t> Tokenizer::encode_prompt(std::string_view text) const {
  std::vector<std::int32_t> ids = encode(text);
  if (prepends_end_of_text_) {
    ids.insert(ids.begin(), begin_of_text());
  }
  return ids;
}

void Tokenizer::require_id(std::int32_t id) const {
  require(id >= 0 && id < vocab_size(), "[tokenizer] token id ", id, " is outside 0 ... ",
          vocab_size() - 1);
}

}  // namespace headlight
