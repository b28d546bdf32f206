#include "support/test.h"

TEST_CASE("a character of several tokens is returned only when it is complete") {
  const ByteTokenizer tokenizer;
  StreamingDecoder decoder(tokenizer);
  CHECK(decoder.push('H') == "H");
  CHECK(decoder.push(0xF0).empty());
  CHECK(decoder.push(0x9F).empty());
  CHECK(decoder.push(0xA4).empty());
  CHECK(decoder.push(0x97) == "\xF0\x9F\xA4\x97");
  CHECK(decoder.push('!') == "!");
  CHECK(decoder.finish().empty());
}

TEST_CASE("names of chosen special tokens are part of the text") {
  const ByteTokenizer tokenizer;
  const std::int32_t end = tokenizer.end_of_text();
  StreamingDecoder shows(tokenizer, false, {end});
  CHECK(shows.push(0xED).empty());
  CHECK(shows.push(end) == "\xEF\xBF\xBD<|endoftext|>");
  CHECK(shows.push('a') == "a");
  CHECK(StreamingDecoder(tokenizer).push(end).empty());
}

TEST_CASE("an incomplete character becomes one U+FFFD when the text goes on or ends") {
  const ByteTokenizer tokenizer;
  StreamingDecoder decoder(tokenizer);
  CHECK(decoder.push(0xED).empty());
  CHECK(decoder.push(0x95).empty());
  CHECK(decoder.push('a') ==
        "\xEF\xBF\xBD"
        "a");
  CHECK(decoder.push(0xED).empty());
  CHECK(decoder.push(0x95).empty());
  CHECK(decoder.finish() == "\xEF\xBF\xBD");
  CHECK(decoder.finish().empty());
  CHECK(decoder.push('b') == "b");
}

TEST_CASE("special tokens add no text to a stream and unknown ones U+FFFD") {
  const CharTokenizer tokenizer = build_char_tokenizer("a");
  StreamingDecoder decoder(tokenizer);
  CHECK(decoder.push(0).empty());
  CHECK(decoder.push(1) == "\xEF\xBF\xBD");
  CHECK(decoder.push(2) == "a");
  CHECK_THROWS_AS(decoder.push(3), Error);
}

TEST_CASE("streamed parts joined together equal the decoded text and each part is UTF-8") {
  const ByteTokenizer tokenizer;
  // Mostly bytes that begin or continue a character, or make it invalid.
  const Ids alphabet = {65,   0x80, 0x9F, 0xA0, 0xBF, 0xC0, 0xC3, 0xE0,
                        0xE2, 0xED, 0xF0, 0xF4, 0xFF, 256,  0x90, 0x8F};
  const RandomStream random{7, 0};
  for (std::uint64_t round = 0; round < 2000; ++round) {
    Ids ids;
    std::string joined;
    StreamingDecoder decoder(tokenizer);
    for (std::uint64_t i = 0; i < 12; ++i) {
      ids.push_back(alphabet[random.below(round * 12 + i, alphabet.size())]);
      const std::string part = decoder.push(ids.back());
      REQUIRE_NOTHROW(require_utf8(part, "part"));
      joined += part;
    }
    joined += decoder.finish();
    REQUIRE(joined == tokenizer.decode(ids));
  }
}
