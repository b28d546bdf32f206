#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "headlight/base/error.h"
#include "support/catch.h"

// Helpers for tests of messages.
namespace headlight::test {

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Message of the Error that `body` throws, or "no error".
template <class Body>
std::string error_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// True if the text has all parts.
inline bool has_parts(const std::string& text, const std::vector<std::string>& parts) {
  return std::all_of(parts.begin(), parts.end(),
                     [&](const std::string& part) { return text.find(part) != std::string::npos; });
}

// Checks that the text has each of the parts.
inline void check_parts(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    INFO("expected: " << part << "\nin: " << text.substr(0, 2000));
    CHECK(contains(text, part));
  }
}

// Checks that the text has none of the parts.
inline void check_lacks(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    INFO("not expected: " << part << "\nin: " << text.substr(0, 2000));
    CHECK_FALSE(contains(text, part));
  }
}

// True if the message is one line with all parts.
inline bool mentions(const std::string& message, const std::vector<std::string>& parts) {
  UNSCOPED_INFO("message: " << message);
  return message.find('\n') == std::string::npos && has_parts(message, parts);
}

// Checks that `body` throws an Error whose message is one line with all parts.
template <class Body>
void check_error(const Body& body, const std::vector<std::string>& parts,
                 int line = __builtin_LINE()) {
  INFO("called in line " << line);
  CHECK(mentions(error_of(body), parts));
}

}  // namespace headlight::test
