#include "support/bytes/pickle_writer.h"
#include "support/test.h"

namespace nanogpt_vocabulary_test {
// Files written by Python 3.11 like nanoGPT's prepare.py; see the README beside them.
const fs::path kFixtures = HEADLIGHT_SOURCE_DIR "/tests/datasets/nanogpt";

// Characters in the order of their ids; the first is character 0.
const std::string kCharacters =
    std::string(1, '\0') + "\n !,GHadelnorw\u00df\u00fc\ub098\ud558" + "\U0001F600";

std::string refusal(const std::string& bytes) {
  return error_of([&] { parse_nanogpt_vocabulary(bytes, "meta.pkl"); });
}

// {"vocab_size": 2, "itos": {0: "a", 1: "b"}, "stoi": {"a": 0, "b": 1}}, in operations.
const std::string kBegin = "\x80\x02}(";
const std::string kSize = std::string("X\x0a\0\0\0vocab_sizeK\x02", 17);
const std::string kItos = std::string("X\x04\0\0\0itos}(K\0X\x01\0\0\0aK\x01X\x01\0\0\0bu", 28);
const std::string kStoi = std::string("X\x04\0\0\0stoi}(X\x01\0\0\0aK\0X\x01\0\0\0bK\x01u", 28);

std::string replaced(std::string text, const std::string& old, const std::string& with) {
  REQUIRE(contains(text, old));
  return text.replace(text.find(old), old.size(), with);
}

TEST_CASE("meta.pkl of every protocol gives its characters their ids") {
  for (const char* name : {"meta_protocol2.pkl", "meta_protocol3.pkl", "meta_protocol4.pkl",
                           "meta_protocol5.pkl", "meta_plain_python.pkl"}) {
    CAPTURE(name);
    const CharTokenizer tokenizer = read_nanogpt_vocabulary(kFixtures / name);
    CHECK(tokenizer.vocab_size() == 22);
    const auto expected = counted<std::int32_t>(20, [&](std::int32_t id) { return id; });
    CHECK(tokenizer.encode(kCharacters) == expected);
    CHECK(tokenizer.decode(expected) == kCharacters);
    CHECK(tokenizer.end_of_text() == 20);
    CHECK(tokenizer.unknown() == 21);
  }
}

TEST_CASE("meta.pkl of a single character and of more than a batch of them are read") {
  CHECK(read_nanogpt_vocabulary(kFixtures / "meta_one.pkl").encode("a") == Ids{0});
  for (const char* name : {"meta_1001.pkl", "meta_1001_protocol2.pkl"}) {
    const CharTokenizer tokenizer = read_nanogpt_vocabulary(kFixtures / name);
    CHECK(tokenizer.vocab_size() == 1003);
    CHECK(tokenizer.encode("\u4e00\u51e8") == Ids{0, 1000});
  }
}

TEST_CASE("a vocabulary written for nanoGPT is read back as the same tokenizer") {
  const TemporaryFolder folder;
  for (const SpecialTokens place : {SpecialTokens::first, SpecialTokens::last}) {
    const CharTokenizer tokenizer({U'b', U'\uFFFD', U'a'}, place);
    write_nanogpt_vocabulary(folder / "meta.pkl", tokenizer);
    const auto read = vocabulary_beside(folder / "train.bin");
    REQUIRE(read != nullptr);
    CHECK(read->encode("ab\uFFFDx") == tokenizer.encode("ab\uFFFDx"));
    CHECK(read->end_of_text() == tokenizer.end_of_text());
    CHECK(read->vocab_size() == 5);
    CHECK(open_tokenizer(folder / "meta.pkl")->encode("ab") == tokenizer.encode("ab"));
    CHECK(open_tokenizer(folder.path())->encode("ab") == tokenizer.encode("ab"));
  }
  CHECK(vocabulary_beside(folder.path() / "elsewhere" / "train.bin") == nullptr);
}

TEST_CASE("a pickle that is not nanoGPT's vocabulary is refused in one line") {
  const std::string good = kBegin + kSize + kItos + kStoi + "u.";
  CHECK(refusal(good) == "no error");
  CHECK(refusal("") ==
        "meta.pkl: not a Python pickle of protocol 2 to 5, expected nanoGPT's "
        "meta.pkl");
  CHECK(contains(refusal("(dp0\nS'itos'"), "not a Python pickle"));
  CHECK(contains(refusal("\x80\x06}."), "not a Python pickle"));
  CHECK(contains(refusal(std::string("\x80\x02"
                                     "cos\nsystem\n(X\x02\0\0\0lstR.",
                                     24)),
                 "meta.pkl uses os.system: not nanoGPT's meta.pkl"));
  CHECK(contains(refusal(kBegin + kSize + kItos + "u."), "expected vocab_size, itos and stoi"));
  CHECK(contains(refusal(kBegin + kSize + kItos + kItos + "u."), "expected stoi, a dictionary"));
  CHECK(contains(refusal(good + "x"), "1 unexpected bytes after the end of the data"));
  CHECK(contains(refusal(replaced(good, "K\x02X", "K\x03X")), "vocab_size is 3, but itos has 2"));
  CHECK(contains(refusal(replaced(good, std::string("K\x01X", 3), std::string("K\0X", 3))),
                 "itos: id 0 appears twice"));
  CHECK(contains(refusal(replaced(good, std::string("K\x01X", 3), std::string("K\x07X", 3))),
                 "itos: expected a character for each of the ids 0 to 1"));
  CHECK(contains(refusal(replaced(good, std::string("bK\x01", 3), std::string("bK\0", 3))),
                 "stoi and itos give different ids"));
  CHECK(contains(
      refusal(replaced(good, std::string("\x01\0\0\0a", 5), std::string("\x02\0\0\0ac", 6))),
      "itos: 'ac' is not a single character"));
  for (std::size_t length = 0; length < good.size(); ++length) {
    CHECK(refusal(good.substr(0, length)) != "no error");
  }
}

TEST_CASE("a vocabulary whose stoi lacks characters is refused") {
  const std::string one = std::string("X\x04\0\0\0stoi}X\x01\0\0\0aK\0s", 19);
  CHECK(contains(refusal(kBegin + kSize + kItos + one + "u."),
                 "1 of its 2 characters are missing in stoi"));
}
}  // namespace nanogpt_vocabulary_test
