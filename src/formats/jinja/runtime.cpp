#include "formats/jinja/runtime.h"

#include <string.h>

#include <algorithm>
#include <tuple>

#include "formats/jinja/print.h"
#include "headlight/base/utf8.h"

namespace headlight::jinja {
namespace {

const Function* find_function(std::span<const Function> table, std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const Function& row) { return row.name == name; });
  return found == table.end() ? nullptr : &*found;
}

const Function* find_filter(std::string_view name) {
  const Function* filter = nullptr;
  for (const auto& table : {filters(), list_filters()}) {
    filter = filter == nullptr ? find_function(table, name) : filter;
  }
  return filter;
}

// A function as a value; of a method with its object.
class FunctionObject : public Object {
 public:
  FunctionObject(const Function& function, Value self)
      : function_(function), self_(std::move(self)) {}
  const char* type_name() const override { return "function"; }
  bool is_callable() const override { return true; }
  Value call(Runtime& runtime, const Arguments& arguments) override {
    return run(runtime, function_, self_, arguments);
  }

 private:
  const Function& function_;
  Value self_;
};

// Returns the index of a parameter, or 5.
std::size_t parameter_index(const Function& function, std::string_view name) {
  std::string_view rest = function.parameters;
  for (std::size_t index = 0; !rest.empty(); ++index) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    if (word == name) {
      return index;
    }
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
  }
  return std::tuple_size_v<decltype(Call::slots)>;
}

std::size_t parameter_count(const Function& function) {
  const std::string_view names = function.parameters;
  return names.empty() ? 0
                       : 1 + static_cast<std::size_t>(std::count(names.begin(), names.end(), ' '));
}

void bind(const Function& function, Call& call) {
  const std::size_t count = call.all.values.size();
  require(count <= parameter_count(function), function.name, " takes at most ",
          parameter_count(function), " arguments, got ", count);
  for (std::size_t i = 0; i < count; ++i) {
    call.slots[i] = &call.all.values[i];
  }
  for (const auto& [name, value] : call.all.named) {
    const std::size_t index = parameter_index(function, name);
    require(index < call.slots.size() && call.slots[index] == nullptr, function.name,
            " does not take this named argument");
    call.slots[index] = &value;
  }
  for (std::size_t i = 0; i < function.required; ++i) {
    require(call.slots[i] != nullptr, function.name, " needs more arguments");
  }
}

// Returns the byte range of a character of a text, counted from the end if negative; empty: none.
std::string_view character_at(std::string_view text, std::int64_t index) {
  const std::int64_t count = character_count(text);
  index += index < 0 ? count : 0;
  if (index < 0 || index >= count) {
    return {};
  }
  for (; index > 0; --index) {
    text.remove_prefix(static_cast<std::size_t>(first_character(text).length));
  }
  return text.substr(0, static_cast<std::size_t>(first_character(text).length));
}

Value missing_attribute(const Value& object, std::string_view name) {
  return undefined(
      concat_text("a value of type ", object.type_name(), " has no '", name.substr(0, 80), "'"));
}

// Returns object[key] without methods; nothing if there is none.
std::optional<Value> plain_item(Runtime& runtime, const Value& object, const Value& key) {
  if (object.is_dict()) {
    const Value* found = object.dict().find(runtime.budget(), key);
    return found == nullptr ? std::nullopt : std::optional(*found);
  }
  if (!key.is_whole() || !object.is_sequence()) {
    return std::nullopt;
  }
  if (object.is_text()) {
    runtime.budget().spend(object.text().size());
    const std::string_view found = character_at(object.text(), key.whole());
    return found.empty() ? std::nullopt : std::optional(runtime.text(std::string(found)));
  }
  const Values& values = object.list().values;
  const std::int64_t index = key.whole() + (key.whole() < 0 ? std::ssize(values) : 0);
  const bool is_inside = index >= 0 && index < std::ssize(values);
  return is_inside ? std::optional(values[static_cast<std::size_t>(index)]) : std::nullopt;
}

// Returns an attribute that is no item; nothing if there is none.
std::optional<Value> plain_attribute(Runtime& runtime, const Value& object,
                                     const std::string& name) {
  if (object.is_object()) {
    const Value found = object.object().attribute(runtime, name);
    return found.is_undefined() ? std::nullopt : std::optional(found);
  }
  if (object.is_list() && object.list().kind == ListKind::group &&
      (name == "grouper" || name == "list")) {
    return object.list().values[name == "list" ? 1 : 0];
  }
  if (const Function* method = find_method(object, name)) {
    return function_value(runtime, *method, object);
  }
  require(!name.starts_with("__") || object.is_dict(), "access to names with __ is unsafe");
  return std::nullopt;
}

}  // namespace

Value run(Runtime& runtime, const Function& function, const Value& self,
          const Arguments& arguments) {
  runtime.budget().step();
  Call call{.runtime = runtime, .self = self, .all = arguments};
  if (function.parameters != "*") {
    bind(function, call);
  }
  return function.run(call);
}

bool has_filter(std::string_view name) { return find_filter(name) != nullptr; }
bool has_test(std::string_view name) { return find_function(tests(), name) != nullptr; }

Value apply_filter(Runtime& runtime, const std::string& name, const Value& input,
                   const Arguments& arguments) {
  const Function* filter = find_filter(name);
  if (filter == nullptr) {
    fail("there is no filter '", name, "'");
  }
  return run(runtime, *filter, input, arguments);
}

bool apply_test(Runtime& runtime, const std::string& name, const Value& input,
                const Arguments& arguments) {
  const Function* test = find_function(tests(), name);
  if (test == nullptr) {
    fail("there is no test '", name, "'");
  }
  return run(runtime, *test, input, arguments).is_true();
}

Value call_value(Runtime& runtime, const Value& callee, const Arguments& arguments) {
  require(callee.defined().is_object(), "a value of type ", callee.type_name(),
          " cannot be called");
  const Deeper deeper(runtime.budget());
  return callee.object().call(runtime, arguments);
}

Value function_value(Runtime& runtime, const Function& function, Value self) {
  return Value(&runtime.make<FunctionObject>(function, std::move(self)));
}

const Function* find_method(const Value& self, std::string_view name) {
  if (self.is_text()) {
    return find_function(text_methods(), name);
  }
  const bool has_methods = self.is_dict() || (self.is_list() && self.is_sequence());
  const Function* method = has_methods ? find_function(container_methods(), name) : nullptr;
  const bool is_list_method = name == "index" || name == "count";
  const bool fits = name == "copy" || is_list_method == self.is_list();
  return method != nullptr && fits ? method : nullptr;
}

Value attribute(Runtime& runtime, const Value& object, const std::string& name) {
  object.defined();
  if (auto found = plain_attribute(runtime, object, name)) {
    return *found;
  }
  if (object.is_dict()) {
    if (auto found = plain_item(runtime, object, runtime.text(name))) {
      return *found;
    }
  }
  return missing_attribute(object, name);
}

Value item(Runtime& runtime, const Value& object, const Value& key) {
  object.defined();
  if (auto found = plain_item(runtime, object, key)) {
    return *found;
  }
  if (key.is_text()) {
    if (auto found = plain_attribute(runtime, object, key.text())) {
      return *found;
    }
  }
  return missing_attribute(object, printed(runtime.budget(), key));
}

Value slice(Runtime& runtime, const Value& object, const std::array<Value, 3>& parts) {
  object.defined();
  require(object.is_text() || (object.is_list() && object.is_sequence()), "a value of type ",
          object.type_name(), " has no slices");
  const Values values = elements(runtime.budget(), object);
  const auto count = std::ssize(values);
  const auto given = [&](std::size_t i) { return !parts[i].is_undefined() && !parts[i].is_none(); };
  const std::int64_t step = given(2) ? parts[2].whole() : 1;
  require(step != 0, "the step of a slice is 0");
  const std::int64_t lowest = step > 0 ? 0 : -1;
  const auto bound = [&](std::size_t i, std::int64_t fallback) {
    const std::int64_t index = given(i) ? parts[i].whole() : fallback;
    const bool from_end = given(i) && index < 0;
    return std::clamp<std::int64_t>(from_end ? index + count : index, lowest,
                                    step > 0 ? count : count - 1);
  };
  const std::int64_t start = bound(0, step > 0 ? 0 : count - 1);
  const std::int64_t stop = bound(1, step > 0 ? count : -1);
  Values chosen;
  for (std::int64_t at = start; step > 0 ? at < stop : at > stop;) {
    chosen.push_back(values[static_cast<std::size_t>(at)]);
    if (step > 0 ? step >= stop - at : step <= stop - at) {
      break;
    }
    at += step;
  }
  if (object.is_list() && object.list().kind == ListKind::range) {
    const auto [first, end, stride] = object.list().range;
    return runtime.list({.values = std::move(chosen),
                         .kind = ListKind::range,
                         .range = {first + start * stride, first + stop * stride, stride * step}});
  }
  if (!object.is_text()) {
    const bool is_tuple = is_tuple_kind(object.list().kind);
    return runtime.list(std::move(chosen), is_tuple ? ListKind::tuple : ListKind::list);
  }
  std::string text;
  for (const Value& character : chosen) {
    text += character.text();
  }
  return runtime.text(std::move(text));
}

bool contains(Runtime& runtime, const Value& container, const Value& element) {
  Budget& budget = runtime.budget();
  if (container.is_text()) {
    return find_text(budget, container.text(), element.text()) != std::string::npos;
  }
  if (container.is_dict()) {
    return container.dict().find(budget, element) != nullptr;
  }
  const Values all = elements(budget, container);
  return std::any_of(all.begin(), all.end(),
                     [&](const Value& value) { return equal(budget, value, element); });
}

bool compare(Runtime& runtime, std::string_view sign, const Value& left, const Value& right) {
  Budget& budget = runtime.budget();
  if (sign == "in" || sign == "not in") {
    return contains(runtime, right, left) == (sign == "in");
  }
  if (sign == "==" || sign == "!=") {
    return equal(budget, left, right) == (sign == "==");
  }
  const bool is_less = sign[0] == '<';
  const bool or_equal = sign.size() == 2;
  const Value& low = is_less ? left : right;
  const Value& high = is_less ? right : left;
  return less(budget, low, high) || (or_equal && equal(budget, low, high));
}

std::size_t find_text(Budget& budget, std::string_view text, std::string_view part,
                      std::size_t from) {
  if (from > text.size()) {
    return std::string::npos;
  }
  budget.spend(part.size());
  const void* found = memmem(text.data() + from, text.size() - from, part.data(), part.size());
  const std::size_t position =
      found == nullptr ? text.size()
                       : static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
  budget.spend(position - from);
  return found == nullptr ? std::string::npos : position;
}

}  // namespace headlight::jinja
