#include "course/lab_support.h"
#include "support/test.h"

// Experiments of `headlight lab` on the user's own input.
std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

Tensor array_of(const std::string& file, const std::string& name) {
  for (const auto& [found, tensor] : read_npz(file)) {
    if (found == name) {
      return tensor;
    }
  }
  FAIL(name);
  return {};
}

// Element i is sin(i + first).
Tensor waves(const Shape& shape, double first) {
  Tensor values = Tensor::empty(shape);
  for (Index i = 0; i < values.numel(); ++i) {
    values.data<float>()[i] = static_cast<float>(std::sin(static_cast<double>(i) + first));
  }
  return values;
}

// Weights of nn.MultiheadAttention(4, 2).
std::string torch_weights(const TemporaryFolder& folder) {
  const std::string file = folder.at("mha.safetensors");
  write_safetensors(file, {{"in_proj_weight", waves({12, 4}, 1)},
                           {"in_proj_bias", waves({12}, 2)},
                           {"out_proj.weight", waves({4, 4}, 3)},
                           {"out_proj.bias", waves({4}, 4)}});
  return file;
}

const std::string kExample =
    R"({"x": [[1, 0], [0, 2]], "W_Q": [[1, 0], [0, 1]], "W_K": [[1, 0], [0, 1]], )"
    R"("W_V": [[1], [1]]})";

TEST_CASE("lab attention counts and draws eight heads of the user's words", "[cli]") {
  const TemporaryFolder folder;
  const json results =
      lab_json({"attention", "--tokens", "나는,밥을,먹는다", "--out", folder.at("out")});
  const json& values = results["values"];
  CHECK(values["tokens"] == json({"나는", "밥을", "먹는다"}));
  CHECK(values["parameters"] == 16640);
  CHECK(values["attn_weights"].size() == 8 * 3 * 3);
  for (const json& sum : values["row_sums"]) {
    CHECK(sum.get<double>() == Approx(1).margin(1e-6));
  }
  check_all_claims(results);
  const std::string figure = file_contents(folder.at("out/attention.svg"));
  CHECK(count_of(figure, "class=\"head\"") == 8);
  CHECK(count_of(figure, "class=\"value\"") == 8 * 3 * 3);
  CHECK(count_of(figure, ">먹는다<") == 16);
  CHECK(contains(figure, ">Multi-head attention weights<"));
  CHECK_FALSE(contains(figure, "Layer"));
  const std::string text = lab_text({"attention"});
  for (const char* line : {"[1, 8, 4, 8]", "W_q     64 x 64           4,096",
                           "biases  4 x 64              256", "total   4 d^2 + 4 d      16,640"}) {
    INFO(line);
    CHECK(contains(text, line));
  }
}

TEST_CASE("lab attention says that PyTorch's weights do not show the number of heads", "[cli]") {
  const TemporaryFolder folder;
  const std::string weights = torch_weights(folder);
  std::string text = lab_text({"attention", "--weights", weights, "--heads", "2"});
  std::replace(text.begin(), text.end(), '\n', ' ');  // as wrapped
  CHECK(contains(text,
                 "The file does not show the number of heads. This run uses 2, as --heads says."));
}

TEST_CASE("lab attention with PyTorch's weights gives the numbers of nn.MultiheadAttention",
          "[cli]") {
  const TemporaryFolder folder;
  const json results = lab_json(
      words("attention --tokens a,b,a --heads 2 --seed 42 --weights", torch_weights(folder)));
  const json& values = results["values"];
  CHECK(values["width"] == 4);
  CHECK(values["parameters"] == 80);
  // Printed by PyTorch for the same x and weights.
  const std::vector<double> output{0.788551, -3.652679, 1.696743, 0.767336,  0.792312, -3.600554,
                                   1.624840, 0.809208,  0.788551, -3.652679, 1.696743, 0.767336};
  const std::vector<double> weights{0.481938, 0.036125, 0.481938, 0.497569, 0.004862, 0.497569,
                                    0.481938, 0.036125, 0.481938, 0.297160, 0.405680, 0.297160,
                                    0.344828, 0.310344, 0.344828, 0.297160, 0.405680, 0.297160};
  const std::vector<double> outputs = values["output"];
  const std::vector<double> attention = values["attn_weights"];
  REQUIRE(outputs.size() == output.size());
  REQUIRE(attention.size() == weights.size());
  for (std::size_t i = 0; i < output.size(); ++i) {
    CHECK(outputs[i] == Approx(output[i]).margin(2e-6));
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    CHECK(attention[i] == Approx(weights[i]).margin(2e-6));
  }
  check_all_claims(results);
}

TEST_CASE("lab attention hides pads and later words", "[cli]") {
  const json results = lab_json(
      {"attention", "--tokens", "a,b", "--pad", "1", "--width", "4", "--heads", "1", "--causal"});
  const std::vector<double> weights = results["values"]["attn_weights"];
  CHECK(weights[0] == 1);
  CHECK(weights[1] == 0);
  CHECK(weights[2] == 0);
  CHECK(weights[3] + weights[4] == Approx(1));
  CHECK(weights[5] == 0);
  CHECK(weights[8] == 0);
  check_all_claims(results);
}

TEST_CASE("lab shapes turns sentences into ids, masks and arrays", "[cli]") {
  const TemporaryFolder folder;
  const json results = lab_json({"shapes", "--text", "a b a", "--text", "b c", "--mask", "both",
                                 "--width", "4", "--heads", "2", "--out", folder.at("out")});
  const json& values = results["values"];
  CHECK(values["batch"] == json({1, 2, 1, 2, 3, 0}));
  CHECK(values["lengths"] == json({3, 2}));
  CHECK(values["mask"]["hidden"] == json({0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 1, 0, 0, 1}));
  check_all_claims(results);
  const std::string arrays = folder.at("out/shapes.npz");
  CHECK(array_of(arrays, "batch").to_vector() == std::vector<double>{1, 2, 1, 2, 3, 0});
  const Tensor weights = array_of(arrays, "attn_dists");
  CHECK(weights.shape() == Shape{2, 2, 3, 3});
  // softmax(q k / sqrt(2)) of sequence 1, head 1, query 1, whose pad is hidden.
  const std::vector<double> q = array_of(arrays, "q").to_vector();
  const std::vector<double> k = array_of(arrays, "k").to_vector();
  const std::size_t head = (1 * 2 + 1) * 3 * 2;
  const auto score = [&](std::size_t s) {
    return (q[head + 2] * k[head + 2 * s] + q[head + 3] * k[head + 2 * s + 1]) / std::sqrt(2.0);
  };
  const double expected = 1 / (1 + std::exp(score(1) - score(0)));
  const std::vector<double> row = weights.to_vector();
  CHECK(row[27 + 3] == Approx(expected).epsilon(1e-5));
  CHECK(row[27 + 5] == 0);
  for (const char* name : {"sequence_0_mask_none.svg", "sequence_1_mask_both.svg"}) {
    CHECK(contains(file_contents(folder.at("out/") + name), "&lt;pad&gt;") ==
          contains(name, "sequence_1"));
  }
}

TEST_CASE("lab shapes reads characters and lines and padded ids", "[cli]") {
  const TemporaryFolder folder;
  const std::string lines = folder.write("lines.txt", "한국\n국\r\n");
  const std::string ids = folder.write("ids.json", "[[5, 7, 0], [9, 0, 0]]");
  const Arguments small{"--width", "2", "--heads", "1"};
  const auto batch_of = [&](Arguments arguments) {
    arguments.insert(arguments.begin(), "shapes");
    arguments.insert(arguments.end(), small.begin(), small.end());
    return lab_json(arguments)["values"]["batch"];
  };
  CHECK(batch_of({"--file", lines, "--tokenizer", "char"}) == json({1, 2, 2, 0}));
  CHECK(batch_of({"--file", lines, "--pad_id", "1"}) == json({0, 2}));
  CHECK(batch_of({"--sequences", ids}) == json({5, 7, 9, 0}));
}

TEST_CASE("lab worked-example computes with the user's matrices", "[cli]") {
  const TemporaryFolder folder;
  const std::string file = folder.write("my.json", kExample);
  const json results = lab_json({"worked-example", "--input", file});
  const json& own = results["values"]["own"];
  CHECK(own["x"] == json({1, 0, 0, 2}));
  CHECK(own["scores"] == json({1, 0, 0, 4}));
  CHECK(own["V"] == json({1, 2}));
  CHECK(own["shapes"]["Vh"] == json({2, 1, 1}));
  const double self = std::exp(1 / std::sqrt(2.0));
  CHECK(own["out_concat"][0].get<double>() == Approx((self + 2) / (self + 1)));
  CHECK_FALSE(own.contains("out"));
  const json causal = lab_json({"worked-example", "--input", file, "--causal", "--heads", "1"});
  CHECK(causal["values"]["own"]["out_concat"][0] == 1);
  CHECK(causal["values"]["own"]["scores_masked"][1].is_null());  // JSON has no infinity
  check_all_claims(causal);
  CHECK(contains(lab_text({"worked-example", "--input", file}), "Qh[:, 0, :] @ Kh[:, 0, :].T ="));
  CHECK(lab_json({"worked-example", "--causal"})["values"]["own"]["causal_mask"].size() == 9);
}

TEST_CASE("lab explains own input and its figures in Korean alone", "[cli]") {
  const TemporaryFolder folder;
  const std::string file = folder.write("my.json", kExample);
  const std::vector<std::pair<Arguments, std::string>> cases{
      {{"attention", "--tokens", "가,나", "--causal"}, "attention.svg"},
      {{"worked-example", "--input", file}, "own.svg"},
      {{"worked-example"}, "single_head.svg"},
      {{"shapes", "--text", "가 나", "--text", "다"}, "sequence_1_mask_padding.svg"}};
  for (auto [arguments, figure] : cases) {
    INFO(figure);
    arguments.insert(arguments.end(), {"--lang", "ko", "--out", folder.at("out")});
    const std::string text = lab_text(arguments);
    const std::string all = text + file_contents(folder.at("out/" + figure));
    for (const char* word : {" the ", " of ", "Head ", "Query", "Key", "Layer", "Attention weight",
                             " tokens", "attention weights"}) {
      INFO(word);
      CHECK_FALSE(contains(all, word));
    }
    CHECK(contains(all, "쿼리"));
  }
}

TEST_CASE("lab refuses a width that its weights do not have", "[cli]") {
  const TemporaryFolder folder;
  check_lab_refuses(
      {"attention", "--weights", torch_weights(folder), "--heads", "2", "--width", "8"},
      {"--width", "4", "8"});
}
