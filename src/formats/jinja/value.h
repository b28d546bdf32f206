#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.h"
#include "formats/jinja/limits.h"

// Values of templates, with the rules of Python. Lists, tuples and dictionaries never change.
namespace headlight::jinja {

class Object;
class Value;
struct List;
struct Dict;
struct Arguments;
class Runtime;

struct None {};

// Value of a missing variable, attribute or item. Only printing, testing and iterating it is valid.
struct Undefined {
  std::shared_ptr<const std::string> reason;  // "'x' is undefined"; null: no reason
};

// A text; `is_safe` after the filter `safe`: then + escapes HTML in the other text.
struct Text {
  std::string text;
  bool is_safe = false;
};

// A whole number beyond 64 bits. It is printed and compared, but not computed with.
struct BigNumber {
  std::string digits;  // with the sign of a negative one
};

using Values = std::vector<Value>;

class Value {
 public:
  using Held = std::variant<Undefined, None, bool, std::int64_t, double,
                            std::shared_ptr<const Text>, std::shared_ptr<const List>,
                            std::shared_ptr<const Dict>, Object*, std::shared_ptr<const BigNumber>>;

  Value() = default;
  Value(None none) : held_(none) {}
  Value(Undefined undefined) : held_(std::move(undefined)) {}
  explicit Value(bool value) : held_(value) {}
  explicit Value(std::int64_t value) : held_(value) {}
  explicit Value(double value) : held_(value) {}
  explicit Value(Object* object) : held_(object) {}
  // Count their bytes, and for lists and dictionaries check the depth.
  static Value text(Budget& budget, std::string text, bool is_safe = false);
  static Value list(Budget& budget, List list);
  static Value dict(Budget& budget, Dict dict);
  // Returns a whole number of any size: digits, perhaps after a minus.
  static Value whole_number(Budget& budget, const std::string& digits);

  bool is_undefined() const { return holds<Undefined>(); }
  bool is_none() const { return holds<None>(); }
  bool is_boolean() const { return holds<bool>(); }
  bool is_integer() const { return holds<std::int64_t>(); }
  bool is_float() const { return holds<double>(); }
  bool is_text() const { return holds<std::shared_ptr<const Text>>(); }
  bool is_safe_text() const {
    return is_text() && std::get<std::shared_ptr<const Text>>(held_)->is_safe;
  }
  bool is_list() const { return holds<std::shared_ptr<const List>>(); }
  bool is_dict() const { return holds<std::shared_ptr<const Dict>>(); }
  bool is_object() const { return holds<Object*>(); }
  bool is_big() const { return holds<std::shared_ptr<const BigNumber>>(); }
  // True for whole numbers and truth values, which count as 0 and 1.
  bool is_whole() const { return is_integer() || is_boolean(); }
  bool is_number() const { return is_whole() || is_float() || is_big(); }
  bool is_sequence() const;  // has a length and items
  bool is_iterable() const;
  // Returns the name of the type in Python.
  const char* type_name() const;

  // Return the value. Throw Error if the type differs, and whole() for big numbers.
  std::int64_t whole() const;
  const std::string& digits() const;  // of a big number
  double number() const;
  const std::string& text() const;
  const List& list() const;
  const Dict& dict() const;
  Object& object() const;

  // Throws Error with the reason for an undefined value.
  const Value& defined() const;
  bool is_true() const;

 private:
  template <class T>
  bool holds() const {
    return std::holds_alternative<T>(held_);
  }
  template <class T>
  const T& get(const char* expected) const;

  Held held_;
};

// Kinds differ in printing, comparing and indexing. Generators have no length and end after one
// iteration. A group is a tuple whose parts have the names `grouper` and `list`.
enum class ListKind : std::uint8_t { list, tuple, group, range, view, generator };

constexpr bool is_tuple_kind(ListKind kind) {
  return kind == ListKind::tuple || kind == ListKind::group;
}

struct List {
  Values values;
  ListKind kind = ListKind::list;
  std::size_t depth = 0;                   // set by Value::list()
  mutable bool consumed = false;           // for generators
  std::array<std::int64_t, 3> range = {};  // of a range: start, stop, step
  std::string name = {};                   // of a view, as Python prints it
};

// Keeps the order of insertion.
struct Dict {
  std::vector<std::pair<Value, Value>> members = {};
  std::size_t depth = 0;  // set by Value::dict()

  const Value* find(Budget& budget, const Value& key) const;
  void set(Budget& budget, const Value& key, const Value& value);
};

// A value with attributes or a call: namespaces, loops, macros, functions. The Runtime owns it.
class Object {
 public:
  Object() = default;
  virtual ~Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  virtual const char* type_name() const = 0;
  virtual Value attribute(Runtime&, const std::string&) { return {}; }
  virtual bool is_callable() const { return false; }
  virtual Value call(Runtime&, const Arguments&) { fail("a ", type_name(), " cannot be called"); }
  virtual void set(Runtime&, const std::string&, const Value&) {
    fail("only a namespace has attributes to set, got a ", type_name());
  }
};

struct Arguments {
  Values values = {};
  std::vector<std::pair<std::string, Value>> named = {};
};

Value undefined(const std::string& reason);
Value value_of(Budget& budget, const Json& json);

// Compare as Python's == and <. The second throws Error for types without an order.
bool equal(Budget& budget, const Value& a, const Value& b);
bool less(Budget& budget, const Value& a, const Value& b);
// Returns the elements in iteration: of lists, characters of texts, keys of dictionaries; of
// undefined values none. Throws Error for others.
Values elements(Budget& budget, const Value& value);
// Returns the length of a text in characters, or the number of elements. Throws Error for others.
std::int64_t length(Budget& budget, const Value& value);

}  // namespace headlight::jinja
