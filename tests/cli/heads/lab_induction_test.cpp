#include "course/lab_support.h"
#include "interpret/planted_models.h"
#include "support/saved_model.h"
#include "support/test.h"

namespace lab_induction_test {
// `headlight lab induction` on a model with planted induction heads and on one without any.
using Json = nlohmann::json;

constexpr Index kTokens = 28;  // letters and two special tokens
constexpr Index kPlaces = 32;
// Parts of the residual stream, side by side: this token, the token before, this position, the next
// token.
constexpr Index kHere = 0;
constexpr Index kBefore = kTokens;
constexpr Index kPlace = 2 * kTokens;
constexpr Index kNext = kPlace + kPlaces;

CharTokenizer letters() { return build_char_tokenizer("abcdefghijklmnopqrstuvwxyz"); }

// Head 0.0 writes the previous token. Head 1.0 attends to the token after an earlier equal token.
std::string planted_model(const TemporaryFolder& folder) {
  GptConfig config{.vocab_size = kTokens, .block_size = kPlaces, .n_layer = 2, .n_head = 2};
  config.n_embd = kNext + kTokens;
  config.head_width = 32;
  config.mlp = false;
  config.tie_weights = false;
  const Gpt gpt(config, 1);
  embed_in_parts(gpt, kHere, kPlace, kNext);
  HeadWiring wiring{.moved = kTokens, .gain = 0.25, .noise = 0};
  wiring.query = wiring.key = kPlace;
  wiring.query_shift = 1;
  wiring.compared = kPlaces;
  wiring.output = kBefore;
  wire_head(gpt, 0, wiring);
  wiring.query = kHere;
  wiring.query_shift = 0;
  wiring.key = kBefore;
  wiring.compared = kTokens;
  wiring.output = kNext;
  wire_head(gpt, 1, wiring);
  return save_model(folder, "planted", gpt, letters());
}

// The arguments of `lab` for an investigation of a model.
Arguments model(const std::string& path, const Arguments& more = {}) {
  return changed({"induction", "--model", path}, more);
}

TEST_CASE("lab induction finds the planted heads and their path", "[cli]") {
  const TemporaryFolder folder;
  const Json results = lab_json(model(planted_model(folder), {"--out", folder.at("out")}));
  CHECK(claims_of(results) == Json({{"learns_from_the_repetition", true},
                                    {"has_induction_head", true},
                                    {"patching_names_the_same_heads", true},
                                    {"composes_by_keys", true},
                                    {"source_looks_at_the_previous_token", true},
                                    {"induction_heads_are_needed", true},
                                    {"few_edges_suffice", true}}));
  REQUIRE(results["values"]["starts"].size() == 1);
  const Json& found = results["values"]["starts"][0];
  CHECK(found["pairs_done"] == found["pairs"]);
  CHECK(found["induction_heads"] == Json({"1.0"}));
  check_json(found, R"({"receiver": "1.0", "source": "0.0"})");
  CHECK(found["heads"][0]["brings_back"]["mean"] > 0.95);
  CHECK(found["heads"][1]["brings_back"]["mean"] < 0.02);
  CHECK(found["heads"][2]["takes_away"]["mean"] > 0.95);
  CHECK(found["heads"][2]["by_place"][4] > 0.95);  // place "A (end)"
  CHECK(found["paths"][0]["key"]["mean"] > 0.95);
  CHECK(std::abs(found["paths"][0]["query"]["mean"].get<double>()) < 0.05);
  CHECK(found["lens"].back()["probability"] > 0.5);
  CHECK(found["lens"][1]["probability"] < 0.1);
  CHECK(found["circuit"]["kept"] == 3);
  for (const char* figure :
       {"receiver", "source", "positions", "paths", "circuit", "faithfulness"}) {
    INFO(figure);
    CHECK(contains(file_contents(folder.at("out/") + figure + ".svg"), "</svg>"));
  }
}

TEST_CASE("lab induction prints the same results in both languages", "[cli]") {
  const TemporaryFolder folder;
  const std::string planted = planted_model(folder);
  const std::string english = lab_text(model(planted));
  check_parts(english, {"5. Which head provides the keys of 1.0?",
                        "✓ K-composition: the output of 0.0 reaches 1.0 through its keys"});
  const std::string korean = lab_text(model(planted, {"--lang", "ko"}));
  check_parts(korean, {"5. 1.0 헤드의 키는 어느 헤드에서 오는가?",
                       "✓ 키 합성(K-composition): 0.0 헤드의 출력은 1.0 헤드의 키를 거쳐"});
  for (const std::string& text : {english, korean}) {
    check_lacks(text, {"{{", "✗"});
  }
}

TEST_CASE("lab induction says so when a model has no induction head", "[cli]") {
  const TemporaryFolder folder;
  const std::string random = save_model(folder, "random", *lively_model(kTokens, 32), letters());
  const Json results = lab_json(model(random));
  CHECK(claims_of(results) ==
        Json({{"learns_from_the_repetition", false}, {"has_induction_head", false}}));
  CHECK(results["values"]["starts"][0]["induction_heads"].empty());
  const std::string text = lab_text(model(random));
  check_parts(text, {"The model does not solve this task.", "✗ No head is an induction head"});
  CHECK_FALSE(contains(text, "3. In which"));
}

TEST_CASE("lab induction trains one model for every seed", "[cli]") {
  const Json results = lab_json({"induction", "--iters", "2"});
  const Json& values = results["values"];
  CHECK(values["updates"] == 2);
  CHECK(values["second_copy_by_update"]["updates"] == Json({0, 1, 2}));
  check_json(values, R"({"starts#": 2, "starts/0/seed": 1337, "starts/1/seed": 1338,
                         "starts/0/heads#": 8})");
  CHECK(values["starts"][0]["heads"] != values["starts"][1]["heads"]);
  CHECK(claims_of(results)["every_start_agrees"].is_null());
  CHECK(contains(claim_text(results, "has_induction_head"), "too few steps for a verdict"));
}
}  // namespace lab_induction_test
