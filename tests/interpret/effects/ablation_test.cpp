#include "headlight/interpret/effects/ablation.h"
#include "interpret/head_experiments_support.h"
#include "interpret/point_values.h"
#include "support/programs/local_processes.h"
#include "support/test.h"

namespace ablation_test {

TEST_CASE("zero ablation of a head raises the loss as much as zeroing its output weights") {
  const TokenDataset data = small_documents();
  const auto gpt = random_gpt(three_layers());
  const AblationResult result = ablate_heads(*gpt, data, {.batch_size = 3});
  CHECK(result.loss.mean == Approx(mean_loss(*gpt, data)).epsilon(1e-12));
  REQUIRE(result.heads.size() == 9);
  for (const HeadEffect& effect : result.heads) {
    INFO(head_name(effect.head));
    const auto silenced = random_gpt(three_layers());
    silence(*silenced, effect.head.layer, effect.head.head);
    CHECK(effect.rise.mean == Approx(mean_loss(*silenced, data) - result.loss.mean).margin(1e-12));
    CHECK(effect.rise.low <= effect.rise.mean);
    CHECK(effect.rise.mean <= effect.rise.high);
    CHECK(effect.rise.low < effect.rise.high);
  }
  CHECK(result.tokens == 32 + 7);
}

TEST_CASE("ablation does not depend on the batch size") {
  const TokenDataset data = small_documents();
  const auto gpt = random_gpt(three_layers());
  for (const AblationMode mode : {AblationMode::zero, AblationMode::mean, AblationMode::resample}) {
    const AblationResult one = ablate_heads(*gpt, data, {.mode = mode, .batch_size = 1});
    const AblationResult all = ablate_heads(*gpt, data, {.mode = mode, .batch_size = 100});
    CHECK(one.sequences == all.sequences);
    for (std::size_t i = 0; i < one.heads.size(); ++i) {
      CHECK(one.heads[i].rise.mean == Approx(all.heads[i].rise.mean).margin(1e-12));
      CHECK(one.heads[i].rise.high == Approx(all.heads[i].rise.high).margin(1e-12));
    }
  }
}

TEST_CASE("an ablation shared by several processes has the same bits as in one") {
  const TokenDataset data = small_documents();
  const auto gpt = random_gpt(three_layers());
  for (const AblationMode mode : {AblationMode::zero, AblationMode::mean, AblationMode::resample}) {
    const AblationResult whole = ablate_heads(*gpt, data, {.mode = mode, .batch_size = 1});
    run_processes(2, [&](Processes& processes) {
      const auto own = random_gpt(three_layers());
      const AblationResult shared =
          ablate_heads(*own, data, {.mode = mode, .batch_size = 1, .processes = &processes});
      require(shared.tokens == whole.tokens, "tokens: got ", shared.tokens);
      for (std::size_t i = 0; i < whole.heads.size(); ++i) {
        require(shared.heads[i].rise.mean == whole.heads[i].rise.mean &&
                    shared.heads[i].rise.high == whole.heads[i].rise.high,
                "rise of ", head_name(whole.heads[i].head), " in ", processes.rank());
      }
    });
  }
}

TEST_CASE("mean ablation uses the mean over every token of a text") {
  const auto gpt = random_gpt(three_layers());
  for (const Index length : {5, 9}) {  // 9: the last token has no room in a context of 8
    Ids text;
    for (std::int32_t i = 0; i < length; ++i) {
      text.push_back((3 * i * i + 1) % 10);
    }
    Tensor sum;
    for (Index begin = 0; begin < length; begin += 8) {
      KeepValues keep([](Point point, Index layer) { return point == Point::z && layer == 1; });
      const Ids part(text.begin() + begin, text.begin() + std::min<Index>(begin + 8, length));
      gpt->hidden(make_batch({part}), {.hook = &keep});
      const Tensor rows = headlight::sum(keep.values.at({Point::z, 1}), {.axes = {0}});  // [H, D]
      sum = sum.defined() ? sum + rows : rows;
    }
    const std::vector<double> mean = (sum / static_cast<double>(length)).to_vector();
    const TokenDataset data = stream_dataset(Ids(text));
    const double rise = ablate_heads(*gpt, data, {.mode = AblationMode::mean, .heads = {{1, 2}}})
                            .heads[0]
                            .rise.mean;
    HookAt put(Point::z, 1, [&](const Tensor& value) {
      Tensor changed = to_contiguous(value).clone();
      for (Index row = 0; row < value.size(0); ++row) {
        std::copy_n(mean.begin() + 8, 4, changed.data<double>() + row * 12 + 8);
      }
      return changed;
    });
    const SequentialBatches batches(data, {.batch_size = 1, .block_size = 8});
    const auto loss = [&](ForwardHook* hook) {
      return gpt->loss(batches.batch(0), {.hook = hook}).item();
    };
    CHECK(rise == Approx(loss(&put) - loss(nullptr)).margin(1e-9));
  }
}

TEST_CASE("mean ablation of a head with a constant output leaves the loss unchanged") {
  const TokenDataset data = small_documents();
  const auto gpt = random_gpt(three_layers());
  for (auto [name, parameter] : gpt->parameters()) {
    // The values of head 1 of layer 0 become its bias: rows 24 + 4 ... 24 + 7 of c_attn.
    if (name == "h.0.attn.c_attn.weight") {
      parameter.detach().strided_view({4, 12}, {12, 1}, 28 * 12).fill(0);
    }
  }
  for (const AblationMode mode : {AblationMode::mean, AblationMode::resample}) {
    const AblationResult result =
        ablate_heads(*gpt, data, {.mode = mode, .heads = {{0, 1}, {0, 2}}, .batch_size = 3});
    CHECK(result.heads[0].rise.mean == Approx(0).margin(1e-12));
    CHECK(std::abs(result.heads[1].rise.mean) > 1e-4);
  }
  CHECK(std::abs(ablate_heads(*gpt, data, {.heads = {{0, 1}}}).heads[0].rise.mean) > 1e-4);
}

TEST_CASE("resampling takes a head's output from the same position of the next document") {
  // With two documents, each gets the head's output on the other. If the documents are equal,
  // resampling changes nothing.
  const auto gpt = random_gpt(three_layers());
  const TokenDataset same = document_dataset({{1, 2, 3}, {1, 2, 3}}, 10);
  const TokenDataset other = document_dataset({{1, 2, 3}, {4, 5, 6}}, 10);
  const AblationOptions options{.mode = AblationMode::resample, .heads = {{0, 0}}};
  CHECK(ablate_heads(*gpt, same, options).heads[0].rise.mean == Approx(0).margin(1e-12));
  CHECK(std::abs(ablate_heads(*gpt, other, options).heads[0].rise.mean) > 1e-4);
  // In batches of one document, the next document is in the next batch.
  AblationOptions alone = options;
  alone.batch_size = 1;
  CHECK(ablate_heads(*gpt, same, alone).heads[0].rise.mean == Approx(0).margin(1e-12));
  check_error(
      [&] {
        ablate_heads(*gpt, document_dataset({{1, 2}}, 10), options);
      },
      {"resample", "at least two", "one"});
}

TEST_CASE("heads may be named in any order, and twice") {
  const auto gpt = random_gpt(three_layers());
  const AblationResult sorted =
      ablate_heads(*gpt, small_documents(), {.heads = {{0, 2}, {2, 0}}, .pair_heads = 2});
  const AblationResult given =
      ablate_heads(*gpt, small_documents(), {.heads = {{2, 0}, {0, 2}, {2, 0}}, .pair_heads = 2});
  REQUIRE(given.heads.size() == 2);
  CHECK(given.heads[0].head == HeadId{0, 2});
  CHECK(given.pairs[0].rise.mean == sorted.pairs[0].rise.mean);
  CHECK(given.pairs[0].beyond.mean == sorted.pairs[0].beyond.mean);
}

TEST_CASE("pairs give the effect of two heads beyond the sum of their single effects") {
  const TokenDataset data = small_documents();
  const auto gpt = random_gpt(three_layers());
  const AblationResult result = ablate_heads(*gpt, data, {.pair_heads = 3});
  REQUIRE(result.pairs.size() == 3);
  const auto rise_of = [&](const HeadId& id) {
    for (const HeadEffect& effect : result.heads) {
      if (effect.head == id) {
        return effect.rise.mean;
      }
    }
    return 0.0;
  };
  for (const PairEffect& pair : result.pairs) {
    INFO(head_name(pair.first) << " and " << head_name(pair.second));
    const auto silenced = random_gpt(three_layers());
    silence(*silenced, pair.first.layer, pair.first.head);
    silence(*silenced, pair.second.layer, pair.second.head);
    const double rise = mean_loss(*silenced, data) - result.loss.mean;
    CHECK(pair.rise.mean == Approx(rise).margin(1e-12));
    CHECK(pair.beyond.mean ==
          Approx(rise - rise_of(pair.first) - rise_of(pair.second)).margin(1e-12));
  }
  CHECK(result.pairs[0].beyond.mean >= result.pairs[2].beyond.mean);
  // The pairs combine the most important heads.
  for (const HeadEffect& effect : result.heads) {
    const bool chosen = std::any_of(
        result.pairs.begin(), result.pairs.end(),
        [&](const PairEffect& p) { return p.first == effect.head || p.second == effect.head; });
    double above = 0;
    for (const HeadEffect& other : result.heads) {
      above += other.rise.mean > effect.rise.mean ? 1 : 0;
    }
    CHECK(chosen == (above < 3));
  }
}

TEST_CASE("ablation refuses invalid heads and modes and numbers of pairs") {
  const auto gpt = random_gpt(three_layers());
  CHECK(parse_name<AblationMode>("mode", "resample") == AblationMode::resample);
  CHECK(name_of(AblationMode::mean) == "mean");
  check_error([] { parse_name<AblationMode>("mode", "none"); }, {"zero, mean or resample", "none"});
  check_error(
      [&] {
        ablate_heads(*gpt, small_documents(), {.heads = {{3, 0}}});
      },
      {"layers 0 to 2", "3.0"});
  check_error([&] { ablate_heads(*gpt, small_documents(), {.pair_heads = 1}); }, {"joint", "1"});
}

TEST_CASE("other metrics of an ablation are those of its losses", "[heads]") {
  const TokenDataset data = small_documents();
  const auto gpt = random_gpt(three_layers());
  const auto measured = [&](MetricKind metric, Index batch_size) {
    return ablate_heads(*gpt, data, {.metric = metric, .batch_size = batch_size});
  };
  const AblationResult loss = measured(MetricKind::loss, 3);
  const AblationResult log_probability = measured(MetricKind::log_probability, 3);
  const AblationResult probability = measured(MetricKind::probability, 3);
  const AblationResult divergence = measured(MetricKind::kl, 3);
  CHECK(log_probability.loss.mean == Approx(-loss.loss.mean));
  CHECK((probability.loss.mean > std::exp(-loss.loss.mean) && probability.loss.mean < 1));
  CHECK(divergence.loss.mean == Approx(0).margin(1e-9));
  const AblationResult alone = measured(MetricKind::kl, 1);
  for (std::size_t i = 0; i < loss.heads.size(); ++i) {
    CHECK(log_probability.heads[i].rise.mean == Approx(-loss.heads[i].rise.mean).margin(1e-12));
    CHECK(divergence.heads[i].rise.mean > 0);
    CHECK(alone.heads[i].rise.mean == Approx(divergence.heads[i].rise.mean));
  }
  check_error([&] { measured(MetricKind::logit_difference, 3); },
              {"metric: logit_difference needs answers"});
}

TEST_CASE("an ablation reports its progress, which can stop it", "[heads]") {
  const auto gpt = random_gpt(three_layers());
  std::vector<double> shares;
  AblationOptions options{.pair_heads = 2, .batch_size = 3};
  options.progress = [&](double share) { shares.push_back(share); };
  ablate_heads(*gpt, small_documents(), options);
  CHECK(std::ranges::is_sorted(shares));
  CHECK(shares.size() > 9);
  CHECK(shares.back() == Approx(1));
  options.progress = [](double share) { require(share < 0.5, "stopped"); };
  CHECK(error_of([&] { ablate_heads(*gpt, small_documents(), options); }) == "stopped");
}
}  // namespace ablation_test
