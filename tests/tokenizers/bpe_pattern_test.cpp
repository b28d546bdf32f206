#include "support/test.h"
#include "tokenizers/unicode/unicode_class.h"

using Pieces = std::vector<std::string>;

Pieces pieces(std::string_view text) {
  Pieces result;
  while (!text.empty()) {
    const std::size_t length = bpe_piece_length(text);
    REQUIRE(length > 0);
    REQUIRE(length <= text.size());
    result.emplace_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return result;
}

TEST_CASE("words and numbers and symbols are pieces that include the blank before them") {
  CHECK(pieces("Hello!! w00t :D 42nd") ==
        Pieces{"Hello", "!!", " w", "00", "t", " :", "D", " 42", "nd"});
  CHECK(pieces("a_b==c") == Pieces{"a", "_", "b", "==", "c"});
  CHECK(pieces(" ") == Pieces{" "});
  CHECK(pieces("").empty());
}

TEST_CASE("lower-case contractions are pieces of their own at the beginning of a piece only") {
  CHECK(pieces("I'm we're I've he'll she'd it's don't") == Pieces{"I", "'m", " we", "'re", " I",
                                                                  "'ve", " he", "'ll", " she", "'d",
                                                                  " it", "'s", " don", "'t"});
  CHECK(pieces("IT'S") == Pieces{"IT", "'", "S"});
  CHECK(pieces(" 's ''s 'sabc") == Pieces{" '", "s", " ''", "s", " '", "sabc"});
  CHECK(pieces("'sabc") == Pieces{"'s", "abc"});
  CHECK(pieces("'l 'r") == Pieces{"'", "l", " '", "r"});
  CHECK(pieces("'") == Pieces{"'"});
  CHECK(pieces("'r") == Pieces{"'", "r"});
}

TEST_CASE("a run of white space leaves its last character to what follows") {
  CHECK(pieces("a   b") == Pieces{"a", "  ", " b"});
  CHECK(pieces("a\n\nb") == Pieces{"a", "\n", "\n", "b"});
  CHECK(pieces("a \n b") == Pieces{"a", " \n", " b"});
  CHECK(pieces("a\tb") == Pieces{"a", "\t", "b"});
  CHECK(pieces("a  \n ") == Pieces{"a", "  \n "});
  CHECK(pieces("  ") == Pieces{"  "});
}

TEST_CASE("letters, numbers and white space are those of Unicode") {
  // Hangul, then e with a combining accent, which is a mark and so a symbol.
  CHECK(pieces("\xEB\x82\x98\xEB\x8A\x94 e\xCC\x81g") ==
        Pieces{"\xEB\x82\x98\xEB\x8A\x94", " e", "\xCC\x81", "g"});
  // No-break space and ideographic space are white space, but only a blank belongs to a word.
  CHECK(pieces("a\xC2\xA0"
               "b\xE3\x80\x80\xE3\x80\x80"
               "c") == Pieces{"a", "\xC2\xA0", "b", "\xE3\x80\x80", "\xE3\x80\x80", "c"});
  // Arabic digits, a Roman numeral and a superscript are numbers.
  CHECK(pieces("\xD9\xA1\xE2\x85\xA7\xC2\xB2x") == Pieces{"\xD9\xA1\xE2\x85\xA7\xC2\xB2", "x"});
}

TEST_CASE("the classes are those of Unicode 16") {
  std::array<Index, 4> counts{};
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    ++counts[static_cast<std::size_t>(unicode_class(c))];
  }
  CHECK(counts == std::array<Index, 4>{971148, 141028, 1911, 25});
  CHECK(unicode_class(0x1C89) == UnicodeClass::kLetter);  // new in 16
  CHECK(unicode_class(0x85) == UnicodeClass::kSpace);
  CHECK(unicode_class(0x180E) == UnicodeClass::kOther);  // was white space until 6.3
  CHECK(unicode_class(0x200B) == UnicodeClass::kOther);
  CHECK(unicode_class(0x323AF) == UnicodeClass::kLetter);  // the last letter
  CHECK(unicode_class(0x323B0) == UnicodeClass::kOther);
  CHECK(unicode_class(0x10FFFF) == UnicodeClass::kOther);
}

TEST_CASE("bytes that are no character are treated as symbols") {
  CHECK(pieces("a\xFF\xC3 b\x80") == Pieces{"a", "\xFF\xC3", " b", "\x80"});
  CHECK(pieces("\xEB\x82") == Pieces{"\xEB\x82"});
  CHECK(pieces(std::string("a\0b", 3)) == Pieces{"a", std::string(1, '\0'), "b"});
}

TEST_CASE("a text split between pieces gives the same pieces as the whole text") {
  const std::string text =
      "one  two\n\nthree 's \xE3\x80\x80 x's\t \xEB\x82\x98\xEB\x8A\x94 ok.\n a\xFF b   ";
  for (std::size_t size = 0; size < text.size() + 2; ++size) {
    Pieces joined;
    std::string whole;
    for (const std::string_view part : split_between_pieces(text, size)) {
      const Pieces some = pieces(part);
      joined.insert(joined.end(), some.begin(), some.end());
      whole += part;
    }
    REQUIRE(whole == text);
    REQUIRE(joined == pieces(text));
  }
  CHECK(split_between_pieces(text, 1).size() == 8);  // ends after one two three 's x's ok. b
  CHECK(split_between_pieces(std::string(100, 'x'), 7).size() == 1);
  CHECK(split_between_pieces("", 7).empty());
}
