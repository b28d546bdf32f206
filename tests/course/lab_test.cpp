#include "course/lab_support.h"
#include "support/seed_sequences.h"
#include "support/test.h"

// Experiments of `headlight lab` with the real program.
// Checks that claims of the results hold.
void check_claims(const json& results, const std::vector<const char*>& ids) {
  for (const char* id : ids) {
    INFO(id);
    CHECK(claims_of(results)[id] == true);
  }
}

// Compares values with the numbers printed in the notes, to their last digit.
void check_printed(const json& values, const std::vector<double>& printed,
                   double tolerance = 5.0001e-5) {
  REQUIRE(values.size() == printed.size());
  for (std::size_t i = 0; i < printed.size(); ++i) {
    INFO("element " << i);
    CHECK(values[i].get<double>() == Approx(printed[i]).epsilon(0).margin(tolerance));
  }
}

TEST_CASE("lab alone lists all ten experiments in both languages", "[cli]") {
  const std::string english = lab_text({});
  const std::string korean = lab_text({"--lang", "ko"});
  CHECK(std::count(english.begin(), english.end(), '\n') == 10);
  for (const char* name : {"scaling", "masks", "worked-example", "attention", "shapes", "norms",
                           "pre-post-ln", "heads", "single-vs-multi", "params"}) {
    CHECK(contains(english, name));
    CHECK(contains(korean, name));
  }
  CHECK(contains(english, "Every number of a small attention layer"));
  CHECK(contains(korean, "모든 숫자를 한 단계씩"));
  CHECK(lab_json({})["experiments"].size() == 10);
}

// worked_example.json has the numbers as the notes print them.
TEST_CASE("lab worked-example computes the numbers that the notes print", "[cli]") {
  const json results = lab_json({"worked-example"});
  const json notes =
      json::parse(file_contents(HEADLIGHT_SOURCE_DIR "/tests/course/worked_example.json"));
  for (const auto& [section, steps] : notes.items()) {
    for (const auto& [step, printed] : steps.items()) {
      INFO(section << " " << step);
      const double tolerance = step == "attn_scores_softmax" ? 5.0001e-6 : 5.0001e-5;
      check_printed(results["values"][section][step], printed, tolerance);
    }
  }
  check_claims(results, {"steps_equal_one_call"});
}

TEST_CASE("lab worked-example prints tensors as the notes do", "[cli]") {
  const std::string text = lab_text({"worked-example"});
  const std::size_t weights = text.find("w_query");
  CHECK(weights < text.find("querys"));
  for (const char* line :
       {"tensor([[ 2.,  4.,  4.],", "[ 4., 16., 12.],", "tensor(1.7321)",
        "tensor([[1.3613e-01, 4.3194e-01, 4.3194e-01],", "[8.9045e-04, 9.0884e-01, 9.0267e-02],",
        "tensor([[False,  True,  True],", "tensor([[[2., -inf, -inf],", "[4., 8., -inf],",
        "[1.1116, 5.6931, 2.0558, 5.7210],"}) {
    INFO(line);
    CHECK(contains(text, line));
  }
}

TEST_CASE("lab shapes prints the shapes of the notes' padded batch at every step", "[cli]") {
  const json results = lab_json({"shapes"});
  const json& values = results["values"];
  CHECK(values["longest"] == 20);
  CHECK(values["real_tokens"] == 94);
  CHECK(values["places"] == 200);
  std::vector<double> batch;
  for (Ids sequence : seed_sequences()) {
    sequence.resize(20, 0);
    batch.insert(batch.end(), sequence.begin(), sequence.end());
  }
  CHECK(values["batch"] == json(batch));
  std::vector<std::vector<Index>> shapes;
  for (const json& step : values["steps"]) {
    shapes.push_back(step["shape"]);
  }
  const std::vector<Index> wide{10, 20, 512};
  const std::vector<Index> split{10, 8, 20, 64};
  const std::vector<Index> square{10, 8, 20, 20};
  const std::vector<Index> joined{10, 20, 8, 64};
  const std::vector<std::vector<Index>> expected{
      wide,   wide,   wide,   wide, joined, split, {10, 8, 64, 20},
      square, square, square,  // scores
      split,  joined, joined, wide, wide};
  CHECK(shapes == expected);
  CHECK(values["steps"][5]["strides"] == json({10240, 64, 512, 1}));
  CHECK(values["steps"][5]["contiguous"] == false);
  CHECK(values["steps"][11]["strides"] == json({10240, 64, 1280, 1}));
  CHECK(values["steps"][11]["contiguous"] == false);
  CHECK(values["steps"][12]["contiguous"] == true);
  CHECK(values["mask"]["hidden"].size() == 200);
  CHECK(values["pads"][0]["weight_on_each_pad"].get<double>() == Approx(0.05).margin(0.005));
  CHECK(values["pads"][1]["weight_on_pads"] == 0);
  check_claims(results, {"pads_attract_attention", "pad_rows_are_equal", "steps_equal_module"});
}

TEST_CASE("lab norms computes the numbers that the notes print for both norms", "[cli]") {
  const json results = lab_json({"norms"});
  const json& layer = results["values"]["layer"];
  const json& batch = results["values"]["batch"];
  CHECK(layer["mean"] == json({2, 1}));
  check_printed(layer["std"], {0.8165, 0});
  CHECK(batch["mean"] == json({1, 1.5, 2}));
  CHECK(batch["std"] == json({0, 0.5, 1}));
  check_printed(layer["output"], {-1.2247, 0, 1.2247, 0, 0, 0});
  check_printed(batch["output"], {0, 1, 1, 0, -1, -1});
  CHECK(layer["distance_by_hand"].get<double>() > 1e-6);
  CHECK(layer["change_in_other_batch"] == 0);
  // (3 - 2) / sqrt(1 + eps) becomes (3 - 1.5) / sqrt(2.25 + eps); (2 - 1.5) / sqrt(.25 + eps), here
  // +1, becomes (2 - 0) / sqrt(4 + eps), +1 too; (1 - 1) / ... becomes (1 - 4) / sqrt(9 + eps), -1.
  CHECK(batch["change_in_other_batch"].get<double>() == Approx(1).margin(1e-5));
  check_claims(results, {"layer_norm_ignores_the_batch"});
}

TEST_CASE("lab scaling shows that only unscaled scores saturate the softmax", "[cli]") {
  const json results = lab_json({"scaling"});
  const json& cases = results["values"]["cases"];
  REQUIRE(cases.size() == 6);
  const json& without = cases[4];
  const json& with = cases[5];
  CHECK(without["d_k"] == 512);
  CHECK_FALSE(without["scaled"]);
  CHECK(without["entropy"].get<double>() < 0.1 * with["entropy"].get<double>());
  CHECK(without["gradient"].get<double>() < 0.5 * with["gradient"].get<double>());
  CHECK(without["score_deviation"].get<double>() == Approx(std::sqrt(512.0)).epsilon(0.03));
  CHECK(with["score_deviation"].get<double>() == Approx(1).epsilon(0.03));
  for (const json& one : cases) {
    double total = 0;
    for (const json& share : one["histogram"]) {
      total += share.get<double>();
    }
    CHECK(one["histogram"].size() == 20);
    CHECK(total == Approx(1));
  }
  check_claims(results, {"peaked_without_scaling", "scaling_keeps_the_entropy",
                         "gradient_vanishes_without_scaling"});
}

TEST_CASE("lab masks hides the future, pads and a whole row without NaN", "[cli]") {
  const json results = lab_json({"masks"});
  const json& values = results["values"];
  const std::vector<double> all = values["none"]["weights"];
  const std::vector<double> causal = values["causal"]["weights"];
  CHECK(causal[0] == 1);
  CHECK(causal[1] == 0);
  CHECK(causal[4] == Approx(all[4] / (all[4] + all[5])));
  CHECK(causal[15] == all[15]);
  CHECK(values["padding"]["weights"][3] == 0);
  CHECK(values["padding"]["row_sums"][0].get<double>() == Approx(1));
  CHECK(values["nothing_visible"]["row_sums"][1] == 0);
  CHECK(values["careless_row"][0].is_null());  // JSON has no NaN
  check_claims(results, {"causal_renormalises", "pads_get_nothing", "empty_row_is_safe"});
}

TEST_CASE("lab params counts four squares and four biases whatever the number of heads", "[cli]") {
  const json results = lab_json({"params"});
  const json& layers = results["values"]["layers"];
  REQUIRE(layers.size() == 11);
  for (const json& layer : layers) {
    const Index d = layer["width"];
    CHECK(layer["counted"] == 4 * d * d + 4 * d);
    CHECK(layer["without_biases"] == 4 * d * d);
  }
  CHECK(layers[0]["counted"] == 16640);
  CHECK(layers[6]["counted"] == 16640);
  CHECK(layers[9]["counted"] == 1050624);
  check_claims(results, {"counted_is_formula"});
}

TEST_CASE("lab pre-post-ln finds post-LN gradients that grow towards the output",
          "[cli][experiment]") {
  const json results = lab_json({"pre-post-ln", "--iters", "2"});
  const json& gradients = results["values"]["gradients"];
  REQUIRE(gradients.size() == 4);
  CHECK(gradients[0]["model"] == "post-LN, Xavier");
  CHECK(gradients[0]["growth"].get<double>() > 1.5);
  CHECK(gradients[1]["growth"].get<double>() < 1.1);
  CHECK(gradients[0]["norms"].size() == 6);
  check_claims(results, {"post_ln_gradients_grow"});
  REQUIRE(results["values"]["training"].size() == 2);
  CHECK(results["values"]["training"][1]["pre"].size() == 3);
}

TEST_CASE("lab heads sweeps the number of heads at equal parameters", "[cli][experiment]") {
  const json results = lab_json({"heads", "--iters", "600", "--heads", "64,1,4"});
  for (const char* task : {"lookup", "copy"}) {
    INFO(task);
    const json& sweep = results["values"][task];
    REQUIRE(sweep.size() == 3);
    CHECK(sweep[0]["distance"].is_null());
    for (std::size_t i = 0; i < sweep.size(); ++i) {
      CHECK(sweep[i]["heads"] == Index{1} << (2 * i + (i == 2 ? 2 : 0)));
      CHECK(sweep[i]["head_width"].get<Index>() * sweep[i]["heads"].get<Index>() == 64);
      CHECK(sweep[i]["parameters"] == sweep[0]["parameters"]);
      CHECK(sweep[i]["losses"].size() == 3);
      CHECK((i == 0 || (sweep[i]["distance"] > 0 && sweep[i]["distance"] < 1)));
    }
  }
  check_claims(results, {"lookup_too_few_heads", "lookup_too_many_heads", "copy_too_few_heads",
                         "many_heads_repeat"});
}

TEST_CASE("lab single-vs-multi reaches a lower loss with many heads than with one",
          "[cli][experiment]") {
  const json results = lab_json({"single-vs-multi", "--iters", "1500", "--starts", "2"});
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
  CHECK(contains(claim_text(results, "many_heads_learn_more"),
                 "held in " + std::to_string(last["held"].get<Index>()) + " of 2 starts"));
  check_claims(results, {"equal_parameters", "whole_beats_mean"});
}

TEST_CASE("lab writes its figures and the results that it prints as JSON", "[cli]") {
  const TemporaryFolder folder;
  const std::string out = folder.at("new/results");
  const json printed = lab_json({"heads", "--iters", "2", "--heads", "1,4", "--out", out});
  CHECK(json::parse(file_contents(out + "/results.json")) == printed);
  CHECK(printed["experiment"] == "heads");
  CHECK(printed["values"]["starts"] == 3);
  CHECK(claims_of(printed)["lookup_too_few_heads"].is_null());
  for (const char* file : {"lookup_loss", "lookup_distance", "copy_loss", "copy_distance"}) {
    CHECK(contains(file_contents(out + "/" + file + ".svg"), "</svg>"));
  }
  const std::string text = lab_text({"scaling", "--out", out});
  CHECK(contains(text, "wrote " + out + "/weights.svg"));
}

TEST_CASE("lab gives no verdict about models that had too few steps", "[cli][long]") {
  const json results = lab_json({"heads", "--iters", "2", "--heads", "1,4"});
  const json claims = claims_of(results);
  for (const auto& [id, holds] : claims.items()) {
    INFO(id);
    CHECK(holds.is_null());
  }
  CHECK(
      claim_text(results, "copy_too_few_heads") ==
      "Too few heads (copy): too few steps for a verdict. This run made 2; it needs 600 or more.");
  const std::string text = lab_text({"heads", "--iters", "2", "--heads", "1,4", "--lang", "ko"});
  CHECK(contains(text, "? 너무 적은 헤드 (조회): 판정하기에는 업데이트가 너무 적다."));
  CHECK_FALSE(contains(text, "✗"));
  // Gradients before the first step need no training.
  const json norms = claims_of(lab_json({"pre-post-ln", "--iters", "2"}));
  CHECK(norms["post_ln_gradients_grow"] == true);
  CHECK(norms["pre_ln_needs_no_warmup"].is_null());
  const json heads = claims_of(lab_json({"single-vs-multi", "--iters", "3", "--starts", "1"}));
  CHECK(heads["equal_parameters"] == true);
  CHECK(heads["many_heads_learn_more"].is_null());
}

TEST_CASE("lab gives the same numbers whatever the number of threads", "[cli][long]") {
  const json one = lab_json({"single-vs-multi", "--iters", "3", "--starts", "1", "--threads", "1"});
  CHECK(one == lab_json({"single_vs_multi", "--iters", "3", "--starts", "1", "--threads", "2"}));
  CHECK(one != lab_json({"single-vs-multi", "--iters", "3", "--starts", "1", "--seed", "5"}));
}

TEST_CASE("lab explains in Korean with aligned columns", "[cli]") {
  const std::string text = lab_text({"params", "--lang", "ko"});
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

TEST_CASE("each experiment of the lab has its own options and help", "[cli]") {
  const std::string help = lab_text({"shapes", "--help"});
  CHECK(contains(help, "--sequences"));
  CHECK_FALSE(contains(help, "--iters"));
  CHECK(lab_text({"--help", "shapes"}) == help);
  CHECK(contains(lab_text({"heads", "--help"}), "--iters"));
  CHECK_FALSE(contains(lab_text({"--help"}), "--sequences"));
  CHECK(contains(lab_text({"--help", "bash"}), "'lab shapes '*"));
  check_lab_refuses({"--lang", "ko", "heads"}, {"the experiment before its options"});
}
