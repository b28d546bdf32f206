#include "tokenizers/token_ranges.h"

#include "headlight/base/utf8.h"

namespace headlight {

// Returns how many bytes of the piece from `begin` are the text of a token; 0: none.
std::size_t TokenTexts::length_at(std::string_view piece, std::size_t begin,
                                  std::int32_t id) const {
  std::string_view text = texts[static_cast<std::size_t>(id)];
  text.remove_prefix(begin > 0 && text.starts_with(mark) ? mark.size() : 0);
  const std::string_view rest = piece.substr(begin);
  if (!text.empty() && rest.starts_with(text)) {
    return text.size();
  }
  const bool is_byte =
      byte_ids != nullptr && !rest.empty() && (*byte_ids)[static_cast<std::uint8_t>(rest[0])] == id;
  return is_byte ? 1 : 0;
}

// Returns the length of the first unknown part of a text, which is not empty.
std::size_t TokenTexts::unknown_length(std::string_view rest) const {
  return has_unknown_bytes ? 1 : static_cast<std::size_t>(first_character(rest).length);
}

void TokenTexts::append_ranges(const AlignedText& piece, std::span<const std::int32_t> ids,
                               std::vector<ByteRange>& ranges) const {
  const std::string_view text = piece.text;
  std::size_t at = 0;
  // Skips characters that the token `next` does not represent.
  const auto skip_to = [&](std::size_t next) {
    while (at < text.size() &&
           (next == ids.size() || (ids[next] != unknown && length_at(text, at, ids[next]) == 0))) {
      at += unknown_length(text.substr(at));
    }
  };
  for (std::size_t i = 0; i < ids.size(); ++i) {
    skip_to(i);
    const std::size_t begin = at;
    std::size_t length = length_at(text, at, ids[i]);
    if (length == 0 && at < text.size()) {  // unknown
      at += unknown_length(text.substr(at));
      skip_to(i + 1);
      length = at - begin;
    }
    at = begin + length;
    ranges.push_back({piece.offset(begin), piece.offset(at)});
  }
}

}  // namespace headlight
