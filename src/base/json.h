#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "headlight/base/index.h"

namespace headlight {

template <class T>
concept JsonInteger = std::integral<T> && sizeof(T) > 1;

template <class T>
concept JsonText = std::convertible_to<const T&, std::string_view>;

template <class T>
concept JsonMap = requires(const T& map) {
  typename T::mapped_type;
  map.begin();
};

template <class T>
concept JsonRange = !JsonText<T> && !JsonMap<T> && requires(const T& range) {
  typename T::value_type;
  range.begin();
  range.size();
};

struct JsonMember;

// A JSON value. Objects keep their members in the order in which they came. Nothing else of the
// project knows the library that reads and writes JSON, and this header is cheap to include.
//
// Values are made from nothing (null), true and false, numbers, texts, lists and maps of such, and
// from braces: {{"loss", 1.5}, {"heads", {0, 1}}} is an object, since all its parts are pairs that
// begin with a text; other braces are lists.
class Json {
 public:
  using List = std::vector<Json>;
  using Object = std::vector<JsonMember>;

  Json() noexcept {}
  Json(std::nullptr_t) noexcept {}
  template <std::same_as<bool> T>
  Json(T value) noexcept : kind_(Kind::boolean) {
    value_.boolean = value;
  }
  template <JsonInteger T>
  Json(T value) noexcept {
    if constexpr (std::is_signed_v<T>) {
      kind_ = Kind::integer;
      value_.integer = value;
    } else {
      set_natural(value);
    }
  }
  Json(double value) noexcept : kind_(Kind::number) { value_.number = value; }
  Json(float value) noexcept : Json(static_cast<double>(value)) {}
  template <JsonText T>
  Json(const T& text) {
    set_text(text);
  }
  template <JsonRange T>
  Json(const T& range) {
    List& list = set_list(range.size());
    for (const auto& value : range) {
      list.emplace_back(value);
    }
  }
  template <JsonMap T>
  Json(const T& map) {
    set_object();
    for (const auto& [key, value] : map) {
      add(key, value);
    }
  }
  Json(std::initializer_list<Json> parts);
  static Json array(std::initializer_list<Json> values = {});
  static Json object();

  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(Json other) noexcept;
  ~Json();

  bool is_null() const { return kind_ == Kind::null; }
  bool is_boolean() const { return kind_ == Kind::boolean; }
  bool is_number() const {
    return kind_ == Kind::integer || kind_ == Kind::natural || kind_ == Kind::number;
  }
  // A whole number that an Index holds.
  bool is_integer() const { return kind_ == Kind::integer; }
  // A whole number from 0, also one that an Index does not hold.
  bool is_natural() const {
    return kind_ == Kind::natural || (kind_ == Kind::integer && value_.integer >= 0);
  }
  bool is_string() const { return kind_ == Kind::text; }
  bool is_array() const { return kind_ == Kind::list; }
  bool is_object() const { return kind_ == Kind::object; }
  // "null", "boolean", "number", "string", "array" or "object".
  const char* type_name() const;

  // What it holds. Throw Error when it holds something else.
  bool boolean() const;
  Index integer() const;
  std::uint64_t natural() const;
  double number() const;  // of integers, too
  const std::string& text() const;
  const List& list() const;
  const Object& members() const;

  // Of a list or an object; else 0 for null and 1.
  std::size_t size() const;
  bool empty() const { return size() == 0; }

  // The values of a list. Throw Error for anything else.
  List::const_iterator begin() const;
  List::const_iterator end() const;
  const Json& operator[](std::size_t place) const;
  const Json& front() const { return (*this)[0]; }
  // Makes a list of null.
  void push_back(Json value);

  // A member, or null where there is none and where this is no object.
  const Json* find(std::string_view key) const;
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  Json value(std::string_view key, const Json& otherwise) const;
  // A member. Throws Error naming a key that is missing.
  const Json& operator[](std::string_view key) const;
  // A member, which is made when it is missing. Makes an object of null.
  Json& operator[](std::string_view key);
  // Appends a member whose key is new, without looking. Makes an object of null.
  Json& add(std::string key, Json value);
  // Takes the members of another object over.
  void update(const Json& object);

  enum class BadUtf8 { replaced, refused };
  // In one line, or with every value on a line and `indent` blanks a level. Numbers have the fewest
  // digits that tell them from all others; those that are not finite are null. Bytes that are not
  // UTF-8 become U+FFFD or throw Error.
  std::string dump(int indent = -1, BadUtf8 bad = BadUtf8::replaced) const;

  // The order of members makes no difference, and 1 is 1.0.
  friend bool operator==(const Json& a, const Json& b) { return a.equals(b); }

 private:
  friend class JsonBuilder;
  // Whole numbers that an Index cannot hold are natural ones, all others integers.
  enum class Kind : std::uint8_t { null, boolean, integer, natural, number, text, list, object };
  union Value {
    bool boolean;
    std::int64_t integer;
    std::uint64_t natural;
    double number;
    std::string* text;
    List* list;
    Object* object;
  };

  void set_natural(std::uint64_t value) noexcept {
    const bool fits = value <= static_cast<std::uint64_t>(std::numeric_limits<Index>::max());
    kind_ = fits ? Kind::integer : Kind::natural;
    value_.natural = value;
  }
  void set_text(std::string_view text);
  List& set_list(std::size_t size);
  Object& set_object();
  bool equals(const Json& other) const;
  [[noreturn]] void fail_type(const char* expected) const;

  Value value_{};
  Kind kind_ = Kind::null;
};

struct JsonMember {
  std::string key;
  Json value;
};

// Deeper objects and arrays are refused.
inline constexpr std::size_t kMaxJsonDepth = 64;

// Parses JSON from outside. Throws Error, in one line that starts with `name` (usually the path),
// for text that is not JSON in UTF-8, a key that an object holds twice or that is longer than
// 65,536 bytes, nesting deeper than kMaxJsonDepth and more than four million values. Bytes are
// counted from 0.
Json parse_json(std::string_view text, std::string_view name);

// None where parse_json would throw.
std::optional<Json> try_parse_json(std::string_view text);

// Parses an object and hands each member over as soon as it is read, keeping only the keys: a long
// list of small members costs little memory. Refuses what parse_json refuses, text that is not an
// object, and a member of more than 65,536 values.
void parse_json_members(std::string_view text, std::string_view name,
                        const std::function<void(const std::string& key, Json& value)>& member);

// `text` in quotes for a message: control characters escaped, a long text cut.
std::string quoted_text(std::string_view text);

// The value of `key`. Throws Error naming `where` and the key when `object` is no object or lacks
// it.
const Json& json_member(const Json& object, std::string_view key, std::string_view where);

// The same, and the value must be a string, else Error.
std::string json_string(const Json& object, std::string_view key, std::string_view where);

}  // namespace headlight
