#pragma once

#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "headlight/base/choices.h"

namespace headlight {

// Kind of a parameter's value, in every front end. As JSON: `prompt` is a text or a list of token
// ids; `answer` also a single id, or a text such as "#42 #7"; `range` a text such as "3" or "4-8";
// `records` a list of objects, for the command a file of them; `metric` a name, or for Python a
// function (Asker::metric); `amount` a number, or a share of a whole such as "50%". Requests have
// no `path`, of a file or folder, no `output`, a file or folder that the answer writes, and no
// `data`, many texts that the front end reads (Asker::data).
enum class ValueKind {
  flag,
  integer,
  number,
  amount,
  name,
  text,
  texts,
  range,
  prompt,
  answer,
  records,
  metric,
  path,
  output,
  data
};

// A parameter of a question: an option of the command, a member of the HTTP request and an argument
// of the Python method, all with this name.
struct Parameter {
  std::string_view name;
  std::string help;  // one sentence without its last point
  ValueKind kind = ValueKind::text;
  Json fallback = {};                               // null: none
  std::vector<std::string_view> choices = {};       // of `name`; for other kinds only offered
  Index least = std::numeric_limits<Index>::min();  // of `integer`
  Index most = std::numeric_limits<Index>::max();
  // Parameters, and options of the command, that it cannot be combined with.
  std::vector<std::string_view> excludes = {};
  // Parameters that it needs to have an effect: "pairs", or with a value: "method=both".
  std::vector<std::string_view> needs = {};
  bool is_required = false;       // must be given or have a fallback, unless another one is given
  std::string_view unless = {};   // that other one; "": none
  bool is_basic = false;          // in the short help of a command with many options
  std::string_view example = {};  // of a record
  bool is_direction = false;  // of a path: FILE:ARRAY, which requests may name if a server has it
  std::vector<std::string_view> former = {};  // names of before, which messages explain
};

// Returns a group of parameters, followed by others.
inline std::vector<Parameter> with(std::vector<Parameter> group,
                                   std::initializer_list<Parameter> others) {
  group.insert(group.end(), others);
  return group;
}

// Returns whether the value is read from files or written to them.
inline bool is_file(const Parameter& parameter) {
  return parameter.kind == ValueKind::path || parameter.kind == ValueKind::output ||
         parameter.kind == ValueKind::data;
}

// Returns the names of an enum for Parameter::choices.
template <HasChoices E>
std::vector<std::string_view> choices_of() {
  return {kChoiceNames<E>.begin(), kChoiceNames<E>.end()};
}

}  // namespace headlight
