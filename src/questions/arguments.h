#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "headlight/nn/point.h"
#include "questions/parameter.h"

namespace headlight {

// Checked values of a question's parameters, as a front end has read them.
class Arguments {
 public:
  // `given`: an object with the given values by name; null counts as missing. `prefix` stands
  // before the names of other parameters in messages, such as "--". Throws Error about a parameter
  // with a value of another kind, a value that is not among its choices or out of range, a missing
  // one, and a combination that has no meaning; about an unknown name, with the nearest one.
  Arguments(const std::vector<Parameter>& parameters, Json given, std::string_view prefix = {});

  // Returns whether the user gave it; a default does not count.
  bool given(std::string_view name) const { return given_.contains(name); }
  // Returns whether the question has this parameter.
  bool has(std::string_view name) const;
  // Returns the value or the default; null: neither.
  const Json& value(std::string_view name) const;
  bool flag(std::string_view name) const;
  Index integer(std::string_view name) const { return value(name).integer(); }
  double number(std::string_view name) const { return value(name).number(); }
  // Returns the number of a value of kind `amount`, or its share of `whole`.
  double amount(std::string_view name, double whole) const;
  // Returns an amount as it was given: "50%".
  std::string amount_text(std::string_view name) const;
  std::string text(std::string_view name) const;  // "": neither
  std::vector<std::string> texts(std::string_view name) const;
  // Returns everything if it was not given. "last" is the last of `count`.
  NumberRange range(std::string_view name, Index count = 0) const;
  template <HasChoices E>
  E chosen(std::string_view name) const {
    return parse_name<E>(name, text(name));
  }
  // Returns the text before the names of parameters in messages: "--" for a command.
  const std::string& prefix() const { return prefix_; }
  // Throws Error about `name` unless `needs`, as Parameter::needs, is met or empty.
  void require_met(std::string_view name, std::string_view needs) const;

 private:
  const Parameter& parameter(std::string_view name) const;
  void check_required(const Parameter& parameter) const;
  void check_value(const Parameter& parameter, const Json& value) const;
  void check_combinations(const Parameter& parameter) const;

  const std::vector<Parameter>& parameters_;
  Json given_;
  std::string prefix_;
};

// Returns the value of a text as the kind has it, for front ends whose values are texts; the text
// itself if it has another form, which Arguments refuses.
Json value_of_text(ValueKind kind, const std::string& text);

}  // namespace headlight
