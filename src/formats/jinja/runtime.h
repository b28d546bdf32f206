#pragma once

#include <array>
#include <ctime>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/jinja/value.h"

namespace headlight::jinja {

// State of one rendering that functions share.
class Runtime {
 public:
  explicit Runtime(const std::tm& now) : now_(now) {}

  Budget& budget() { return budget_; }
  const std::tm& now() const { return now_; }

  Value text(std::string text) { return Value::text(budget_, std::move(text)); }
  Value list(Values values, ListKind kind = ListKind::list) {
    return Value::list(budget_, {std::move(values), kind});
  }
  Value list(List list) { return Value::list(budget_, std::move(list)); }
  // Creates an object that lives until the end of the rendering, so that values may refer to each
  // other in circles.
  template <class T, class... Parts>
  T& make(Parts&&... parts) {
    budget_.spend(sizeof(T) + 64);
    auto object = std::make_unique<T>(std::forward<Parts>(parts)...);
    T& result = *object;
    objects_.push_back(std::move(object));
    return result;
  }

 private:
  Budget budget_;
  std::tm now_;
  std::vector<std::unique_ptr<Object>> objects_;
};

// Call of a built-in function, filter, test or method.
struct Call {
  Runtime& runtime;
  const Value& self;                       // input of a filter or test, object of a method
  const Arguments& all;                    // as given
  std::array<const Value*, 5> slots = {};  // by parameter; null: not given

  Budget& budget() const { return runtime.budget(); }
  bool given(std::size_t index) const { return slots[index] != nullptr; }
  // Return an argument. Throw Error for another type.
  const Value& value(std::size_t index) const { return *slots[index]; }
  Value value_or(std::size_t index, Value fallback) const {
    return given(index) ? value(index) : fallback;
  }
  const std::string& text(std::size_t index) const { return value(index).text(); }
  std::string text_or(std::size_t index, std::string_view fallback) const {
    return given(index) ? text(index) : std::string(fallback);
  }
  std::int64_t whole_or(std::size_t index, std::int64_t fallback) const {
    return given(index) ? value(index).whole() : fallback;
  }
  bool flag_or(std::size_t index, bool fallback) const {
    return given(index) ? value(index).is_true() : fallback;
  }
};

// Row of a table of functions.
struct Function {
  std::string_view name;
  std::string_view parameters;  // names with blanks between them; "*": `all` is used instead
  std::size_t required = 0;     // number of parameters without a default
  Value (*run)(const Call& call) = nullptr;
};

std::span<const Function> text_methods();
std::span<const Function> container_methods();  // of dictionaries, lists and tuples
std::span<const Function> filters();
std::span<const Function> list_filters();  // filters on several elements
std::span<const Function> tests();
std::span<const Function> globals();

// Binds the arguments to the parameters and runs the function. Throws Error for arguments that it
// does not take.
Value run(Runtime& runtime, const Function& function, const Value& self,
          const Arguments& arguments);
Value apply_filter(Runtime& runtime, const std::string& name, const Value& input,
                   const Arguments& arguments);
bool has_filter(std::string_view name);
bool has_test(std::string_view name);
bool apply_test(Runtime& runtime, const std::string& name, const Value& input,
                const Arguments& arguments);
// Calls a macro or function.
Value call_value(Runtime& runtime, const Value& callee, const Arguments& arguments);
// Returns a function as a value; methods with their object.
Value function_value(Runtime& runtime, const Function& function, Value self);
// Returns the method of a value, or null.
const Function* find_method(const Value& self, std::string_view name);

// object.name and object[key]. Undefined if there is none; throw Error for an undefined object.
Value attribute(Runtime& runtime, const Value& object, const std::string& name);
Value item(Runtime& runtime, const Value& object, const Value& key);
// object[start:stop:step]; undefined parts are not given.
Value slice(Runtime& runtime, const Value& object, const std::array<Value, 3>& parts);
// left OPERATOR right, for + - * / // % ** ~.
Value arithmetic(Runtime& runtime, std::string_view sign, const Value& left, const Value& right);
// left OPERATOR right, for == != < <= > >= in not in.
bool compare(Runtime& runtime, std::string_view sign, const Value& left, const Value& right);
bool contains(Runtime& runtime, const Value& container, const Value& element);
// Return a pattern with its placeholders replaced, as "%.2f" % value and "{:.2f}".format(value) do.
// `named`: values of placeholders like %(name)s; null: none. Throw Error for other placeholders.
std::string percent_format(Runtime& runtime, std::string_view pattern, const Values& values,
                           const Dict* named);
std::string brace_format(Runtime& runtime, std::string_view pattern, const Arguments& arguments);
// Returns the position of the first `part` in `text` from byte `from`, or npos, in linear time.
std::size_t find_text(Budget& budget, std::string_view text, std::string_view part,
                      std::size_t from = 0);

}  // namespace headlight::jinja
