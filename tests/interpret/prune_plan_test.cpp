#include "headlight/interpret/prune_plan.h"
#include "headlight/interpret/effects/ablation.h"
#include "headlight/interpret/prune.h"
#include "interpret/head_experiments_support.h"
#include "support/test.h"

double loss_without(const Gpt& gpt, const std::vector<HeadId>& heads, const TokenDataset& data) {
  const auto pruned = prune_heads(gpt, heads);
  return ablate(*pruned, data, {head_part(HeadSet::all(pruned->heads())[0])}).loss.mean;
}

TEST_CASE("a pruning plan removes heads one by one and gives the loss after each") {
  const TokenDataset data = small_documents();
  const auto gpt = random_gpt(three_layers());
  for (const PruneRanking ranking : {PruneRanking::ablation, PruneRanking::sensitivity}) {
    const PrunePlan plan =
        plan_pruning(*gpt, data, {.keep = 4, .ranking = ranking, .rounds = 2, .batch_size = 3});
    REQUIRE(plan.heads.size() == 5);
    REQUIRE(plan.points.size() == 6);
    CHECK_FALSE(plan.points[0].removed.has_value());
    for (std::size_t i = 0; i < plan.points.size(); ++i) {
      const auto removed = static_cast<std::ptrdiff_t>(i);
      CHECK(plan.points[i].kept == 9 - removed);
      CHECK(plan.points[i].loss ==
            Approx(loss_without(*gpt, {plan.heads.begin(), plan.heads.begin() + removed}, data)));
    }
    CHECK(HeadSet(plan.heads).size() == 5);
  }
}

TEST_CASE("the first round removes the heads whose ablation raises the loss least") {
  const TokenDataset data = small_documents();
  const auto gpt = random_gpt(three_layers());
  const std::vector<Interval> rises = ablate(*gpt, data, each_part(*gpt, PartKind::head)).rises;
  const auto least = std::ranges::min_element(rises, {}, &Interval::mean) - rises.begin();
  const PrunePlan plan = plan_pruning(*gpt, data, {.keep = 8, .rounds = 1});
  CHECK(plan.heads ==
        std::vector<HeadId>{HeadSet::all(gpt->heads())[static_cast<std::size_t>(least)]});
}

TEST_CASE("every layer keeps a head, whatever is asked for") {
  const auto gpt = random_gpt(three_layers());
  const PrunePlan plan = plan_pruning(*gpt, small_documents(), {.keep = 0, .rounds = 1});
  CHECK(plan.heads.size() == 6);
  CHECK(prune_heads(*gpt, plan.heads)->config().heads_per_layer.empty());  // one head everywhere
  CHECK(prune_heads(*gpt, plan.heads)->config().n_head == 1);
}

TEST_CASE("pruning stops before the loss exceeds its limit") {
  const TokenDataset data = small_documents();
  const auto gpt = random_gpt(three_layers());
  const PrunePlan whole = plan_pruning(*gpt, data, {.rounds = 3});
  const double rise = 0.5 * (whole.points.back().loss - whole.points.front().loss);
  REQUIRE(rise > 0);
  const PrunePlan part = plan_pruning(*gpt, data, {.largest_rise = rise, .rounds = 3});
  REQUIRE(part.points.size() == part.heads.size() + 2);  // the whole model, and one step too many
  const double limit = part.points.front().loss + rise;
  CHECK(part.points.back().loss > limit);
  CHECK(part.points[part.points.size() - 2].loss <= limit);
}

TEST_CASE("pruning plans refuse invalid options") {
  const auto gpt = random_gpt(three_layers());
  const TokenDataset data = small_documents();
  check_error([&] { plan_pruning(*gpt, data, {.keep = 10}); }, {"keep", "0 to 9"});
  check_error([&] { plan_pruning(*gpt, data, {.largest_rise = -1}); }, {"until_loss", "-1"});
  check_error([&] { plan_pruning(*gpt, data, {.rounds = 0}); }, {"rounds", "0"});
  check_error([] { parse_name<PruneRanking>("by", "size"); }, {"ablation or sensitivity"});
}
