#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace headlight {

// One value of an enum, with its name in files and on the command line.
template <class E>
struct Choice {
  std::string_view name;
  E value;
};

// The choices of an enum, in the order in which messages list them. Specialise it beside the enum:
//
//   template <>
//   inline constexpr auto kChoices<Side> =
//       std::to_array<Choice<Side>>({{"left", Side::left}, {"right", Side::right}});
template <class E>
inline constexpr auto kChoices = nullptr;

template <class E>
concept HasChoices = requires {
  kChoices<E>.size();
};

// The names without the values.
template <HasChoices E>
inline constexpr auto kChoiceNames = [] {
  std::array<std::string_view, kChoices<E>.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    names[i] = kChoices<E>[i].name;
  }
  return names;
}();

// Returns "a", "a or b" or "a, b or c".
std::string listed(std::span<const std::string_view> names);

// Throws Error for a text that is none of the names: "side: expected left or right, got 'up'".
[[noreturn]] void fail_choice(std::string_view about, std::span<const std::string_view> names,
                              std::string_view text);

// Returns the value with the name `text`. Throws Error as fail_choice() does if there is none.
template <HasChoices E>
E parse_name(std::string_view about, std::string_view text) {
  for (const Choice<E>& choice : kChoices<E>) {
    if (choice.name == text) {
      return choice.value;
    }
  }
  fail_choice(about, kChoiceNames<E>, text);
}

template <HasChoices E>
constexpr std::string_view name_of(E value) {
  for (const Choice<E>& choice : kChoices<E>) {
    if (choice.value == value) {
      return choice.name;
    }
  }
  return "";
}

// Returns true if `text` is the name of the value. For texts that may also be a path or the like.
template <HasChoices E>
constexpr bool is_named(std::string_view text, E value) {
  return text == name_of(value);
}

}  // namespace headlight
