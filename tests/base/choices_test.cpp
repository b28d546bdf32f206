#include "support/test.h"

namespace choices_test {
enum class Side { left, right, both };
}  // namespace choices_test

template <>
inline constexpr auto headlight::kChoices<choices_test::Side> =
    std::to_array<headlight::Choice<choices_test::Side>>({{"both", choices_test::Side::both},
                                                          {"left", choices_test::Side::left},
                                                          {"right", choices_test::Side::right}});

namespace choices_test {
TEST_CASE("a table maps values to names and names to values", "[base]") {
  static_assert(name_of(Side::right) == "right");
  CHECK(name_of(Side::both) == "both");
  for (const Choice<Side>& choice : kChoices<Side>) {
    CHECK(parse_name<Side>("side", choice.name) == choice.value);
    CHECK(is_named(choice.name, choice.value));
  }
  CHECK_FALSE(is_named("left", Side::right));
  CHECK_FALSE(is_named("", Side::left));
}

TEST_CASE("an unknown name is refused with a list of the known names", "[base]") {
  const auto refusal = [](std::string_view text) {
    try {
      parse_name<Side>("side", text);
    } catch (const Error& error) {
      CHECK(error.about() == "side");
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refusal("up") == "side: expected both, left or right, got 'up'");
  CHECK(refusal("Left") == "side: expected both, left or right, got 'Left'");
  CHECK(refusal("") == "side: expected both, left or right, got ''");
  CHECK(refusal("a\nb") == "side: expected both, left or right, got 'a\\x0ab'");
}

TEST_CASE("names are listed with commas and the word or", "[base]") {
  CHECK(listed(kChoiceNames<Side>) == "both, left or right");
  CHECK(listed(std::span(kChoiceNames<Side>).first(2)) == "both or left");
  CHECK(listed(std::span(kChoiceNames<Side>).first(1)) == "both");
}
}  // namespace choices_test
