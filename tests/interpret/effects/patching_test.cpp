#include "headlight/interpret/effects/attribution.h"
#include "headlight/interpret/effects/patch_grid.h"
#include "interpret/effects/answer_contrast.h"
#include "interpret/head_experiments_support.h"
#include "support/test.h"

const Ids kClean{1, 2, 3, 4, 5};
const Ids kCorrupt{1, 7, 3, 4, 5};

double logit_difference(const Gpt& gpt, const Ids& text, std::size_t a, std::size_t b) {
  const std::vector<double> logits = gpt.logits(make_batch({text})).to_vector();
  const std::size_t last = (text.size() - 1) * 11;
  return logits[last + a] - logits[last + b];
}

TEST_CASE("patching measures how much of the clean answer each head restores") {
  const auto gpt = random_gpt(three_layers());
  const PatchGrid result = patch_grid(*gpt, {kClean, kCorrupt, {3}, {8}}, {});
  CHECK(result.clean_difference == Approx(logit_difference(*gpt, kClean, 3, 8)));
  CHECK(result.corrupt_difference == Approx(logit_difference(*gpt, kCorrupt, 3, 8)));
  REQUIRE(result.cells.size() == 9);
  double moved = 0;
  for (const PatchCell& patch : result.cells) {
    const double whole = result.clean_difference - result.corrupt_difference;
    CHECK(patch.recovered ==
          Approx((patch.difference - result.corrupt_difference) / whole).margin(1e-12));
    moved += std::abs(patch.recovered);
  }
  CHECK(moved > 1e-3);
}

TEST_CASE("answers of one token are computed without the losses of the text") {
  const auto gpt = random_gpt(three_layers());
  const PatchingTask task{.clean = kClean, .corrupt = kCorrupt, .answer = {3}, .wrong = {8}};
  const AnswerContrast contrast(*gpt, task);
  const Batch batch = contrast.batch(kClean);
  CHECK_FALSE(batch.targets.defined());
  const ForwardReplay replay(*gpt, batch);
  const ForwardReplay with_losses(*gpt, make_batch({kClean}));
  const std::vector<double> expected = contrast.of_copies(with_losses, with_losses.ends());
  CHECK(contrast.of_copies(replay, replay.ends()) == expected);
  CHECK(patch_grid(*gpt, task, {}).clean_difference == expected[0]);
  const PatchingTask longer{.clean = kClean, .corrupt = kCorrupt, .answer = {3, 4}, .wrong = {8}};
  CHECK(AnswerContrast(*gpt, longer).batch(kClean).target_count == 3);
}

TEST_CASE("answers of several tokens are scored token by token after the text") {
  const auto gpt = random_gpt(three_layers());
  const Ids answer{3, 6, 1};
  const Ids wrong{8, 2};
  const PatchGrid result = patch_grid(*gpt, {kClean, kCorrupt, answer, wrong}, {});
  const auto difference = [&](const Ids& text) {
    return log_probability(*gpt, text, answer) - log_probability(*gpt, text, wrong);
  };
  CHECK(result.clean_difference == Approx(difference(kClean)).epsilon(1e-10));
  CHECK(result.corrupt_difference == Approx(difference(kCorrupt)).epsilon(1e-10));
}

TEST_CASE("a head that alone carries the difference recovers all of it and a zeroed head nothing") {
  GptConfig config = three_layers();
  config.n_layer = 1;
  const auto gpt = random_gpt(config);
  silence(*gpt, 0, 0);
  silence(*gpt, 0, 2);
  // The last tokens are equal, so only heads carry the difference to the last position.
  const PatchGrid result = patch_grid(*gpt, {kClean, kCorrupt, {3}, {8}}, {});
  CHECK(result.cells[0].recovered == 0);
  CHECK(result.cells[1].recovered == Approx(1).epsilon(1e-9));
  CHECK(result.cells[2].recovered == 0);
}

TEST_CASE("patching refuses texts and tokens that cannot be compared") {
  const auto gpt = random_gpt(three_layers());
  const auto refusal = [&](const PatchingTask& task) {
    return error_of([&] { patch_grid(*gpt, task, {}); });
  };
  CHECK(mentions(refusal({kClean, {1, 2}, {3}, {8}}), {"corrupt", "5", "2"}));
  CHECK(mentions(refusal({{}, {}, {3}, {8}}), {"clean"}));
  CHECK(mentions(refusal({kClean, kCorrupt, {3}, {3}}), {"wrong", "3"}));
  CHECK(mentions(refusal({kClean, kCorrupt, {11}, {3}}), {"answer", "0 to 10", "11"}));
  CHECK(mentions(refusal({kClean, kClean, {3}, {8}}), {"corrupt"}));
  CHECK(mentions(refusal({kClean, kCorrupt, {3, 4}, {3}}), {"wrong", "begin", "2 and 1", "1"}));
  CHECK(mentions(refusal({kClean, kCorrupt, {3, 4}, {3, 4}}), {"wrong", "3 and so on", "both"}));
  CHECK(mentions(refusal({kClean, kCorrupt, {}, {3}}), {"answer", "at least one token"}));
  CHECK(mentions(refusal({kClean, kCorrupt, {3}, {4, 11}}), {"wrong", "0 to 10", "11"}));
  CHECK(mentions(refusal({kClean, kCorrupt, Ids(5, 1), {3}}),
                 {"answer", "context length of 8", "5"}));
  CHECK(mentions(refusal({Ids(9, 1), Ids(9, 2), {3}, {8}}), {"context length of 8"}));
}

TEST_CASE("attribution refuses post-norm models and positions outside the text") {
  GptConfig config = three_layers();
  config.norm = NormPosition::post;
  const auto post = random_gpt(config);
  check_error([&] { attribute_logit(*post, {.text = kClean}); }, {"norm = post"});
  const auto gpt = random_gpt(three_layers());
  check_error([&] { attribute_logit(*gpt, {.text = kClean, .position = 5}); },
              {"position", "0 to 4", "5"});
  check_error([&] { attribute_logit(*gpt, {.text = kClean, .target = 11}); },
              {"token", "0 to 10", "11"});
  check_error([&] { attribute_logit(*gpt, {}); }, {"text"});
}

TEST_CASE("patching reports when the model does not solve the task") {
  CHECK(task_strength(3, -2) == TaskStrength::clear);
  CHECK(task_strength(3, -0.5) == TaskStrength::weak);
  CHECK(task_strength(0.69, -5) == TaskStrength::weak);
  CHECK(task_strength(0.5, 0.3) == TaskStrength::none);
  CHECK(task_strength(-0.5, -0.7) == TaskStrength::none);
  CHECK(task_strength(std::nan(""), -1) == TaskStrength::none);
  const auto caution = [](double clean, double corrupt) {
    return patching_caution(clean, corrupt, "a", "b");
  };
  CHECK(caution(3, -2).empty());
  CHECK(mentions(caution(3, -0.1), {"caution", "hardly"}));
  CHECK(mentions(caution(0.5, 0.3), {"prefers 'a' after both texts"}));
  CHECK(mentions(caution(-0.5, -0.7), {"prefers 'b' after both texts"}));
  CHECK(mentions(caution(-1, 1), {"'b' after the clean text and 'a' after the corrupt one"}));
}

TEST_CASE("patching names the likeliest token after each text") {
  const auto gpt = random_gpt(three_layers());
  const PatchGrid result = patch_grid(*gpt, {kClean, kCorrupt, {3}, {8}}, {});
  CHECK(result.clean_next.id == likeliest_next(*gpt, kClean));
  CHECK(result.corrupt_next.id == likeliest_next(*gpt, kCorrupt));
  const auto best = static_cast<std::size_t>(result.clean_next.id);
  double sum = 0;
  for (std::size_t id = 0; id < 11; ++id) {
    CHECK(logit_difference(*gpt, kClean, best, id) >= 0);
    sum += std::exp(-logit_difference(*gpt, kClean, best, id));
  }
  CHECK(result.clean_next.probability == Approx(1 / sum));
}

TEST_CASE("attribution warns when the model does not choose the analysed token") {
  const auto gpt = random_gpt(three_layers());
  const auto best = likeliest_next(*gpt, kClean);
  const std::int32_t other = best == 4 ? 5 : 4;
  const AttributionResult chosen = attribute_logit(*gpt, {.text = kClean, .target = best});
  CHECK(chosen.target_is_likeliest);
  CHECK(chosen.visible == 5);
  CHECK(mentions(attribution_caution(chosen, "a", "a"), {"only 5 tokens"}));
  const AttributionResult refused = attribute_logit(*gpt, {.text = kClean, .target = other});
  CHECK(refused.likeliest == best);
  CHECK(refused.probability < chosen.probability);
  CHECK(mentions(attribution_caution(refused, "a", "b"), {"next token here is 'b', not 'a'"}));
  const AttributionResult worse =
      attribute_logit(*gpt, {.text = kClean, .target = other, .against = best});
  CHECK(mentions(attribution_caution(worse, "a", "b"), {"prefers 'b' to 'a'"}));
  AttributionResult clear{.logit = 3, .parts = {}, .has_against = true, .visible = 20};
  CHECK(attribution_caution(clear, "a", "b").empty());
  clear.logit = 0.5;
  CHECK(mentions(attribution_caution(clear, "a", "b"), {"hardly prefers 'a' to 'b'"}));
}

TEST_CASE("metrics by name replace the difference of the answers") {
  const auto gpt = random_gpt(three_layers());
  const auto measured = [&](MetricKind kind) {
    PatchingTask task{.clean = kClean, .corrupt = kCorrupt, .answer = {3}, .wrong = {8}};
    set_metric(task, kind, *gpt);
    return patch_grid(*gpt, task, {});
  };
  const PatchGrid loss = measured(MetricKind::loss);
  const PatchGrid log_probability = measured(MetricKind::log_probability);
  const PatchGrid probability = measured(MetricKind::probability);
  const PatchGrid divergence = measured(MetricKind::kl);
  CHECK(measured(MetricKind::logit_difference).clean_difference ==
        Approx(logit_difference(*gpt, kClean, 3, 8)));
  CHECK(log_probability.clean_difference == Approx(-loss.clean_difference));
  CHECK(probability.corrupt_difference == Approx(std::exp(-loss.corrupt_difference)));
  CHECK(divergence.clean_difference == Approx(0).margin(1e-9));
  CHECK(divergence.corrupt_difference > 0);
  PatchingTask several{.clean = kClean, .corrupt = kCorrupt, .answer = {3, 4}, .wrong = {8}};
  check_error([&] { set_metric(several, MetricKind::loss, *gpt); },
              {"answer: expected one token for the metric loss, got 2"});
}
