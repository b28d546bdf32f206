#include "headlight/nn/head_hook.h"

#include "headlight/autograd/autograd.h"
#include "headlight/nn/gpt.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "nn/nn_support.h"
#include "support/tensors.h"

using namespace headlight;
using namespace headlight::test;

namespace {

GptConfig small_config() {
  return {.vocab_size = 13, .block_size = 8, .n_layer = 3, .n_head = 2, .n_embd = 6};
}

Batch small_batch() { return make_batch({{1, 2, 3, 4, 5}, {6, 7, 8}}); }

// Counts its calls and multiplies the outputs of one layer by a gate for each head.
class Gates : public HeadHook {
 public:
  Gates(Index layer, Tensor gates) : layer_(layer), gates_(std::move(gates)) {}

  Tensor projections(Index layer, const Tensor& qkv) override {
    CHECK(qkv.shape() == Shape{8, 18});
    layers_.push_back(layer);
    return qkv;
  }
  Tensor outputs(Index layer, const Tensor& outputs) override {
    if (layer != layer_) {
      return outputs;
    }
    const Tensor heads = reshape(outputs, {outputs.size(0), 2, 3});
    return reshape(mul(heads, reshape(gates_, {1, 2, 1})), outputs.shape());
  }

  const std::vector<Index>& layers() const { return layers_; }

 private:
  Index layer_;
  Tensor gates_;  // [H]
  std::vector<Index> layers_;
};

class Cut : public HeadHook {
 public:
  Tensor outputs(Index, const Tensor& outputs) override { return slice(outputs, 1, 0, 2); }
};

Tensor loss_with(const Gpt& gpt, HeadHook* hook) {
  ForwardContext context;
  context.hook = hook;
  return gpt.loss(small_batch(), context);
}

}  // namespace

TEST_CASE("a hook sees the heads of every layer once and changes nothing by looking") {
  const Gpt gpt(small_config(), 3, DType::float64);
  Gates open(1, doubles({1, 1}, {2}));
  CHECK(loss_with(gpt, &open).item() == loss_with(gpt, nullptr).item());
  CHECK(open.layers() == std::vector<Index>{0, 1, 2});
}

TEST_CASE("closing a head's gate equals zeros in its rows of c_proj") {
  const Gpt gpt(small_config(), 3, DType::float64);
  randomize(gpt, 5);
  Gates closed(1, doubles({0, 1}, {2}));
  const double gated = loss_with(gpt, &closed).item();
  CHECK(gated != loss_with(gpt, nullptr).item());
  for (auto& [name, parameter] : gpt.parameters()) {
    if (name == "h.1.attn.c_proj.weight") {  // [C, H D]
      slice(parameter.detach(), 1, 0, 3).fill(0);
    }
  }
  CHECK(gated == Approx(loss_with(gpt, nullptr).item()).epsilon(1e-12));
}

TEST_CASE("the gradient of a gate is the change of the loss with it") {
  const Gpt gpt(small_config(), 3, DType::float64);
  randomize(gpt, 5);
  const Tensor gates = leaf(doubles({1, 1}, {2}));
  Gates hook(2, gates);
  backward(loss_with(gpt, &hook));
  constexpr double kStep = 1e-5;
  const auto loss_at = [&](double first, double second) {
    Gates moved(2, doubles({first, second}, {2}));
    return loss_with(gpt, &moved).item();
  };
  check_values(gates.grad(),
               {(loss_at(1 + kStep, 1) - loss_at(1 - kStep, 1)) / (2 * kStep),
                (loss_at(1, 1 + kStep) - loss_at(1, 1 - kStep)) / (2 * kStep)},
               1e-8);
}

TEST_CASE("a hook that returns another shape is refused") {
  const Gpt gpt(small_config(), 3, DType::float64);
  Cut cut;
  CHECK(mentions(error_of([&] { loss_with(gpt, &cut); }), {"HeadHook", "[8, 6]"}));
}

TEST_CASE("a forward pass that goes on from any layer gives the bits of the whole one") {
  for (const NormPosition norm : {NormPosition::pre, NormPosition::post}) {
    GptConfig config = small_config();
    config.norm = norm;
    const Gpt gpt(config, 3);
    const Batch batch = small_batch();
    const Tensor whole = gpt.hidden(batch);
    for (Index layer = 0; layer <= 3; ++layer) {
      const Tensor residual = gpt.residual(batch, layer);
      CHECK(same_bits(gpt.hidden_from(layer, residual, batch.offsets), whole));
    }
    CHECK(mentions(error_of([&] { gpt.residual(batch, 4); }), {"Gpt", "0 to 3", "4"}));
    CHECK(mentions(error_of([&] { gpt.residual(batch, -1); }), {"Gpt", "0 to 3", "-1"}));
  }
}
