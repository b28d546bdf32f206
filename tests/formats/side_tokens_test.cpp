#include "support/test.h"
#include "tokenizers/text_encoder.h"

namespace side_tokens_test {
using nlohmann::json;

// Written with transformers: see tools/parity/make_side_tokens.py.
json recorded() {
  std::ifstream file(HEADLIGHT_SOURCE_DIR "/tests/formats/side_tokens.json");
  REQUIRE(file.is_open());
  return json::parse(file);
}

std::string merges_txt(const json& merges) {
  std::string text = "#version: 0.2\n";
  for (const json& merge : merges) {
    text += merge.is_string() ? merge.get<std::string>()
                              : merge[0].get<std::string>() + " " + merge[1].get<std::string>();
    text += "\n";
  }
  return text;
}

void write_case(const json& one, json root, const TemporaryFolder& folder) {
  for (const auto& [place, value] : one["change"].items()) {
    root[json::json_pointer(place)] = value;
  }
  if (one["apart"].get<bool>()) {
    folder.write("vocab.json", root["model"]["vocab"].dump());
    folder.write("merges.txt", merges_txt(root["model"]["merges"]));
  } else {
    folder.write("tokenizer.json", root.dump());
  }
  for (const auto& [name, content] : one["files"].items()) {
    folder.write(name, content.dump());
  }
}

void check_ids(const Tokenizer& tokenizer, const json& one) {
  for (const json& text : one["texts"]) {
    INFO(text["text"]);
    CHECK(TextEncoder(tokenizer, true).encode(text["text"].get<std::string>()) ==
          text["ids"].get<Ids>());
  }
  CHECK(tokenizer.encode_prompt("The end") == one["prompt"].get<Ids>());
}

// Returns the message for a byte-level tokenizer.json beside a tokenizer_config.json.
std::string refusal(const json& config) {
  const TemporaryFolder folder;
  folder.write("tokenizer.json", recorded()["bases"]["bytes"].dump());
  folder.write("tokenizer_config.json", config.dump());
  try {
    load_tokenizer(folder.path());
    return "";
  } catch (const Error& error) {
    return std::string(error.what()).substr(folder.path().string().size());
  }
}

TEST_CASE("tokens and settings beside tokenizer.json count as in AutoTokenizer") {
  const json file = recorded();
  REQUIRE(file["cases"].size() == 42);
  for (const json& one : file["cases"]) {
    const TemporaryFolder folder;
    write_case(one, file["bases"][one["base"].get<std::string>()], folder);
    INFO(one["name"]);
    const auto tokenizer = load_tokenizer(folder.path());
    check_ids(*tokenizer, one);
    save_tokenizer(folder.path() / "again", *tokenizer);
    INFO("written and read again");
    check_ids(*load_tokenizer(folder.path() / "again"), one);
  }
}

TEST_CASE("tokens beside tokenizer.json that cannot be read are refused by name") {
  CHECK(refusal({{"extra_special_tokens", 7}}) ==
        ": extra_special_tokens: expected a list or an object, got number");
  CHECK(refusal({{"extra_special_tokens", {7}}}) ==
        ": extra_special_tokens: expected the name of a token, or an object with its content, got "
        "number");
  CHECK(refusal({{"added_tokens_decoder", {{"x", {{"content", "<x>"}}}}}}) ==
        ": added_tokens_decoder: expected tokens by id, got \"x\"");
  CHECK(refusal({{"added_tokens_decoder", {{"300", {{"content", "<x>"}, {"lstrip", 1}}}}}}) ==
        ": added_tokens_decoder.lstrip: expected true or false, got \"1\"");
  CHECK(refusal({{"added_tokens_decoder", {{"99999999", {{"content", "<x>"}}}}}}) ==
        ": added_tokens_decoder: expected ids from 0 to 16777215, got \"99999999\"");
  CHECK(refusal({{"bos_token", {{"lstrip", true}}}}) ==
        ": tokenizer_config.json: bos_token: key \"content\" is missing");
  const TemporaryFolder folder;
  folder.write("tokenizer.json", recorded()["bases"]["bytes"].dump());
  folder.write("tokenizer_config.json", "{");
  CHECK_THROWS_WITH(load_tokenizer(folder.path()),
                    contains_text("tokenizer_config.json: invalid JSON at byte 1"));
  CHECK(refusal({{"bos_token", nullptr}, {"extra_special_tokens", nullptr}}).empty());
}
}  // namespace side_tokens_test
