#include "support/test.h"

namespace utf8_test {
using namespace std::string_literals;

const std::string kMark{kReplacementCharacter};

bool is_utf8(const std::string& text) {
  try {
    require_utf8(text, "text");
    return true;
  } catch (const Error&) {
    return false;
  }
}

TEST_CASE("require_utf8 accepts text of every length of character and NUL") {
  CHECK_NOTHROW(require_utf8("", "text"));
  CHECK_NOTHROW(require_utf8("a\0z"s, "text"));
  CHECK_NOTHROW(require_utf8("a\xC3\xB1\xED\x95\x9C\xF0\x9F\xA4\x97", "text"));
  CHECK_NOTHROW(require_utf8("\x7F\xC2\x80\xED\x9F\xBF\xEE\x80\x80\xF4\x8F\xBF\xBF", "text"));
}

TEST_CASE("require_utf8 names the text and the first bad byte counted from 0") {
  CHECK_THROWS_WITH(require_utf8("ab\xFFz\xFF", "data/x.txt"),
                    "data/x.txt: invalid UTF-8 at byte 2");
  CHECK_THROWS_WITH(require_utf8("\xED\x95\x9C\xED\x95", "t"), "t: invalid UTF-8 at byte 3");
}

TEST_CASE("overlong forms, surrogates and values above U+10FFFF are not UTF-8") {
  for (const std::string& bad :
       {"\xC0\x80"s, "\xC1\xBF"s, "\xE0\x9F\xBF"s, "\xF0\x8F\xBF\xBF"s, "\xED\xA0\x80"s,
        "\xED\xBF\xBF"s, "\xF4\x90\x80\x80"s, "\xF5\x80\x80\x80"s, "\xF7\xBF\xBF\xBF"s, "\x80"s,
        "\xE2\x82"s, "\xE2\x28\xA1"s}) {
    CAPTURE(bad);
    CHECK_FALSE(is_utf8(bad));
    CHECK_FALSE(first_character(bad).valid);
  }
}

TEST_CASE("first_character gives code point and length at the limits of each encoded length") {
  const std::vector<std::pair<std::string, char32_t>> cases = {{"\0"s, 0},
                                                               {"\x7F", 0x7F},
                                                               {"\xC2\x80", 0x80},
                                                               {"\xDF\xBF", 0x7FF},
                                                               {"\xE0\xA0\x80", 0x800},
                                                               {"\xED\x9F\xBF", 0xD7FF},
                                                               {"\xEE\x80\x80", 0xE000},
                                                               {"\xEF\xBF\xBF", 0xFFFF},
                                                               {"\xF0\x90\x80\x80", 0x10000},
                                                               {"\xF4\x8F\xBF\xBF", 0x10FFFF}};
  for (const auto& [bytes, code_point] : cases) {
    const Utf8Character character = first_character(bytes + "z");
    CHECK(character.valid);
    CHECK(character.code_point == code_point);
    CHECK(character.length == static_cast<Index>(bytes.size()));
    std::string written;
    append_utf8(code_point, written);
    CHECK(written == bytes);
  }
}

TEST_CASE("first_character agrees with require_utf8 on every text of two bytes and of three",
          "[long]") {
  int different = 0;
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      for (const char* tail : {"", "\x80", "\xBF"}) {
        const std::string text = std::string{static_cast<char>(a), static_cast<char>(b)} + tail;
        std::string_view rest = text;
        bool valid = true;
        while (!rest.empty()) {
          const Utf8Character character = first_character(rest);
          valid = valid && character.valid;
          rest.remove_prefix(static_cast<std::size_t>(character.length));
        }
        different += valid != is_utf8(text) ? 1 : 0;
      }
    }
  }
  CHECK(different == 0);
}

TEST_CASE("append_utf8 refuses surrogates and values above U+10FFFF") {
  std::string text = "a";
  CHECK_THROWS_WITH(append_utf8(0xD800, text),
                    "[append_utf8] 55296 is not a valid Unicode code point");
  CHECK_THROWS_AS(append_utf8(0xDFFF, text), Error);
  CHECK_THROWS_AS(append_utf8(0x110000, text), Error);
  CHECK(text == "a");
}

TEST_CASE("complete_utf8_prefix leaves out only a character that more bytes could complete") {
  CHECK(complete_utf8_prefix("") == 0);
  CHECK(complete_utf8_prefix("abc") == 3);
  CHECK(complete_utf8_prefix("ab\xC3") == 2);
  CHECK(complete_utf8_prefix("a\xED\x95") == 1);
  CHECK(complete_utf8_prefix("a\xED\x95\x9C") == 4);
  CHECK(complete_utf8_prefix("\xF0\x9F\xA4") == 0);
  CHECK(complete_utf8_prefix("\xF0\x9F\xA4\x97") == 4);
  CHECK(complete_utf8_prefix("a\xFF") == 2);
  CHECK(complete_utf8_prefix("a\xE0\x80") == 3);
  CHECK(complete_utf8_prefix("\x80\x80\x80\x80") == 4);
}

TEST_CASE("replace_invalid_utf8 puts one mark in the place of each maximal broken part") {
  CHECK(replace_invalid_utf8("") == "");
  CHECK(replace_invalid_utf8("h\xC3\xA9") == "h\xC3\xA9");
  CHECK(replace_invalid_utf8("a\xFFz") == "a" + kMark + "z");
  // Example of the Unicode standard, table 3-8.
  CHECK(replace_invalid_utf8("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41") ==
        kMark + kMark + kMark + kMark + "A");
  // Table 3-9: the first two bytes of a surrogate are already invalid.
  CHECK(replace_invalid_utf8("\xED\xA0\x80") == kMark + kMark + kMark);
  CHECK(replace_invalid_utf8("\xF0\x9F\xA4") == kMark);
}
}  // namespace utf8_test
