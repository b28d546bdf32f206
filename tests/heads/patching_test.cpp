#include "headlight/heads/patching.h"

#include "headlight/heads/attribution.h"
#include "heads/head_experiments_support.h"

using namespace headlight;
using namespace headlight::test;

namespace {

const Ids kClean{1, 2, 3, 4, 5};
const Ids kCorrupt{1, 7, 3, 4, 5};

double logit_difference(const Gpt& gpt, const Ids& text, std::size_t a, std::size_t b) {
  const std::vector<double> logits = gpt.logits(make_batch({text})).to_vector();
  const std::size_t last = (text.size() - 1) * 11;
  return logits[last + a] - logits[last + b];
}

}  // namespace

TEST_CASE("patching tells how much of the clean text's answer each head brings back") {
  const auto gpt = random_gpt(three_layers());
  const PatchingResult result = patch_heads(*gpt, {kClean, kCorrupt, 3, 8});
  CHECK(result.clean_difference == Approx(logit_difference(*gpt, kClean, 3, 8)));
  CHECK(result.corrupt_difference == Approx(logit_difference(*gpt, kCorrupt, 3, 8)));
  REQUIRE(result.heads.size() == 9);
  double moved = 0;
  for (const HeadPatch& patch : result.heads) {
    const double whole = result.clean_difference - result.corrupt_difference;
    CHECK(patch.recovered ==
          Approx((patch.difference - result.corrupt_difference) / whole).margin(1e-12));
    moved += std::abs(patch.recovered);
  }
  CHECK(moved > 1e-3);
}

TEST_CASE("a head that alone carries the difference recovers all of it, a silent one nothing") {
  GptConfig config = three_layers();
  config.n_layer = 1;
  const auto gpt = random_gpt(config);
  silence(*gpt, 0, 0);
  silence(*gpt, 0, 2);
  // The last tokens agree, so that the difference reaches the last position through heads alone.
  const PatchingResult result = patch_heads(*gpt, {kClean, kCorrupt, 3, 8});
  CHECK(result.heads[0].recovered == 0);
  CHECK(result.heads[1].recovered == Approx(1).epsilon(1e-9));
  CHECK(result.heads[2].recovered == 0);
}

TEST_CASE("patching refuses texts and tokens that cannot be compared") {
  const auto gpt = random_gpt(three_layers());
  const auto refusal = [&](const PatchingTask& task) {
    return error_of([&] { patch_heads(*gpt, task); });
  };
  CHECK(mentions(refusal({kClean, {1, 2}, 3, 8}), {"corrupt", "5", "2"}));
  CHECK(mentions(refusal({{}, {}, 3, 8}), {"clean"}));
  CHECK(mentions(refusal({kClean, kCorrupt, 3, 3}), {"wrong", "3"}));
  CHECK(mentions(refusal({kClean, kCorrupt, 11, 3}), {"answer", "0 to 10", "11"}));
  CHECK(mentions(refusal({kClean, kClean, 3, 8}), {"corrupt"}));
  CHECK(mentions(refusal({Ids(9, 1), Ids(9, 2), 3, 8}), {"block of 8"}));
}

TEST_CASE("the likeliest next token is the one with the highest logit") {
  const auto gpt = random_gpt(three_layers());
  const auto best = static_cast<std::size_t>(likeliest_next(*gpt, kClean));
  for (std::size_t other = 0; other < 11; ++other) {
    CHECK(logit_difference(*gpt, kClean, best, other) >= 0);
  }
}

TEST_CASE("the parts of a logit sum to it") {
  for (const bool bias : {true, false}) {
    GptConfig config = three_layers();
    config.bias = bias;
    config.tie_weights = bias;
    const auto gpt = random_gpt(config);
    const std::vector<double> logits = gpt->logits(make_batch({kClean})).to_vector();
    const AttributionResult last = attribute_logit(*gpt, {.text = kClean, .target = 4});
    CHECK(last.logit == Approx(logits[4 * 11 + 4]).epsilon(1e-10));
    const AttributionResult second =
        attribute_logit(*gpt, {.text = kClean, .target = 4, .against = 6, .position = 1});
    CHECK(second.logit == Approx(logits[11 + 4] - logits[11 + 6]).epsilon(1e-10));
    CHECK(last.parts.size() == 2 + 3 * (bias ? 5 : 4));
    CHECK(last.parts[0].name == "embedding");
    CHECK(last.parts[2].name == "0.1");
    CHECK(last.parts[2].head == HeadId{0, 1});
  }
}

TEST_CASE("the part of a head of the last layer is what the logit loses without its output") {
  // Without the change of the norm's scale, which attribution leaves out on purpose: compared by
  // the head's own vector through the frozen norm.
  const auto gpt = random_gpt(three_layers());
  const AttributionResult before = attribute_logit(*gpt, {.text = kClean, .target = 4});
  silence(*gpt, 2, 1);
  const AttributionResult after = attribute_logit(*gpt, {.text = kClean, .target = 4});
  CHECK(after.parts[12].name == "2.1");
  CHECK(after.parts[12].logit == 0);
  CHECK(std::abs(before.parts[12].logit) > 1e-3);
}

TEST_CASE("attribution refuses other norms and places outside the text") {
  GptConfig config = three_layers();
  config.norm = NormPosition::post;
  const auto post = random_gpt(config);
  CHECK(mentions(error_of([&] { attribute_logit(*post, {.text = kClean}); }), {"norm = pre"}));
  const auto gpt = random_gpt(three_layers());
  CHECK(mentions(error_of([&] { attribute_logit(*gpt, {.text = kClean, .position = 5}); }),
                 {"position", "0 to 4", "5"}));
  CHECK(mentions(error_of([&] { attribute_logit(*gpt, {.text = kClean, .target = 11}); }),
                 {"token", "0 to 10", "11"}));
  CHECK(mentions(error_of([&] { attribute_logit(*gpt, {}); }), {"text"}));
}
