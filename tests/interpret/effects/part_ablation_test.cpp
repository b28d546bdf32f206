#include "headlight/interpret/effects/part_ablation.h"
#include "headlight/interpret/interventions/interventions.h"
#include "interpret/head_experiments_support.h"
#include "support/test.h"

namespace part_ablation_test {

double loss_with(const Gpt& gpt, const TokenDataset& data, const std::string& changes) {
  Interventions hook(gpt, parse_changes(changes), {});
  return mean_loss(gpt, data, &hook);
}

PartSet part(const std::string& text) {
  const Change change = parse_targets("off", text);
  return {text, change.targets, change.positions};
}

double rise_without(const Gpt& gpt, const TokenDataset& data, const std::string& text,
                    AblationMode mode = AblationMode::zero) {
  return ablate_parts(gpt, data, {part(text)}, {.mode = mode}).parts[0].rise.mean;
}

TEST_CASE("switching a part off equals replacing it by zeros", "[heads]") {
  const TokenDataset data = small_documents();
  const auto gpt = random_gpt(three_layers());
  const double loss = mean_loss(*gpt, data);
  Tensor neurons = Tensor::ones({48}, DType::float64);
  neurons.strided_view({3}, {1}, 4).fill(0);
  const HookAt::Change zeros = [](const Tensor& x) { return x * 0.0; };
  struct Case {
    const char* part;
    Point point;
    Index layer;
    HookAt::Change change;
  };
  for (const Case& one : std::vector<Case>{
           {"mlp.1", Point::mlp_out, 1, zeros},
           {"attn.2", Point::attn_out, 2, zeros},
           {"neuron.0.4-6", Point::mlp_post, 0, [&](const Tensor& x) { return mul(x, neurons); }},
           {"embed", Point::embed, 0, zeros},  // before the first layer and after the last
           {"ln_final", Point::ln_final, 0, zeros}}) {
    INFO(one.part);
    HookAt hook(one.point, one.layer, one.change);
    CHECK(rise_without(*gpt, data, one.part) ==
          Approx(mean_loss(*gpt, data, &hook) - loss).margin(1e-12));
  }
}

TEST_CASE("the parts of a set are ablated together and independently of other sets", "[heads]") {
  const TokenDataset data = small_documents();
  const auto gpt = random_gpt(three_layers());
  const std::vector<std::string> texts{"2.1, mlp.0", "2.1", "mlp.0", "layer.1", "0.0-1 @2-"};
  std::vector<PartSet> parts;
  for (const std::string& text : texts) {
    parts.push_back(part(text));
  }
  const PartAblationResult result = ablate_parts(*gpt, data, parts, {.batch_size = 3});
  REQUIRE(result.parts.size() == texts.size());
  CHECK(result.loss.mean == Approx(mean_loss(*gpt, data)).epsilon(1e-12));
  CHECK(result.tokens == 32 + 7);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    INFO(texts[i]);
    CHECK(result.parts[i].name == texts[i]);
    const Interval& rise = result.parts[i].rise;
    CHECK(result.loss.mean + rise.mean ==
          Approx(loss_with(*gpt, data, "off " + texts[i])).epsilon(1e-12));
    CHECK(rise.low < rise.mean);
    CHECK(rise.mean < rise.high);
  }
  const auto mean = [&](std::size_t i) { return result.parts[i].rise.mean; };
  CHECK(std::abs(mean(0) - mean(1) - mean(2)) > 1e-4);
}

TEST_CASE("ablating a head as a part gives the same effect and interval as ablating it as a head",
          "[heads]") {
  const TokenDataset data = small_documents();
  const auto gpt = random_gpt(three_layers());
  for (const AblationMode mode : {AblationMode::zero, AblationMode::mean}) {
    const AblationResult heads = ablate_heads(*gpt, data, {.mode = mode, .heads = {{1, 2}}});
    const PartAblationResult parts = ablate_parts(*gpt, data, {part("1.2")}, {.mode = mode});
    CHECK(heads.sequences == parts.sequences);
    CHECK(heads.loss.low == parts.loss.low);
    CHECK(heads.heads[0].rise.mean == Approx(parts.parts[0].rise.mean).margin(1e-12));
    CHECK(heads.heads[0].rise.low == Approx(parts.parts[0].rise.low).margin(1e-12));
    CHECK(heads.heads[0].rise.high == Approx(parts.parts[0].rise.high).margin(1e-12));
  }
  // Documents are compared with themselves: a change without effect has an interval of width 0.
  const auto silent = random_gpt(three_layers());
  silence(*silent, 1, 2);
  const Interval none = ablate_parts(*silent, data, {part("1.2")}).parts[0].rise;
  CHECK(none.mean == Approx(0).margin(1e-12));
  CHECK(none.high - none.low == Approx(0).margin(1e-12));
}

TEST_CASE("mode mean replaces a part by its mean over all tokens of the data", "[heads]") {
  const TokenDataset data = small_documents();
  const auto gpt = random_gpt(three_layers());
  const double loss = mean_loss(*gpt, data);
  Tensor sum = Tensor::zeros({12}, DType::float64);
  double rows = 0;
  HookAt keep(Point::mlp_out, 1, [&](const Tensor& x) {
    const std::vector<double> values = x.to_vector();
    for (std::size_t i = 0; i < values.size(); ++i) {
      sum.data<double>()[i % 12] += values[i];
    }
    rows += static_cast<double>(x.size(0));
    return x;
  });
  mean_loss(*gpt, data, &keep);
  HookAt put(Point::mlp_out, 1,
             [&](const Tensor& x) { return expand(sum * (1 / rows), x.shape()); });
  const double expected = mean_loss(*gpt, data, &put) - loss;
  for (const Index batch_size : {1, 3, 100}) {
    const PartAblationResult result =
        ablate_parts(*gpt, data, {part("2.0, mlp.2"), part("mlp.1")},
                     {.mode = AblationMode::mean, .batch_size = batch_size});
    CHECK(result.parts[1].rise.mean == Approx(expected).margin(1e-12));
  }
  CHECK(std::abs(rise_without(*gpt, data, "mlp.1") - expected) > 1e-4);
}

TEST_CASE("interventions with given means need a mean of the right size for every changed point",
          "[heads]") {
  const auto gpt = random_gpt(three_layers());
  const std::vector<Change> change{
      {.kind = ChangeKind::mean, .targets = parse_targets("off", "mlp.1").targets}};
  PointMeans means;
  const auto refusal = [&] {
    return error_of([&] { Interventions(*gpt, change, {.means = &means}); });
  };
  CHECK(refusal() == "intervene: expected a mean of 12 numbers for blocks.1.hook_mlp_out");
  means[{Point::mlp_out, 1}] = Tensor::zeros({11}, DType::float64);
  CHECK(mentions(refusal(), {"12 numbers"}));
}

TEST_CASE("each part of a kind is named and counted", "[heads]") {
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
  std::vector<double> shares;
  ablate_parts(*gpt, small_documents(), some,
               {.batch_size = 4, .progress = [&](double share) { shares.push_back(share); }});
  CHECK(shares.size() % 3 == 0);
  CHECK(std::is_sorted(shares.begin(), shares.end()));
  CHECK(shares.back() == 1);
}

TEST_CASE("invalid parts are refused", "[heads]") {
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
    return error_of([&] { ablate_parts(model, small_documents(), {part(text)}, {.mode = mode}); });
  };
  CHECK(off(*gpt, "mlp.3", AblationMode::zero) ==
        "parts: the model has layers 0 to 2, got mlp_out.3");
  CHECK(off(*bare, "layer.1", AblationMode::mean) == "parts: this model does not compute mlp_out");
  CHECK(off(*gpt, "pattern.1", AblationMode::mean) ==
        "parts: expected off, scale or freeze for pattern, got mean");
  CHECK(off(*gpt, "0.1", AblationMode::resample) ==
        "mode: expected zero or mean for parts other than heads one by one, got resample");
  CHECK(error_of([&] { ablate_parts(*gpt, small_documents(), {}); }) ==
        "parts: expected parts to ablate, got none");
  CHECK(error_of([] { parse_targets("off", "5.1 6.2"); }) ==
        "off: '5.1 6.2': expected nothing after it, got '6.2'");
  CHECK(error_of([] { parse_targets("off", " "); }) ==
        "off: '': expected a target such as 5.1, mlp.3 or resid_post.6");
}
}  // namespace part_ablation_test
