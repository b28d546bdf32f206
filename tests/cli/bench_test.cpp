#include "support/test.h"

// Number of weights in matrix products: 2 layers x 12 x 16^2 + 11 x 16 = 6320.
constexpr double kProductWeights = 6320;
constexpr double kAttentionWidth = 2 * 16;  // head width x heads of both layers

Arguments tiny(const std::string& options) {
  return changed(changed({"bench"}, split_words(options)),
                 words("--n_layer 2 --n_head 2 --n_embd 16 --block_size 8 --batch_size 3 "
                       "--vocab_size 11"));
}

json measured(const std::string& options) { return report_of(tiny(options)); }

// A number of a report by its key.
auto numbers_of(const json& row) {
  return [&row](const char* key) { return row.at(key).get<double>(); };
}

double visible_pairs(const json& lengths) {
  return sum_of<double>(lengths, [&](const json& length) {
    return length.get<double>() * (length.get<double>() + 1) / 2;
  });
}

TEST_CASE("bench train reports the speed of a step, its phases and its FLOPs", "[long]") {
  const json report = measured("train --steps 1 --warmup 1");
  check_json(report, R"({"kind": "train", "tokens_per_step": 24})");
  const auto number = numbers_of(report);
  CHECK(number("flops_per_step") == 6 * kProductWeights * 24 + 12 * kAttentionWidth * 3 * 36);
  double sum = 0;
  for (const char* phase : {"data_ms", "forward_ms", "backward_ms", "optimizer_ms"}) {
    INFO(phase);
    CHECK(report["phases"][phase] > 0);
    sum += report["phases"][phase].get<double>();
  }
  const double step = number("ms_per_step");
  CHECK(sum == Approx(step));
  CHECK(number("tokens_per_second") == Approx(24 / (step / 1e3)));
  CHECK(number("mfu") ==
        Approx(number("flops_per_step") / (step / 1e3) / number("gemm_flops_per_second")));
  CHECK(number("mfu") < 1);
  CHECK(number("peak_rss_mib") > number("live_mib"));
  CHECK(number("live_mib") > 0);
  CHECK(number("loss") == Approx(std::log(11.0)).epsilon(0.1));
  CHECK_FALSE(report.contains("sequence_lengths"));
}

TEST_CASE("bench train predicts steps of machines with more cores", "[long]") {
  const json report = measured("train --steps 2 --warmup 0 --cores 8,64 --threads 2");
  check_json(report, R"({"cores#": 2, "cores/1/cores": 64})");
  for (const json& row : report["cores"]) {
    const auto number = numbers_of(row);
    for (const char* key : {"barriers", "serial_ms", "loops_ms"}) {
      CHECK(number(key) > 0);
    }
    CHECK(number("barriers_ms") == Approx(1e-4 * number("barriers") * number("cores")));
    CHECK(number("step_ms") ==
          Approx(number("serial_ms") + number("loops_ms") + number("barriers_ms")));
    CHECK(number("gb_per_second") == Approx(number("bytes") / number("step_ms") / 1e6));
  }
  check_refused(tiny("train --cores 8,1"), {"--cores: expected 2 to 1024, got 1"});
}

TEST_CASE("bench train lists the parts of a step with their limits", "[long]") {
  const json report = measured("train --steps 2 --warmup 1 --phases");
  double shares = 0;
  double flops = 0;
  std::set<std::string> phases;
  for (const json& row : report["roofline"]) {
    const auto number = numbers_of(row);
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
  CHECK_FALSE(measured("train --steps 1").contains("roofline"));
}

TEST_CASE("bench names the machine that its numbers come from", "[long]") {
  const json report = measured("--steps 1 --threads 1");
  check_json(report, R"({"kind": "train", "threads": 1})");
  CHECK(report["cpu"].is_string());
  CHECK_FALSE(report["kernel_variant"].get<std::string>().empty());
  CHECK_FALSE(report["blas"]["library"].get<std::string>().empty());
  CHECK_FALSE(report["blas"]["core"].get<std::string>().empty());
  const auto version = report["blas"]["version"].get<std::string>();
  INFO(version);
  CHECK(version.find_first_not_of("0123456789.dev") == std::string::npos);
  CHECK(contains(version, "."));
}

TEST_CASE("bench train counts only real tokens of padded batches", "[long]") {
  const json report = measured("train --batching padded --steps 5 --warmup 2");
  const auto number = numbers_of(report);
  REQUIRE(report["sequence_lengths"].size() == 5);
  double tokens = 0;
  double pairs = 0;
  for (const json& batch : report["sequence_lengths"]) {
    REQUIRE(batch.size() == 3);
    for (const json& length : batch) {
      CHECK((length >= 1 && length <= 8));
      tokens += length.get<double>();
    }
    pairs += visible_pairs(batch);
  }
  CHECK(tokens < 5 * 24);
  CHECK(number("tokens_per_step") == Approx(tokens / 5));
  CHECK(number("flops_per_step") ==
        Approx((6 * kProductWeights * tokens + 12 * kAttentionWidth * pairs) / 5));
  CHECK(number("ms_per_step_min") <= number("ms_per_step"));
  CHECK(number("ms_per_step") <= number("ms_per_step_max"));
}

TEST_CASE("bench generate relates decoding to the memory that it reads", "[long]") {
  const json report = measured("generate --prompt_tokens 3 --new_tokens 4 --rounds 2");
  const auto number = numbers_of(report);
  const double token = number("ms_per_token");
  CHECK(token > 0);
  CHECK(number("ms_to_first_token") > 0);
  CHECK(number("tokens_per_second") == Approx(1e3 / token));
  // Three tokens pass all products except the head, which sees one. Attention has six pairs.
  const double head = 16.0 * 11;
  CHECK(number("prompt_flops_per_second") ==
        Approx((2 * ((kProductWeights - head) * 3 + head) + 4 * kAttentionWidth * 6) /
               (number("ms_to_first_token") / 1e3)));
  CHECK(number("prompt_mfu") > 0);
  // Product weights and five norms of width 16, float32, without biases.
  CHECK(number("bytes_per_token") == 4 * (kProductWeights + 5 * 16));
  CHECK(report["cache_type"] == "float32");
  CHECK(measured("generate --weights int8 --prompt_tokens 3 --new_tokens 2")["cache_type"] ==
        "float16");
  // The token in the middle sees the prompt and two tokens: their keys and values.
  CHECK(number("cache_bytes_per_token") == 4 * 2 * kAttentionWidth * 5);
  CHECK(number("bandwidth_share") ==
        Approx((number("bytes_per_token") + number("cache_bytes_per_token")) / (token / 1e3) /
               (1e9 * number("read_gb_per_second"))));
}

TEST_CASE("bench gemm lists the products that a training step consists of", "[long]") {
  const json report = measured("gemm");
  double flops = 0;
  for (const json& product : report["products"]) {
    const auto number = numbers_of(product);
    CHECK(number("ms") > 0);
    flops += 2 * number("m") * number("n") * number("k") * number("count");
  }
  CHECK(flops == 6 * kProductWeights * 24);
  CHECK(report["step_ms"] > 0);
}

TEST_CASE("bench attention gives a row for every length") {
  const json report = measured("attention --lengths 4,16");
  check_json(report, R"({"rows#": 2, "rows/0/length": 4, "rows/1/length": 16})");
  for (const json& row : report["rows"]) {
    const auto number = numbers_of(row);
    CHECK(number("backward_ms") > 0);
    CHECK(number("recorded_ratio") == Approx(number("recorded_ms") / number("forward_ms")));
    CHECK(number("model_recorded_ratio") ==
          Approx(number("model_recorded_ms") / number("model_ms")));
  }
}
