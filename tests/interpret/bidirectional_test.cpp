#include "headlight/interpret/circuit/circuit.h"
#include "headlight/interpret/effects/ablation.h"
#include "headlight/interpret/effects/attribution.h"
#include "headlight/interpret/effects/importance.h"
#include "headlight/interpret/effects/patch_grid.h"
#include "headlight/interpret/lens/lens.h"
#include "headlight/interpret/prune.h"
#include "headlight/interpret/prune_plan.h"
#include "headlight/interpret/record_attention.h"
#include "headlight/interpret/scores/head_scores.h"
#include "support/models/bert_directory.h"
#include "support/test.h"

namespace bidirectional_test {
// Head tools on a model whose queries see keys on both sides.

const Ids kText{2, 5, 6, 8, 9, 5, 10, 12, 3};  // [CLS] the cat sat on the mat . [SEP]
constexpr std::int32_t kMask = 4;

// Returns log p(token) at a position of a text.
double log_probability(const Gpt& model, const Ids& text, Index position, std::int32_t token) {
  return element(log_probabilities(model, text), position, token);
}

TokenDataset documents(const std::vector<Ids>& texts) {
  TokenDataset data;
  for (const Ids& text : texts) {
    data.sequences.push_back(Ids(text));
    data.token_count += std::ssize(text);
  }
  return closed_windows(std::move(data), 2, 3, 16);
}

TEST_CASE("a text of a batch has the maps and logits that it has alone without a causal mask") {
  const auto model = random_bert();
  const auto tokenizer = word_piece();
  const Ids other{2, 7, 3};
  const RecordedAttention both = record_attention_of_ids(*model, *tokenizer, {kText, other}, {});
  const RecordedAttention alone = record_attention_of_ids(*model, *tokenizer, {other}, {});
  for (std::size_t layer = 0; layer < 2; ++layer) {
    const Tensor padded = both.maps(1).layers[layer].weights;  // [H, T, T]
    CHECK(same_bits(padded, alone.maps(0).layers[layer].weights));
    CHECK(padded.to_vector()[2] > 0);  // the first query sees the last key
  }
}

TEST_CASE("masked batches hide every seventh token that is not special") {
  const auto tokenizer = word_piece();
  const Ids text{2, 5, 6, 7, 8, 9, 10, 11, 1, 5, 6, 7, 8, 9, 10, 7, 3};
  const Batch batch = masked_batch({text, {2, 1, 3}}, masking_of(*tokenizer));
  Ids hidden = text;
  hidden[1] = hidden[15] = kMask;  // 8 is [UNK]
  Ids targets(text.size() + 3, kIgnoreTarget);
  targets[1] = 5;
  targets[15] = 7;
  hidden.insert(hidden.end(), {2, 1, 3});
  CHECK(batch.tokens.to_vector() == std::vector<double>(hidden.begin(), hidden.end()));
  CHECK(batch.targets.to_vector() == std::vector<double>(targets.begin(), targets.end()));
  CHECK(batch.target_count == 2);
}

TEST_CASE("windows of a bidirectional model have both ends and lose no token") {
  Ids text(30);
  for (std::size_t i = 0; i < text.size(); ++i) {
    text[i] = static_cast<std::int32_t>(5 + i % 8);
  }
  const std::vector<Ids> windows = token_ids(documents({text, {2, 9, 3}, {2, 3}}));
  REQUIRE(windows.size() == 4);
  Ids joined;
  for (const Ids& window : windows) {
    CHECK(window.size() <= 16);
    CHECK((window.front() == 2 && window.back() == 3));
    joined.insert(joined.end(), window.begin() + 1, window.end() - 1);
  }
  text.push_back(9);
  CHECK(joined == text);
}

TEST_CASE("scores of bidirectional heads follow their definitions and others are not measured") {
  const auto model = random_bert();
  const auto tokenizer = word_piece();
  const HeadScores scores = score_heads(*model, {kText}, {.bootstrap = {.resamples = 0}});
  const AttentionMaps maps = record_attention_of_ids(*model, *tokenizer, {kText}, {}).maps(0);
  const std::vector<double> map = maps.layers[1].weights.to_vector();  // head 1.0 first
  const auto length = kText.size();
  double distance = 0;
  double entropy = 0;
  double previous = 0;
  for (std::size_t q = 0; q < length; ++q) {
    for (std::size_t k = 0; k < length; ++k) {
      const double weight = map[q * length + k];
      distance += weight * std::abs(static_cast<double>(q) - static_cast<double>(k));
      entropy -= weight * std::log(weight);
    }
    previous += q > 0 ? map[q * length + q - 1] : 0;
  }
  const ScoredHead& head = scores.heads[2];
  const auto count = static_cast<double>(length);
  CHECK(head.score("mean_distance").value.mean == Approx(distance / count).epsilon(1e-6));
  CHECK(head.score("entropy").value.mean == Approx(entropy / count).epsilon(1e-6));
  CHECK(head.score("previous_token").value.mean == Approx(previous / (count - 1)).epsilon(1e-6));
  CHECK(head.score("spread").even == Approx(1));
  for (const char* name : {"offset_share", "induction", "copying", "k_composition", "near"}) {
    CHECK(!head.score(name).measured());
  }
  CHECK(!scores.causal);
}

TEST_CASE("the lens of a bidirectional model ends with its prediction of the masked token") {
  const auto model = random_bert();
  Ids text = kText;
  text[2] = kMask;
  const LensResult result = logit_lens(*model, {.text = text, .target = 7, .mask = kMask});
  CHECK(result.targets == Ids{2, 5, 7, 8, 9, 5, 10, 12, 3});
  CHECK(result.rows.back().readings[2].log_probability ==
        Approx(log_probability(*model, text, 2, 7)).epsilon(1e-5));
  CHECK_THROWS_WITH(logit_lens(*model, {.text = text, .view = {.point = Point::attn_out}}),
                    contains_text("not linear"));
}

TEST_CASE("ablation of a bidirectional model measures the loss of masked tokens") {
  const auto model = random_bert();
  const auto tokenizer = word_piece();
  const TokenDataset data = documents({{5, 6, 8, 9, 5, 10, 12, 7, 8}, {7, 8}});
  const AblationResult result = ablate(*model, data, each_part(*model, PartKind::head),
                                       {.batch_size = 1, .masking = masking_of(*tokenizer)});
  const double first = log_probability(*model, {2, 4, 6, 8, 9, 5, 10, 12, 4, 8, 3}, 1, 5) +
                       log_probability(*model, {2, 4, 6, 8, 9, 5, 10, 12, 4, 8, 3}, 8, 7);
  const double second = log_probability(*model, {2, 4, 8, 3}, 1, 7);
  CHECK(result.tokens == 3);
  CHECK(result.sequences == 2);
  CHECK(result.loss.mean == Approx(-(first + second) / 3).epsilon(1e-5));
  CHECK_THROWS_WITH(
      ablate(*model, documents({{1, 1}}), {head_part({0, 0})}, {.masking = masking_of(*tokenizer)}),
      contains_text("no token to predict"));
}

TEST_CASE("tasks of a bidirectional model are completed with its masked token") {
  const auto model = random_bert();
  const auto tokenizer = word_piece();
  Ids clean = kText;
  clean[2] = kMask;
  Ids corrupt = clean;
  corrupt[3] = 9;
  PatchingTask task{.clean = clean, .corrupt = corrupt, .answer = {6}, .wrong = {7}};
  CHECK_THROWS_WITH(patch_grid(*model, task, {}), contains_text("mask: expected the position"));
  CHECK_THROWS_WITH(likeliest_next(*model, clean), contains_text("mask: expected the position"));
  complete_task(task, MetricKind::logit_difference, *model, *tokenizer);
  CHECK(task.mask == 2);
  const PatchGrid result = patch_grid(*model, task, {});
  CHECK(result.cells.size() == 4);
  CHECK(result.clean_next.id == likeliest_next(*model, clean, 2));
  CHECK(result.clean_difference ==
        Approx(log_probability(*model, clean, 2, 6) - log_probability(*model, clean, 2, 7))
            .epsilon(1e-4));
  task.answer = {6, 7};
  check_error([&] { patch_grid(*model, task, {}); }, {"single tokens"});
  PatchingTask open{.clean = clean, .corrupt = corrupt, .answer = {}, .wrong = {9}};
  complete_task(open, MetricKind::logit_difference, *model, *tokenizer);
  CHECK(open.answer == Ids{likeliest_next(*model, clean, 2)});
  open.corrupt[2] = 6;
  CHECK_THROWS_WITH(complete_task(open, MetricKind::kl, *model, *tokenizer),
                    contains_text("corrupt: expected one [MASK]"));
}

TEST_CASE("analyses of next tokens refuse a bidirectional model") {
  const auto model = random_bert();
  const TokenDataset data = documents({{5, 6, 8, 9, 5, 10, 12, 7, 8}, {7, 8}});
  const PatchingTask task{
      .clean = {2, 5, 4, 8, 3}, .corrupt = {2, 6, 4, 8, 3}, .answer = {6}, .wrong = {7}, .mask = 2};
  const auto refused = [](const auto& call) { CHECK_THROWS_WITH(call(), contains_text("causal")); };
  refused([&] { find_circuit(*model, {task}); });
  refused([&] { head_importance(*model, data, {}); });
  refused([&] { plan_pruning(*model, data, {.keep = 2}); });
  refused([&] { prune_heads(*model, HeadSet{{0, 1}}); });
  refused([&] { attribute_logit(*model, {.text = {2, 5, 3}, .target = 6}, AttributionBy::head); });
  refused([&] { repeated_sequences({}, model->config()); });
  CHECK_THROWS_WITH(ablate(*model, data, {head_part({0, 0})}), contains_text("masking: expected"));
  CHECK_THROWS_WITH(lens_means(*model, data, {}), contains_text("masking: expected"));
  CHECK_THROWS_WITH(logit_lens(*model, {.text = kText}), contains_text("mask: expected"));
}

TEST_CASE("a bidirectional model without a head has hidden states only") {
  const auto model = random_bert(false);
  const Batch batch = make_batch({kText});
  CHECK(model->hidden(batch).shape() == Shape{9, model->config().n_embd});
  CHECK_THROWS_WITH(model->logits(batch), contains_text("no head"));
  CHECK_THROWS_WITH(model->loss(batch), contains_text("no head"));
}

TEST_CASE("a bidirectional model has no key value cache") {
  const auto model = random_bert();
  KeyValueCache cache = model->make_cache();
  CHECK_THROWS_WITH(model->check_cache(cache, 1), contains_text("bidirectional"));
}
}  // namespace bidirectional_test
