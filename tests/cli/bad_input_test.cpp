#include "support/test.h"

// Each wrong input gives one clear line that names it, and exit code 2.

TEST_CASE("unknown commands, options and keys name the nearest known one", "[cli]") {
  const TemporaryFolder folder;
  CHECK(mentions(refusal({"trian"}), {"trian", "train"}));
  CHECK(mentions(refusal({"train", "--max_itres", "3"}), {"--max_itres", "--max_iters"}));
  CHECK(mentions(refusal({"generate", "x", "--temprature=1"}), {"--temprature", "--temperature"}));
  const std::string config = folder.write("a.toml", "n_layr = 3\n");
  CHECK(mentions(refusal({"train", config}), {"a.toml", "n_layr", "n_layer"}));
}

TEST_CASE("values of another type or out of range are refused by name", "[cli]") {
  const TemporaryFolder folder;
  const auto config = [&](const std::string& text) {
    return refusal({"train", folder.write("a.toml", text)});
  };
  CHECK(mentions(config("n_layer = \"four\"\n"), {"a.toml", "n_layer", "whole number"}));
  CHECK(mentions(config("n_layer = 2.5\n"), {"a.toml", "n_layer", "whole number"}));
  CHECK(mentions(config("bias = 1\n"), {"bias", "true or false"}));
  CHECK(mentions(config("n_layer = \n"), {"a.toml", "line 1"}));
  CHECK(mentions(config("[model]\nn_layer = 2\n"), {"a.toml", "model"}));
  CHECK(mentions(config("n_embd = 128\nn_head = 5\n"), {"n_head", "5", "128"}));
  CHECK(mentions(config("n_layer = -1\n"), {"n_layer", "-1"}));
  CHECK(mentions(config("n_embd = 99999999999\n"), {"n_embd"}));
  CHECK(mentions(config("dropout = 1.5\n"), {"dropout", "1.5"}));
  CHECK(mentions(config("batching = \"padded\"\n"), {"batching", "documents"}));
  CHECK(mentions(refusal({"train", "--learning_rate", "fast"}), {"learning_rate", "fast"}));
  CHECK(mentions(refusal({"train", "--learning_rate", "nan"}), {"learning_rate"}));
  CHECK(mentions(refusal({"train", "--threads", "0"}), {"--threads", "0"}));
  CHECK(mentions(refusal({"info", "--cpu_variant", "v9"}), {"cpu_variant", "v9", "baseline"}));
  CHECK(mentions(refusal({"train", "--dtype", "float16"}), {"dtype", "float32", "float16"}));
  CHECK(mentions(refusal({"train", "--dtype", "bfloat16", "--cpu_variant", "baseline"}),
                 {"bfloat16", "AVX512-BF16"}));
  CHECK(mentions(refusal({"train", "--log_level", "loud"}), {"--log_level", "loud"}));
  CHECK(mentions(refusal({"train", "--max_iters"}), {"--max_iters", "value"}));
  CHECK(mentions(refusal({"train", "--resume=yes"}), {"--resume"}));
}

TEST_CASE("texts that cannot be used are refused by name", "[cli]") {
  const TemporaryFolder folder;
  const auto train = [&](const std::string& data) {
    return refusal({"train", "--data", data, "--out_dir", folder.at("run")});
  };
  CHECK(mentions(train(folder.at("none.txt")), {"none.txt"}));
  CHECK(mentions(train(folder.path().string()), {folder.path().string()}));
  CHECK(mentions(train(folder.write("empty.txt", "")), {"empty.txt", "empty"}));
  CHECK(mentions(train(folder.write("bad.txt", "abc\xFFxyz")), {"bad.txt", "UTF-8", "byte 3"}));
  CHECK(mentions(refusal({"train", "--out_dir", folder.at("run")}), {"data"}));
  CHECK(mentions(refusal({"train", folder.at("none.toml")}), {"none.toml"}));
  CHECK(!std::filesystem::exists(folder.path() / "run"));
}

TEST_CASE("sizes that no memory could hold are refused before allocation", "[cli]") {
  const TemporaryFolder folder;
  const std::string data = folder.write("data.txt", std::string(400, 'a') + std::string(400, 'b'));
  const auto train = [&](const std::string& key, const std::string& value) {
    return refusal({"train", "--data", data, "--out_dir", folder.at("run"), "--" + key, value,
                    "--n_head", "1"});
  };
  CHECK(mentions(train("n_embd", "1000000"), {"parameters", "MB", "n_embd"}));
  CHECK(mentions(train("n_embd", "16000000"), {"too large"}));
  CHECK(mentions(train("batch_size", "1000000000"), {"batch_size"}));
  CHECK(!std::filesystem::exists(folder.path() / "run"));
}

TEST_CASE("a run directory that is in use or damaged is never overwritten", "[cli]") {
  const TemporaryFolder folder;
  const std::string data = folder.write("data.txt", std::string(400, 'a') + std::string(400, 'b'));
  const std::string run = folder.at("run");
  const std::vector<std::string> train{
      "train", "--data",   data, "--out_dir",    run, "--n_layer",   "1", "--n_head",
      "1",     "--n_embd", "8",  "--block_size", "8", "--max_iters", "1"};
  REQUIRE(run_headlight(train).exit_code == 0);
  CHECK(mentions(refusal(train), {run, "--resume"}));
  const Arguments other = changed(train, {"--resume", "--n_layer", "2", "--max_iters", "2"});
  CHECK(mentions(refusal(other), {"--resume", "n_layer was 1, is now 2"}));

  const std::string weights = run + "/latest/model.safetensors";
  std::filesystem::resize_file(weights, std::filesystem::file_size(weights) - 1);
  CHECK(mentions(refusal({"generate", run, "--prompt", "a"}), {"model.safetensors"}));
  CHECK(mentions(refusal({"info", folder.at("nothing")}), {"nothing"}));
  CHECK(
      mentions(refusal({"generate", folder.path().string(), "--prompt", "a"}), {"no model here"}));
}

TEST_CASE("attention refuses a text longer than the block and names both lengths", "[cli]") {
  const TemporaryFolder folder;
  const std::string data = folder.write("data.txt", std::string(400, 'a') + std::string(400, 'b'));
  const std::string run = folder.at("run");
  REQUIRE(run_headlight({"train", "--data", data, "--out_dir", run, "--n_layer", "1", "--n_head",
                         "1", "--n_embd", "8", "--block_size", "8", "--max_iters", "1"})
              .exit_code == 0);
  CHECK(mentions(refusal({"attention", run, "--text", "aaaaabbbbb", "--out", folder.at("maps")}),
                 {"10", "8"}));
  CHECK(mentions(
      refusal({"attention", run, "--text", "ab", "--layers", "7", "--out", folder.at("maps")}),
      {"7"}));
}
