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

// The one exception type of the library. Its message names the function or option, what was
// expected and what came: "[matmul] inner sizes differ: a [4, 8], b [9, 2]".
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
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

// `text` with control characters as \xNN: one line that cannot steer a terminal.
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

}  // namespace headlight
