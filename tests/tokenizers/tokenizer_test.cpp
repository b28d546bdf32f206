#include "support/test.h"

const std::string kMixed = "Hi! \xEB\x82\x98\xEB\x8A\x94 [\xEB\x84\x88]\n\xF0\x9F\xA4\x97";

TEST_CASE("a character tokenizer numbers the code points of its corpus in ascending order") {
  // b, a, U+D55C, a: sorted a b U+D55C, after the two special tokens.
  const CharTokenizer tokenizer = build_char_tokenizer(
      "ba\xED\x95\x9C"
      "a");
  CHECK(tokenizer.kind() == "char");
  CHECK(tokenizer.vocab_size() == 5);
  CHECK(tokenizer.end_of_text() == 0);
  CHECK(tokenizer.unknown() == 1);
  CHECK(tokenizer.encode("ab\xED\x95\x9C") == Ids{2, 3, 4});
  CHECK(tokenizer.token_bytes(4) == "\xED\x95\x9C");
  CHECK(tokenizer.encode("").empty());
}

TEST_CASE("every character that the corpus lacks encodes to one unknown token") {
  const CharTokenizer tokenizer = build_char_tokenizer("ab");
  CHECK(tokenizer.encode("a\xED\x95\x9CzbZ") == Ids{2, 1, 1, 3, 1});
  CHECK(tokenizer.decode(Ids{2, 1, 3}) ==
        "a\xEF\xBF\xBD"
        "b");
}

TEST_CASE("characters without special tokens have the first ids, and others are refused") {
  const CharTokenizer tokenizer({U'b', U'a'}, SpecialTokens::none);
  CHECK(tokenizer.vocab_size() == 2);
  CHECK(tokenizer.encode("ab") == Ids{1, 0});
  CHECK_FALSE(tokenizer.end_token().has_value());
  CHECK_FALSE(tokenizer.unknown().has_value());
  CHECK(tokenizer.special_name(1).empty());
  CHECK_THROWS_WITH(tokenizer.encode("abc"),
                    "[encode] character 'c' is not in the vocabulary, which has no <|unk|>");
  const auto read = parse_tokenizer_json(to_tokenizer_json(tokenizer), "tokenizer.json");
  CHECK(read->kind() == "char");
  CHECK(read->encode("ab") == Ids{1, 0});
  CHECK(read->vocab_size() == 2);
}

TEST_CASE("a corpus without characters leaves the special tokens only") {
  const CharTokenizer tokenizer = build_char_tokenizer("");
  CHECK(tokenizer.vocab_size() == 2);
  CHECK(tokenizer.encode("a") == Ids{1});
}

TEST_CASE("a byte tokenizer numbers bytes by their value") {
  const ByteTokenizer tokenizer;
  CHECK(tokenizer.kind() == "byte");
  CHECK(tokenizer.vocab_size() == 257);
  CHECK(tokenizer.end_of_text() == 256);
  CHECK_FALSE(tokenizer.unknown().has_value());
  CHECK(tokenizer.encode("A\n\xED\x95\x9C") == Ids{65, 10, 237, 149, 156});
  CHECK(tokenizer.token_bytes(237) == "\xED");
}

TEST_CASE("names of special tokens are read on demand, by bytes and characters too") {
  ByteTokenizer bytes;
  CHECK(bytes.encode("<|endoftext|>").size() == 13);
  bytes.set_reads_special(true);
  CHECK(bytes.encode("a<|endoftext|><|b") == Ids{'a', 256, '<', '|', 'b'});
  CHECK(bytes.encode_prompt("<|endoftext|>") == Ids{256});
  CHECK_THROWS_WITH(bytes.encode("<|endoftext|>\xFF"), "[encode] text: invalid UTF-8 at byte 13");
  CharTokenizer characters = build_char_tokenizer("ab");
  characters.set_reads_special(true);
  CHECK(characters.encode("a<|endoftext|>b<|unk|>z") == Ids{2, 0, 3, 1, 1});
}

TEST_CASE("decoding gives back the text that was encoded") {
  const ByteTokenizer bytes;
  CHECK(bytes.decode(bytes.encode(kMixed)) == kMixed);
  const CharTokenizer characters = build_char_tokenizer(kMixed);
  CHECK(characters.decode(characters.encode(kMixed)) == kMixed);
  CHECK(characters.encode(kMixed).size() == 12);
}

TEST_CASE("special tokens decode to nothing and bytes that are no character to U+FFFD") {
  const ByteTokenizer tokenizer;
  CHECK(tokenizer.decode(Ids{256, 72, 256, 105, 256}) == "Hi");
  CHECK(tokenizer.decode(Ids{72, 0xFF, 105}) == "H\xEF\xBF\xBDi");
  CHECK(tokenizer.decode(Ids{0xED, 0x95}) == "\xEF\xBF\xBD");
  CHECK(tokenizer.decode(Ids{}).empty());
  CHECK(tokenizer.token_bytes(256).empty());
}

TEST_CASE("ids outside the vocabulary are refused") {
  const ByteTokenizer bytes;
  const CharTokenizer characters = build_char_tokenizer("ab");
  CHECK_THROWS_WITH(bytes.decode(Ids{65, 257}), "[tokenizer] token id 257 is outside 0 ... 256");
  CHECK_THROWS_WITH(bytes.token_label(-1), "[tokenizer] token id -1 is outside 0 ... 256");
  CHECK_THROWS_WITH(characters.token_bytes(4), "[tokenizer] token id 4 is outside 0 ... 3");
}

TEST_CASE("text that is not UTF-8 is refused by both kinds, naming the byte") {
  CHECK_THROWS_WITH(ByteTokenizer().encode("ab\xFF"), "[encode] text: invalid UTF-8 at byte 2");
  const CharTokenizer characters = build_char_tokenizer("ab");
  CHECK_THROWS_WITH(characters.encode("a\xC3"), "[encode] text: invalid UTF-8 at byte 1");
  CHECK_THROWS_WITH(build_char_tokenizer("\x80"),
                    "[build_char_tokenizer] corpus: invalid UTF-8 at byte 0");
}

TEST_CASE("labels name special tokens and write stray bytes in hexadecimal") {
  const ByteTokenizer bytes;
  CHECK(bytes.token_label(256) == "<|endoftext|>");
  CHECK(bytes.token_label('a') == "a");
  CHECK(bytes.token_label('\n') == "\n");
  CHECK(bytes.token_label(0xEA) == "<0xEA>");
  const CharTokenizer characters = build_char_tokenizer("\xED\x95\x9C");
  CHECK(characters.token_label(0) == "<|endoftext|>");
  CHECK(characters.token_label(1) == "<|unk|>");
  CHECK(characters.token_label(2) == "\xED\x95\x9C");
}

TEST_CASE("a prompt begins with the end-of-text token only if the tokenizer is set to prepend it") {
  ByteTokenizer tokenizer;
  CHECK_FALSE(tokenizer.prepends_begin_token());
  CHECK(tokenizer.encode_prompt("Hi") == Ids{72, 105});
  tokenizer.set_prepends_begin_token(true);
  CHECK(tokenizer.encode_prompt("Hi") == Ids{256, 72, 105});
  CHECK(tokenizer.encode_prompt("") == Ids{256});
  CHECK(tokenizer.encode("Hi") == Ids{72, 105});
}

TEST_CASE("a character tokenizer may have its special tokens behind the characters") {
  const CharTokenizer tokenizer({U'b', U'a'}, SpecialTokens::last);
  CHECK(tokenizer.vocab_size() == 4);
  CHECK(tokenizer.encode("abx") == Ids{1, 0, 3});
  CHECK(tokenizer.decode(Ids{0, 1, 2, 3}) == "ba\xEF\xBF\xBD");
  CHECK(tokenizer.end_of_text() == 2);
  CHECK(tokenizer.unknown() == 3);
  CHECK(tokenizer.token_label(2) == "<|endoftext|>");
  CHECK(tokenizer.token_label(3) == "<|unk|>");
}

TEST_CASE("several tokens may end a text and the first of them must be a special token") {
  ByteTokenizer tokenizer;
  CHECK(tokenizer.stop_tokens() == Ids{256});
  tokenizer.set_stop_tokens({256, 'a', 256, 'b', 'a'});
  CHECK(tokenizer.stop_tokens() == Ids{256, 'a', 'b'});
  CHECK(tokenizer.end_of_text() == 256);
  CHECK_THROWS_AS(tokenizer.set_stop_tokens({}), Error);
  CHECK_THROWS_AS(tokenizer.set_stop_tokens({'a', 256}), Error);
  CHECK_THROWS_AS(tokenizer.set_stop_tokens({256, 257}), Error);
  CHECK_THROWS_AS(tokenizer.set_begin_of_text('a'), Error);
  CHECK(tokenizer.stop_tokens() == Ids{256, 'a', 'b'});
  CHECK(tokenizer.special_id("<|endoftext|>") == 256);
  CHECK_FALSE(tokenizer.special_id("").has_value());
}

TEST_CASE("a character tokenizer refuses repeated and invalid characters") {
  CHECK_THROWS_WITH(CharTokenizer({U'a', U'b', U'a'}),
                    "[CharTokenizer] character 97 appears twice");
  CHECK_THROWS_AS(CharTokenizer({char32_t{0xD800}}), Error);
}
