#include "support/test.h"

namespace bench_test {
using Json = nlohmann::json;

// Number of weights in matrix products: 2 layers x 12 x 16^2 + 11 x 16 = 6320.
constexpr double kProductWeights = 6320;
constexpr double kAttentionWidth = 2 * 16;  // head width x heads of both layers

std::vector<std::string> tiny(std::vector<std::string> arguments) {
  const std::vector<std::string> model{"--n_layer",    "2",  "--n_head",     "2",
                                       "--n_embd",     "16", "--block_size", "8",
                                       "--batch_size", "3",  "--vocab_size", "11"};
  arguments.insert(arguments.begin(), "bench");
  arguments.insert(arguments.end(), model.begin(), model.end());
  return arguments;
}

Json report_of(std::vector<std::string> arguments) {
  arguments.push_back("--json");
  return Json::parse(output_of(tiny(std::move(arguments))));
}

std::string refusal_of(const std::vector<std::string>& arguments) {
  const ProgramResult result = run_headlight(tiny(arguments));
  CHECK(result.exit_code == 2);
  CHECK(result.out.empty());
  return result.err;
}

double visible_pairs(const Json& lengths) {
  double pairs = 0;
  for (const Json& length : lengths) {
    pairs += length.get<double>() * (length.get<double>() + 1) / 2;
  }
  return pairs;
}

TEST_CASE("bench train reports the speed of a step, its phases and its FLOPs", "[cli]") {
  const Json report = report_of({"train", "--steps", "1", "--warmup", "1"});
  CHECK(report["kind"] == "train");
  CHECK(report["tokens_per_step"] == 3 * 8);
  CHECK(report["flops_per_step"] == 6 * kProductWeights * 24 + 12 * kAttentionWidth * 3 * 36);
  const Json& phases = report["phases"];
  double sum = 0;
  for (const char* phase : {"data_ms", "forward_ms", "backward_ms", "optimizer_ms"}) {
    INFO(phase);
    CHECK(phases[phase].get<double>() > 0);
    sum += phases[phase].get<double>();
  }
  const auto step = report["ms_per_step"].get<double>();
  CHECK(sum == Approx(step));
  CHECK(report["tokens_per_second"].get<double>() == Approx(24 / (step / 1e3)));
  CHECK(report["mfu"].get<double>() ==
        Approx(report["flops_per_step"].get<double>() / (step / 1e3) /
               report["gemm_flops_per_second"].get<double>()));
  CHECK(report["mfu"].get<double>() < 1);
  CHECK(report["peak_rss_mib"].get<double>() > report["live_mib"].get<double>());
  CHECK(report["live_mib"].get<double>() > 0);
  CHECK(report["loss"].get<double>() == Approx(std::log(11.0)).epsilon(0.1));
  CHECK_FALSE(report.contains("sequence_lengths"));
}

TEST_CASE("bench train predicts steps of machines with more cores", "[cli]") {
  const Json report =
      report_of({"train", "--steps", "2", "--warmup", "0", "--cores", "8,64", "--threads", "2"});
  REQUIRE(report["cores"].size() == 2);
  for (const Json& row : report["cores"]) {
    const auto number = [&](const char* key) { return row[key].get<double>(); };
    CHECK(number("barriers") > 0);
    CHECK(number("serial_ms") > 0);
    CHECK(number("loops_ms") > 0);
    CHECK(number("barriers_ms") == Approx(1e-4 * number("barriers") * number("cores")));
    CHECK(number("step_ms") ==
          Approx(number("serial_ms") + number("loops_ms") + number("barriers_ms")));
    CHECK(number("gb_per_second") == Approx(number("bytes") / number("step_ms") / 1e6));
  }
  CHECK(report["cores"][1]["cores"] == 64);
  CHECK(contains(refusal_of({"train", "--cores", "8,1"}), "--cores: expected 2 to 1024, got 1"));
}

TEST_CASE("bench train lists the parts of a step with their limits", "[cli]") {
  const Json report = report_of({"train", "--steps", "2", "--warmup", "1", "--phases"});
  double shares = 0;
  double flops = 0;
  std::set<std::string> phases;
  for (const Json& row : report["roofline"]) {
    const auto number = [&](const char* key) { return row[key].get<double>(); };
    const auto phase = row["phase"].get<std::string>();
    INFO(phase);
    phases.insert(phase);
    shares += number("share");
    flops += phase.ends_with("products") ? number("flops") : 0;
    CHECK(number("ms") > 0);
    CHECK(number("gflops_per_second") == Approx(number("flops") / number("ms") / 1e6));
    CHECK(number("gb_per_second") == Approx(number("bytes") / number("ms") / 1e6));
    const bool is_counted = phase != "batch" && phase != "other";
    CHECK((row["bound"] != "none") == is_counted);
    CHECK((number("bound_ms") > 0) == is_counted);
  }
  CHECK(shares == Approx(1));
  for (const char* phase :
       {"embedding", "qkv products", "attention forward", "attention backward",
        "projection products", "MLP products", "activation", "norms, bias sums", "residual adds",
        "logits products", "loss", "gradient norm", "optimizer"}) {
    INFO(phase);
    CHECK(phases.contains(phase));
  }
  CHECK(flops == Approx(6 * kProductWeights * 24));
  CHECK_FALSE(report_of({"train", "--steps", "1"}).contains("roofline"));
}

TEST_CASE("bench names the machine that its numbers come from", "[cli]") {
  const Json report = report_of({"--steps", "1", "--threads", "1"});
  CHECK(report["kind"] == "train");
  CHECK(report["threads"] == 1);
  CHECK(report["cpu"].is_string());
  CHECK_FALSE(report["kernel_variant"].get<std::string>().empty());
  CHECK_FALSE(report["blas"]["library"].get<std::string>().empty());
  CHECK_FALSE(report["blas"]["core"].get<std::string>().empty());
  const auto version = report["blas"]["version"].get<std::string>();
  INFO(version);
  CHECK(version.find_first_not_of("0123456789.dev") == std::string::npos);
  CHECK(version.find('.') != std::string::npos);
}

TEST_CASE("bench train counts only real tokens of padded batches", "[cli]") {
  const Json report = report_of({"train", "--batching", "padded", "--steps", "5", "--warmup", "2"});
  const Json& lengths = report["sequence_lengths"];
  REQUIRE(lengths.size() == 5);
  double tokens = 0;
  double pairs = 0;
  for (const Json& batch : lengths) {
    REQUIRE(batch.size() == 3);
    for (const Json& length : batch) {
      CHECK(length.get<int>() >= 1);
      CHECK(length.get<int>() <= 8);
      tokens += length.get<double>();
    }
    pairs += visible_pairs(batch);
  }
  CHECK(tokens < 5 * 24);
  CHECK(report["tokens_per_step"].get<double>() == Approx(tokens / 5));
  CHECK(report["flops_per_step"].get<double>() ==
        Approx((6 * kProductWeights * tokens + 12 * kAttentionWidth * pairs) / 5));
  CHECK(report["ms_per_step_min"].get<double>() <= report["ms_per_step"].get<double>());
  CHECK(report["ms_per_step"].get<double>() <= report["ms_per_step_max"].get<double>());
}

TEST_CASE("bench generate relates decoding to the memory that it reads", "[cli]") {
  const Json report =
      report_of({"generate", "--prompt_tokens", "3", "--new_tokens", "4", "--rounds", "2"});
  const auto token = report["ms_per_token"].get<double>();
  CHECK(token > 0);
  CHECK(report["ms_to_first_token"].get<double>() > 0);
  CHECK(report["tokens_per_second"].get<double>() == Approx(1e3 / token));
  // Three tokens pass all products except the head, which sees one. Attention has six pairs.
  const double head = 16.0 * 11;
  CHECK(report["prompt_flops_per_second"].get<double>() ==
        Approx((2 * ((kProductWeights - head) * 3 + head) + 4 * kAttentionWidth * 6) /
               (report["ms_to_first_token"].get<double>() / 1e3)));
  CHECK(report["prompt_mfu"].get<double>() > 0);
  // Product weights and five norms of width 16, float32, without biases.
  CHECK(report["bytes_per_token"] == 4 * (kProductWeights + 5 * 16));
  CHECK(report["cache_type"] == "float32");
  CHECK(
      report_of(words("generate --weights int8 --prompt_tokens 3 --new_tokens 2"))["cache_type"] ==
      "float16");
  // The token in the middle sees the prompt and two tokens: their keys and values.
  CHECK(report["cache_bytes_per_token"] == 4 * 2 * kAttentionWidth * 5);
  const double bytes =
      report["bytes_per_token"].get<double>() + report["cache_bytes_per_token"].get<double>();
  CHECK(report["bandwidth_share"].get<double>() ==
        Approx(bytes / (token / 1e3) / (1e9 * report["read_gb_per_second"].get<double>())));
}

TEST_CASE("bench gemm lists the products that a training step consists of", "[cli]") {
  const Json report = report_of({"gemm"});
  double flops = 0;
  for (const Json& product : report["products"]) {
    CHECK(product["ms"].get<double>() > 0);
    flops += 2 * product["m"].get<double>() * product["n"].get<double>() *
             product["k"].get<double>() * product["count"].get<double>();
  }
  CHECK(flops == 6 * kProductWeights * 24);
  CHECK(report["step_ms"].get<double>() > 0);
}

TEST_CASE("bench memory gives three rates", "[cli]") {
  const Json report = report_of({"memory"});
  for (const char* key : {"read_gb_per_second", "copy_gb_per_second", "triad_gb_per_second"}) {
    INFO(key);
    CHECK(report[key].get<double>() > 0.1);
    CHECK(report[key].get<double>() < 1e5);
  }
}

TEST_CASE("bench attention gives a row for every length", "[cli]") {
  const Json report = report_of({"attention", "--lengths", "4,16"});
  REQUIRE(report["rows"].size() == 2);
  CHECK(report["rows"][0]["length"] == 4);
  CHECK(report["rows"][1]["length"] == 16);
  for (const Json& row : report["rows"]) {
    CHECK(row["backward_ms"].get<double>() > 0);
    CHECK(row["recorded_ratio"].get<double>() ==
          Approx(row["recorded_ms"].get<double>() / row["forward_ms"].get<double>()));
    CHECK(row["model_recorded_ratio"].get<double>() ==
          Approx(row["model_recorded_ms"].get<double>() / row["model_ms"].get<double>()));
  }
}

TEST_CASE("bench prints text for people by default", "[cli]") {
  const std::string printed = output_of(tiny({"train", "--steps", "2"}));
  for (const char* part : {"tokens/s", "ms a step", "forward", "clip and optimizer", "GFLOP/s",
                           "system allocations"}) {
    INFO(part);
    CHECK(contains(printed, part));
  }
}

TEST_CASE("bench refuses steps that need more than the free memory", "[cli]") {
  CHECK(contains(refusal_of(words("train --batching padded --gradient_accumulation_steps 1000000 "
                                  "--steps 100000")),
                 "free"));
  check_refused(words("bench --vocab_size 16000000 --n_embd 1048576 --n_layer 1"), {"free"});
}

TEST_CASE("the presets of bench have the sizes of the models that they are named after", "[cli]") {
  const auto parameters = [](const std::string& name) {
    return Json::parse(output_of(
        {"info", std::string(HEADLIGHT_SOURCE_DIR) + "/configs/bench/" + name + ".toml",
         "--json"}))["parameters"]
        .get<long long>();
  };
  // Number of parameters without biases: 12 L C^2 + (V + T) C + (2 L + 1) C.
  CHECK(parameters("cpu-char") == 12 * 4 * 128 * 128 + (65 + 64) * 128 + 9 * 128);
  CHECK(parameters("mid-char") == 12 * 6 * 384 * 384 + (65 + 256) * 384 + 13 * 384);
  // GPT-2 with a context length of 1024 has 124,439,808 parameters.
  CHECK(parameters("gpt2-256") == 124439808 - (1024 - 256) * 768);
  CHECK(parameters("gpt2-64") == 124439808 - (1024 - 64) * 768);
  CHECK(parameters("llama-135m") == 134515008);  // SmolLM2-135M
  CHECK(parameters("llama-char") ==
        65 * 384 + 6 * (384 * (384 + 2 * 128) + 384 * 384 + 3 * 384 * 1024 + 2 * 384) + 384);
}
}  // namespace bench_test
