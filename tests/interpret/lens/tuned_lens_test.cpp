#include "headlight/interpret/lens/tuned_lens.h"
#include "headlight/interpret/lens/lens.h"
#include "interpret/head_experiments_support.h"
#include "support/test.h"

const Ids kText{1, 7, 3, 4};

TunedLens random_lens(Index layers) {
  TunedLens lens;
  for (Index layer = 0; layer < layers; ++layer) {
    const auto stream = static_cast<std::uint64_t>(layer);
    lens.translators.push_back({random_uniform({12, 12}, {5, 2 * stream}, -0.3, 0.3),
                                random_uniform({12}, {5, 2 * stream + 1}, -1, 1)});
  }
  return lens;
}

TEST_CASE("a tuned lens translates the input of each layer before it is read") {
  const auto gpt = random_gpt(three_layers());
  const TunedLens lens = random_lens(3);
  const auto expected = [&](Index layer) {  // log-probabilities [T, V]
    const Tensor stream = gpt->residual(make_batch({kText}), layer);
    const TunedLens::Translator& translator = lens.translators[static_cast<std::size_t>(layer)];
    const Tensor moved = matmul(stream, transpose(convert(translator.weight, DType::float64))) +
                         convert(translator.bias, DType::float64);
    return log_softmax(gpt->head_logits(gpt->finished(stream + moved))).to_vector();
  };
  for (const Point point : {Point::resid_pre, Point::resid_post}) {
    const LensResult result = logit_lens(
        *gpt,
        {.text = kText, .view = {.point = point, .tuned = std::make_shared<TunedLens>(lens)}});
    REQUIRE(result.rows.size() == 4);
    for (std::size_t row = 0; row < 3; ++row) {  // embed, 0, 1; or 0, 1, 2
      const std::vector<double> values = expected(static_cast<Index>(row));
      for (std::size_t i = 0; i < kText.size(); ++i) {
        const auto target = static_cast<std::size_t>(result.targets[i]);
        CHECK(result.rows[row].readings[i].log_probability ==
              Approx(values[i * 11 + target]).margin(1e-4));
      }
    }
    CHECK(result.rows[3].readings[0].divergence == Approx(0).margin(1e-9));
  }
}

TEST_CASE("a tuned lens must fit the model and the point") {
  const auto gpt = random_gpt(three_layers());
  const auto error = [&](const TunedLens& lens, Point point) {
    return error_of([&] {
      logit_lens(*gpt, {.text = kText,
                        .view = {.point = point, .tuned = std::make_shared<TunedLens>(lens)}});
    });
  };
  CHECK(mentions(error(random_lens(2), Point::resid_post), {"tuned", "3 layers", "2 layers"}));
  CHECK(mentions(error({}, Point::resid_post), {"tuned", "0 layers"}));
  CHECK(mentions(error(random_lens(3), Point::mlp_out), {"point", "resid_pre", "mlp_out"}));
}

TEST_CASE("translators are read from files of PyTorch and safetensors") {
  const TunedLens lens = load_tuned_lens(HEADLIGHT_SOURCE_DIR "/tests/interpret/tuned_lens.pt");
  REQUIRE(lens.translators.size() == 2);
  CHECK(lens.translators[0].weight.to_vector() ==
        std::vector<double>{0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1});
  CHECK(lens.translators[1].bias.to_vector() == std::vector<double>{3, 3.125, 3.25});
  const TemporaryFolder folder;
  const auto& [weight, bias] = lens.translators[1];
  write_safetensors(folder / "params.safetensors", {{"0.weight", weight}, {"0.bias", bias}});
  const TunedLens copy = load_tuned_lens(folder.path());
  REQUIRE(copy.translators.size() == 1);
  CHECK(copy.translators[0].weight.to_vector() == weight.to_vector());
  write_safetensors(folder / "params.safetensors", {{"0.weight", weight}, {"1.weight", bias}});
  check_error([&] { load_tuned_lens(folder.path()); },
              {"params.safetensors", "1.weight", "[3, 3]"});
  write_safetensors(folder / "other.safetensors", {{"weight", weight}});
  check_error([&] { load_tuned_lens(folder / "other.safetensors"); },
              {"other.safetensors", "0.weight"});
  check_error([] { load_tuned_lens("/no/lens"); }, {"/no/lens"});
  const auto checkpoint = HEADLIGHT_SOURCE_DIR "/tests/formats/nanogpt/ckpt.pt";
  check_error([&] { load_tuned_lens(checkpoint); }, {"ckpt.pt"});
}
