#include "course/lab_support.h"
#include "support/programs/session.h"
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

TEST_CASE("sessions: the lab", "[cli]") { run_sessions("course/lab.txt"); }
