#include "headlight/interpret/features/sparse_autoencoder.h"
#include "headlight/interpret/interventions/interventions.h"
#include "interpret/head_experiments_support.h"
#include "interpret/point_values.h"
#include "support/test.h"

namespace sparse_autoencoder_test {
constexpr Index kWidth = 4;     // C
constexpr Index kFeatures = 6;  // F

SparseAutoencoder::Weights random_weights() {
  const auto random = [](const Shape& shape, std::uint64_t stream) {
    return random_uniform(shape, {7, stream}, -1, 1);
  };
  return {.encoder = random({kWidth, kFeatures}, 0),
          .encoder_bias = random({kFeatures}, 1),
          .decoder = random({kFeatures, kWidth}, 2),
          .decoder_bias = random({kWidth}, 3)};
}

// The other norms are those of autoencoders that SAELens has saved, below.
TEST_CASE("constant_norm_rescale divides values by the root of their mean square") {
  const Tensor values = random_uniform({3, kWidth}, {8, 0}, -2, 2);
  const Tensor scale = sqrt(mean(values * values, {.axes = {1}, .keepdim = true}));
  SaeConfig config{.hook_name = "blocks.1.hook_resid_pre"};
  const SparseAutoencoder plain(config, random_weights());
  config.norm = SaeNorm::constant_norm_rescale;
  const SparseAutoencoder sae(config, random_weights());
  const Tensor features = sae.encode(values);
  check_close(features, plain.encode(values / scale), 1e-5);
  check_close(sae.decode(features, values), plain.decode(features, values) * scale, 1e-5);
}

TEST_CASE("edits move values along decoder rows") {
  const SparseAutoencoder sae({.hook_name = "blocks.0.hook_resid_pre"}, random_weights());
  const Tensor values = random_uniform({3, kWidth}, {8, 1}, -2, 2);
  const std::vector<double> x = values.to_vector();
  const std::vector<double> features = sae.encode(values).to_vector();
  const std::vector<double> rows = sae.weights().decoder.to_vector();
  const auto check = [&](const FeatureEdit& edit, const auto& change) {
    const std::vector<double> moved = sae.edited(values, std::span(&edit, 1)).to_vector();
    for (std::size_t i = 0; i < moved.size(); ++i) {
      const auto f = static_cast<std::size_t>(edit.feature);
      const double by = change(features[i / kWidth * kFeatures + f]);
      CHECK(moved[i] == Approx(x[i] + by * rows[f * kWidth + i % kWidth]).margin(1e-5));
    }
  };
  for (Index feature = 0; feature < kFeatures; ++feature) {
    check({feature}, [](double now) { return -now; });
    check({feature, FeatureEdit::Kind::set, 2}, [](double now) { return 2 - now; });
    check({feature, FeatureEdit::Kind::scale, 3}, [](double now) { return 2 * now; });
    check({feature, FeatureEdit::Kind::add, -1}, [](double) { return -1.0; });
  }
  check_error([&] { sae.edited(values, std::vector<FeatureEdit>{{6}}); },
              {"feature", "0 to 5", "6"});
  check_error(
      [&] {
        sae.edited(values, std::vector<FeatureEdit>{{1, FeatureEdit::Kind::add, 1e39}});
      },
      {"value", "finite", "1e+39"});
}

TEST_CASE("several edits of one feature act one after the other") {
  const SparseAutoencoder sae({.hook_name = "blocks.0.hook_resid_pre"}, random_weights());
  const Tensor values = random_uniform({3, kWidth}, {8, 1}, -2, 2);
  using Kind = FeatureEdit::Kind;
  const std::vector<FeatureEdit> edits{{2, Kind::set, 0}, {2, Kind::add, 2}, {2, Kind::scale, 3}};
  const std::vector<FeatureEdit> together{{2, Kind::set, 6}};
  check_close(sae.edited(values, edits), sae.edited(values, together), 1e-5);
}

TEST_CASE("autoencoders that SAELens has saved give its features and values") {
  const fs::path saes = HEADLIGHT_SOURCE_DIR "/tests/interpret/saes";  // make_saes.py
  Index number = 0;
  for (const char* name : {"standard", "jumprelu", "topk", "topk_rescaled", "gated", "transcoder",
                           "skip_transcoder", "jumprelu_transcoder", "jumprelu_skip_transcoder"}) {
    INFO(name);
    const SparseAutoencoder sae = load_sae(saes / name);
    if (std::string_view(name) == "topk") {
      check_error([&] { sae.folded(); }, {"fold_W_dec_norm", "topk"});
    } else {
      const SparseAutoencoder unit = sae.folded();
      const Tensor& rows = unit.weights().decoder;
      check_close(sum(rows * rows, {.axes = {1}}), Tensor::ones({12}), 1e-5);
    }
    const char* point = sae.is_transcoder() ? ".ln2.hook_normalized" : ".hook_resid_post";
    CHECK(sae.config().hook_name == concat_text("blocks.", number, point));
    CHECK(sae.config().hook_name_out ==
          (sae.is_transcoder() ? concat_text("blocks.", number, ".hook_mlp_out") : ""));
    ++number;
    std::map<std::string, Tensor> expected;
    for (const auto& [key, tensor] : read_safetensors(saes / name / "expected.safetensors")) {
      expected[key] = tensor;
    }
    const Tensor features = sae.encode(expected["values"]);
    check_close(features, expected["features"], 1e-5);
    check_close(sae.decode(features, expected["values"]), expected["decoded"], 1e-4);
    check_close(sae.reconstruct(expected["values"]), expected["reconstructed"], 1e-4);
    if (std::string_view(name) != "topk") {
      const SparseAutoencoder unit = sae.folded();
      check_close(unit.encode(expected["values"]), expected["folded"], 1e-5);
      check_close(unit.decode(expected["folded"], expected["values"]), expected["decoded"], 1e-4);
    }
  }
}

TEST_CASE("gradients pass through features that a hook changes") {
  const auto gpt = random_gpt(three_layers());
  SparseAutoencoder::Weights weights = random_weights();
  const auto wide = [](const Shape& shape, std::uint64_t stream) {
    return random_uniform(shape, {7, stream}, -1, 1);
  };
  weights.encoder = wide({12, kFeatures}, 0);
  weights.decoder = wide({kFeatures, 12}, 2);
  weights.decoder_bias = wide({12}, 3);
  const SparseAutoencoder sae({.hook_name = "blocks.1.hook_resid_pre"}, weights);
  FeatureHook hook(sae, {{3}});
  CHECK(gpt->logits(make_batch({{1, 2, 3}}), {.hook = &hook}).requires_grad());
  // The same change at the point of the features.
  const Batch batch = make_batch({{1, 2, 3}});
  gpt->attach_features(feature_maps({std::make_shared<const SparseAutoencoder>(sae)}, *gpt));
  Interventions off(*gpt, parse_changes("off feature.1.3"), {});
  const Tensor changed = gpt->logits(batch, {.hook = &off});
  CHECK(changed.requires_grad());
  check_close(changed, gpt->logits(batch, {.hook = &hook}), 1e-5);
}

TEST_CASE("a hook edits features of heads side by side") {
  GptConfig config = three_layers();
  config.n_embd = 4;
  config.n_head = 2;
  const auto gpt = random_gpt(config);
  const SparseAutoencoder sae({.hook_name = "blocks.1.attn.hook_z"}, random_weights());
  FeatureHook hook(sae, {{3, FeatureEdit::Kind::add, 2}});
  const auto z_with = [&](ForwardHook* own) {
    KeepValues keep([](Point point, Index layer) { return point == Point::z && layer == 1; });
    HookPair both(own, &keep);
    const NoGrad no_grad;
    gpt->hidden(make_batch({{1, 2, 3}}), {.hook = both.get()});
    return keep.values.at({Point::z, 1});
  };
  const Tensor plain = z_with(nullptr);
  const Tensor moved = z_with(&hook);
  REQUIRE(moved.shape() == Shape{3, 2, 2});
  for (std::size_t i = 0; i < 12; ++i) {
    CHECK(moved.to_vector()[i] - plain.to_vector()[i] ==
          Approx(2 * sae.weights().decoder.to_vector()[3 * 4 + i % 4]).margin(1e-5));
  }
}

TEST_CASE("weights of an autoencoder must be finite in float32") {
  SparseAutoencoder::Weights weights = random_weights();
  weights.decoder = Tensor::full(weights.decoder.shape(), 1e300, DType::float64);
  CHECK_THROWS_WITH(SparseAutoencoder({}, weights),
                    contains_text("W_dec contains values that are not finite"));
  weights.decoder = Tensor::full(weights.decoder.shape(), 1e20);
  CHECK_NOTHROW(SparseAutoencoder({}, weights));
  CHECK_THROWS_WITH(
      SparseAutoencoder(
          {.architecture = SaeArchitecture::topk, .k = 1, .rescale_by_decoder_norm = true},
          weights),
      contains_text("lengths of the rows of W_dec contains"));
}

TEST_CASE("folders of SAELens are read with old and new settings") {
  const TemporaryFolder folder;
  SparseAutoencoder::Weights weights = random_weights();
  const auto write = [&](const std::string& config) {
    write_safetensors(folder.path() / "sae_weights.safetensors", {{"W_enc", weights.encoder},
                                                                  {"b_enc", weights.encoder_bias},
                                                                  {"W_dec", weights.decoder},
                                                                  {"b_dec", weights.decoder_bias}});
    std::ofstream(folder.path() / "cfg.json") << config;
  };
  write(R"({"architecture": "topk", "k": 3, "apply_b_dec_to_input": false,
            "normalize_activations": "layer_norm", "d_in": 4, "d_sae": 6,
            "meta": {"hook_name": "blocks.2.hook_resid_post", "model_name": "gpt2"}})");
  const SparseAutoencoder fresh = load_sae(folder.path());
  CHECK(fresh.config().architecture == SaeArchitecture::topk);
  CHECK(fresh.config().hook_name == "blocks.2.hook_resid_post");
  CHECK(fresh.config().norm == SaeNorm::layer_norm);
  CHECK_FALSE(fresh.config().apply_b_dec_to_input);
  CHECK(fresh.features() == 6);
  write(R"({"hook_point": "blocks.8.hook_resid_pre", "activation_fn_str": "topk",
            "activation_fn_kwargs": {"k": 2}, "normalize_activations": "none"})");
  const SparseAutoencoder old = load_sae(folder.path());
  CHECK(old.config().k == 2);
  CHECK(old.config().hook_name == "blocks.8.hook_resid_pre");
  CHECK(old.config().apply_b_dec_to_input);
  const auto error = [&](const std::string& config) {
    write(config);
    return error_of([&] { load_sae(folder.path()); });
  };
  CHECK(mentions(error(R"({"architecture": "other"})"), {"cfg.json", "architecture", "gated"}));
  CHECK(mentions(error(R"({"architecture": "gated"})"), {"sae_weights", "r_mag", "missing"}));
  CHECK(mentions(error(R"({"architecture": "jumprelu"})"),
                 {"sae_weights.safetensors", "threshold", "missing"}));
  CHECK(mentions(error(R"({"architecture": "topk"})"), {"cfg.json", "k"}));
  CHECK(mentions(error(R"({"architecture": 5})"), {"cfg.json", "architecture", "text"}));
  CHECK(mentions(error("[1"), {"cfg.json"}));
  weights.decoder = weights.encoder;
  CHECK(mentions(error("{}"), {"W_dec", "[6, 4]", "[4, 6]"}));
  check_error([] { load_sae("/no/such/folder"); }, {"/no/such/folder/cfg.json"});
}
}  // namespace sparse_autoencoder_test
