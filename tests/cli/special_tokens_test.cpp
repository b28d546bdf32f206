#include "support/saved_model.h"
#include "support/test.h"

namespace special_tokens_test {
// `--special_tokens` and `--ids` with the real program.

const std::string kChat = "<|im_start|>hi<|im_end|>";
const std::string kChatIds = "257,104,105,258";
const std::string kWarning =
    ": names of special tokens are read as plain text: '<|im_start|>' (1), '<|im_end|>' (1); "
    "--special_tokens on reads them as tokens";

// Byte-level BPE of 256 bytes, <|endoftext|> (256), <|im_start|> (257) and <|im_end|> (258).
BpeTokenizer chat_tokenizer() {
  BpeVocabulary vocabulary;
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary.tokens.emplace_back(1, static_cast<char>(byte));
  }
  for (const char* name : {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}) {
    vocabulary.special.push_back({name, static_cast<std::int32_t>(vocabulary.tokens.size())});
    vocabulary.tokens.emplace_back();
  }
  return BpeTokenizer(std::move(vocabulary));
}

// Model with a context length of 64 tokens.
struct Given {
  // Messages of a command on stderr.
  std::vector<std::string> messages_of(const Arguments& arguments) const {
    const ProgramResult result = run_headlight(arguments);
    INFO(result.err);
    CHECK(result.exit_code == 0);
    return result.messages();
  }

  TemporaryFolder folder;
  std::string model = save_model(folder, "model", *lively_model(259, 64), chat_tokenizer());
};

// Commands that take one text and print JSON without times.
std::vector<Arguments> commands_on_one_text(const Given& given) {
  return {words("lens", given.model),
          words("attribute", given.model),
          words("ablate", given.model, "--resamples 10"),
          words("heads", given.model, "--resamples 0 --repeats 2 --repeat_length 8"),
          words("cache", given.model, "--out", given.folder.at("acts.npz")),
          words("attention", given.model, "--format npz,json --out", given.folder.at("maps"))};
}

bool has(const std::vector<std::string>& messages, const std::string& message) {
  return std::find(messages.begin(), messages.end(), message) != messages.end();
}

TEST_CASE("tokenizer encode reads names of special tokens unless they are switched off", "[cli]") {
  const Given given;
  const Arguments encode{"tokenizer", "encode", given.model, "--text", kChat};
  CHECK(output_of(encode) == "257 104 105 258\n");
  CHECK(output_of(changed(encode, {"--special_tokens", "on"})) == "257 104 105 258\n");
  const std::string plain = output_of(changed(encode, {"--special_tokens", "off"}));
  CHECK(std::count(plain.begin(), plain.end(), ' ') == 23);
}

TEST_CASE("ids and texts with special tokens are the same text for every command", "[cli]") {
  const Given given;
  for (const Arguments& command : commands_on_one_text(given)) {
    INFO(command[0]);
    const json text = report_of(changed(command, {"--text", kChat, "--special_tokens", "on"}));
    CHECK(report_of(changed(command, {"--ids", kChatIds})) == text);
    CHECK(report_of(changed(command, {"--text", kChat})) != text);
  }
  const std::string maps = given.folder.at("maps/attention.npz");
  const Arguments attention = commands_on_one_text(given).back();
  output_of(changed(attention, {"--text", kChat, "--special_tokens", "on"}));
  const std::string of_text = file_contents(maps);
  output_of(changed(attention, {"--ids", kChatIds}));
  CHECK(file_contents(maps) == of_text);
}

TEST_CASE("a prompt of special tokens is continued as its ids are", "[cli]") {
  const Given given;
  const Arguments generate{"generate", given.model, "--max_new_tokens", "8", "--temperature", "0"};
  const auto answer = [&](const Arguments& prompt) {
    const json report = report_of(changed(generate, prompt));
    return json{report["text"], report["prompt"], report["prompt_tokens"]};
  };
  const json ids = answer({"--ids", kChatIds});
  CHECK(ids[1] == kChat);
  CHECK(ids[2] == 4);
  CHECK(answer({"--prompt", kChat, "--special_tokens", "on"}) == ids);
  CHECK(answer({"--prompt", kChat})[2] == 24);
}

TEST_CASE("a text that spells out special tokens gets one warning that names the option", "[cli]") {
  const Given given;
  const std::string file = given.folder.write("chat.txt", kChat + "\n");
  const std::string lines = given.folder.write("chat.jsonl", json{{"text", kChat}}.dump() + "\n");
  for (const Arguments& command : commands_on_one_text(given)) {
    INFO(command[0]);
    const std::string where = command[0] == "attention" ? "text" : "--text";
    const std::string warning = "warning: " + where + kWarning;
    CHECK(has(given.messages_of(changed(command, {"--text", kChat})), warning));
    CHECK_FALSE(has(
        given.messages_of(changed(command, {"--text", kChat, "--special_tokens", "on"})), warning));
  }
  CHECK(has(given.messages_of({"generate", given.model, "--prompt", kChat}),
            "warning: prompt" + kWarning));
  for (const std::string& data : {file, lines}) {
    const Arguments eval{"eval", given.model, "--data", data};
    CHECK(given.messages_of(eval) == std::vector<std::string>{"warning: " + data + kWarning});
    CHECK(given.messages_of(changed(eval, {"--special_tokens", "on"})).empty());
  }
  CHECK(report_of({"eval", given.model, "--data", file, "--special_tokens", "on"})["tokens"] == 4);
}

TEST_CASE("pairs of texts and changes from texts read special tokens, too", "[cli]") {
  const Given given;
  const Arguments patch =
      words("patch", given.model,
            "--clean <|im_start|>a --corrupt <|im_end|>a --answer <|im_end|> --wrong <|im_start|>");
  const json report = report_of(changed(patch, {"--special_tokens", "on"}));
  CHECK(report["answer"]["ids"] == json{258});
  CHECK(report["wrong"]["ids"] == json{257});
  const std::string pairs = given.folder.write(
      "pairs.jsonl",
      R"({"clean": "<|im_start|>ab", "corrupt": "<|im_start|>cd", "answer": "a", "wrong": "b"})");
  CHECK(has(
      given.messages_of({"patch", given.model, "--pairs", pairs}),
      "warning: " + pairs +
          ": names of special tokens are read as plain text: '<|im_start|>' (2); --special_tokens "
          "on reads them as tokens"));
  CHECK(has(given.messages_of({"lens", given.model, "--text", "ab", "--intervene",
                               "freeze z.0 from \"" + kChat + "\""}),
            "warning: --intervene" + kWarning));
}

TEST_CASE("training reads special tokens on demand", "[cli]") {
  const Given given;
  std::string text;
  for (int i = 0; i < 30; ++i) {
    text += kChat + "\n";
  }
  const std::string file = given.folder.write("chats.txt", text);
  const auto trained = [&](const std::string& run, const std::string& special) {
    return log_of(words("train --data", file, "--tokenizer", given.model,
                        "--n_layer 1 --n_head 2 --n_embd 8 --block_size 16 --batch_size 2 "
                        "--max_iters 2 --threads 1 --eval_iters 1 --out_dir",
                        given.folder.at(run), "--special_tokens", special));
  };
  const std::string warning =
      file +
      ": names of special tokens are read as plain text: '<|im_start|>' (30), '<|im_end|>' (30); "
      "--special_tokens on reads them as tokens";
  CHECK(contains(trained("off", "off"), warning));
  CHECK_FALSE(contains(trained("on", "on"), "names of special tokens"));
  CHECK(contains(file_contents(given.folder.at("on") + "/config.toml"), "special_tokens = \"on\""));
}

TEST_CASE("a tokenizer with more tokens than the model has rows opens", "[cli]") {
  const Given given;
  given.folder.write("model/tokenizer_config.json", R"({"extra_special_tokens": ["<x>"]})");
  const Arguments generate =
      words("generate", given.model, "--max_new_tokens 2 --special_tokens on --prompt");
  check_parts(log_of(changed(generate, {"hi"})),
              {"the tokenizer has 260 tokens, the model rows for 259: texts with tokens from id "
               "259 on are refused"});
  check_parts(refusal(changed(generate, {"hi <x>"})),
              {"prompt: expected token ids from 0 to 258, for which the model has rows, got 259"});
  for (const std::string command : {"lens", "attribute"}) {
    refusal(words(command, given.model, "--text 'hi <x>' --special_tokens on"));
  }
}
}  // namespace special_tokens_test
