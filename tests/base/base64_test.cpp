#include "base/strings/base64.h"
#include "support/test.h"

// Vectors of RFC 4648, section 10.
TEST_CASE("base64 has the digits and padding of RFC 4648") {
  const std::pair<std::string, std::string> cases[] = {{"", ""},
                                                       {"f", "Zg=="},
                                                       {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"fooba", "Zm9vYmE="},
                                                       {"\xff\xfe", "//4="}};
  for (const auto& [bytes, text] : cases) {
    CHECK(base64_of(std::as_bytes(std::span(bytes.data(), bytes.size()))) == text);
    CHECK(bytes_of_base64(text) == bytes);
  }
  for (const char* bad : {"Zg=", "Z", "Zg==Zg==", "Z?==", "===="}) {
    INFO(bad);
    CHECK_FALSE(bytes_of_base64(bad).has_value());
  }
}
