#include "support/test.h"

// Returns the Error that `work` throws.
template <class Work>
Error caught(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  }
  return Error("nothing was thrown");
}

class OwnError : public Error {
 public:
  using Error::Error;
};

TEST_CASE("text from outside cannot send control sequences to a terminal") {
  CHECK(escaped("a\x1b[2J\x7f") == "a\\x1b[2J\\x7f");
  CHECK(escaped("\xC2\x9B"
                "31m") == "\\xc2\\x9b31m");  // C1: begins a sequence
  CHECK(escaped("\x9B"
                "31m") == "\\x9b31m");  // the same in Latin-1
  CHECK(escaped("\xE2\x80\xAE"
                "txt") == "\\xe2\\x80\\xaetxt");        // right-to-left override
  CHECK(escaped("\xE2\x81\xA6") == "\\xe2\\x81\\xa6");  // isolate
  CHECK(escaped("\xE2\x80\xA8") == "\\xe2\\x80\\xa8");  // line separator
  const std::string plain = "한글 é \xF0\x9F\x99\x82 \xC2\xA0";
  CHECK(escaped(plain) == plain);
}

TEST_CASE("every control character of C1 and every change of direction is escaped") {
  std::u32string marks = U"\u061C\u200E\u200F\u2028\u2029\u202A\u202B\u202C\u202D\u202E";
  marks += U"\u2066\u2067\u2068\u2069";
  for (char32_t c = 0x80; c <= 0x9F; ++c) {
    marks += c;
  }
  for (const char32_t c : marks) {
    std::string text;
    append_utf8(c, text);
    const std::string shown = escaped(text);
    CAPTURE(shown);
    CHECK(shown.size() == 4 * text.size());  // \xNN for each byte
    CHECK(shown.starts_with("\\x"));
    CHECK(escaped(shown) == shown);
  }
  const std::string neighbours = "\u00a0 \u2027 \u202f \u2065 \u206a 👩\u200d💻";
  CHECK(escaped(neighbours) == neighbours);
}

TEST_CASE("messages have the numbers that streams write") {
  for (const double number :
       {0.0, -0.0, 1.0, 0.1, 1.0 / 3, 123456.0, 1234567.0, 1e-5, 1e15, 1e300, -2.5e-7,
        std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
    std::ostringstream expected;
    expected << number << " " << static_cast<float>(number);
    CHECK(concat_text(number, " ", static_cast<float>(number)) == expected.str());
  }
  CHECK(concat_text(std::numeric_limits<Index>::min(), ' ', 18446744073709551615U, ' ', true,
                    false) == "-9223372036854775808 18446744073709551615 10");
}

TEST_CASE("messages are made of text, shapes and types of elements") {
  const std::string text = "b";
  CHECK(concat_text("a", text, std::string_view("c"), 'd', static_cast<const char*>("e")) ==
        "abcde");
  CHECK(concat_text(Shape{4, 8}, Shape{}, DType::bfloat16) == "[4, 8][]bfloat16");
  std::ostringstream streamed;
  streamed << Shape{4, 8} << DType::int32;
  CHECK(streamed.str() == "[4, 8]int32");
}

TEST_CASE("an error holds the value that it is about") {
  CHECK_NOTHROW(require_value(true, "top_k", "expected more"));
  const Error error = caught([] { require_value(false, "top_k", "expected ", 3, ", got ", 2); });
  CHECK(error.about() == "top_k");
  CHECK(!error.has_location());
  CHECK(std::string(error.what()) == "top_k: expected 3, got 2");
  CHECK(caught([] { fail_value("stop", "expected a text"); }).about() == "stop");
  CHECK(caught([] { fail("top_k: expected 3"); }).about().empty());
}

TEST_CASE("an error names each of its places once from the outermost to the innermost") {
  CHECK(in_place("file: ", [] { return 3; }) == 3);
  const Error error = caught([] {
    in_place("model: ", [] {
      in_place("config.json: ", [] { fail_value("n_embd", "expected 1 to 9, got 0"); });
    });
  });
  CHECK(error.about() == "n_embd");
  CHECK(error.has_location());
  CHECK(std::string(error.what()) == "model: config.json: n_embd: expected 1 to 9, got 0");
  const Error unnamed = caught([] { in_place("", [] { fail_value("seed", "expected 1"); }); });
  CHECK(unnamed.has_location());
  CHECK(std::string(unnamed.what()) == "seed: expected 1");
}

TEST_CASE("adding a place to an error keeps its type and escapes control characters") {
  try {
    in_place("a\nb: ", [] { throw OwnError("broken"); });
    FAIL("nothing was thrown");
  } catch (const OwnError& error) {
    CHECK(std::string(error.what()) == "a\\x0ab: broken");
  }
  const Error error = caught([] { in_place(std::string(5000, 'p'), [] { fail("broken"); }); });
  CHECK(std::string(error.what()).size() < 1100);
  CHECK(std::string(error.what()).ends_with("broken"));
}
