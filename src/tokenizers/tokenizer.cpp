#include "headlight/tokenizers/tokenizer.h"

#include <algorithm>

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

std::string bytes_label(std::string_view bytes) {
  std::string label;
  while (!bytes.empty()) {
    const Utf8Character character = first_character(bytes);
    const std::string_view taken = bytes.substr(0, static_cast<std::size_t>(character.length));
    if (character.valid) {
      label += taken;
    } else {
      append_hexadecimal(taken, label);
    }
    bytes.remove_prefix(taken.size());
  }
  return label;
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text) const {
  require_utf8(text, "[encode] text");
  return encode_bytes(text, {.read_special = reads_special()});
}

std::string_view Tokenizer::special_name(std::int32_t id) const {
  if (id == end_token()) {
    return kEndOfTextName;
  }
  return id == unknown() ? kUnknownName : std::string_view();
}

std::optional<std::int32_t> Tokenizer::special_id(std::string_view name) const {
  for (Index id = 0; !name.empty() && id < vocab_size(); ++id) {
    if (special_name(static_cast<std::int32_t>(id)) == name) {
      return static_cast<std::int32_t>(id);
    }
  }
  return std::nullopt;
}

std::optional<std::int32_t> Tokenizer::begin_token() const {
  return begin_of_text_ ? begin_of_text_ : end_token();
}

std::int32_t Tokenizer::end_of_text() const {
  require(end_of_text_.has_value(), "the tokenizer has no end-of-text token: set documents = none");
  return *end_of_text_;
}

std::int32_t Tokenizer::begin_of_text() const {
  const std::optional<std::int32_t> id = begin_token();
  require(id.has_value(),
          "the tokenizer has no token that begins a text: give a text that is not empty");
  return *id;
}

void Tokenizer::set_stop_tokens(const std::vector<std::int32_t>& ids) {
  std::vector<std::int32_t> ends;
  for (const std::int32_t id : ids) {
    require_id(id);
    if (std::find(ends.begin(), ends.end(), id) == ends.end()) {
      ends.push_back(id);
    }
  }
  const auto is_special = [&](std::int32_t id) { return !special_name(id).empty(); };
  const auto first_special = std::find_if(ends.begin(), ends.end(), is_special);
  const bool all_plain = first_special == ends.end() && !end_of_text_;
  require(!ends.empty() && (first_special == ends.begin() || all_plain),
          "[set_stop_tokens] the first stop token must be a special token");
  end_of_text_ = all_plain ? std::nullopt : std::optional(ends.front());
  stop_tokens_ = std::move(ends);
}

void Tokenizer::suggest_stop_tokens(std::optional<std::int32_t> first,
                                    std::vector<std::int32_t> others) {
  if (const auto id = first ? first : end_token()) {
    others.insert(others.begin(), *id);
  }
  if (!others.empty()) {
    set_stop_tokens(others);
  }
}

void Tokenizer::suggest_begin_of_text(std::optional<std::int32_t> id) {
  if (id && !prepends_begin_token_) {
    set_begin_of_text(*id);
  }
}

void Tokenizer::set_begin_of_text(std::int32_t id) {
  require(!special_name(id).empty(), "[set_begin_of_text] expected a special token, got ", id);
  begin_of_text_ = id;
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
  // A character may span tokens, so the bytes are joined before they are decoded.
  return replace_invalid_utf8(decode_bytes(ids));
}

std::string Tokenizer::token_label(std::int32_t id) const {
  const std::string_view special = special_name(id);
  if (!special.empty()) {
    return std::string(special);
  }
  return bytes_label(token_bytes(id));
}

std::vector<std::int32_t> Tokenizer::encode_prompt(std::string_view text) const {
  return with_prompt_ends(encode(text));
}

std::vector<std::int32_t> Tokenizer::with_prompt_ends(std::vector<std::int32_t> ids) const {
  if (prepends_begin_token_) {
    ids.insert(ids.begin(), begin_of_text());
    if (closing_token_) {
      ids.push_back(*closing_token_);
    }
  }
  return ids;
}

void Tokenizer::require_id(std::int32_t id) const {
  require(id >= 0 && id < vocab_size(), "[tokenizer] token id ", id, " is outside 0 ... ",
          vocab_size() - 1);
}

void require_known(std::span<const std::int32_t> ids, std::string_view text,
                   const Tokenizer& tokenizer, std::string_view about) {
  require_value(!ids.empty(), about, "expected a text, got none");
  for (const std::int32_t id : ids) {
    require_value(id != tokenizer.unknown() || text == tokenizer.special_name(id), about,
                  "the tokenizer has no token for ", ids.size() == 1 ? "'" : "a part of '", text,
                  "'");
  }
}

std::int32_t only_token(std::span<const std::int32_t> ids, std::string_view text,
                        const Tokenizer& tokenizer, std::string_view about) {
  if (ids.size() != 1) {
    const bool is_word = tokenizer.encode(" " + std::string(text)).size() == 1;
    fail_value(about, "expected the text of one token, or its id, got ", ids.size(), " tokens in '",
               text, "'",
               is_word ? concat_text("; with a leading space, ' ", text, "', it is one") : "");
  }
  require_known(ids, text, tokenizer, about);
  return ids.front();
}

}  // namespace headlight
