#include "support/models/own_model.h"
#include "headlight/interpret/effects/ablation.h"
#include "headlight/interpret/effects/importance.h"
#include "headlight/interpret/effects/patch_grid.h"
#include "headlight/interpret/prune.h"
#include "headlight/interpret/record_attention.h"
#include "headlight/interpret/redundancy.h"
#include "headlight/interpret/scores/head_scores.h"
#include "support/test.h"

namespace heads_own_model_test {
const GptConfig kShape{
    .vocab_size = 9, .block_size = 12, .n_layer = 2, .n_head = 3, .n_embd = 12, .mlp = false};
const std::vector<Ids> kTexts{{1, 2, 3, 1, 2, 3, 4, 1, 2}, {5, 6, 7, 5, 6, 8}};

// Results of the head tools for a model behind a plain interface, and for the model itself.
struct Pair {
  OwnModel own{kShape, 3};
  const Gpt& gpt = own.inner;
  TokenDataset data = document_dataset(kTexts, 0);
};

TEST_CASE("heads of a custom model get the same scores as those of a Gpt") {
  const Pair pair;
  HeadScoreOptions options{.weight_scores = false};
  options.heads = {{0, 1}, {1, 2}};
  const HeadScores own = score_heads(pair.own, kTexts, options);
  const HeadScores gpt = score_heads(pair.gpt, kTexts, options);
  REQUIRE(own.heads.size() == 2);
  for (std::size_t head = 0; head < own.heads.size(); ++head) {
    CHECK(own.heads[head].head == gpt.heads[head].head);
    for (std::size_t score = 0; score < score_list().size(); ++score) {
      CHECK(own.heads[head].scores[score].value.mean == gpt.heads[head].scores[score].value.mean);
    }
  }
  CHECK(!score_heads(pair.own, kTexts).weights.has_value());
  CHECK(head_distances(pair.own, kTexts).distance == head_distances(pair.gpt, kTexts).distance);
}

TEST_CASE("attention maps of a custom model equal those of a Gpt") {
  const Pair pair;
  const CharTokenizer tokenizer = build_char_tokenizer("abcdefg");
  const RecordAttentionOptions options{.heads = {{1, 0}, {1, 2}}, .vectors = true};
  const AttentionMaps own = record_attention(pair.own, tokenizer, "abcab", options);
  const AttentionMaps gpt = record_attention(pair.gpt, tokenizer, "abcab", options);
  REQUIRE(own.layers.size() == 1);
  CHECK(own.layers[0].heads == std::vector<Index>{0, 2});
  CHECK(own.layers[0].weights.to_vector() == gpt.layers[0].weights.to_vector());
  CHECK(own.layers[0].queries.to_vector() == gpt.layers[0].queries.to_vector());
  CHECK(own.layers[0].scale == gpt.layers[0].scale);
  const auto carried = [&](const LanguageModel& model) {
    return record_attention(model, tokenizer, "abcab", {.value_weighted = true}).layers[1].weights;
  };
  CHECK(carried(pair.own).to_vector() == carried(pair.gpt).to_vector());
}

TEST_CASE("heads of a custom model have the same importance as those of a Gpt") {
  const Pair pair;
  for (const AblationMode mode : {AblationMode::zero, AblationMode::mean, AblationMode::resample}) {
    const AblationResult own = ablate(pair.own, pair.data, each_part(pair.own, PartKind::head),
                                      {.mode = mode, .joint = 2});
    const AblationResult gpt = ablate(pair.gpt, pair.data, each_part(pair.gpt, PartKind::head),
                                      {.mode = mode, .joint = 2});
    CHECK(std::abs(own.loss.mean - gpt.loss.mean) < 1e-5);
    REQUIRE(own.rises.size() == 6);
    for (std::size_t i = 0; i < own.rises.size(); ++i) {
      CHECK(std::abs(own.rises[i].mean - gpt.rises[i].mean) < 1e-5);
    }
    CHECK(own.pairs.size() == 1);
  }
  const ImportanceResult own = head_importance(pair.own, pair.data);
  const ImportanceResult gpt = head_importance(pair.gpt, pair.data);
  for (std::size_t i = 0; i < own.heads.size(); ++i) {
    CHECK(own.heads[i].sensitivity.mean > 0);
    CHECK(std::abs(own.heads[i].sensitivity.mean - gpt.heads[i].sensitivity.mean) < 1e-5);
  }
  for (const Ids& answer : {Ids{5}, Ids{5, 7}}) {
    const PatchingTask task{
        .clean = {1, 2, 3}, .corrupt = {1, 4, 3}, .answer = answer, .wrong = {6}};
    for (const PatchGridOptions& options :
         {PatchGridOptions{},
          {.point = Point::resid_post, .by_item = false, .by_position = true},
          {.attribution = true, .drop_gradients = true}}) {
      const PatchGrid found = patch_grid(pair.own, task, options);
      const PatchGrid expected = patch_grid(pair.gpt, task, options);
      REQUIRE(found.cells.size() == expected.cells.size());
      for (std::size_t i = 0; i < found.cells.size(); ++i) {
        CHECK(std::abs(found.cells[i].recovered - expected.cells[i].recovered) < 1e-4);
        CHECK(std::abs(found.cells[i].attribution - expected.cells[i].attribution) < 1e-4);
      }
    }
  }
}

TEST_CASE("a custom model without hooks at its heads is refused by its type") {
  Pair pair;
  pair.own.shows_heads = false;
  const auto refusal = contains_text("a model of type 'custom' shows no attention heads");
  CHECK_THROWS_WITH(score_heads(pair.own, kTexts), refusal);
  CHECK_THROWS_WITH(head_distances(pair.own, kTexts), refusal);
  CHECK_THROWS_WITH(each_part(pair.own, PartKind::head), refusal);
  CHECK_THROWS_WITH(head_importance(pair.own, pair.data), refusal);
  CHECK_THROWS_WITH(
      patch_grid(pair.own, {.clean = {1, 2}, .corrupt = {1, 4}, .answer = {5}, .wrong = {6}}, {}),
      refusal);
  CHECK_THROWS_WITH(record_attention(pair.own, build_char_tokenizer("ab"), "ab"), refusal);
}

// Has heads, but records no weights and calls no hooks.
class SilentModel final : public LanguageModel {
 public:
  Index vocab_size() const override { return 9; }
  Index block_size() const override { return 12; }
  HeadLayout heads() const override { return {.numbers = {{0}}, .head_width = 4}; }
  Tensor logits(const Batch& batch, const ForwardContext&) const override {
    return Tensor::zeros({batch.token_count(), 9}).set_requires_grad();
  }
};

TEST_CASE("a model that ignores changes of its heads is refused and not measured as 0") {
  const SilentModel model;
  const TokenDataset data = document_dataset(kTexts, 0);
  const auto no_weights = contains_text(
      "a model of type 'custom' does not pass to Recorder the attention weights of layer 0");
  CHECK_THROWS_WITH(score_heads(model, kTexts), no_weights);
  CHECK_THROWS_WITH(record_attention(model, build_char_tokenizer("ab"), "ab"), no_weights);
  check_error(
      [&] {
        ablate(model, data, {head_part({0, 0})});
      },
      {"parts: this model does not compute z"});
  check_error([&] { head_importance(model, data); },
              {"does not pass to ForwardHook the outputs of the heads of every layer"});
}
}  // namespace heads_own_model_test
