#include "show/report/lens_report.h"
#include "support/test.h"

LensReading reading(double probability, std::int32_t likeliest) {
  return {.log_probability = std::log(probability), .likeliest = {{likeliest, 0}}};
}

// Readings of the bytes of "a말b": EB A7 90 between 'a' and 'b'. The likeliest token is right after
// 'a' (the first byte of the syllable) and within it, and 'x' after it.
LensResult syllable_lens() {
  return {.positions = {0, 1, 2, 3, 4},
          .tokens = {'a', 0xEB, 0xA7, 0x90, 'b'},
          .targets = {0xEB, 0xA7, 0x90, 'b', 'c'},
          .rows = {{{0, "0"},
                    {reading(0.5, 0xEB), reading(0.125, 0xA7), reading(0.25, 0x90),
                     reading(0.75, 'x'), reading(1, 'c')}}}};
}

// A model that writes the bytes of "말" again and again: its head knows the last token alone.
std::unique_ptr<Gpt> syllable_writer() {
  GptConfig config{.vocab_size = 257, .block_size = 8, .n_layer = 1, .n_head = 1, .n_embd = 257};
  config.tie_weights = false;
  auto model = std::make_unique<Gpt>(config, 1);
  for (const auto& [weight, tensor] : model->weights()) {
    Tensor(tensor.detach()).fill(0);
  }
  for (const auto& [from, to] : {std::pair{0xEB, 0xA7}, {0xA7, 0x90}, {0x90, 0xEB}}) {
    slice(slice(model->weight(Part::token_embedding), 0, from, from + 1), 1, from, from + 1)
        .fill(1);
    slice(slice(model->head_weight().detach(), 0, to, to + 1), 1, from, from + 1).fill(1);
  }
  model->weight(Part::final_norm).fill(1);
  return model;
}

PredictedTexts predicted_texts_of(const LensResult& result) {
  return predicted_texts(result, result.tokens, *syllable_writer(), ByteTokenizer());
}

TEST_CASE("a wrong prediction within a character is completed as the model continues") {
  LensResult result = syllable_lens();
  result.rows[0].readings[3] = reading(0.75, 0xEB);  // the model continues A7, 90
  result.rows[0].readings[4].likeliest = {{'c', 0}, {0xEB, -1}, {0x80, -2}, {0xC3, -3}};
  const PredictedTexts texts = predicted_texts_of(result);
  CHECK(texts.at({3, 0xEB}) == "말");
  CHECK(texts.at({4, 0xEB}) == "말");
  CHECK(texts.at({0, 0xEB}) == "말");
  CHECK(texts.at({4, 0xC3}) == "À");  // 80 is the first byte that can follow
  CHECK(texts.size() == 4);           // 80 begins nothing
  CHECK(lens_plot(result, texts, {}, ByteTokenizer()).texts ==
        std::vector<std::string>{"말", "말", "c"});
  const std::string table = lens_text(result, texts, ByteTokenizer(), 80);
  CHECK_THAT(table, contains_text(" 말  말  c\n") && !contains_text("EB>"));
}

TEST_CASE("a syllable of several tokens has one column, read at its last token") {
  const PredictedTexts texts = predicted_texts_of(syllable_lens());
  const MatrixPlot plot = lens_plot(syllable_lens(), texts, {}, ByteTokenizer());
  CHECK(plot.columns == std::vector<std::string>{"a", "말", "b"});
  CHECK_THAT(plot.values, Catch::Matchers::Approx(std::vector<double>{0.5, 0.75, 1}));
  CHECK(plot.texts == std::vector<std::string>{"말", "x", "c"});
  for (const ResultGrid& grid : lens_grids(syllable_lens(), texts, {}, ByteTokenizer())) {
    CHECK(grid.plot.columns == plot.columns);
    CHECK(grid.plot.values.size() == 3);
  }
  CHECK(lens_arrays(syllable_lens(), ByteTokenizer()).tensors.front().second.shape() ==
        Shape{1, 5});
}

TEST_CASE("a prediction that is right only for its own token stays a token") {
  LensResult result = syllable_lens();  // of a bidirectional model, whose targets are the tokens
  result.targets = result.tokens;
  result.rows[0].readings[0].likeliest = {{'a', 0}};
  CHECK(lens_plot(result, predicted_texts_of(result), {}, ByteTokenizer()).texts.front() == "a");
}
