#include "headlight/interpret/lens/lens.h"
#include "headlight/interpret/effects/patching.h"
#include "interpret/head_experiments_support.h"
#include "support/test.h"

namespace heads_lens_test {
const Ids kText{1, 7, 3, 4, 5};
constexpr std::size_t kVocabulary = 11;

using Numbers = std::vector<double>;

// Hook that keeps the values at all points of a lens.
class Watch : public ForwardHook {
 public:
  bool wants(Point point, Index) const override {
    return std::find(kLensPoints.begin(), kLensPoints.end(), point) != kLensPoints.end();
  }
  Tensor visit(const HookSite& site, const Tensor& value) override {
    seen[{site.point, site.layer}] = value;
    return value;
  }
  std::map<std::pair<Point, Index>, Tensor> seen;
};

// Returns the logits [V] of a part of one stream row: the last norm with the scale of the row
// `whole`, then the head matrix.
Numbers plain_logits(const Gpt& gpt, const Numbers& part, const Numbers& whole, bool with_shift) {
  const auto row = [](const Numbers& x) { return Tensor::from(x, {1, std::ssize(x)}); };
  const auto wide = [](const Tensor& x) { return convert(x.detach(), DType::float64); };
  const double variance = var(row(whole), {}, 0).item() + gpt.config().layer_norm_epsilon;
  const Tensor normalized = (row(part) - mean(row(part)).item()) / std::sqrt(variance);
  const Tensor scaled = mul(normalized, wide(gpt.weight(Part::final_norm)));
  const Tensor shifted = with_shift ? scaled + wide(gpt.bias(Part::final_norm)) : scaled;
  return linear(shifted, wide(gpt.head_weight())).to_vector();
}

Numbers log_softmax(const Numbers& logits) {
  return headlight::log_softmax(Tensor::from(logits, {std::ssize(logits)})).to_vector();
}

Numbers row_of(const Tensor& x, std::size_t row) {
  const Numbers all = x.to_vector();
  const auto width = static_cast<std::ptrdiff_t>(x.size(1));
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(row) * width;
  return {begin, begin + width};
}

// Checks all numbers of a reading against their definitions.
void check_reading(const LensReading& reading, const Numbers& expected, const Numbers& own,
                   std::int32_t target) {
  const double log_probability = expected[static_cast<std::size_t>(target)];
  double entropy = 0;
  double divergence = 0;
  Index rank = 1;
  for (std::size_t v = 0; v < kVocabulary; ++v) {
    entropy -= std::exp(expected[v]) * expected[v];
    divergence += std::exp(own[v]) * (own[v] - expected[v]);
    rank += expected[v] > log_probability ? 1 : 0;
  }
  CHECK(reading.log_probability == Approx(log_probability).epsilon(1e-5));
  CHECK(reading.rank == rank);
  CHECK(reading.entropy == Approx(entropy).epsilon(1e-5));
  CHECK(reading.divergence == Approx(divergence).epsilon(1e-5).margin(1e-5));
  REQUIRE(reading.likeliest.size() == kVocabulary);
  for (const TokenLogProbability& choice : reading.likeliest) {
    CHECK(choice.log_probability ==
          Approx(expected[static_cast<std::size_t>(choice.token)]).epsilon(1e-5));
  }
  CHECK(std::is_sorted(
      reading.likeliest.begin(), reading.likeliest.end(),
      [](const auto& a, const auto& b) { return a.log_probability > b.log_probability; }));
}

LensTask task_at(Point point) {
  return {.text = kText, .view = {.point = point}, .top_k = kVocabulary};
}

std::vector<std::string> names_of(const LensResult& result) {
  return mapped<std::string>(result.rows, [&](const LensRow& row) { return row.label.name; });
}

using Names = std::vector<std::string>;

TEST_CASE("the last row of a lens is the model's own distribution, bit for bit") {
  for (const Point point : kLensPoints) {
    const auto gpt = random_gpt(three_layers(), DType::float32);
    const LensResult result = logit_lens(*gpt, task_at(point));
    const Tensor logits = gpt->logits(make_batch({kText}));
    for (std::size_t t = 0; t < kText.size(); ++t) {
      const LensReading& reading = result.rows.back().readings[t];
      const TokenDistribution own({logits.data<float>() + t * kVocabulary, kVocabulary});
      CHECK(reading.log_probability == own.log_probability(result.targets[t]));
      CHECK(reading.rank == own.rank(result.targets[t]));
      CHECK(reading.entropy == own.entropy());
      CHECK(reading.divergence == 0);
      for (std::size_t i = 0; i < kVocabulary; ++i) {
        const TokenLogProbability expected = own.likeliest(kVocabulary)[i];
        CHECK(reading.likeliest[i].token == expected.token);
        CHECK(reading.likeliest[i].log_probability == expected.log_probability);
      }
    }
  }
}

TEST_CASE("a lens applies the last norm and the output head to the values at its point") {
  const auto gpt = random_gpt(three_layers());
  Watch watch;
  const Tensor logits = gpt->logits(make_batch({kText}), {.hook = &watch});
  for (const Point point : kLensPoints) {
    INFO(name_of(point));
    const bool is_part = point == Point::attn_out || point == Point::mlp_out;
    const LensResult result = logit_lens(*gpt, task_at(point));
    for (const LensRow& row : result.rows) {
      INFO(row.label.name);
      const bool is_output = &row == &result.rows.back();
      const Tensor& read = row.label.layer < 0 ? watch.seen[{Point::resid_pre, 0}]
                           : is_output         ? watch.seen[{Point::resid_post, 2}]
                                               : watch.seen[{point, row.label.layer}];
      for (std::size_t t = 0; t < kText.size(); ++t) {
        const Numbers whole = row_of(is_part ? watch.seen[{Point::resid_post, 2}] : read, t);
        check_reading(
            row.readings[t],
            log_softmax(plain_logits(*gpt, row_of(read, t), whole, !is_part || is_output)),
            log_softmax(row_of(logits, t)), result.targets[t]);
      }
    }
  }
}

TEST_CASE("lens readings of the embeddings and of every layer's output sum to the logits") {
  GptConfig config = three_layers();
  config.bias = false;  // no shift of the last norm
  const auto gpt = random_gpt(config);
  const LensResult attention = logit_lens(*gpt, task_at(Point::attn_out));
  const LensResult mlps = logit_lens(*gpt, task_at(Point::mlp_out));
  CHECK(names_of(mlps) == Names{"embed", "0", "1", "2", "final"});
  // Log-probabilities equal logits up to a constant for each row.
  const auto centred = [](const LensReading& reading) {
    Numbers values(kVocabulary);
    double mean = 0;
    for (const TokenLogProbability& choice : reading.likeliest) {
      values[static_cast<std::size_t>(choice.token)] = choice.log_probability;
      mean += choice.log_probability / kVocabulary;
    }
    for (double& value : values) {
      value -= mean;
    }
    return values;
  };
  for (std::size_t t = 0; t < kText.size(); ++t) {
    Numbers sum = centred(attention.rows[0].readings[t]);
    for (std::size_t row = 1; row < 4; ++row) {
      const Numbers parts[] = {centred(attention.rows[row].readings[t]),
                               centred(mlps.rows[row].readings[t])};
      for (std::size_t v = 0; v < kVocabulary; ++v) {
        sum[v] += parts[0][v] + parts[1][v];
      }
    }
    const Numbers whole = centred(attention.rows[4].readings[t]);
    for (std::size_t v = 0; v < kVocabulary; ++v) {
      CHECK(sum[v] == Approx(whole[v]).margin(1e-5));
    }
  }
}

TEST_CASE("a lens reads only the requested layers and positions and their targets") {
  const auto gpt = random_gpt(three_layers());
  std::vector<double> shares;
  LensTask task{
      .text = kText, .top_k = 2, .progress = [&](double share) { shares.push_back(share); }};
  const LensResult all = logit_lens(*gpt, task);
  CHECK(shares == std::vector<double>{0.25, 0.5, 0.75, 1});  // after every row of the results
  CHECK(names_of(all) == Names{"embed", "0", "1", "2"});
  CHECK(all.rows[0].label.layer == -1);
  CHECK(all.rows[3].label.layer == 2);
  CHECK(all.tokens == kText);
  CHECK(all.targets == Ids{7, 3, 4, 5, likeliest_next(*gpt, kText)});
  CHECK(all.rows[3].readings[4].rank == 1);
  task.view.layers = {.first = 1, .last = 1};
  task.positions = {.first = 3};
  task.target = 9;
  const LensResult some = logit_lens(*gpt, task);
  CHECK(names_of(some) == Names{"1", "final"});
  CHECK(some.rows[1].label.layer == 3);
  CHECK(some.positions == std::vector<Index>{3, 4});
  CHECK(some.targets == Ids{5, 9});
  CHECK(some.rows[0].readings[0].likeliest.size() == 2);
  CHECK(some.rows[0].readings[0].entropy == Approx(all.rows[2].readings[3].entropy));
  task.view.point = Point::resid_pre;
  task.view.layers = {};
  CHECK(names_of(logit_lens(*gpt, task)) == Names{"0", "1", "2", "final"});
}

TEST_CASE("the means of a lens over documents are means over their tokens") {
  const auto gpt = random_gpt(three_layers());
  const TokenDataset data = small_documents();
  std::vector<double> shares;
  const LensMeansResult whole =
      lens_means(*gpt, data, {.batch_size = 3, .progress = [&](double s) { shares.push_back(s); }});
  const LensMeansResult single = lens_means(*gpt, data, {.batch_size = 1});
  REQUIRE(whole.rows.size() == 4);
  CHECK(shares.back() == 1);
  CHECK(std::is_sorted(shares.begin(), shares.end()));
  const SequentialBatches batches(data, {.batch_size = 100, .block_size = 8});
  const Batch batch = batches.batch(0);
  CHECK(whole.tokens == batch.target_count);
  CHECK(whole.rows[3].loss == Approx(gpt->loss(batch).item()).epsilon(1e-6));
  CHECK(whole.rows[3].divergence == 0);
  // Only the first document with a target.
  const LensMeansResult first = lens_means(*gpt, data, {.batch_size = 1, .max_batches = 1});
  const Batch one = SequentialBatches(data, {.batch_size = 1, .block_size = 8}).batch(0);
  const std::int32_t* ids = one.tokens.data<std::int32_t>();
  const LensResult alone = logit_lens(
      *gpt,
      {.text = {ids, ids + one.token_count()},
       .target = one.targets.data<std::int32_t>()[one.token_count() - 1] == kIgnoreTarget
                     ? std::nullopt
                     : std::optional(one.targets.data<std::int32_t>()[one.token_count() - 1])});
  for (std::size_t row = 0; row < 4; ++row) {
    LensMeans sums;
    for (Index t = 0; t < one.target_count; ++t) {
      const LensReading& reading = alone.rows[row].readings[static_cast<std::size_t>(t)];
      sums.loss -= reading.log_probability / static_cast<double>(one.target_count);
      sums.accuracy += (reading.rank == 1 ? 1.0 : 0.0) / static_cast<double>(one.target_count);
      sums.entropy += reading.entropy / static_cast<double>(one.target_count);
      sums.divergence += reading.divergence / static_cast<double>(one.target_count);
    }
    CHECK(first.rows[row].loss == Approx(sums.loss));
    CHECK(first.rows[row].accuracy == Approx(sums.accuracy));
    CHECK(first.rows[row].entropy == Approx(sums.entropy));
    CHECK(first.rows[row].divergence == Approx(sums.divergence));
    CHECK(whole.rows[row].entropy == Approx(single.rows[row].entropy));
  }
}

TEST_CASE("a lens refuses models without a last norm and missing layers or positions") {
  GptConfig config = three_layers();
  config.norm = NormPosition::post;
  check_error([&] { logit_lens(*random_gpt(config), {.text = kText}); }, {"norm = post"});
  const auto gpt = random_gpt(three_layers());
  const auto refusal = [&](const LensTask& task) {
    return error_of([&] { logit_lens(*gpt, task); });
  };
  CHECK(mentions(refusal({.text = kText, .view = {.point = Point::q}}),
                 {"point", "resid_mid", "mlp_out", "'q'"}));
  CHECK(mentions(refusal({.text = kText, .view = {.layers = {.first = 1, .last = 3}}}),
                 {"layers", "0 to 2", "1 to 3"}));
  CHECK(
      mentions(refusal({.text = kText, .positions = {.first = 5}}), {"positions", "0 to 4", "5"}));
  CHECK(mentions(refusal({.text = kText, .target = 11}), {"target", "0 to 10", "11"}));
  CHECK(mentions(refusal({.text = kText, .top_k = -1}), {"top_k", "-1"}));
  CHECK(mentions(refusal({.text = kText, .top_k = Index{1} << 50}), {"top_k", "5 positions"}));
  CHECK(mentions(refusal({}), {"text"}));
  CHECK(mentions(refusal({.text = Ids(9, 1)}), {"context length of 8"}));
  const auto broken = random_gpt(three_layers());
  broken->weight(Part::final_norm).fill(std::nan(""));
  check_error([&] { logit_lens(*broken, {.text = kText}); }, {"final", "not numbers"});
  check_error([&] { lens_means(*broken, small_documents()); }, {"not numbers"});
  config = three_layers();
  config.mlp = false;
  check_error([&] { logit_lens(*random_gpt(config), task_at(Point::mlp_out)); },
              {"point", "no MLP"});
  config = three_layers();
  config.parallel_residual = true;
  check_error([&] { logit_lens(*random_gpt(config), task_at(Point::resid_mid)); },
              {"point", "resid_mid"});
}
}  // namespace heads_lens_test
