#include "support/programs/session.h"
#include "support/test.h"

// Experiments of `headlight lab` with the real program.

TEST_CASE("lab single-vs-multi reaches a lower loss with many heads than with one",
          "[experiment]") {
  const json results = report_of(words("lab single-vs-multi --iters 1500 --starts 2"));
  const json& pairs = results["values"]["pairs"];
  REQUIRE(pairs.size() == 2);
  for (const json& pair : pairs) {
    CHECK(pair["one"]["parameters"] == pair["many"]["parameters"]);
    CHECK(pair["one"]["ablated"].size() == 1);
    CHECK(pair["many"]["ablated"].size() == 8);
    CHECK(pair["many"]["alone"].size() == 8);
    CHECK(pair["many"]["loss"].get<double>() < pair["one"]["loss"].get<double>());
    CHECK(std::abs(pair["many"]["error_correlation"].get<double>()) < 1);
  }
  const json& last = results["values"]["by_step"].back();
  CHECK(last["step"] == 1500);
  CHECK(last["one"]["mean"].get<double>() ==
        Approx((pairs[0]["one"]["loss"].get<double>() + pairs[1]["one"]["loss"].get<double>()) / 2)
            .epsilon(1e-4));
  std::map<std::string, json> claims;
  for (const json& claim : results["claims"]) {
    claims[claim["id"]] = claim;
  }
  CHECK(contains(claims["many_heads_learn_more"]["text"],
                 "held in " + std::to_string(last["held"].get<Index>()) + " of 2 starts"));
  CHECK(claims["equal_parameters"]["holds"] == true);
  CHECK(claims["whole_beats_mean"]["holds"] == true);
}

TEST_CASE("lab explains in Korean with aligned columns") {
  const std::string text = output_of(words("lab params --lang ko"));
  CHECK(contains(text, "멀티 헤드 어텐션(multi-head attention)"));
  const auto line_with = [&](const std::string& part) {
    const std::size_t at = text.find(part);
    REQUIRE(at != std::string::npos);
    const std::size_t begin = text.rfind('\n', at) + 1;
    return text.substr(begin, text.find('\n', at) - begin);
  };
  const auto columns = [](const std::string& line) {  // a Hangul syllable has three bytes
    std::size_t width = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const auto byte = static_cast<unsigned char>(line[i]);
      width += byte >= 0xEA && byte <= 0xED ? 2U : (byte & 0xC0U) != 0x80U ? 1U : 0U;
    }
    return width;
  };
  CHECK(columns(line_with("4d² + 4d  ")) == columns(line_with("2,362,368  ")));
}

// Saves weights of nn.MultiheadAttention(4, 2). Element i of a tensor is sin(i + first).
void save_torch_attention(const fs::path& path) {
  const auto waves = [](const Shape& shape, double first) {
    Tensor values = Tensor::empty(shape);
    for (Index i = 0; i < values.numel(); ++i) {
      values.data<float>()[i] = static_cast<float>(std::sin(static_cast<double>(i) + first));
    }
    return values;
  };
  write_safetensors(path / "mha.safetensors", {{"in_proj_weight", waves({12, 4}, 1)},
                                               {"in_proj_bias", waves({12}, 2)},
                                               {"out_proj.weight", waves({4, 4}, 3)},
                                               {"out_proj.bias", waves({4}, 4)}});
}

TEST_CASE("sessions: the lab") {
  run_sessions("course/lab.txt", {{"torch_attention", save_torch_attention}});
}

TEST_CASE("sessions: the lab's longer experiments", "[.lab_experiments]") {
  run_sessions("course/lab_experiments.txt");
}
