#include "course/lab_support.h"
#include "support/test.h"

// Experiments of `headlight lab` on the user's own input.
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

TEST_CASE("lab attention says that PyTorch's weights do not show the number of heads", "[cli]") {
  const TemporaryFolder folder;
  const std::string weights = torch_weights(folder);
  std::string text = lab_text({"attention", "--weights_file", weights, "--heads", "2"});
  std::replace(text.begin(), text.end(), '\n', ' ');  // as wrapped
  CHECK(contains(text,
                 "The file does not show the number of heads. This run uses 2, as --heads says."));
}

TEST_CASE("lab attention with PyTorch's weights gives the numbers of nn.MultiheadAttention",
          "[cli]") {
  const TemporaryFolder folder;
  const json results = lab_json(
      words("attention --tokens a,b,a --heads 2 --seed 42 --weights_file", torch_weights(folder)));
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

TEST_CASE("lab refuses a width that its weights do not have", "[cli]") {
  const TemporaryFolder folder;
  check_lab_refuses(
      {"attention", "--weights_file", torch_weights(folder), "--heads", "2", "--width", "8"},
      {"--width", "4", "8"});
}
