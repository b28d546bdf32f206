#include "support/saved_model.h"
#include "support/test.h"

// Files that commands may replace, and warnings about text that they cannot read.

struct Given {
  CharTokenizer tokenizer = build_char_tokenizer("abcdefgh ");
  TemporaryFolder folder;
  std::string model =
      save_model(folder, "model", *lively_model(tokenizer.vocab_size(), 32), tokenizer);
  std::string text = folder.write("text.txt", "abc defgh abc abc defgh");
};

TEST_CASE("a command replaces its own kind of file", "[cli]") {
  const Given given;
  for (int time = 0; time < 2; ++time) {
    output_of({"eval", given.model, "--data", given.text, "--logits", given.folder.at("a.npz")});
  }
}

TEST_CASE("a message counts the characters that the tokenizer lacks", "[cli]") {
  const Given given;
  const std::string text = given.folder.write("foreign.txt", "abc xyz abc");
  CHECK(log_of({"eval", given.model, "--data", text}) ==
        "warning: " + text + ": 3 of 11 tokens are characters that are not in the vocabulary\n");
  // The lengths of unknown characters are lost.
  CHECK(report_of({"eval", given.model, "--data", text})["bits_per_byte"].is_null());
  CHECK(log_of({"eval", given.model, "--data", given.text}).empty());
  const std::string line = ": not in the vocabulary: 2 characters\n";
  const std::string maps = given.folder.at("maps");
  CHECK(log_of(words("heads", given.model, "--text aXbYc")) == "warning: --text" + line);
  CHECK(log_of(words("attention", given.model, "--text aXbYc --out", maps)) ==
        "warning: text" + line);
  CHECK(log_of(words("generate", given.model, "--prompt aXbYc"))
            .starts_with("warning: prompt" + line));
  check_refused(words("attribute", given.model, "--text abc --answer Z"),
                {"--answer: the tokenizer has no token for 'Z'"});
}

TEST_CASE("a text of tokens without bytes has no bits per byte", "[cli]") {
  const Given given;
  const std::string ids = given.folder.write("ids.bin", std::string(64, '\0'));
  const json report = report_of(words("eval", given.model, "--data", ids, "--token_dtype uint16"));
  check_json(report, R"({"bytes": 0, "bits_per_byte": null})");
  CHECK(report["loss"].is_number());
}

TEST_CASE("info describes the loaded model and not its configuration file", "[cli]") {
  const Given given;
  const std::string config = given.model + "/config.json";
  json wrong = json::parse(file_contents(config));
  const json before = report_of({"info", given.model});
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
    CHECK(contains(output_of({"info", subject, "--svg", svg}), "wrote " + svg));
    check_parts(file_contents(svg), {"h.*.attn.c_attn.weight", "</svg>"});
  }
  output_of({"info", config, "--svg", svg, "--lang", "ko"});
  CHECK(contains(file_contents(svg), "토큰 임베딩"));
  const json report = report_of({"info", config, "--svg", svg});
  CHECK(report["files"] == json({svg}));
  json::number_integer_t sum = 0;
  for (const nlohmann::json& row : report["matrices"]) {
    sum += row["parameters"].get<long>() * row["number"].get<long>();
  }
  CHECK(sum == report["parameters"]);
  check_refused({"info", given.model + "/model.safetensors", "--svg", svg},
                {"needs a configuration or model"});
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
  const Arguments encode = words("tokenizer encode", adapter, "--text abc");
  check_parts(refusal(encode), {"--base"});
  CHECK(output_of(changed(encode, {"--base", given.model})) ==
        output_of(words("tokenizer encode", given.model, "--text abc")));
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
  const Arguments generate = words("generate", given.model, "--prompt abc --max_new_tokens 60");
  const auto written = [&](const Arguments& more) {
    return report_of(changed(generate, more))["text"].get<std::string>();
  };
  CHECK(written({"--stop", "a", "--stop", "b"}).find_first_of("ab") == std::string::npos);
  CHECK(written({}).find_first_of("ab") != std::string::npos);
}

TEST_CASE("a text of one token is refused by name", "[cli]") {
  const Given given;
  const std::string one = given.folder.write("one.txt", "a");
  CHECK(refusal({"eval", given.model, "--data", one}) ==
        "error: " + one + ": expected at least two tokens in a row, got 1");
}

TEST_CASE("prune reads --finetune_data for fine-tuning alone", "[cli]") {
  const Given given;
  const std::string out = given.folder.at("pruned");
  const json report = report_of(words("prune", given.model, "--heads 0.0 --out", out,
                                      "--finetune_iters 2 --finetune_data", given.text));
  CHECK(report["loss_finetuned"].is_null());
  CHECK(fs::exists(out + "/model.safetensors"));
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
  const std::string model = save_model(
      given.folder, "short", *lively_model(given.tokenizer.vocab_size(), 1), given.tokenizer);
  CHECK(!report_of({"heads", model, "--data", given.text})["heads"].empty());
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
