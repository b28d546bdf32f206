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
TEST_CASE("a table maps values to names and names to values") {
  static_assert(name_of(Side::right) == "right");
  CHECK(name_of(Side::both) == "both");
  for (const Choice<Side>& choice : kChoices<Side>) {
    CHECK(parse_name<Side>("side", choice.name) == choice.value);
    CHECK(is_named(choice.name, choice.value));
  }
  CHECK_FALSE(is_named("left", Side::right));
  CHECK_FALSE(is_named("", Side::left));
}

TEST_CASE("an unknown name is refused with a list of the known names") {
  const auto refusal = [](std::string_view text) {
    return error_of([&] { parse_name<Side>("side", text); });
  };
  CHECK(refusal("up") == "side: expected both, left or right, got 'up'");
  CHECK(refusal("Left") == "side: expected both, left or right, got 'Left'");
  CHECK(refusal("") == "side: expected both, left or right, got ''");
  CHECK(refusal("a\nb") == "side: expected both, left or right, got 'a\\x0ab'");
}

TEST_CASE("names are listed with commas and the word or") {
  CHECK(listed(kChoiceNames<Side>) == "both, left or right");
  CHECK(listed(std::span(kChoiceNames<Side>).first(2)) == "both or left");
  CHECK(listed(std::span(kChoiceNames<Side>).first(1)) == "both");
}

// Checks the names of a type in the order of messages, and that each is read back.
template <class Value>
void check_names(const std::string& names) {
  CHECK(listed(kChoiceNames<Value>) == names);
  for (const Choice<Value>& choice : kChoices<Value>) {
    CHECK(name_of(choice.value) == choice.name);
    CHECK(parse_name<Value>("key", choice.name) == choice.value);
  }
}

TEST_CASE("the names that files and options use for their choices") {
  check_names<Activation>("gelu_new, gelu, relu, relu2 or silu");
  check_names<Batching>("padded, bucketed or packed");
  check_names<DocumentSplit>("none, line, blank_line or token");
  check_names<FinishReason>("length, end_of_text, stop or cancelled");
  check_names<Learn>("all, assistant or last");
  check_names<LoraTarget>("q, k, v, o, gate, up or down");
  check_names<NormKind>("layer or rms");
  check_names<NormPosition>("pre, post or output");
  check_names<OnNan>("stop, skip or rollback");
  check_names<OptimizerKind>("adamw, sgd or muon");
  check_names<PositionKind>("learned, rope or none");
  check_names<RopeScaling>("none, linear, llama3, yarn, dynamic or longrope");
  check_names<ScheduleKind>("constant, linear, cosine or wsd");
  check_names<WeightFormat>("float32, bfloat16 or int8");
}
}  // namespace choices_test
