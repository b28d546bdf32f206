#include "support/test.h"

namespace outputs_test {
// Files that commands may replace, and warnings about text that they cannot read.

struct Given {
  Given() {
    fs::create_directory(model);
    const CharTokenizer tokenizer = build_char_tokenizer("abcdefgh ");
    write_model_files(model, *lively_model(tokenizer.vocab_size(), 32), tokenizer);
  }

  TemporaryFolder folder;
  std::string model = folder.at("model");
  std::string text = folder.write("text.txt", "abc defgh abc abc defgh");
};

TEST_CASE("a file of another kind is not overwritten", "[cli]") {
  const Given given;
  const std::string weights = given.model + "/model.safetensors";
  const std::string before = file_contents(weights);
  CHECK(refusal({"eval", given.model, "--data", given.text, "--logits", weights}) ==
        "error: --logits: " + weights + " exists and is not a .npz file; choose another name");
  check_refused({"tokenizer", "encode", given.model, "--file", given.text, "--out", given.text},
                {"--out", given.text, "is not a .bin file"});
  check_refused(words("patch", given.model, "--clean abc --corrupt abd --answer a --wrong b --svg",
                      given.model + "/config.json"),
                {"--svg", "config.json", "is not a .svg file"});
  CHECK(file_contents(weights) == before);
  CHECK(file_contents(given.text) == "abc defgh abc abc defgh");
  for (int time = 0; time < 2; ++time) {
    output_of({"eval", given.model, "--data", given.text, "--logits", given.folder.at("a.npz")});
  }
}

TEST_CASE("a message counts the characters that the tokenizer lacks", "[cli]") {
  const Given given;
  const std::string text = given.folder.write("foreign.txt", "abc xyz abc");
  const ProgramResult result = run_headlight({"eval", given.model, "--data", text});
  CHECK(result.exit_code == 0);
  CHECK(result.err ==
        "warning: " + text + ": 3 of 11 tokens are characters that are not in the vocabulary\n");
  const nlohmann::json report = report_of({"eval", given.model, "--data", text});
  CHECK(report["bits_per_byte"].is_null());  // the lengths of unknown characters are lost
  CHECK(run_headlight({"eval", given.model, "--data", given.text}).err.empty());
  const std::string line = "not in the vocabulary: 2 characters\n";
  CHECK(run_headlight({"heads", given.model, "--text", "aXbYc"}).err == "warning: --text: " + line);
  CHECK(
      run_headlight({"attention", given.model, "--text", "aXbYc", "--out", given.folder.at("maps")})
          .err == "warning: text: " + line);
  CHECK(run_headlight({"generate", given.model, "--prompt", "aXbYc"})
            .err.rfind("warning: prompt: " + line, 0) == 0);
  check_refused({"attribute", given.model, "--text", "abc", "--token", "Z"},
                {"--token: the tokenizer has no token for 'Z'"});
}

TEST_CASE("a text of tokens without bytes has no bits per byte", "[cli]") {
  const Given given;
  const std::string ids = given.folder.write("ids.bin", std::string(64, '\0'));
  const nlohmann::json report =
      report_of({"eval", given.model, "--data", ids, "--token_dtype", "uint16"});
  CHECK(report["bytes"] == 0);
  CHECK(report["bits_per_byte"].is_null());
  CHECK(report["loss"].is_number());
}

TEST_CASE("info describes the loaded model and not its configuration file", "[cli]") {
  const Given given;
  const std::string config = given.model + "/config.json";
  nlohmann::json wrong = nlohmann::json::parse(file_contents(config));
  const nlohmann::json before = report_of({"info", given.model});
  wrong["tie_word_embeddings"] = !wrong["tie_word_embeddings"].get<bool>();
  given.folder.write("model/config.json", wrong.dump());
  CHECK(report_of({"info", given.model})["parameters"] == before["parameters"]);
}

TEST_CASE("info draws the architecture of a configuration and of a model", "[cli]") {
  const Given given;
  const std::string svg = given.folder.at("model.svg");
  const std::string config =
      given.folder.write("a.toml", "n_layer = 2\nn_head = 2\nn_embd = 8\nvocab_size = 20\n");
  for (const std::string& subject : {config, given.model}) {
    const std::string text = output_of({"info", subject, "--svg", svg, "--diagram"});
    CHECK(contains(text, "wrote " + svg));
    CHECK(contains(text, "h.*.attn.c_attn.weight"));
    CHECK(contains(file_contents(svg), "</svg>"));
  }
  const std::string korean = output_of({"info", config, "--diagram", "--lang", "ko"});
  CHECK(contains(korean, "토큰 임베딩"));
  const nlohmann::json report = report_of({"info", config, "--svg", svg});
  CHECK(report["files"] == nlohmann::json({svg}));
  nlohmann::json::number_integer_t sum = 0;
  for (const nlohmann::json& row : report["matrices"]) {
    sum += row["parameters"].get<long>() * row["number"].get<long>();
  }
  CHECK(sum == report["parameters"]);
  const ProgramResult refused =
      run_headlight({"info", given.model + "/model.safetensors", "--svg", svg});
  CHECK(refused.exit_code == 2);
  CHECK(contains(refused.err, "needs a configuration or model"));
}

TEST_CASE("pictures of one command are written together or not at all", "[cli]") {
  const Given given;
  const std::string svg = given.folder.write("model.svg", "old");
  const std::string png = given.folder.at("model.png");
  fs::create_directory(png);
  CHECK(run_headlight({"info", given.model, "--svg", svg, "--png", png}).exit_code == 2);
  CHECK(file_contents(svg) == "old");
}

TEST_CASE("tokenizer commands take an adapter whose base has moved", "[cli]") {
  const Given given;
  const std::string adapter = given.folder.at("adapter");
  fs::create_directory(adapter);
  given.folder.write("adapter/adapter_config.json", R"({"base_model_name_or_path": "gone"})");
  const std::vector<std::string> encode{"tokenizer", "encode", adapter, "--text", "abc"};
  const ProgramResult refused = run_headlight(encode);
  CHECK(refused.exit_code == 2);
  CHECK(contains(refused.err, "--base"));
  CHECK(output_of({"tokenizer", "encode", adapter, "--text", "abc", "--base", given.model}) ==
        output_of({"tokenizer", "encode", given.model, "--text", "abc"}));
}

TEST_CASE("the FLOPs of a huge batch are not wrapped around", "[cli]") {
  const TemporaryFolder folder;
  const std::string config =
      folder.write("a.toml",
                   "n_layer = 96\nn_head = 96\nn_embd = 12288\nblock_size = 2048\nvocab_size = "
                   "50257\nbatch_size = 8000\n");
  CHECK(contains(output_of({"info", config}), "e+19"));
}

TEST_CASE("a text ends before any of several stops", "[cli]") {
  const Given given;
  const std::string text = report_of(
      words("generate", given.model, "--prompt abc --max_new_tokens 60 --stop a --stop b"))["text"];
  CHECK(text.find_first_of("ab") == std::string::npos);
  CHECK_FALSE(output_of({"generate", given.model, "--prompt", "abc", "--max_new_tokens", "60"})
                  .substr(3)
                  .find_first_of("ab") == std::string::npos);
}

TEST_CASE("a text of one token is refused by name", "[cli]") {
  const Given given;
  const std::string one = given.folder.write("one.txt", "a");
  CHECK(refusal({"eval", given.model, "--data", one}) ==
        "error: " + one + ": expected at least two tokens in a row, got 1");
}

TEST_CASE("prune reads --finetune_data only for fine-tuning and needs --finetune_iters for it",
          "[cli]") {
  const Given given;
  const nlohmann::json report =
      report_of(words("prune", given.model, "--heads 0.0 --out", given.folder.at("pruned"),
                      "--finetune_iters 2 --finetune_data", given.text));
  CHECK(report["loss_finetuned"].is_null());
  CHECK(fs::exists(given.folder.at("pruned") + "/model.safetensors"));
}

TEST_CASE("prune marks the head that raised the loss too far and was put back", "[cli]") {
  const Given given;
  // A text by the model itself, so that removing any head raises the loss.
  const std::string own = given.folder.write(
      "own.txt",
      output_of(words("generate", given.model, "--prompt a --max_new_tokens 800 --ignore_eos")));
  const std::string printed = output_of(
      words("prune", given.model, "--until_loss 0 --data", own, "--out", given.folder.at("small")));
  const std::size_t row = printed.find(" (put back)");
  REQUIRE(row != std::string::npos);
  CHECK(printed.find(" (put back)", row + 1) == std::string::npos);
}

TEST_CASE("heads of a model with a block of one token are scored", "[cli]") {
  const Given given;
  const std::string model = given.folder.at("short");
  fs::create_directory(model);
  const CharTokenizer tokenizer = build_char_tokenizer("abcdefgh ");
  write_model_files(model, *lively_model(tokenizer.vocab_size(), 1), tokenizer);
  const nlohmann::json report = report_of({"heads", model, "--data", given.text});
  CHECK(!report["heads"].empty());
}

TEST_CASE("the documentation quotes the output of info for the toy preset", "[cli]") {
  const std::string source = HEADLIGHT_SOURCE_DIR;
  const std::string page = file_contents(source + "/docs/train.md");
  std::istringstream lines(run_headlight({"info", source + "/configs/toy.toml"}).out);
  std::size_t compared = 0;
  for (std::string line; std::getline(lines, line);) {
    // The memory of a run depends on the number of threads of the machine.
    if (line.starts_with("computed with") || line.starts_with("several processes")) {
      break;
    }
    if (!line.starts_with("training run")) {
      CAPTURE(line);
      CHECK(contains(page, line + "\n"));
      ++compared;
    }
  }
  CHECK(compared >= 12);
}
}  // namespace outputs_test
