#include "formats/jinja/text_case.h"

namespace headlight::jinja {

std::string upper_text(std::string_view text) {
  std::string upper(text);
  for (char& letter : upper) {
    letter = is_lower_letter(letter) ? static_cast<char>(letter - 'a' + 'A') : letter;
  }
  return upper;
}

std::string capitalized_text(std::string_view text) {
  return upper_text(text.substr(0, 1)) +
         lower_case(text.substr(std::min<std::size_t>(1, text.size())));
}

std::string title_text(std::string_view text) {
  std::string title;
  bool is_inside = false;
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    const std::string_view bytes = text.substr(0, static_cast<std::size_t>(character.length));
    title += is_inside ? lower_case(bytes) : upper_text(bytes);
    is_inside = is_letter(character.code_point);
    text.remove_prefix(bytes.size());
  }
  return title;
}

std::string stripped_by(const Call& call, std::string_view text, Side side) {
  if (!call.given(0) || call.value(0).is_none()) {
    return std::string(stripped(text, side));
  }
  const std::string& characters = call.text(0);
  const auto removes = [&](char32_t code) {
    call.budget().spend(characters.size());
    for (std::string_view rest = characters; !rest.empty();) {
      const Utf8Character first = first_character(rest);
      if (first.code_point == code) {
        return true;
      }
      rest.remove_prefix(static_cast<std::size_t>(first.length));
    }
    return false;
  };
  return std::string(stripped_of(text, side, removes));
}

std::string replaced(Budget& budget, std::string_view text, std::string_view old,
                     std::string_view with, std::int64_t most) {
  std::string out;
  budget.spend(text.size());
  std::size_t start = 0;
  for (std::size_t from = 0; most != 0; --most) {
    const std::size_t place = find_text(budget, text, old, from);
    if (place == std::string::npos) {
      break;
    }
    budget.spend(with.size() + 1);
    out += text.substr(start, place - start);
    out += with;
    start = place + old.size();
    from = start;
    if (old.empty()) {  // an empty text is between all characters
      if (place == text.size()) {
        break;
      }
      from += static_cast<std::size_t>(first_character(text.substr(place)).length);
    }
  }
  return out += text.substr(std::min(start, text.size()));
}

}  // namespace headlight::jinja
