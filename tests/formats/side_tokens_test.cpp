#include "support/rows.h"
#include "support/test.h"
#include "tokenizers/text_encoder.h"

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
  const TemporaryFolder folder;
  folder.write("tokenizer.json", recorded()["bases"]["bytes"].dump());
  check_rows("formats/tokenizer_settings.txt", [&](const Row& row) {
    folder.write("tokenizer_config.json", row.given);
    return error_behind(folder.path().string(), [&] { load_tokenizer(folder.path()); });
  });
}
