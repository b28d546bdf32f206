#include "headlight/nn/parameter_shapes.h"

namespace headlight {
namespace {

class ShapeList {
 public:
  explicit ShapeList(const GptConfig& config) : config_(config) {}

  void add(const std::string& name, const Shape& shape) { shapes_.emplace_back(name, shape); }

  void add_norm(const std::string& name) {
    add(name + ".weight", {config_.n_embd});
    add_bias(name, config_.n_embd);
  }

  void add_linear(const std::string& name, Index outputs, Index inputs) {
    add(name + ".weight", {outputs, inputs});
    add_bias(name, outputs);
  }

  void add_block(Index layer) {
    const Index width = config_.n_embd;
    const Index head_width = config_.head_width > 0 ? config_.head_width : width / config_.n_head;
    const Index inner = config_.heads(layer) * head_width;
    const std::string prefix = "h." + std::to_string(layer) + ".";
    add_norm(prefix + "ln_1");
    add_linear(prefix + "attn.c_attn", 3 * inner, width);
    add_linear(prefix + "attn.c_proj", width, inner);
    if (config_.mlp) {
      add_norm(prefix + "ln_2");
      add_linear(prefix + "mlp.c_fc", 4 * width, width);
      add_linear(prefix + "mlp.c_proj", width, 4 * width);
    }
  }

  std::vector<std::pair<std::string, Shape>> take() { return std::move(shapes_); }

 private:
  void add_bias(const std::string& name, Index width) {
    if (config_.bias) {
      add(name + ".bias", {width});
    }
  }

  const GptConfig& config_;
  std::vector<std::pair<std::string, Shape>> shapes_;
};

}  // namespace

std::vector<std::pair<std::string, Shape>> parameter_shapes(const GptConfig& config) {
  config.validate();
  ShapeList list(config);
  list.add("wte.weight", {config.vocab_size, config.n_embd});
  list.add("wpe.weight", {config.block_size, config.n_embd});
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    list.add_block(layer);
  }
  if (config.norm == NormPosition::pre) {
    list.add_norm("ln_f");
  }
  if (!config.tie_weights) {
    list.add("lm_head.weight", {config.vocab_size, config.n_embd});
  }
  return list.take();
}

}  // namespace headlight
