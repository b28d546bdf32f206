#pragma once

#include <concepts>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace headlight {

// Integers other than the character types, which are not numbers or not clearly so.
template <class T>
concept PrintedInteger = std::integral<T> &&(sizeof(T) > 1 || std::same_as<T, bool>);

// The library's only exception type. Its message names the function or value, the expected and the
// actual value: "[matmul] inner sizes differ: a [4, 8], b [9, 2]", "top_k: expected a number from
// 0, got -1".
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  // `about` names the value at fault; the message begins with it.
  Error(const std::string& message, std::string_view about)
      : std::runtime_error(message), about_(about) {}

  // The option, field or key with the wrong value, "top_k"; empty: none.
  const std::string& about() const { return about_; }

  // True if the message already contains the origin of the value; see in_place().
  bool has_location() const { return has_location_; }
  // Prepends a location such as "config.json: " to the message.
  void add_location(std::string_view location);

 private:
  std::string about_;
  bool has_location_ = false;
};

// Memory or address space that the system refuses. Not a fault of the input.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

inline void append_text(std::string& out, std::string_view text) { out += text; }
inline void append_text(std::string& out, char character) { out += character; }
// Six significant digits, as streams write numbers.
void append_text(std::string& out, double number);
template <PrintedInteger T>
void append_text(std::string& out, T number) {
  out += std::to_string(number);
}

// A part of a message; refers to its value without owning it. Values: text, a character, a number,
// or a type T with a function append_text(std::string&, const T&) in its namespace.
//
// Every file includes this header, so it must compile quickly: it uses no streams, and one function
// joins the parts of all types.
class MessagePart {
 public:
  template <class T>
  explicit MessagePart(const T& value) : value_(&value), append_(append_value<T>) {}
  template <std::size_t kSize>
  explicit MessagePart(const char (&text)[kSize]) : value_(text), append_(append_letters) {}
  void append_to(std::string& out) const { append_(out, value_); }

 private:
  template <class T>
  static void append_value(std::string& out, const void* value) {
    append_text(out, *static_cast<const T*>(value));
  }
  static void append_letters(std::string& out, const void* letters) {
    out += static_cast<const char*>(letters);
  }

  const void* value_;
  void (*append_)(std::string& out, const void* value);
};

// Returns the parts, joined without separators.
std::string joined_text(const MessagePart* parts, std::size_t count);

// Throws Error with the joined parts as its message.
[[noreturn]] void throw_error(const MessagePart* parts, std::size_t count);

// Throws Error with `message`, which may contain any text: it is escaped, and a very long message
// loses its middle.
[[noreturn]] void throw_error(std::string_view message);

// Throws Error about `name`, with the message "NAME: " and the joined parts.
[[noreturn]] void throw_value_error(std::string_view name, const MessagePart* parts,
                                    std::size_t count);

// Returns `text` with control characters, line separators and direction changes as \xNN: one line
// without effects on a terminal.
std::string escaped(std::string_view text);

// Returns the parts, joined without separators; see MessagePart.
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

// Throws Error with the joined parts if `condition` is false. Builds the text only on failure.
template <class... Parts>
void require(bool condition, const Parts&... parts) {
  if (!condition) [[unlikely]] {
    fail(parts...);
  }
}

// Throws Error about a value: fail_value("top_k", "expected ...") gives "top_k: expected ...".
template <class... Parts>
[[noreturn]] void fail_value(std::string_view name, const Parts&... parts) {
  const MessagePart all[] = {MessagePart(parts)...};
  throw_value_error(name, all, sizeof...(parts));
}

// Throws Error about the value called `name`, as fail_value() does, if `condition` is false.
template <class... Parts>
void require_value(bool condition, std::string_view name, const Parts&... parts) {
  if (!condition) [[unlikely]] {
    fail_value(name, parts...);
  }
}

// Runs `work`; prepends `location`, the origin of its values ("config.json: "), to an Error that it
// throws. Nested locations are joined, the outermost first. An empty location marks values with
// another origin than their name suggests, and leaves the message unchanged.
template <class Work>
decltype(auto) in_place(std::string_view location, const Work& work) {
  try {
    return work();
  } catch (Error& error) {
    error.add_location(location);
    throw;
  }
}

}  // namespace headlight
