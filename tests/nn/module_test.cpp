#include "support/test.h"

namespace module_test {
// Returns the names with blanks between them.
std::string names_of(const NamedTensors& tensors) {
  std::string names;
  for (const auto& entry : tensors) {
    names += (names.empty() ? "" : " ") + entry.first;
  }
  return names;
}

// scale * linear(x) + shift, with one parameter before its submodule and one after.
class Scaled : public Module {
 public:
  Scaled() : inner_({.inputs = 2, .outputs = 3}), norm_({.width = 3}) {
    scale = register_parameter("scale", Tensor::full({3}, 2));
    register_module("inner", inner_);
    register_module("norm", norm_);
    shift = register_parameter("shift", Tensor::zeros({3}));
  }
  Tensor forward(const Tensor& x) const { return inner_.forward(x) * scale + shift; }

  Tensor scale;
  Tensor shift;

 private:
  Linear inner_;
  BatchNorm1d norm_;
};

GptConfig small_config() {
  return {.vocab_size = 11, .block_size = 6, .n_layer = 2, .n_head = 2, .n_embd = 8};
}

TEST_CASE("a name is registered once") {
  struct Twice : Module {
    explicit Twice(bool part) {
      register_parameter("weight", Tensor::zeros({2}));
      if (part) {
        register_module("weight", other);
      } else {
        register_parameter("weight", Tensor::zeros({2}));
      }
    }
    Linear other{LinearOptions{.inputs = 2, .outputs = 2}, RandomStream{}};
  };
  for (const bool part : {false, true}) {
    CHECK(contains(error_of([&] { Twice{part}; }), "'weight' is registered twice"));
  }
}

TEST_CASE("a module lists its own parameters first and then its parts by dotted name") {
  const Scaled module;
  CHECK(names_of(module.parameters()) ==
        "scale shift inner.weight inner.bias norm.weight norm.bias");
  CHECK(names_of(module.buffers()) == "norm.running_mean norm.running_var");
  CHECK(module.parameter_count() == 3 + 3 + 6 + 3 + 3 + 3);
}

TEST_CASE(
    "the listed parameters share elements and gradients with the module, and buffers have none") {
  Scaled module;
  parameter_of(module, "scale").fill(5);
  CHECK(module.scale.to_vector() == std::vector<double>{5, 5, 5});
  backward(sum(module.forward(Tensor::ones({4, 2}))));
  CHECK(parameter_of(module, "shift").grad().to_vector() == std::vector<double>{4, 4, 4});
  CHECK(parameter_of(module, "inner.bias").grad().to_vector() == std::vector<double>{20, 20, 20});
  module.zero_grad();
  for (const auto& [name, parameter] : module.parameters()) {
    INFO(name);
    CHECK(parameter.requires_grad());
    CHECK_FALSE(parameter.grad().defined());
  }
  for (const auto& [name, buffer] : module.buffers()) {
    INFO(name);
    CHECK_FALSE(buffer.requires_grad());
  }
}

TEST_CASE("a GPT names its parameters as the GPT-2 checkpoint does, each of them once") {
  GptConfig config = small_config();
  config.n_layer = 1;
  CHECK(names_of(Gpt(config).parameters()) ==
        "wte.weight wpe.weight h.0.ln_1.weight h.0.ln_1.bias h.0.attn.c_attn.weight "
        "h.0.attn.c_attn.bias h.0.attn.c_proj.weight h.0.attn.c_proj.bias h.0.ln_2.weight "
        "h.0.ln_2.bias h.0.mlp.c_fc.weight h.0.mlp.c_fc.bias h.0.mlp.c_proj.weight "
        "h.0.mlp.c_proj.bias ln_f.weight ln_f.bias");
  CHECK(Gpt(config).buffers().empty());
  config.bias = false;
  config.norm = NormPosition::post;
  config.tie_weights = false;
  CHECK(names_of(Gpt(config).parameters()) ==
        "wte.weight wpe.weight h.0.ln_1.weight h.0.attn.c_attn.weight h.0.attn.c_proj.weight "
        "h.0.ln_2.weight h.0.mlp.c_fc.weight h.0.mlp.c_proj.weight lm_head.weight");
}
}  // namespace module_test
