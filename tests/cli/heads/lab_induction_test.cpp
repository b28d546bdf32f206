#include "course/lab_support.h"
#include "support/test.h"

namespace lab_induction_test {
// `headlight lab induction` on a model with planted induction heads and on one without any.
using Json = nlohmann::json;

constexpr Index kTokens = 28;  // letters and two special tokens
constexpr Index kPlaces = 32;
constexpr Index kHead = 32;
// Parts of the residual stream, side by side: this token, the token before, this position, the next
// token.
constexpr Index kHere = 0;
constexpr Index kBefore = kTokens;
constexpr Index kPlace = 2 * kTokens;
constexpr Index kNext = kPlace + kPlaces;
constexpr Index kWidth = kNext + kTokens;

struct Matrix {
  Matrix(Index rows, Index row_length)
      : columns(row_length), values(static_cast<std::size_t>(rows * row_length)) {}
  void set(Index row, Index column, double value) {
    values[static_cast<std::size_t>(row * columns + column)] = value;
  }

  Index columns;
  std::vector<double> values;
};

// Wiring of head 0: the query reads at `query` + `shift`, the key at `key`; it writes at `output`.
struct Wiring {
  Index query;
  Index shift;
  Index key;
  Index output;
  Index numbers;  // size of the compared parts
};

void wire(const Gpt& gpt, Index layer, const Wiring& wiring) {
  Matrix read(6 * kHead, kWidth);
  Matrix write(kWidth, 2 * kHead);
  for (Index d = 0; d < wiring.numbers; ++d) {
    if (d + wiring.shift < wiring.numbers) {
      read.set(d, wiring.query + d + wiring.shift, 1);
    }
    read.set(2 * kHead + d, wiring.key + d, 1);
  }
  for (Index d = 0; d < kTokens; ++d) {
    read.set(4 * kHead + d, kHere + d, 1);
    write.set(wiring.output + d, d, 0.25);
  }
  const std::string name = concat_text("h.", layer, ".attn.");
  set_parameter(gpt, name + "c_attn.weight", read.values);
  set_parameter(gpt, name + "c_proj.weight", write.values);
}

// Head 0.0 writes the previous token. Head 1.0 attends to the token after an earlier equal token.
void write_planted_model(const std::string& folder) {
  GptConfig config{.vocab_size = kTokens, .block_size = kPlaces, .n_layer = 2, .n_head = 2};
  config.n_embd = kWidth;
  config.head_width = kHead;
  config.mlp = false;
  config.tie_weights = false;
  const Gpt gpt(config, 1);
  Matrix tokens(kTokens, kWidth);
  Matrix places(kPlaces, kWidth);
  Matrix head(kTokens, kWidth);
  for (Index n = 0; n < kTokens; ++n) {
    tokens.set(n, kHere + n, 1);
    head.set(n, kNext + n, 1);
  }
  for (Index n = 0; n < kPlaces; ++n) {
    places.set(n, kPlace + n, 1);
  }
  set_parameter(gpt, "wte.weight", tokens.values);
  set_parameter(gpt, "wpe.weight", places.values);
  set_parameter(gpt, "lm_head.weight", head.values);
  wire(gpt, 0, {kPlace, 1, kPlace, kBefore, kPlaces});
  wire(gpt, 1, {kHere, 0, kBefore, kNext, kTokens});
  fs::create_directories(folder);
  write_model_files(folder, gpt, build_char_tokenizer("abcdefghijklmnopqrstuvwxyz"));
}

// The arguments of `lab` for an investigation of a model.
Arguments model(const std::string& path, const Arguments& more = {}) {
  Arguments arguments{"induction", "--model", path};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST_CASE("lab induction finds the planted heads and their path", "[cli]") {
  const TemporaryFolder folder;
  write_planted_model(folder.at("planted"));
  const Json results = lab_json(model(folder.at("planted"), {"--out", folder.at("out")}));
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
  CHECK(found["receiver"] == "1.0");
  CHECK(found["source"] == "0.0");
  CHECK(found["heads"][0]["brings_back"]["mean"].get<double>() > 0.95);
  CHECK(found["heads"][1]["brings_back"]["mean"].get<double>() < 0.02);
  CHECK(found["heads"][2]["takes_away"]["mean"].get<double>() > 0.95);
  CHECK(found["heads"][2]["by_place"][4].get<double>() > 0.95);  // place "A (end)"
  CHECK(found["paths"][0]["key"]["mean"].get<double>() > 0.95);
  CHECK(std::abs(found["paths"][0]["query"]["mean"].get<double>()) < 0.05);
  CHECK(found["lens"].back()["probability"].get<double>() > 0.5);
  CHECK(found["lens"][1]["probability"].get<double>() < 0.1);
  CHECK(found["circuit"]["kept"] == 3);
  for (const char* figure :
       {"receiver", "source", "positions", "paths", "circuit", "faithfulness"}) {
    INFO(figure);
    CHECK(contains(file_contents(folder.at("out/") + figure + ".svg"), "</svg>"));
  }
}

TEST_CASE("lab induction prints the same results in both languages", "[cli]") {
  const TemporaryFolder folder;
  write_planted_model(folder.at("planted"));
  const std::string english = lab_text(model(folder.at("planted")));
  CHECK(contains(english, "5. Which head provides the keys of 1.0?"));
  CHECK(contains(english, "✓ K-composition: the output of 0.0 reaches 1.0 through its keys"));
  const std::string korean = lab_text(model(folder.at("planted"), {"--lang", "ko"}));
  CHECK(contains(korean, "5. 1.0 헤드의 키는 어느 헤드에서 오는가?"));
  CHECK(contains(korean, "✓ 키 합성(K-composition): 0.0 헤드의 출력은 1.0 헤드의 키를 거쳐"));
  for (const std::string& text : {english, korean}) {
    CHECK_FALSE(contains(text, "{{"));
    CHECK_FALSE(contains(text, "✗"));
  }
}

TEST_CASE("lab induction says so when a model has no induction head", "[cli]") {
  const TemporaryFolder folder;
  const CharTokenizer tokenizer = build_char_tokenizer("abcdefghijklmnopqrstuvwxyz");
  fs::create_directories(folder.at("random"));
  write_model_files(folder.at("random"), *lively_model(tokenizer.vocab_size(), 32), tokenizer);
  const Json results = lab_json(model(folder.at("random")));
  CHECK(claims_of(results) ==
        Json({{"learns_from_the_repetition", false}, {"has_induction_head", false}}));
  CHECK(results["values"]["starts"][0]["induction_heads"].empty());
  const std::string text = lab_text(model(folder.at("random")));
  CHECK(contains(text, "The model does not solve this task."));
  CHECK(contains(text, "✗ No head is an induction head"));
  CHECK_FALSE(contains(text, "3. In which"));
}

TEST_CASE("lab induction trains one model for every seed", "[cli]") {
  const Json results = lab_json({"induction", "--iters", "2"});
  const Json& values = results["values"];
  CHECK(values["updates"] == 2);
  CHECK(values["second_copy_by_update"]["updates"] == Json({0, 1, 2}));
  REQUIRE(values["starts"].size() == 2);
  CHECK(values["starts"][0]["seed"] == 1337);
  CHECK(values["starts"][1]["seed"] == 1338);
  CHECK(values["starts"][0]["heads"].size() == 8);
  CHECK(values["starts"][0]["heads"] != values["starts"][1]["heads"]);
  CHECK(claims_of(results)["every_start_agrees"].is_null());
  CHECK(contains(claim_text(results, "has_induction_head"), "too few steps for a verdict"));
}
}  // namespace lab_induction_test
