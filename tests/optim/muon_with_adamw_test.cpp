#include "optim/optim_support.h"
#include "support/test.h"

GptConfig small() {
  return {.vocab_size = 11, .block_size = 8, .n_layer = 1, .n_head = 2, .n_embd = 8, .bias = true};
}

// A model that claims hidden matrices, rightly or wrongly.
class Claiming final : public LanguageModel {
 public:
  explicit Claiming(std::vector<HiddenMatrix> claims) : claims_(std::move(claims)) {
    register_module("inner", inner_);
  }
  Index vocab_size() const override { return inner_.vocab_size(); }
  Index block_size() const override { return inner_.block_size(); }
  Tensor logits(const Batch& batch, const ForwardContext& context = {}) const override {
    return inner_.logits(batch, context);
  }
  std::vector<HiddenMatrix> hidden_matrices() const override { return claims_; }

 private:
  Gpt inner_{small()};
  std::vector<HiddenMatrix> claims_;
};

void set_gradients(const LanguageModel& model, std::uint64_t step) {
  std::uint64_t number = 100 * step;
  for (auto [name, parameter] : model.parameters()) {
    set_gradient(parameter, noise(parameter.shape(), number++, DType::float32));
  }
}

TEST_CASE("Muon updates the matrices inside layers and AdamW the rest") {
  const Gpt model(small());
  const MuonWithAdamW optimizer(model);
  const std::vector<std::string> names = state_names(optimizer.state());
  REQUIRE(names.size() == 4 + 2 * (model.parameters().size() - 4));
  CHECK(std::vector<std::string>(names.begin(), names.begin() + 6) ==
        std::vector<std::string>{
            "momentum_buffer.h.0.attn.c_attn.weight", "momentum_buffer.h.0.attn.c_proj.weight",
            "momentum_buffer.h.0.mlp.c_fc.weight", "momentum_buffer.h.0.mlp.c_proj.weight",
            "exp_avg.wte.weight", "exp_avg_sq.wte.weight"});
}

TEST_CASE("Muon updates query and key and value as three matrices") {
  const std::vector<HiddenMatrix> matrices = Gpt(small()).hidden_matrices();
  REQUIRE(matrices.size() == 4);
  const Index width = small().n_embd;
  CHECK(matrices[0].blocks == std::vector<Index>{width, width, width});
  CHECK(matrices[1].blocks.empty());
  GptConfig shared = small();
  shared.n_head = 2;
  shared.n_kv_head = 1;
  CHECK(Gpt(shared).hidden_matrices()[0].blocks == std::vector<Index>{width, width / 2, width / 2});
}

TEST_CASE("Muon with AdamW continues from the restored state and step count of another") {
  const Gpt model(small(), 1);
  const Gpt resumed(small(), 2);
  MuonWithAdamW optimizer(model);
  MuonWithAdamW successor(resumed);
  for (std::uint64_t step = 0; step < 6; ++step) {
    if (step == 3) {
      copy_tensors(model.parameters(), resumed.parameters(), "parameters");
      copy_tensors(optimizer.state(), successor.state(), "state");
      successor.set_step_count(optimizer.step_count());
    }
    set_gradients(model, step);
    optimizer.step(0.01);
    if (step >= 3) {
      set_gradients(resumed, step);
      successor.step(0.01);
    }
  }
  CHECK(successor.step_count() == 6);
  for (std::size_t i = 0; i < model.parameters().size(); ++i) {
    INFO(model.parameters()[i].first);
    CHECK(
        same_bits(resumed.parameters()[i].second.detach(), model.parameters()[i].second.detach()));
  }
}

TEST_CASE("Muon takes any model that names its hidden matrices, and refuses wrong names") {
  const std::string inner = "inner.h.0.mlp.c_fc.weight";
  const Claiming right({{inner}});
  CHECK(MuonWithAdamW(right).state().front().first == "momentum_buffer." + inner);
  const auto refused = [](const std::vector<HiddenMatrix>& claims, const std::string& part) {
    check_error([&] { MuonWithAdamW{Claiming(claims)}; }, {part});
  };
  refused({}, "type 'custom' names no hidden matrices");
  refused({{"h.0"}}, "names 'h.0', which is no");
  refused({{inner}, {inner}}, "is named twice");
  refused({{"inner.ln_f.weight"}}, "inner.ln_f.weight: expected a matrix");
}
