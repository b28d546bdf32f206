#pragma once

#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace headlight {

// The one exception type of the library. Its message names the function or option, what was
// expected and what came: "[matmul] inner sizes differ: a [4, 8], b [9, 2]".
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Writes every part with operator<< and joins them without separators.
template <class... Parts>
std::string concat_text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

// `text` with control characters as \xNN: one line that cannot steer a terminal.
std::string escaped(std::string_view text);

// Throws Error with `message`, which may quote anything: it is escaped, and a very long one loses
// its middle.
[[noreturn]] void throw_error(std::string_view message);

// Throws Error with the joined parts as its message.
template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  throw_error(concat_text(parts...));
}

// Throws Error with the joined parts unless `condition` holds. The text is built only on failure.
template <class... Parts>
void require(bool condition, const Parts&... parts) {
  if (!condition) [[unlikely]] {
    fail(parts...);
  }
}

}  // namespace headlight
