#include "headlight/interpret/activations/activation_cache.h"
#include "headlight/interpret/activations/activation_recorder.h"
#include "headlight/interpret/effects/metric_gradients.h"
#include "headlight/interpret/interventions/interventions.h"
#include "headlight/interpret/lens/lens.h"
#include "interpret/head_experiments_support.h"
#include "support/test.h"

namespace family_units_test {
// Values under TransformerLens's names are those of TransformerBridge: for Granite the stream of
// transformers, and all that is added to it with its factors (tools/parity/check_points.py).

constexpr double kMultiplier = 0.25;
constexpr double kEmbedding = 3;  // Granite's embedding_multiplier
const Ids kText{1, 2, 3, 4, 5};

GptConfig granite() {
  GptConfig config = three_layers();
  config.norm_type = NormKind::rms;
  config.bias = false;
  config.position = PositionKind::rope;
  config.residual_multiplier = kMultiplier;
  config.embedding_scale = kEmbedding / kMultiplier;
  return config;
}

// Returns the values at all points by name.
std::map<std::string, Tensor> values_of(const Gpt& gpt) {
  auto points = mapped<PointRange>(
      kChoices<Point>, [&](const auto& choice) { return PointRange{.point = choice.value}; });
  std::map<std::string, Tensor> values;
  for (const auto& [name, tensor] :
       cache_activations(gpt, ActivationContexts(std::vector<Ids>{kText}, 8), {.points = points})) {
    values[name] = tensor;
  }
  return values;
}

TEST_CASE("cached values obey the equations of Granite") {
  const auto gpt = random_gpt(granite());
  auto v = values_of(*gpt);
  const Tensor rows = slice(gpt->weight(Part::token_embedding), 0, 1, 6);
  check_close(v["hook_embed"], rows * kEmbedding, 1e-12);
  check_close(v["blocks.0.hook_resid_pre"], v["hook_embed"], 1e-12);
  for (const std::string block : {"blocks.0.", "blocks.2."}) {
    const Tensor& pre = v[block + "hook_resid_pre"];
    const Tensor& mid = v[block + "hook_resid_mid"];
    check_close(mid, pre + v[block + "hook_attn_out"], 1e-12);
    check_close(v[block + "hook_resid_post"], mid + v[block + "hook_mlp_out"], 1e-12);
    const double epsilon = gpt->config().layer_norm_epsilon * kMultiplier * kMultiplier;
    const Tensor scale = sqrt(mean(pre * pre, {.axes = {1}, .keepdim = true}) + epsilon);
    check_close(v[block + "ln1.hook_scale"], scale, 1e-12);
    check_close(v[block + "ln1.hook_normalized"], pre / scale, 1e-12);
    const Index layer = block[7] - '0';
    check_close(v[block + "ln1.hook_out"], pre / scale * gpt->weight(Part::attention_norm, layer),
                1e-12);
    check_close(sum(v[block + "attn.hook_result"], {.axes = {1}}), v[block + "hook_attn_out"],
                1e-12);
    const Tensor z = reshape(v[block + "attn.hook_z"], {5, 12});
    check_close(v[block + "hook_attn_out"],
                linear(z, gpt->weight(Part::attention_output, layer)) * kMultiplier, 1e-12);
  }
  check_close(v["blocks.1.hook_resid_pre"], v["blocks.0.hook_resid_post"], 1e-12);
}

TEST_CASE("hooks that read a stream in other units change no bit") {
  const auto gpt = random_gpt(granite(), DType::float32);
  const Batch batch = make_batch({kText});
  ActivationRecorder recorder({{.point = Point::resid_pre}, {.point = Point::embed}});
  CHECK(same_bits(gpt->logits(batch, {.hook = &recorder}), gpt->logits(batch)));
}

TEST_CASE("a steering vector is added in the units of the family") {
  const auto gpt = random_gpt(granite());
  const TemporaryFolder folder;
  const Tensor vector = random_uniform({12}, {5, 0}, -1, 1, DType::float64);
  write_npz(folder.path() / "v.npz", {{"v", vector}});
  auto before = values_of(*gpt);
  gpt->attach(std::make_shared<Interventions>(
      *gpt, parse_changes("add resid_post.0 " + (folder.path() / "v.npz").string() + ":v*2"),
      Interventions::Options{}));
  auto after = values_of(*gpt);
  check_close(after["blocks.0.hook_resid_post"], before["blocks.0.hook_resid_post"] + vector * 2,
              1e-6);
}

TEST_CASE("gradients are taken with respect to the values of the family") {
  const auto gpt = random_gpt(granite());
  const LogitMetric metric = [](const Tensor& logits) { return sum(tanh(logits)); };
  const MetricGradients found =
      metric_gradients(*gpt, make_batch({kText}), metric,
                       {{.point = Point::embed}, {.point = Point::resid_pre, .layers = {0, 0}}});
  REQUIRE(found.points.size() == 2);
  check_close(found.points[0].gradient, found.points[1].gradient, 1e-9);
  auto plain_config = granite();
  plain_config.residual_multiplier = 0;
  const auto plain = random_gpt(plain_config);
  const MetricGradients own = metric_gradients(*plain, make_batch({kText}), metric,
                                               {{.point = Point::resid_pre, .layers = {0, 0}}});
  check_close(found.points[1].gradient * kMultiplier, own.points[0].gradient, 1e-9);
}

TEST_CASE("a tuned lens translates the stream of the family") {
  const auto gpt = random_gpt(granite());
  auto config = granite();
  config.residual_multiplier = 0;
  const auto plain = random_gpt(config);
  const Tensor bias = random_uniform({12}, {6, 0}, -1, 1, DType::float64);
  const auto readings = [&](const Gpt& model, const Tensor& shift) {
    const Tensor none = Tensor::zeros({12, 12}, DType::float64);
    const auto tuned = std::make_shared<TunedLens>();
    tuned->translators = {{none, shift}, {none, shift}, {none, shift}};
    LensTask task{.text = kText};
    task.view.tuned = tuned;
    return mapped<double>(logit_lens(model, task).rows,
                          [&](const LensRow& row) { return row.readings.back().entropy; });
  };
  const std::vector<double> found = readings(*gpt, bias);
  const std::vector<double> expected = readings(*plain, bias / kMultiplier);
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i] == Approx(expected[i]).epsilon(1e-5));
  }
}
}  // namespace family_units_test
