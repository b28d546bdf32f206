#include "support/test.h"

namespace bpe_file_test {
std::string data_file(const std::string& name) {
  std::ifstream file(HEADLIGHT_SOURCE_DIR "/tests/tokenizers/data/" + name, std::ios::binary);
  REQUIRE(file.is_open());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Written by Hugging Face `tokenizers`: three special tokens, the bytes, 161 merges as pairs.
json hf_file() { return json::parse(data_file("bpe_tokenizer.json")); }

BpeTokenizer read(const json& file) {
  const auto tokenizer = parse_tokenizer_json(file.dump(), "t.json");
  return dynamic_cast<const BpeTokenizer&>(*tokenizer);
}

std::string refusal(const json& file) {
  return error_of([&] { parse_tokenizer_json(file.dump(), "t.json"); });
}

// GPT-2's two files for the same tokenizer, without the other special tokens.
struct Gpt2Files {
  json vocab;
  std::string merges = "#version: 0.2\n";
};

Gpt2Files gpt2_files() {
  const json file = hf_file();
  Gpt2Files result{.vocab = file["model"]["vocab"]};
  result.vocab.erase("<|end|>");
  result.vocab.erase("<|end|>of");
  for (auto& [token, id] : result.vocab.items()) {
    id = id > 0 ? id.get<int>() - 2 : 0;
  }
  for (const json& merge : file["model"]["merges"]) {
    result.merges += merge[0].get<std::string>() + " " + merge[1].get<std::string>() + "\n";
  }
  return result;
}

std::string refusal(const Gpt2Files& files) {
  return error_of([&] { parse_gpt2_vocabulary(files.vocab.dump(), files.merges, "dir"); });
}

TEST_CASE("ids of a tokenizer that Hugging Face trained are those of Hugging Face") {
  const BpeTokenizer tokenizer = read(hf_file());
  CHECK(tokenizer.vocab_size() == 420);
  CHECK(tokenizer.end_of_text() == 0);
  const json cases = json::parse(data_file("bpe_expected.json"));
  REQUIRE(cases.size() == 14);
  for (const json& expected : cases) {
    const auto text = expected["text"].get<std::string>();
    INFO(text);
    CHECK(tokenizer.encode(text) == expected["plain"].get<Ids>());
    CHECK(tokenizer.encode_bytes(text, {.read_special = true}) == expected["special"].get<Ids>());
    CHECK(tokenizer.decode(tokenizer.encode(text)) == text);
  }
}

TEST_CASE("a BPE file read and written again has the same content with merges as strings") {
  BpeTokenizer tokenizer = read(hf_file());
  for (const bool prepends : {false, true}) {
    tokenizer.set_prepends_begin_token(prepends);
    const std::string text = to_tokenizer_json(tokenizer);
    const json file = json::parse(text);
    json expected = hf_file();
    CHECK(file["added_tokens"] == expected["added_tokens"]);
    CHECK(file["pre_tokenizer"] == expected["pre_tokenizer"]);
    CHECK(file["decoder"]["type"] == "ByteLevel");
    CHECK(file["model"]["vocab"] == expected["model"]["vocab"]);
    CHECK(file["model"]["merges"][0] == expected["model"]["merges"][0][0].get<std::string>() + " " +
                                            expected["model"]["merges"][0][1].get<std::string>());
    const BpeTokenizer back = read(file);
    CHECK(back.prepends_begin_token() == prepends);
    CHECK(to_tokenizer_json(back) == text);
    CHECK(back.encode_prompt("They say") == tokenizer.encode_prompt("They say"));
  }
}

TEST_CASE("a BPE tokenizer without merges is written and read back") {
  json file = hf_file();
  file["model"]["merges"] = json::array();
  const BpeTokenizer tokenizer = read(file);
  CHECK(tokenizer.encode("ab") == Ids{67, 68});
  CHECK(parse_tokenizer_json(to_tokenizer_json(tokenizer), "t.json")->kind() == "bpe");
}

TEST_CASE("vocab.json with merges.txt is the same tokenizer, with or without a version line") {
  Gpt2Files files = gpt2_files();
  const std::string text = "They're sure \xEB\x82\x98\xEB\x8A\x94 <|endoftext|>\n";
  Ids expected = read(hf_file()).encode(text);
  for (std::int32_t& id : expected) {
    id -= 2;
  }
  const auto with = parse_gpt2_vocabulary(files.vocab.dump(), files.merges, "dir");
  CHECK(with->kind() == "bpe");
  CHECK(with->vocab_size() == 418);
  CHECK(with->end_of_text() == 0);
  CHECK(with->encode(text) == expected);
  files.merges = files.merges.substr(files.merges.find('\n') + 1);
  files.merges.pop_back();  // the last line break is optional, too
  CHECK(parse_gpt2_vocabulary(files.vocab.dump(), files.merges, "dir")->encode(text) == expected);
}

TEST_CASE("vocab.json may have gaps between its ids and another name for the end of text") {
  Gpt2Files files = gpt2_files();
  const std::string text = "They're sure \xEB\x82\x98\xEB\x8A\x94\n";
  const Ids expected = parse_gpt2_vocabulary(files.vocab.dump(), files.merges, "dir")->encode(text);
  files.vocab["unused"] = 420;
  const auto gaps = parse_gpt2_vocabulary(files.vocab.dump(), files.merges, "dir");
  CHECK(gaps->encode(text) == expected);
  CHECK(gaps->vocab_size() == 421);
  CHECK(gaps->decode(Ids{419}).empty());
  CHECK(gaps->end_of_text() == 0);
  files.vocab.erase("<|endoftext|>");
  files.vocab["</s>"] = 0;
  const auto named = parse_gpt2_vocabulary(files.vocab.dump(), files.merges, "dir", "</s>");
  CHECK(named->encode(text) == expected);
  CHECK(named->special_id("</s>") == 0);
  CHECK(named->end_of_text() == 0);
}

TEST_CASE("vocab.json and merges.txt that contradict each other are refused naming the file") {
  const Gpt2Files good = gpt2_files();
  REQUIRE(refusal(good) == "no error");
  Gpt2Files files = good;
  files.vocab.erase("<|endoftext|>");
  CHECK(refusal(files) == "dir: vocab.json: key \"<|endoftext|>\" is missing");
  files = good;
  files.vocab["ab"] = 65;
  CHECK(refusal(files) == "dir: vocab.json: \"ab\" and \"a\" have the same id 65");
  files = good;
  files.merges += "zz q\n";
  CHECK(refusal(files) == "dir: merges.txt: merge 161: \"zz\" is not in the vocabulary");
  files.merges = "#version: 0.2\na\n";
  CHECK(refusal(files) ==
        "dir: merges.txt: merge 0: expected two tokens with a space between, got \"a\"");
  files.merges = "a b c\n";
  CHECK(refusal(files).starts_with("dir: merges.txt: merge 0: expected two tokens"));
  files.merges = good.merges + "\n";
  CHECK(refusal(files).starts_with("dir: merges.txt: merge 161: expected two tokens"));
  files.merges = "q z\n";
  CHECK(refusal(files) == "dir: merge 0 gives 'qz', which is not a token");
  files.vocab = json::object();
  CHECK(refusal(files) == "dir: vocab.json: key \"<|endoftext|>\" is missing");
  files.vocab = json::array();
  CHECK(refusal(files) == "dir: vocab.json: expected an object, got array");
}

TEST_CASE("names that are no bytes never match, and bytes without a token are left out") {
  json file = hf_file();
  const Ids ids = read(file).encode("a cat");
  file["model"]["vocab"]["\xEB\x82\x98"] = 420;
  file["model"]["vocab"]["a b"] = 421;
  file["model"]["vocab"].erase("q");
  file["model"]["vocab"]["qqq"] = 83;
  const auto tokenizer = parse_tokenizer_json(file.dump(), "t.json");
  CHECK(tokenizer->encode("a caqt") == ids);
}

TEST_CASE("a tokenizer without special tokens is read and is an error only where one is needed") {
  json file = hf_file();
  file["added_tokens"] = json::array();
  REQUIRE(refusal(file) == "no error");
  const std::unique_ptr<Tokenizer> tokenizer = parse_tokenizer_json(file.dump(), "t.json");
  CHECK(tokenizer->stop_tokens().empty());
  CHECK_FALSE(tokenizer->end_token());
  CHECK_FALSE(tokenizer->begin_token());
  CHECK(tokenizer->decode(tokenizer->encode("a cat")) == "a cat");
  CHECK_THROWS_AS(tokenizer->end_of_text(), Error);
  CHECK_THROWS_AS(tokenizer->begin_of_text(), Error);
}

TEST_CASE("a very long token is accepted or refused with a short message") {
  json file = hf_file();
  file["model"]["vocab"][std::string(60000, 'q')] = 420;
  CHECK(read(file).token_bytes(420) == std::string(60000, 'q'));
  file["model"]["ignore_merges"] = true;
  CHECK(refusal(file).size() < 200);
  file["model"]["vocab"][std::string(1000000, 'q')] = 421;
  const std::string message = refusal(file);
  CHECK(message.starts_with("t.json: key 'qqq"));
  CHECK(message.size() < 200);
}
}  // namespace bpe_file_test
