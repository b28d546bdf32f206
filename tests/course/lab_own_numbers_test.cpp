#include "course/lab_support.h"
#include "support/test.h"

// Experiments of `headlight lab` on numbers, masks and sizes of the user.
TEST_CASE("lab norms normalises the user's matrix with gain and shift", "[cli]") {
  const json results =
      lab_json({"norms", "--x", "0,4;2,10", "--gamma", "1,2", "--beta", "[10,20]"});
  const json& layer = results["values"]["layer"];
  const json& batch = results["values"]["batch"];
  // Rows: mean 2, deviation 2; mean 6, deviation 4. Columns: 1 and 1; 7 and 3.
  CHECK(layer["std"] == json({2, 4}));
  CHECK(batch["std"] == json({1, 3}));
  CHECK(layer["unbiased_std"][0].get<double>() == Approx(std::sqrt(8.0)));
  CHECK(batch["unbiased_std"][1].get<double>() == Approx(std::sqrt(18.0)));
  const double wide = 4 / std::sqrt(16 + 1e-5);
  const double narrow = 1 / std::sqrt(1 + 1e-5);
  CHECK(layer["normalized"][3].get<double>() == Approx(wide));
  CHECK(layer["output"][3].get<double>() == Approx(20 + 2 * wide));
  CHECK(batch["normalized"][0].get<double>() == Approx(-narrow));
  CHECK(batch["output"][0].get<double>() == Approx(10 - narrow));
  const std::string text = lab_text({"norms", "--x", "[[0,4],[2,10]]", "--gamma", "1,2"});
  for (const char* part : {"gamma = tensor([1., 2.])", "beta = tensor([0., 0.])", "2.8284",
                           "y     = gamma * x_hat + beta"}) {
    INFO(part);
    CHECK(contains(text, part));
  }
  CHECK_FALSE(contains(text, "Row 2 is constant"));
}

TEST_CASE("lab masks applies the user's mask to the user's words", "[cli]") {
  const json results =
      lab_json({"masks", "--tokens", "나는,밥을,먹는다", "--keep", "1,1,0"})["values"];
  CHECK(results["tokens"] == json({"나는", "밥을", "먹는다"}));
  const std::vector<double> all = results["none"]["weights"];
  const std::vector<double> own = results["own"]["weights"];
  for (std::size_t row = 0; row < 9; row += 3) {
    CHECK(own[row] == Approx(all[row] / (all[row] + all[row + 1])));
    CHECK(own[row + 2] == 0);
  }
  CHECK_FALSE(results.contains("causal"));
  const json rows = lab_json({"masks", "--tokens", "a,b", "--keep", "0,0;0,1"});
  CHECK(rows["values"]["own"]["weights"] == json({0, 0, 0, 1}));
  check_all_claims(rows);
}

TEST_CASE("lab masks makes no claim about what the user's mask does not have", "[cli]") {
  const auto ids_of = [](const std::string& keep) {
    std::vector<std::string> ids;
    const json claims = claims_of(lab_json({"masks", "--tokens", "a,b,c", "--keep", keep}));
    for (const auto& [id, holds] : claims.items()) {
      ids.push_back(id);
    }
    return ids;
  };
  CHECK(ids_of("1,1,1").empty());
  CHECK(ids_of("1,1,0") ==
        std::vector<std::string>{"hidden_keys_get_nothing", "mask_renormalises"});
  CHECK(ids_of("1,1,1;0,0,0;1,1,1").size() == 3);
}

TEST_CASE("lab params breaks the parameters of the user's layer down", "[cli]") {
  const json results = lab_json({"params", "--width", "96", "--heads", "6"});
  CHECK(results["values"]["own"]["counted"] == 4 * 96 * 96 + 4 * 96);
  CHECK(results["values"]["layers"].size() == 12);
  CHECK(contains(lab_text({"params", "--width", "64", "--heads", "8"}), "16,640"));
}

TEST_CASE("lab scaling draws one figure with a panel for each width of a head", "[cli]") {
  const TemporaryFolder folder;
  const json results = lab_json({"scaling", "--d_k", "128,4,16", "--out", folder.at("out")});
  const json& cases = results["values"]["cases"];
  REQUIRE(cases.size() == 6);
  CHECK(cases[0]["d_k"] == 4);
  CHECK(cases[4]["score_deviation"].get<double>() == Approx(std::sqrt(128.0)).epsilon(0.05));
  const std::string figure = file_contents(folder.at("out/weights.svg"));
  for (const char* panel : {"d_k = 4<", "d_k = 16<", "d_k = 128<"}) {
    CHECK(contains(figure, panel));
  }
}

TEST_CASE("lab experiments on own numbers have no English words in Korean figures", "[cli]") {
  const TemporaryFolder folder;
  const std::string out = folder.at("out");
  lab_text({"masks", "--tokens", "나는,밥을", "--keep", "1,0", "--lang", "ko", "--out", out});
  const std::string figure = file_contents(out + "/own.svg");
  CHECK(contains(figure, "직접 준 마스크"));
  for (const char* word : {"Layer", "Head", "Query", "Key", "Attention", "token"}) {
    INFO(word);
    CHECK_FALSE(contains(figure, ">" + std::string(word)));
  }
}
