#include "headlight/interpret/effects/ablation.h"
#include "headlight/interpret/interventions/interventions.h"
#include "interpret/head_experiments_support.h"
#include "interpret/point_values.h"
#include "support/programs/local_processes.h"
#include "support/test.h"

namespace ablation_test {
using Parts = std::vector<PartSet>;

Parts heads_of_gpt(const Gpt& gpt) { return each_part(gpt, PartKind::head); }

// Ablates each head.
AblationResult ablate_each(const Gpt& gpt, const TokenDataset& data,
                           const AblationOptions& options = {}) {
  return ablate(gpt, data, heads_of_gpt(gpt), options);
}

double loss_with(const Gpt& gpt, const TokenDataset& data, const std::string& changes) {
  Interventions hook(gpt, parse_changes(changes), {});
  return mean_loss(gpt, data, &hook);
}

PartSet part(const std::string& text) {
  const Change change = parse_targets("off", text);
  return {text, change.targets, change.positions};
}

Interval rise_without(const LanguageModel& gpt, const TokenDataset& data, const std::string& text,
                      const AblationOptions& options = {}) {
  return ablate(gpt, data, {part(text)}, options).rises[0];
}

TEST_CASE("zero ablation of a head raises the loss as much as zeroing its output weights") {
  const TokenDataset data = small_documents();
  const auto gpt = random_gpt(three_layers());
  const AblationResult result = ablate_each(*gpt, data, {.batch_size = 3});
  CHECK(result.loss.mean == Approx(mean_loss(*gpt, data)).epsilon(1e-12));
  REQUIRE(result.rises.size() == 9);
  for (std::size_t i = 0; i < 9; ++i) {
    const HeadId head = HeadSet::all(gpt->heads())[i];
    INFO(head_name(head));
    const auto silenced = random_gpt(three_layers());
    silence(*silenced, head.layer, head.head);
    const Interval& rise = result.rises[i];
    CHECK(rise.mean == Approx(mean_loss(*silenced, data) - result.loss.mean).margin(1e-12));
    CHECK(rise.low <= rise.mean);
    CHECK(rise.mean <= rise.high);
    CHECK(rise.low < rise.high);
  }
  CHECK(result.tokens == 32 + 7);
}

TEST_CASE("ablation does not depend on the batch size") {
  const TokenDataset data = small_documents();
  const auto gpt = random_gpt(three_layers());
  for (const AblationMode mode : {AblationMode::zero, AblationMode::mean, AblationMode::resample}) {
    const AblationResult one = ablate_each(*gpt, data, {.mode = mode, .batch_size = 1});
    const AblationResult all = ablate_each(*gpt, data, {.mode = mode, .batch_size = 100});
    CHECK(one.sequences == all.sequences);
    for (std::size_t i = 0; i < one.rises.size(); ++i) {
      CHECK(one.rises[i].mean == Approx(all.rises[i].mean).margin(1e-12));
      CHECK(one.rises[i].high == Approx(all.rises[i].high).margin(1e-12));
    }
  }
}

TEST_CASE("an ablation shared by several processes has the same bits as in one") {
  const TokenDataset data = small_documents();
  const auto gpt = random_gpt(three_layers());
  for (const AblationMode mode : {AblationMode::zero, AblationMode::mean, AblationMode::resample}) {
    const AblationResult whole = ablate_each(*gpt, data, {.mode = mode, .batch_size = 1});
    run_processes(2, [&](Processes& processes) {
      const auto own = random_gpt(three_layers());
      const AblationResult shared =
          ablate_each(*own, data, {.mode = mode, .batch_size = 1, .processes = &processes});
      require(shared.tokens == whole.tokens, "tokens: got ", shared.tokens);
      for (std::size_t i = 0; i < whole.rises.size(); ++i) {
        require(shared.rises[i].mean == whole.rises[i].mean &&
                    shared.rises[i].high == whole.rises[i].high,
                "rise of head ", i, " in ", processes.rank());
      }
    });
  }
}

TEST_CASE("resampling takes a part's output from the same position of the next document") {
  // With two documents, each gets the part's output on the other. If the documents are equal,
  // resampling changes nothing.
  const auto gpt = random_gpt(three_layers());
  const TokenDataset same = document_dataset({{1, 2, 3}, {1, 2, 3}}, 10);
  const TokenDataset other = document_dataset({{1, 2, 3}, {4, 5, 6}}, 10);
  const AblationOptions options{.mode = AblationMode::resample};
  for (const char* name : {"0.0", "mlp.1", "neuron.2.5", "resid_post.0", "layer.1 @1-"}) {
    INFO(name);
    CHECK(rise_without(*gpt, same, name, options).mean == Approx(0).margin(1e-12));
    CHECK(std::abs(rise_without(*gpt, other, name, options).mean) > 1e-4);
    // In batches of one document, the next document is in the next batch.
    CHECK(rise_without(*gpt, same, name, {.mode = options.mode, .batch_size = 1}).mean ==
          Approx(0).margin(1e-12));
  }
  // The last stream of the other document predicts the other document's tokens.
  const double swapped = ablate(*gpt, other, {part("resid_post.2")}, options).rises[0].mean;
  const auto loss_of = [&](const Ids& read, const Ids& predicted) {
    Ids seen{10};
    double loss = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      loss -= log_probability(*gpt, seen, {i < 3 ? predicted[i] : 10});
      seen.push_back(i < 3 ? read[i] : 0);
    }
    return loss;
  };
  const double expected = (loss_of({4, 5, 6}, {1, 2, 3}) + loss_of({1, 2, 3}, {4, 5, 6})) / 8;
  CHECK(swapped == Approx(expected - mean_loss(*gpt, other)).margin(1e-9));
  check_error(
      [&] {
        rise_without(*gpt, document_dataset({{1, 2}}, 10), "0.0", options);
      },
      {"resample", "at least two", "one"});
}

TEST_CASE("pairs give the effect of two parts beyond the sum of their single effects") {
  const TokenDataset data = small_documents();
  const auto gpt = random_gpt(three_layers());
  Parts parts = heads_of_gpt(*gpt);
  parts.push_back(part("mlp.1"));
  parts.push_back(part("mlp.0 @2-"));
  const AblationResult result = ablate(*gpt, data, parts, {.joint = 4});
  REQUIRE(result.pairs.size() == 6);
  std::vector<bool> is_chosen(parts.size());
  for (const PairEffect& pair : result.pairs) {
    INFO(parts[pair.first].name << " and " << parts[pair.second].name);
    CHECK(pair.first < pair.second);
    is_chosen[pair.first] = is_chosen[pair.second] = true;
    const double rise =
        loss_with(*gpt, data,
                  "off " + parts[pair.first].name + "; off " + parts[pair.second].name) -
        result.loss.mean;
    CHECK(pair.rise.mean == Approx(rise).margin(1e-12));
    const double alone = result.rises[pair.first].mean + result.rises[pair.second].mean;
    CHECK(pair.beyond.mean == Approx(rise - alone).margin(1e-12));
  }
  CHECK(std::ranges::is_sorted(result.pairs, std::ranges::greater(),
                               [](const PairEffect& pair) { return pair.beyond.mean; }));
  // The pairs combine the most important parts.
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto above = std::ranges::count_if(
        result.rises, [&](const Interval& rise) { return rise.mean > result.rises[i].mean; });
    CHECK(is_chosen[i] == (above < 4));
  }
}

TEST_CASE("other metrics of an ablation are those of its losses") {
  const TokenDataset data = small_documents();
  const auto gpt = random_gpt(three_layers());
  const auto measured = [&](MetricKind metric, Index batch_size) {
    return ablate_each(*gpt, data, {.metric = metric, .batch_size = batch_size});
  };
  const AblationResult loss = measured(MetricKind::loss, 3);
  const AblationResult log_probability = measured(MetricKind::log_probability, 3);
  const AblationResult probability = measured(MetricKind::probability, 3);
  const AblationResult divergence = measured(MetricKind::kl, 3);
  CHECK(log_probability.loss.mean == Approx(-loss.loss.mean));
  CHECK((probability.loss.mean > std::exp(-loss.loss.mean) && probability.loss.mean < 1));
  CHECK(divergence.loss.mean == Approx(0).margin(1e-9));
  const AblationResult alone = measured(MetricKind::kl, 1);
  for (std::size_t i = 0; i < loss.rises.size(); ++i) {
    CHECK(log_probability.rises[i].mean == Approx(-loss.rises[i].mean).margin(1e-12));
    CHECK(divergence.rises[i].mean > 0);
    CHECK(alone.rises[i].mean == Approx(divergence.rises[i].mean));
  }
  check_error([&] { measured(MetricKind::logit_difference, 3); },
              {"metric: logit_difference needs answers"});
}

TEST_CASE("an ablation reports its progress, which can stop it") {
  const auto gpt = random_gpt(three_layers());
  std::vector<double> shares;
  AblationOptions options{.joint = 2, .batch_size = 3};
  options.progress = [&](double share) { shares.push_back(share); };
  ablate_each(*gpt, small_documents(), options);
  CHECK(std::ranges::is_sorted(shares));
  CHECK(shares.size() > 5);
  CHECK(shares.back() == Approx(1));
  options.progress = [](double share) { require(share < 0.5, "stopped"); };
  CHECK(error_of([&] { ablate_each(*gpt, small_documents(), options); }) == "stopped");
}
TEST_CASE("the parts of a set are ablated together and independently of other sets") {
  const TokenDataset data = small_documents();
  const auto gpt = random_gpt(three_layers());
  const std::vector<std::string> texts{"2.1, mlp.0",   "2.1",       "mlp.0",
                                       "layer.1",      "0.0-1 @2-", "attn.2",
                                       "neuron.0.4-6", "embed",     "ln_final"};
  const auto parts = mapped<PartSet>(texts, [&](const std::string& text) { return part(text); });
  const AblationResult result = ablate(*gpt, data, parts, {.batch_size = 3});
  REQUIRE(result.rises.size() == texts.size());
  CHECK(result.loss.mean == Approx(mean_loss(*gpt, data)).epsilon(1e-12));
  CHECK(result.tokens == 32 + 7);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    INFO(texts[i]);
    const Interval& rise = result.rises[i];
    CHECK(result.loss.mean + rise.mean ==
          Approx(loss_with(*gpt, data, "off " + texts[i])).epsilon(1e-12));
    CHECK(rise.low < rise.mean);
    CHECK(rise.mean < rise.high);
  }
  const auto mean = [&](std::size_t i) { return result.rises[i].mean; };
  CHECK(std::abs(mean(0) - mean(1) - mean(2)) > 1e-4);
  // Documents are compared with themselves: a change without effect has an interval of width 0.
  const auto silent = random_gpt(three_layers());
  silence(*silent, 1, 2);
  const Interval none = rise_without(*silent, data, "1.2");
  CHECK(none.mean == Approx(0).margin(1e-12));
  CHECK(none.high - none.low == Approx(0).margin(1e-12));
}

TEST_CASE("mode mean replaces a part by its mean over all tokens of the data") {
  const TokenDataset data = small_documents();
  const auto gpt = random_gpt(three_layers());
  const double loss = mean_loss(*gpt, data);
  for (const auto& [point, name] : {std::pair(Point::mlp_out, "mlp.1"), {Point::z, "1.0-2"}}) {
    Tensor sum = Tensor::zeros({12}, DType::float64);
    double rows = 0;
    HookAt keep(point, 1, [&](const Tensor& x) {
      const std::vector<double> values = x.to_vector();
      for (std::size_t i = 0; i < values.size(); ++i) {
        sum.data<double>()[i % 12] += values[i];
      }
      rows += static_cast<double>(x.size(0));
      return x;
    });
    mean_loss(*gpt, data, &keep);
    HookAt put(point, 1, [&](const Tensor& x) {
      return reshape(expand(sum * (1 / rows), {x.size(0), 12}), x.shape());
    });
    const double expected = mean_loss(*gpt, data, &put) - loss;
    for (const Index batch_size : {1, 3, 100}) {
      const AblationResult result = ablate(*gpt, data, {part("2.0, mlp.2"), part(name)},
                                           {.mode = AblationMode::mean, .batch_size = batch_size});
      CHECK(result.rises[1].mean == Approx(expected).margin(1e-12));
    }
    CHECK(std::abs(rise_without(*gpt, data, name).mean - expected) > 1e-4);
  }
}

TEST_CASE("interventions with given means need a mean of the right size for every changed point") {
  const auto gpt = random_gpt(three_layers());
  const std::vector<Change> change{
      {.kind = ChangeKind::mean, .targets = parse_targets("off", "mlp.1").targets}};
  PointValues means;
  const auto refusal = [&] {
    return error_of([&] { Interventions(*gpt, change, {.means = &means}); });
  };
  CHECK(refusal() == "intervene: expected a mean of 12 numbers for blocks.1.hook_mlp_out");
  means[{Point::mlp_out, 1}] = Tensor::zeros({11}, DType::float64);
  CHECK(mentions(refusal(), {"12 numbers"}));
}

TEST_CASE("each part of a kind is named and counted") {
  const auto gpt = random_gpt(three_layers());
  const std::vector<PartSet> layers = each_part(*gpt, PartKind::layer);
  REQUIRE(layers.size() == 3);
  CHECK(layers[2].name == "layer.2");
  CHECK(layers[2].targets == parse_targets("off", "layer.2").targets);
  CHECK(each_part(*gpt, PartKind::mlp)[1].targets == parse_targets("off", "mlp.1").targets);
  CHECK(each_part(*gpt, PartKind::attn)[1].targets == parse_targets("off", "attn.1").targets);
  const std::vector<PartSet> neurons = each_part(*gpt, PartKind::neuron, {2, 2});
  REQUIRE(neurons.size() == 48);
  CHECK(neurons[47].targets == parse_targets("off", "neuron.2.47").targets);
  const std::vector<PartSet> some = each_part(*gpt, PartKind::neuron, {2, 2}, {45});
  REQUIRE(some.size() == 3);
  CHECK(some[0].name == "neuron.2.45");
}

TEST_CASE("invalid parts are refused") {
  GptConfig config = three_layers();
  config.mlp = false;
  const auto bare = random_gpt(config);
  const auto gpt = random_gpt(three_layers());
  const auto each = [&](const Gpt& model, PartKind kind, NumberRange layers,
                        NumberRange neurons = {}) {
    return error_of([&] { each_part(model, kind, layers, neurons); });
  };
  CHECK(each(*gpt, PartKind::mlp, {3}) == "layers: the model has layers 0 to 2, got 3-");
  CHECK(each(*gpt, PartKind::neuron, {1, 1}, {48, 48}) ==
        "items: layer 1 has neurons 0 to 47, got 48");
  CHECK(each(*bare, PartKind::neuron, {1, 1}) == "by: this model does not compute mlp_post");
  const auto off = [&](const Gpt& model, const char* text, AblationMode mode) {
    return error_of([&] { ablate(model, small_documents(), {part(text)}, {.mode = mode}); });
  };
  CHECK(off(*gpt, "mlp.3", AblationMode::zero) ==
        "parts: the model has layers 0 to 2, got mlp_out.3");
  CHECK(off(*bare, "layer.1", AblationMode::mean) == "parts: this model does not compute mlp_out");
  CHECK(off(*gpt, "pattern.1", AblationMode::mean) ==
        "parts: expected off, scale or freeze for pattern, got mean");
  CHECK(error_of([&] { ablate(*gpt, small_documents(), {}); }) ==
        "parts: expected parts to ablate, got none");
  check_error([&] { ablate_each(*gpt, small_documents(), {.joint = 1}); }, {"joint", "1"});
  check_error([] { parse_name<AblationMode>("mode", "none"); }, {"zero, mean or resample", "none"});
  CHECK(error_of([] { parse_targets("off", "5.1 6.2"); }) ==
        "off: '5.1 6.2': expected nothing after it, got '6.2'");
  CHECK(error_of([] { parse_targets("off", " "); }) ==
        "off: '': expected a target such as 5.1, mlp.3 or resid_post.6");
}
}  // namespace ablation_test
