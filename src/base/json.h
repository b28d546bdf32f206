#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/work_budget.h"
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

// A JSON value. Objects keep the order of their members; a member is found in a time that depends
// on their number, not on their keys. Only json.cpp uses the JSON library, so this header is cheap
// to include.
//
// Construct values from nullptr, bool, numbers, texts, and lists and maps of these. Braces also
// work: {{"loss", 1.5}, {"heads", {0, 1}}} is an object, because every part is a pair that begins
// with a text; other braces are lists.
class Json {
 public:
  using List = std::vector<Json>;
  using Object = std::vector<JsonMember>;

  Json() noexcept {}
  Json(std::nullptr_t) noexcept {}
  template <std::same_as<bool> T>
  Json(T value) noexcept : value_(value) {}
  // Whole numbers that do not fit an Index are std::uint64_t, all others std::int64_t.
  template <JsonInteger T>
  Json(T value) noexcept {
    if (std::in_range<std::int64_t>(value)) {
      value_ = static_cast<std::int64_t>(value);
    } else {
      value_ = static_cast<std::uint64_t>(value);
    }
  }
  Json(double value) noexcept : value_(value) {}
  Json(float value) noexcept : Json(static_cast<double>(value)) {}
  template <JsonText T>
  Json(const T& text) : value_(Held(std::string(std::string_view(text)))) {}
  template <JsonRange T>
  Json(const T& range) : value_(Held(List())) {
    List& list = *std::get<Held<List>>(value_);
    list.reserve(range.size());
    for (const auto& value : range) {
      list.emplace_back(value);
    }
  }
  template <JsonMap T>
  Json(const T& map) : Json(object()) {
    for (const auto& [key, value] : map) {
      add(key, value);
    }
  }
  Json(std::initializer_list<Json> parts);
  static Json array(std::initializer_list<Json> values = {});
  static Json object();

  Json(const Json& other) = default;
  Json(Json&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
  Json& operator=(Json other) noexcept {
    value_.swap(other.value_);
    return *this;
  }
  ~Json() = default;

  bool is_null() const { return holds<std::nullptr_t>(); }
  bool is_boolean() const { return holds<bool>(); }
  bool is_number() const {
    return is_integer() || holds<std::uint64_t>() || holds<double>() || digits() != nullptr;
  }
  // Returns true for a whole number that fits an Index.
  bool is_integer() const { return holds<std::int64_t>(); }
  // Returns true for a whole number >= 0, even if it does not fit an Index.
  bool is_natural() const {
    const auto* integer = std::get_if<std::int64_t>(&value_);
    return holds<std::uint64_t>() || (integer != nullptr && *integer >= 0);
  }
  bool is_string() const { return holds<Held<std::string>>(); }
  bool is_array() const { return holds<Held<List>>(); }
  bool is_object() const { return holds<Held<Members>>(); }
  // Returns the digits of a whole number beyond 64 bits, or null. number() is close to it.
  const std::string* digits() const;
  // Returns "null", "boolean", "number", "string", "array" or "object".
  const char* type_name() const;

  // Return the value. Throw Error if the type differs.
  bool boolean() const;
  Index integer() const;
  std::uint64_t natural() const;
  double number() const;  // also for integers
  const std::string& text() const;
  const List& list() const;
  const Object& members() const;

  // Returns the number of elements or members; for other values 1, for null 0.
  std::size_t size() const;
  bool empty() const { return size() == 0; }

  // Access to the values of a list. Throw Error for other types.
  List::const_iterator begin() const;
  List::const_iterator end() const;
  const Json& operator[](std::size_t index) const;
  const Json& front() const { return (*this)[0]; }
  // Appends to a list; turns null into a list.
  void push_back(Json value);

  // Returns a member, or nullptr if it is missing or this is no object.
  const Json* find(std::string_view key) const;
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  Json value(std::string_view key, const Json& fallback) const;
  // Returns a member. Throws Error with the key if it is missing.
  const Json& operator[](std::string_view key) const;
  // Returns a member; creates it if it is missing. Turns null into an object.
  Json& operator[](std::string_view key);
  // Appends a member; does not check that the key is new. Turns null into an object.
  Json& add(std::string key, Json value);
  // Adds the members of another object, overwriting members with equal keys.
  void update(const Json& object);
  // Returns about the number of bytes that the value takes in memory.
  std::size_t memory() const;

  enum class BadUtf8 { replaced, refused };
  // Whole numbers beyond 64 bits keep their digits. Writes one line, or one value per line indented
  // by `indent` blanks per level. Numbers have the fewest digits that identify them; NaN and
  // infinities become null. Invalid UTF-8 becomes U+FFFD or throws Error.
  std::string dump(int indent = -1, BadUtf8 bad = BadUtf8::replaced) const;

  // Compares values; ignores the order of members, and 1 equals 1.0.
  friend bool operator==(const Json& a, const Json& b) { return a.equals(b); }

 private:
  friend class JsonBuilder;

  // A value on the heap, so that a Json has 16 bytes.
  template <class T>
  class Held {
   public:
    explicit Held(T value) : value_(std::make_unique<T>(std::move(value))) {}
    Held(const Held& other) : Held(*other) {}
    Held(Held&& other) noexcept = default;
    Held& operator=(Held other) noexcept {
      value_.swap(other.value_);
      return *this;
    }
    ~Held() = default;
    T& operator*() const { return *value_; }
    bool operator==(const Held& other) const { return *value_ == *other.value_; }

   private:
    std::unique_ptr<T> value_;
  };

  // Members of an object in order, and an index of large objects.
  struct Members {
    struct IndexEntry {
      std::size_t hash = 0;  // of the key
      std::uint32_t member = 0;
    };

    Object all;
    std::vector<IndexEntry> index;  // of the first members; sorted parts, see json.cpp

    const JsonMember* find(std::string_view key) const;
    JsonMember& add(JsonMember member);
    bool comes_before(const IndexEntry& a, const IndexEntry& b) const;
    bool operator==(const Members& other) const;
  };

  template <class T>
  bool holds() const {
    return std::holds_alternative<T>(value_);
  }
  // Returns the value, held as a T; the accessors above call it. Throws Error "expected EXPECTED,
  // got ..." for another type.
  template <class T>
  const T& get(const char* expected) const;
  bool equals(const Json& other) const;

  struct Digits {
    std::string text;
    bool operator==(const Digits&) const = default;
  };

  std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, Held<std::string>,
               Held<List>, Held<Members>, Held<Digits>>
      value_;
};

struct JsonMember {
  std::string key;
  Json value;

  bool operator==(const JsonMember&) const = default;
};

// Returns a list with make(value) for every value of a range.
template <class Range, class Make>
Json json_list(const Range& values, const Make& make) {
  Json list = Json::array();
  for (const auto& value : values) {
    list.push_back(make(value));
  }
  return list;
}

// Maximum nesting depth of parsed objects and arrays.
inline constexpr std::size_t kMaxJsonDepth = 64;

// Parses untrusted JSON. Throws a one-line Error that starts with `name` (usually the path).
// Rejects text that is not JSON in UTF-8, duplicate keys, keys longer than 65,536 bytes, nesting
// deeper than kMaxJsonDepth, and more than 4,194,304 values. Byte positions start at 0. Spends a
// unit of the budget for every value.
Json parse_json(std::string_view text, std::string_view name, WorkBudget budget = {});

// Returns nothing if parse_json() would throw.
std::optional<Json> try_parse_json(std::string_view text);

// Parses an object and passes each member to `member` as soon as it is read, so that many small
// members need little memory. Rejects the same as parse_json(), text that is not an object, and
// members of more than 65,536 values.
void parse_json_members(std::string_view text, std::string_view name,
                        const std::function<void(const std::string& key, Json& value)>& member);

// Returns `text` in quotes for a message, with control characters escaped and long text cut.
std::string quoted_text(std::string_view text);

// Returns the value of `key`. Throws Error with `where` and the key if `object` is no object or has
// no such key.
const Json& json_member(const Json& object, std::string_view key, std::string_view where);

// Returns the text of `key`. Throws Error as json_member() does, and if the value is no string.
std::string json_string(const Json& object, std::string_view key, std::string_view where);

}  // namespace headlight
