#include "headlight/interpret/prune.h"
#include "headlight/interpret/effects/ablation.h"
#include "headlight/interpret/effects/importance.h"
#include "interpret/head_experiments_support.h"
#include "support/test.h"

Tensor logits_of(const Gpt& gpt) { return gpt.logits(make_batch({{1, 2, 3, 4, 5}, {6, 7, 8}})); }

TEST_CASE("a pruned model is smaller by the weights of its heads") {
  const auto gpt = random_gpt(three_layers());
  const auto pruned = prune_heads(*gpt, {{0, 1}, {2, 0}});
  // A head of width 4 has 3 x 4 rows of 12 weights and a bias in c_attn, 4 columns of 12 in c_proj.
  CHECK(gpt->parameter_count() - pruned->parameter_count() == 2 * (12 * 13 + 48));
  CHECK(pruned->parameter_count() == count_parameters(pruned->config()).total());
}

TEST_CASE("pruning refuses to remove all heads of a layer and heads that do not exist") {
  const auto gpt = random_gpt(three_layers());
  check_error([&] { prune_heads(*gpt, {{1, 0}, {1, 1}, {1, 2}}); }, {"layer 1", "no head left"});
  check_error([&] { prune_heads(*gpt, {{0, 3}}); }, {"layer 0", "0 to 2", "0.3"});
}

TEST_CASE("heads keep their numbers when others are pruned, again and again") {
  const auto gpt = random_gpt(three_layers());
  const auto once = prune_heads(*gpt, {{0, 0}, {2, 1}});
  CHECK(HeadSet::all(once->heads()) ==
        HeadSet{{0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}, {2, 0}, {2, 2}});
  const auto twice = prune_heads(*once, {{0, 1}, {2, 2}});
  CHECK(same_bits(logits_of(*twice),
                  logits_of(*prune_heads(*gpt, {{0, 0}, {0, 1}, {2, 1}, {2, 2}}))));
  CHECK(HeadSet::all(twice->heads())[0] == HeadId{0, 2});
  CHECK(head_index({0, 2}, twice->heads()) == 0);
  check_error(
      [&] {
        prune_heads(*once, {{0, 0}});
      },
      {"heads", "layer 0 has heads 1 and 2 (others were pruned), got 0.0"});
  // A model without the last head of each layer needs no head numbers.
  CHECK(prune_heads(*gpt, {{0, 2}, {1, 2}, {2, 2}})->config().head_numbers.empty());
}

TEST_CASE("effects of a pruned model's heads are reported under the original numbers") {
  const auto gpt = random_gpt(three_layers());
  const TokenDataset data = small_documents();
  const auto pruned = prune_heads(*gpt, {{0, 0}, {1, 1}});
  const HeadSet left{{0, 1}, {0, 2}, {1, 0}, {1, 2}, {2, 0}, {2, 1}, {2, 2}};
  const AblationResult effects = ablate(*pruned, data, each_part(*pruned, PartKind::head));
  const ImportanceResult importance = head_importance(*pruned, data);
  REQUIRE(effects.rises.size() == left.size());
  REQUIRE(importance.heads.size() == left.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    CHECK(importance.heads[i].head == left[i]);
    const auto without = prune_heads(*gpt, {{0, 0}, {1, 1}, left[i]});
    CHECK(effects.loss.mean + effects.rises[i].mean == Approx(mean_loss(*without, data)));
  }
}

TEST_CASE("a filled up model has its heads at their numbers") {
  const auto gpt = random_gpt(three_layers());
  const auto full = fill_up_heads(*prune_heads(*gpt, {{0, 0}, {2, 1}}), 3);
  CHECK(full->config().head_numbers.empty());
  silence(*gpt, 0, 0);
  silence(*gpt, 2, 1);
  check_close(logits_of(*full), logits_of(*gpt), 1e-12);
}

TEST_CASE("a pruned model of shared keys and norms of q and k is filled up to the same logits") {
  GptConfig config = three_layers();
  config.n_head = 6;
  config.n_embd = 24;
  config.position = PositionKind::rope;
  config.qk_norm = true;
  for (const Index key_heads : {0, 1, 2, 3}) {
    for (const NormKind norm : {NormKind::rms, NormKind::layer}) {
      CAPTURE(key_heads, norm == NormKind::rms);
      config.n_kv_head = key_heads;
      config.norm_type = norm;
      const auto gpt = random_gpt(config);
      const auto pruned = prune_heads(
          *gpt, {{0, 0}, {0, 1}, {0, 4}, {1, 1}, {2, 0}, {2, 1}, {2, 2}, {2, 3}, {2, 4}});
      const auto full = fill_up_heads(*pruned, 6);
      CHECK(full->config().canonical().n_kv_head == key_heads);
      CHECK(full->config().n_head == 6);
      CHECK(full->config().key_groups.empty());
      CHECK(full->config().key_head_numbers.empty());
      CHECK(full->config().heads_per_layer.empty());
      CHECK(full->config().head_numbers.empty());
      check_close(logits_of(*full), logits_of(*pruned), 1e-12);
    }
  }
}

TEST_CASE("a filled-up model has no gaps in head numbers and a head count that divides the width") {
  GptConfig config = three_layers();
  config.n_head = 8;
  config.head_width = 4;  // 8 x 4 is more than the width of 12
  config.n_kv_head = 4;
  config.norm_type = NormKind::rms;
  const auto pruned = prune_heads(*random_gpt(config), {{0, 6}, {0, 7}, {1, 6}, {1, 7}, {2, 7}});
  const auto full = fill_up_heads(*pruned, 3);
  CHECK(full->config().n_head == 12);
  CHECK(full->config().n_kv_head == 6);
  check_close(logits_of(*full), logits_of(*pruned), 1e-12);
}

TEST_CASE("key groups that no pruning produces cannot be filled up") {
  GptConfig config = three_layers();
  config.key_groups = {{1, 2}, {1, 2}, {1, 2}};
  check_error([&] { fill_up_heads(*random_gpt(config), 3); },
              {"key_groups", "equally many consecutive query heads"});
}
