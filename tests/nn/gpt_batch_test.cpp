#include "support/seed_sequences.h"
#include "support/test.h"

namespace gpt_batch_test {

GptConfig small_config() {
  return {.vocab_size = 100, .block_size = 20, .n_layer = 2, .n_head = 4, .n_embd = 32};
}

struct LossAndGradients {
  double loss = 0;
  std::vector<Tensor> gradients;
};

LossAndGradients learn(Gpt& gpt, const Batch& batch, Index normalizer = 0) {
  gpt.zero_grad();
  const Tensor loss = gpt.loss(batch, {}, {.normalizer = normalizer});
  backward(loss);
  return {loss.item(), gradients_of(gpt)};
}

// Eight documents of different lengths.
const std::vector<Ids>& documents() {
  static const std::vector<Ids> eight(seed_sequences().begin(), seed_sequences().begin() + 8);
  return eight;
}

// Largest relative differences between a batch and its documents computed one by one.
struct Differences {
  double loss = 0;
  double gradients = 0;
};

Differences compare_accumulation(Gpt& gpt) {
  const Batch whole = make_batch(documents());
  const LossAndGradients at_once = learn(gpt, whole);
  gpt.zero_grad();
  double loss = 0;
  for (const Ids& document : documents()) {
    const Tensor part = gpt.loss(make_batch({document}), {}, {.normalizer = whole.target_count});
    backward(part);
    loss += part.item();
  }
  const std::vector<Tensor> accumulated = gradients_of(gpt);
  Differences result{std::abs(loss - at_once.loss) / at_once.loss, 0};
  for (std::size_t i = 0; i < accumulated.size(); ++i) {
    result.gradients =
        std::max(result.gradients, relative_difference(accumulated[i], at_once.gradients[i]));
  }
  return result;
}

// Logits of the rows of one sequence.
Tensor rows(const Tensor& logits, Index first, Index count) {
  const Index width = logits.size(1);
  return logits.strided_view({count, width}, {width, 1}, first * width);
}

// Checks that changing token `place` of a long sequence changes no bit before it.
void check_causality(const GptConfig& config, Index length, Index place) {
  const Gpt gpt(config, 3);
  randomize(gpt, 62);
  Ids tokens = draw_ids(length, config.vocab_size);
  const Tensor before = gpt.logits(make_batch({tokens}));
  std::int32_t& changed = tokens[static_cast<std::size_t>(place)];
  changed = (changed + 1) % static_cast<std::int32_t>(config.vocab_size);
  const Tensor after = gpt.logits(make_batch({tokens}));
  INFO("length " << length << ", changed token " << place);
  CHECK(same_bits(rows(after, 0, place), rows(before, 0, place)));
  CHECK_FALSE(same_bits(rows(after, place, 1), rows(before, place, 1)));
  CHECK_FALSE(same_bits(rows(after, length - 1, 1), rows(before, length - 1, 1)));
}

TEST_CASE("changing a token changes no logits before it, bit for bit") {
  for (const NormPosition position : {NormPosition::pre, NormPosition::post}) {
    GptConfig config = small_config();
    config.norm = position;
    for (const Index place : {1, 2, 10, 19}) {
      check_causality(config, 20, place);
    }
    config.block_size = 300;
    for (const Index place : {1, 63, 64, 130, 256, 299}) {
      check_causality(config, 300, place);
    }
  }
}

TEST_CASE("a sequence of a batch keeps its bits when a neighbour changes its tokens") {
  const Gpt gpt(small_config(), 3);
  std::vector<Ids> sequences = seed_sequences();
  const Batch batch = make_batch(sequences);
  const Tensor before = gpt.logits(batch);
  for (std::int32_t& token : sequences[4]) {
    token = (token + 7) % 100;
  }
  const Tensor after = gpt.logits(make_batch(sequences));
  const Index first = batch.offsets[4];
  const Index last = batch.offsets[5];
  CHECK(same_bits(rows(after, 0, first), rows(before, 0, first)));
  CHECK(same_bits(rows(after, last, 94 - last), rows(before, last, 94 - last)));
  CHECK_FALSE(same_bits(rows(after, first, last - first), rows(before, first, last - first)));
}

TEST_CASE("documents of one token have a loss of exactly 0 and gradients of exactly 0") {
  Gpt gpt(small_config(), 3);
  const LossAndGradients single = learn(gpt, make_batch({{98}, {5}}));
  CHECK(single.loss == 0);
  for (const Tensor& gradient : single.gradients) {
    CHECK(all_zero(gradient));
  }
}

TEST_CASE("a document of one token adds nothing to the loss and gradients of others") {
  GptConfig config = small_config();
  config.tie_weights = false;
  Gpt gpt(config, 3, kDouble);
  randomize(gpt, 64);
  const std::vector<Ids> others{{62, 13, 47}, {60, 96, 51, 32, 90}};
  const LossAndGradients without = learn(gpt, make_batch(others));
  const LossAndGradients with = learn(gpt, make_batch({others[0], {98}, others[1], {97}}));
  CHECK(with.loss == Approx(without.loss).epsilon(1e-14));
  for (std::size_t i = 0; i < with.gradients.size(); ++i) {
    CHECK(relative_difference(with.gradients[i], without.gradients[i]) < 1e-13);
  }
  // Tokens that occur nowhere else get a gradient of exactly zero through the embedding.
  const Tensor wte = with.gradients[0];
  for (const Index token : {98, 97}) {
    CHECK(all_zero(rows(wte, token, 1)));
  }
  CHECK_FALSE(all_zero(rows(wte, 62, 1)));
}

TEST_CASE("eight documents at once give the same loss and gradients as one by one") {
  for (const DType dtype : {DType::float32, kDouble}) {
    Gpt gpt(small_config(), 3, dtype);
    const Differences differences = compare_accumulation(gpt);
    const double limit = dtype == kDouble ? 1e-12 : 1e-6;
    CHECK(differences.loss < limit);
    CHECK(differences.gradients < limit);
  }
}

}  // namespace gpt_batch_test
