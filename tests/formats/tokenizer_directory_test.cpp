#include "formats/token_settings.h"
#include "headlight/formats/gguf/gguf.h"
#include "headlight/formats/gguf/gguf_model.h"
#include "support/models/byte_vocabulary.h"
#include "support/test.h"
#include "tokenizers/byte_characters.h"

namespace tokenizer_directory_test {
// Ids 0 ... 255 are the bytes, then <|endoftext|> and "ab".
std::string vocab_json() {
  json vocab;
  for (int byte = 0; byte < 256; ++byte) {
    vocab[byte_name(std::string(1, static_cast<char>(byte)))] = byte;
  }
  vocab["<|endoftext|>"] = 256;
  vocab["ab"] = 257;
  return vocab.dump();
}

constexpr std::int32_t kEndOfText = 256;
constexpr std::int32_t kTurnBegin = 257;
constexpr std::int32_t kTurnEnd = 258;
constexpr std::int32_t kPad = 259;

// A byte-level tokenizer with the special tokens of chats.
BpeTokenizer chat_tokenizer() {
  return BpeTokenizer(
      byte_vocabulary({"<|endoftext|>", "<|im_start|>", "<|im_end|>", "<pad>"}, {{"a", "b"}}));
}

Gpt small_model() {
  return Gpt({.vocab_size = 261, .block_size = 8, .n_layer = 1, .n_head = 1, .n_embd = 32});
}

// A folder as transformers writes it, with GPT-2's or SmolLM's pieces.
class ChatFolder {
 public:
  explicit ChatFolder(bool digits) {
    fs::create_directories(path());
    write_model_files(path(), small_model(), chat_tokenizer());
    if (digits) {
      json file = json_in("tokenizer.json");
      const json bytes = file["pre_tokenizer"];
      file["pre_tokenizer"] = {
          {"type", "Sequence"},
          {"pretokenizers",
           json::array({{{"type", "Digits"}, {"individual_digits", true}}, bytes})}};
      write("tokenizer.json", file);
    }
    write("tokenizer_config.json", {{"bos_token", "<|im_start|>"},
                                    {"eos_token", {{"content", "<|im_end|>"}}},
                                    {"pad_token", "<pad>"},
                                    {"chat_template", "{{ messages }}"}});
    write("generation_config.json",
          {{"bos_token_id", kTurnBegin}, {"eos_token_id", {kEndOfText, kTurnEnd}}});
  }

  fs::path path() const { return folder_.path() / "chat"; }
  fs::path at(const std::string& name) const { return folder_.path() / name; }
  json json_in(const std::string& file) const { return json::parse(file_contents(path() / file)); }
  void write(const std::string& file, const json& contents) const {
    folder_.write("chat/" + file, contents.dump());
  }
  void remove(const std::string& file) const { fs::remove(path() / file); }

 private:
  TemporaryFolder folder_;
};

void check_chat_tokenizer(const Tokenizer& tokenizer) {
  CHECK(tokenizer.begin_of_text() == kTurnBegin);
  CHECK(tokenizer.stop_tokens() == Ids{kTurnEnd, kEndOfText});
  CHECK(tokenizer.padding() == kPad);
  CHECK(tokenizer.chat_template() == "{{ messages }}");
  CHECK_FALSE(tokenizer.prepends_begin_token());
  CHECK(tokenizer.special_name(kTurnBegin) == "<|im_start|>");
  CHECK(tokenizer.special_name(kPad) == "<pad>");
  CHECK(tokenizer.encode("abc1") == Ids{260, 'c', '1'});
}

fs::path write_folder(const fs::path& folder, const Tokenizer& tokenizer) {
  fs::create_directories(folder);
  write_model_files(folder, small_model(), tokenizer);
  return folder;
}

TEST_CASE("a folder without tokenizer.json is read from vocab.json and merges.txt") {
  const TemporaryFolder directory;
  directory.write("vocab.json", vocab_json());
  CHECK_THROWS_WITH(load_tokenizer(directory.path()), contains_text("merges.txt"));
  directory.write("merges.txt", "#version: 0.2\na b\n");
  const auto tokenizer = load_tokenizer(directory.path());
  CHECK(tokenizer->kind() == "bpe");
  CHECK(tokenizer->encode("abc") == std::vector<std::int32_t>{257, 'c'});
  directory.write("tokenizer.json", "{}");
  CHECK_THROWS_WITH(load_tokenizer(directory.path()),
                    contains_text("tokenizer.json: key \"model\" is missing"));
}

TEST_CASE("a folder without a tokenizer is refused for lack of tokenizer.json") {
  const TemporaryFolder directory;
  CHECK_THROWS_WITH(load_tokenizer(directory.path()), contains_text("tokenizer.json"));
}

TEST_CASE("chat templates with names stay with the tokenizer, from a list, files and GGUF") {
  ChatTemplates expected("D");
  expected.set("tool_use", "T");
  expected.set("rag", "R");
  const ChatFolder list(false);
  list.write("tokenizer_config.json", {{"chat_template",
                                        {{{"name", "default"}, {"template", "D"}},
                                         {{"name", "tool_use"}, {"template", "T"}},
                                         {{"name", "rag"}, {"template", "R"}}}}});
  CHECK(load_tokenizer(list.path())->chat_template() == expected);
  // As in transformers, files of their own count, not the list.
  const TemporaryFolder files;
  save_tokenizer(files.path() / "t", ByteTokenizer());
  files.write("t/tokenizer_config.json", R"({"chat_template": "other"})");
  files.write("t/chat_template.jinja", "D");
  fs::create_directories(files.path() / "t/additional_chat_templates");
  files.write("t/additional_chat_templates/tool_use.jinja", "T");
  files.write("t/additional_chat_templates/rag.jinja", "R");
  files.write("t/additional_chat_templates/notes.txt", "N");
  const auto tokenizer = load_tokenizer(files.path() / "t");
  CHECK(tokenizer->chat_template() == expected);
  CHECK(TokenSettings(files.path() / "t").dropped(*tokenizer).empty());
  const fs::path again = write_folder(files.path() / "again", *tokenizer);
  CHECK(load_tokenizer(again)->chat_template() == expected);
  write_gguf_model(files.path() / "m.gguf", small_model(), *tokenizer);
  CHECK(load_tokenizer(files.path() / "m.gguf")->chat_template() == expected);
  CHECK(dropped_settings(files.path() / "m.gguf", *tokenizer).empty());
}

// Writes and reads a tokenizer in some forms in turn: in the folder of a model, alone, as GGUF.
std::unique_ptr<Tokenizer> through(const fs::path& place, const std::string& forms,
                                   std::unique_ptr<Tokenizer> tokenizer) {
  int number = 0;
  for (const std::string& form : split_words(forms)) {
    fs::path path = place;
    path += std::to_string(number++) + (form == "gguf" ? ".gguf" : "");
    if (form == "gguf") {
      write_gguf_model(path, small_model(), *tokenizer);
    } else if (form == "alone") {
      save_tokenizer(path, *tokenizer);
    } else {
      write_folder(path, *tokenizer);
    }
    tokenizer = load_tokenizer(path);
  }
  return tokenizer;
}

TEST_CASE("tokens that begin, end and pad texts and chat templates stay with a tokenizer") {
  for (const char* forms : {"folder", "alone", "gguf folder", "folder gguf alone folder"}) {
    INFO(forms);
    for (const bool digits : {false, true}) {
      const ChatFolder chat(digits);
      check_chat_tokenizer(*load_tokenizer(chat.path()));
      check_chat_tokenizer(*open_tokenizer(chat.path() / "tokenizer.json"));
      check_chat_tokenizer(*through(chat.at("again"), forms, load_tokenizer(chat.path())));
    }
    const TemporaryFolder folder;
    auto bytes = std::make_unique<ByteTokenizer>();
    bytes->set_chat_template("{% for m in messages %}<|{{ m['role'] }}|>\n{% endfor %}");
    const ChatTemplates expected = bytes->chat_template();
    CHECK(through(folder / "again", forms, std::move(bytes))->chat_template() == expected);
  }
}

TEST_CASE("the files of a folder have the ids and names of special tokens") {
  const ChatFolder chat(false);
  const fs::path again = write_folder(chat.at("again"), *load_tokenizer(chat.path()));
  for (const char* file : {"config.json", "generation_config.json"}) {
    const auto keys = json::parse(file_contents(again / file));
    CHECK(keys["eos_token_id"] == json{kTurnEnd, kEndOfText});
    CHECK(keys["bos_token_id"] == kTurnBegin);
    CHECK(keys["pad_token_id"] == kPad);
  }
  const auto names = json::parse(file_contents(again / "tokenizer_config.json"));
  CHECK(names["bos_token"] == "<|im_start|>");
  CHECK(names["eos_token"] == "<|im_end|>");
  CHECK(names["pad_token"] == "<pad>");
}

TEST_CASE("a GGUF file of another program that passes through a folder keeps its special tokens") {
  const ChatFolder chat(true);
  const fs::path ours = chat.at("ours.gguf");
  write_gguf_model(ours, small_model(), *load_tokenizer(chat.path()));
  GgufMetadata keys = GgufFile(ours).metadata();
  std::erase_if(keys, [](const auto& entry) {
    return !entry.first.starts_with("tokenizer.") || entry.first == "tokenizer.huggingface.json";
  });
  const fs::path other = chat.at("other.gguf");
  write_gguf_model(other, small_model(), *load_tokenizer(ours), {.tokenizer = keys});
  const fs::path folder = write_folder(chat.at("again"), *load_tokenizer(other));
  const fs::path again = chat.at("again.gguf");
  write_gguf_model(again, small_model(), *load_tokenizer(folder));
  check_chat_tokenizer(*load_tokenizer(again));
  const GgufFile file(again);
  for (const auto& [key, value] : keys) {
    INFO(key);
    REQUIRE(file.find_value(key) != nullptr);
    CHECK(*file.find_value(key) == value);
  }
  CHECK(std::get<std::uint32_t>(*file.find_value("tokenizer.ggml.eot_token_id")) == 256);
}

TEST_CASE("names of special tokens override ids and generation_config.json overrides config.json") {
  const ChatFolder chat(false);
  chat.write("tokenizer_config.json", json::object());
  CHECK(load_tokenizer(chat.path())->stop_tokens() == Ids{kEndOfText, kTurnEnd});
  chat.write("special_tokens_map.json", {{"eos_token", "<|im_end|>"}});
  CHECK(load_tokenizer(chat.path())->stop_tokens() == Ids{kTurnEnd, kEndOfText});
  chat.remove("special_tokens_map.json");
  json config = chat.json_in("config.json");
  config["eos_token_id"] = kTurnEnd;
  chat.write("config.json", config);
  chat.write("generation_config.json", {{"eos_token_id", nullptr}});
  const auto tokenizer = load_tokenizer(chat.path());
  CHECK(tokenizer->stop_tokens() == Ids{kTurnEnd});
  CHECK(tokenizer->end_of_text() == kTurnEnd);
  const fs::path again = write_folder(chat.at("again"), *tokenizer);
  CHECK(json::parse(file_contents(again / "config.json"))["eos_token_id"] == kTurnEnd);
}

TEST_CASE("invalid end-of-text ids are ignored and plain tokens come after special ones") {
  const ChatFolder chat(false);
  chat.write("tokenizer_config.json", json::object());
  chat.write("generation_config.json",
             {{"bos_token_id", 'x'}, {"eos_token_id", {50256, -1, 'a', "b", kTurnEnd}}});
  const auto tokenizer = load_tokenizer(chat.path());
  CHECK(tokenizer->stop_tokens() == Ids{kTurnEnd, 'a'});
  CHECK(tokenizer->begin_of_text() == kTurnEnd);
}

TEST_CASE("plain tokens end texts where a tokenizer has no special tokens") {
  const ChatFolder chat(false);
  json file = chat.json_in("tokenizer.json");
  for (const auto& token : file["added_tokens"]) {
    file["model"]["vocab"][token["content"]] = token["id"];
  }
  file["added_tokens"] = json::array();
  chat.write("tokenizer.json", file);
  chat.write("tokenizer_config.json", {{"tokenizer_class", "PreTrainedTokenizerFast"}});
  chat.write("generation_config.json", {{"eos_token_id", {'a', kTurnEnd}}});
  fs::path folder = chat.path();
  for (const char* next : {"again", "third"}) {
    const auto tokenizer = load_tokenizer(folder);
    INFO(folder);
    CHECK(tokenizer->stop_tokens() == Ids{'a', kTurnEnd});
    CHECK_FALSE(tokenizer->end_token().has_value());
    folder = write_folder(chat.at(next), *tokenizer);
  }
  chat.write("generation_config.json", {{"eos_token_id", 'a'}});
  save_tokenizer(chat.at("alone"), *load_tokenizer(chat.path()));
  CHECK(load_tokenizer(chat.at("alone"))->stop_tokens() == Ids{'a'});
}

TEST_CASE("generation settings that Headlight does not keep are named") {
  const ChatFolder chat(false);
  chat.write("generation_config.json",
             {{"eos_token_id", kTurnEnd}, {"temperature", 1}, {"top_p", 0.9}, {"top_k", nullptr}});
  chat.write("special_tokens_map.json", {{"unk_token", "<|endoftext|>"}, {"pad_token", "<pad>"}});
  const auto tokenizer = load_tokenizer(chat.path());
  CHECK(TokenSettings(chat.path()).dropped(*tokenizer) ==
        std::vector<std::string>{"generation_config.json: temperature, top_p",
                                 "special_tokens_map.json: unk_token"});
  const fs::path again = write_folder(chat.at("again"), *tokenizer);
  CHECK(TokenSettings(again).dropped(*tokenizer).empty());
}
}  // namespace tokenizer_directory_test
