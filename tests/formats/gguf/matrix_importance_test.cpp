#include "headlight/formats/gguf/matrix_importance.h"
#include "headlight/formats/gguf/gguf_model.h"
#include "support/models/drawn_config.h"
#include "support/test.h"

namespace matrix_importance_test {
Gpt small_llama() {
  GptConfig config =
      llama_like({.vocab_size = 259, .block_size = 16, .n_layer = 2, .n_head = 4, .n_embd = 64});
  config.layer_norm_epsilon = 1e-6;
  return Gpt(config, 7);
}

TokenDataset text_of(Index tokens) { return stream_dataset(draw_ids(tokens, 256)); }

// Returns the sum over a matrix of importance times squared error.
double weighted_error(const Gpt& model, const Gpt& rounded, const MatrixImportance& importance) {
  double sum = 0;
  for (const auto& [name, columns] : importance) {
    for (const auto& [weight, tensor] : model.weights()) {
      if (weight.name != name) {
        continue;
      }
      const std::vector<double> values = tensor.to_vector();
      std::vector<double> close;
      for (const auto& [other, its] : rounded.weights()) {
        close = other.name == name ? its.to_vector() : close;
      }
      REQUIRE(close.size() == values.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        sum += double{columns[i % columns.size()]} * std::pow(close[i] - values[i], 2);
      }
    }
  }
  return sum;
}

TEST_CASE("the importance of a column is the mean square of its input") {
  const Gpt model = small_llama();
  spread_weights(model);
  const TokenDataset data = text_of(33);
  const MatrixImportance importance = measure_importance(model, data, {.batch_size = 1});
  CHECK(importance.size() == 2 * 5 + 1);
  // The inputs of the logits: the outputs of the last norm, in blocks of 16 tokens.
  std::vector<double> squares(64);
  for (const Index first : {0, 16}) {
    Ids ids = draw_ids(33, 256);
    ids = {ids.begin() + first, ids.begin() + first + 16};
    const std::vector<double> hidden = model.hidden(make_batch({ids})).detach().to_vector();
    for (std::size_t i = 0; i < hidden.size(); ++i) {
      squares[i % 64] += hidden[i] * hidden[i] / 32;
    }
  }
  const std::vector<float>& logits = importance.at("wte.weight");  // tied
  for (std::size_t i = 0; i < 64; ++i) {
    CHECK(double{logits[i]} == Approx(squares[i]).epsilon(1e-4));
  }
}

TEST_CASE("calibrated files have a smaller error of the outputs") {
  const TemporaryFolder folder;
  const Gpt model = small_llama();
  spread_weights(model);
  const MatrixImportance importance = measure_importance(model, text_of(200));
  for (const GgufType type : {GgufType::q4_0, GgufType::q4_k, GgufType::q5_k}) {
    INFO(name_of(type));
    const auto error_with = [&](const MatrixImportance& used) {
      write_gguf_model(folder / "a.gguf", model, ByteTokenizer(),
                       {.type = type, .importance = used});
      return weighted_error(model, *load_weights(folder / "a.gguf"), importance);
    };
    CHECK(error_with(importance) < 0.98 * error_with({}));
  }
}

TEST_CASE("max_tokens counts the tokens of short documents, not full blocks") {
  const Gpt model = small_llama();
  spread_weights(model);
  auto lines = counted<Ids>(60, [&](std::int32_t i) { return Ids{i, i + 60, i + 120}; });
  const TokenDataset data = document_dataset(std::move(lines), 257);
  const auto with = [&](Index tokens) {
    return measure_importance(model, data, {.batch_size = 1, .max_tokens = tokens});
  };
  CHECK(with(data.token_count) == with(1 << 16));
  CHECK(with(data.token_count / 2) != with(1 << 16));
}

TEST_CASE("a model whose activations are not finite has no importance") {
  const Gpt model = small_llama();
  Tensor embedding = model.weights().front().tensor;
  embedding.mutable_data<float>()[0] = INFINITY;
  check_error([&] { measure_importance(model, stream_dataset({0, 1, 2})); }, {"are not finite"});
}
}  // namespace matrix_importance_test
