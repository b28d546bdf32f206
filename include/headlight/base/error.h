#pragma once

#include <concepts>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace headlight {

// Not the types of characters: they are no numbers, or not surely.
template <class T>
concept PrintedInteger = std::integral<T> &&(sizeof(T) > 1 || std::same_as<T, bool>);

// The one exception type of the library. Its message names the function or value, what was expected
// and what came: "[matmul] inner sizes differ: a [4, 8], b [9, 2]", "top_k: expected a number from
// 0, got -1".
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  // About the value called `about`, with which the message begins.
  Error(const std::string& message, std::string_view about)
      : std::runtime_error(message), about_(about) {}

  // The option, field or key whose value is wrong, "top_k"; empty: none.
  const std::string& about() const { return about_; }

  // True once the message says where the value comes from; see in_place().
  bool has_place() const { return has_place_; }
  // Puts "config.json: " in front of the message.
  void add_place(std::string_view place);

 private:
  std::string about_;
  bool has_place_ = false;
};

// Memory or address space that cannot be had. Other errors are faults of input; this one is not.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

// A part of a message, which it refers to and does not own: text, a character, a number or a value
// of a type T with a function append_text(std::string&, const T&) beside it. Numbers are written as
// streams write them: six significant digits, 1 and 0 for true and false.
//
// Every file makes messages, so this costs the compiler little: no streams, and the parts of a
// message are joined by one function for all types.
class MessagePart {
 public:
  MessagePart(std::string_view text) : kind_(Kind::text) {
    value_.text = {text.data(), text.size()};
  }
  MessagePart(const char* text) : MessagePart(std::string_view(text)) {}
  MessagePart(const std::string& text) : MessagePart(std::string_view(text)) {}
  MessagePart(char character) : kind_(Kind::character) { value_.character = character; }
  template <PrintedInteger T>
  MessagePart(T number) : kind_(std::signed_integral<T> ? Kind::integer : Kind::natural) {
    if constexpr (std::signed_integral<T>) {
      value_.integer = number;
    } else {
      value_.natural = number;
    }
  }
  MessagePart(double number) : kind_(Kind::number) { value_.number = number; }
  MessagePart(float number) : MessagePart(static_cast<double>(number)) {}
  template <class T>
  requires std::is_class_v<T> || std::is_enum_v<T> MessagePart(const T& value)
      : kind_(Kind::other) {
    value_.other = {&value, [](std::string& out, const void* other) {
                      append_text(out, *static_cast<const T*>(other));
                    }};
  }

  void append_to(std::string& out) const;

 private:
  enum class Kind : unsigned char { text, character, integer, natural, number, other };
  struct Text {
    const char* data;
    std::size_t size;
  };
  struct Other {
    const void* value;
    void (*append)(std::string& out, const void* value);
  };
  union Value {
    Text text;
    char character;
    long long integer;
    unsigned long long natural;
    double number;
    Other other;
  };

  Value value_;
  Kind kind_;
};

// The parts without separators.
std::string joined_text(const MessagePart* parts, std::size_t count);

// Throws Error with the joined parts as its message.
[[noreturn]] void throw_error(const MessagePart* parts, std::size_t count);

// Throws Error with `message`, which may quote anything: it is escaped, and a very long one loses
// its middle.
[[noreturn]] void throw_error(std::string_view message);

// Throws Error about `name`, whose message is "NAME: " with the joined parts.
[[noreturn]] void throw_value_error(std::string_view name, const MessagePart* parts,
                                    std::size_t count);

// `text` with the bytes of control characters, line separators and changes of direction as \xNN:
// one line that cannot steer a terminal.
std::string escaped(std::string_view text);

// The parts without separators; see MessagePart.
template <class... Parts>
std::string concat_text(const Parts&... parts) {
  const MessagePart all[] = {MessagePart(parts)...};
  return joined_text(all, sizeof...(parts));
}

// Throws Error with the joined parts as its message.
template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  const MessagePart all[] = {MessagePart(parts)...};
  throw_error(all, sizeof...(parts));
}

// Throws Error with the joined parts unless `condition` holds. The text is built only on failure.
template <class... Parts>
void require(bool condition, const Parts&... parts) {
  if (!condition) [[unlikely]] {
    fail(parts...);
  }
}

// Throws Error about a value: fail_value("top_k", "expected ...") says "top_k: expected ...".
template <class... Parts>
[[noreturn]] void fail_value(std::string_view name, const Parts&... parts) {
  const MessagePart all[] = {MessagePart(parts)...};
  throw_value_error(name, all, sizeof...(parts));
}

// Throws Error about the value called `name`, as fail_value() does, unless `condition` holds.
template <class... Parts>
void require_value(bool condition, std::string_view name, const Parts&... parts) {
  if (!condition) [[unlikely]] {
    fail_value(name, parts...);
  }
}

// Does `work`; an Error of it begins with the place that its values come from, "config.json: ".
// Places within places stand one after the other, the outermost first. An empty one says that the
// values come from somewhere else than their name suggests, and leaves the message as it is.
template <class Work>
decltype(auto) in_place(std::string_view place, const Work& work) {
  try {
    return work();
  } catch (Error& error) {
    error.add_place(place);
    throw;
  }
}

}  // namespace headlight
