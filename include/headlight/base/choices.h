#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace headlight {

// The name of one value of an enum, as files and the command line have it.
template <class E>
struct Choice {
  std::string_view name;
  E value;
};

// The names of an enum whose values can be chosen, in the order in which messages list them. It
// stands beside the enum:
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

// The names alone.
template <HasChoices E>
inline constexpr auto kChoiceNames = [] {
  std::array<std::string_view, kChoices<E>.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    names[i] = kChoices<E>[i].name;
  }
  return names;
}();

// "a", "a or b", "a, b or c".
std::string listed(std::span<const std::string_view> names);

// Throws Error about a value whose text is none of the names: "side: expected left or right, got
// 'up'".
[[noreturn]] void fail_choice(std::string_view about, std::span<const std::string_view> names,
                              std::string_view text);

// The value with that name. Throws Error as fail_choice() does when there is none.
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

}  // namespace headlight
