#include "show/report/parts/terminal_text.h"
#include "support/test.h"

namespace training_flow_test {
// First use of the program, from a text to a trained model, with the real program.

std::string small_corpus() {
  std::string text;
  for (int i = 0; i < 60; ++i) {
    text += "Mina has a red kite. \"Fly!\" said Mina.\nThe kite flies.\n\n";
    text += "미나는 연을 봐요.\n\n";
    text += std::to_string(i) + " birds sing (softly) near the river.\n\n";
  }
  return text;
}

Arguments train_arguments(const std::string& data, const std::string& out,
                          const Arguments& more = {}) {
  Arguments arguments =
      words("train --data", data, "--out_dir", out,
            "--documents blank_line --batching padded --n_layer 2 --n_head 2 --n_embd 32 "
            "--block_size 48 --batch_size 6 --dropout 0.1 --warmup_iters 2 --lr_decay_iters 12 "
            "--max_iters 12 --eval_interval 4 --learning_rate 0.01 --keep_checkpoints 9");
  return changed(std::move(arguments), more);
}

TEST_CASE("a trained model can be evaluated, continues prompts and is drawn", "[cli]") {
  const TemporaryFolder folder;
  const std::string data = folder.write("data.txt", small_corpus());
  const std::string run = folder.at("run");
  const json report = report_of(train_arguments(data, run));
  check_json(report, R"({"iterations": 12, "stopped": false})");
  CHECK(report["best_validation_loss"] < 4.0);
  CHECK(contains(file_contents(run + "/config.toml"), "n_embd = 32"));
  for (const char* name : {"config.json", "model.safetensors", "tokenizer.json", "MANIFEST.json",
                           "optimizer.safetensors", "state.json", "tokenizer_config.json"}) {
    INFO(name);
    CHECK(fs::exists(fs::path(run) / "best" / name));
    CHECK(fs::exists(fs::path(run) / "latest" / name));
  }
  const std::vector<json> lines = metrics_of(run);
  REQUIRE(lines.size() == 12 + 3);
  CHECK(lines.front()["loss"] > lines[lines.size() - 2]["loss"]);

  const Arguments eval = words("eval", run, "--data", data, "--documents=blank_line");
  const json numbers = report_of(eval);
  const auto number = [&](const char* key) { return numbers[key].get<double>(); };
  CHECK(number("perplexity") == Approx(std::exp(number("loss"))).epsilon(1e-12));
  CHECK(number("bits_per_byte") ==
        Approx(number("loss") * number("tokens") / std::log(2.0) / number("bytes")));
  for (const std::string format : {"bfloat16", "int8"}) {
    const json coarse = report_of(changed(eval, {"--weights", format}));
    CHECK(coarse["perplexity"] != numbers["perplexity"]);
    CHECK(coarse["perplexity"] == Approx(number("perplexity")).epsilon(1e-3));
  }
  CHECK(report_of(words("generate", run,
                        "--prompt 'Mina ' --max_new_tokens=20 --temperature 0"))["tokens"] >= 1);
  const std::string maps = folder.at("maps");
  CHECK(report_of(words("attention", run, "--text 'Mina has a kite.' --out", maps))["layers"] == 2);
  for (const char* name : {"/attention.npz", "/attention.html", "/tokens.json", "/layer_0.svg"}) {
    CHECK(fs::file_size(maps + name) > 100);
  }
  check_json(report_of({"info", run}), R"({"layers": 2, "head_width": 16})");
}

TEST_CASE("a terminal of any width gets lines that fit it, and colours unless refused", "[cli]") {
  const TemporaryFolder folder;
  const std::string text = folder.write("text.txt", "one two three four five six seven eight nine");
  const auto shown = [&](int columns, const Arguments& environment) {
    const ProgramResult result = run_headlight_on_terminal(
        columns,
        words("train --data", text, "--out_dir", folder.at(std::to_string(columns)),
              "--tokenizer byte --n_layer 1 --n_head 1 --n_embd 8 --block_size 8 --batch_size 1 "
              "--max_iters 3 --eval_iters 1 --warmup_iters 9"),
        environment);
    INFO(result.err);
    CHECK(result.exit_code == 0);
    return result.err;
  };
  const std::string yellow = "\x1b[33m";
  const std::string drawn = shown(40, {});
  const std::size_t last = drawn.rfind("100% 3/3");
  REQUIRE(last != std::string::npos);
  const std::size_t begin = drawn.rfind("\x1b[K", last) + 3;
  const std::string line = drawn.substr(begin, drawn.find('\r', begin) - begin);
  CHECK(display_width(line) < 40);
  CHECK(contains(line, "loss "));
  CHECK_FALSE(contains(line, "norm "));
  CHECK(contains(drawn, yellow));
  const std::string plain = shown(80, {"NO_COLOR=1"});
  CHECK(contains(plain, "warning: warmup_iters 9 is not below"));
  CHECK_FALSE(contains(plain, yellow));
}
}  // namespace training_flow_test
