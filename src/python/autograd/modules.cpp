#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "headlight/nn/gpt.h"
#include "headlight/nn/layers.h"
#include "headlight/nn/linear.h"
#include "headlight/nn/multi_head_attention.h"
#include "headlight/runs/config_source.h"
#include "python/autograd/operand.h"
#include "python/bindings.h"
#include "python/model/inputs.h"
#include "python/training/settings.h"

namespace headlight::python {
namespace {

using namespace nb::literals;

nb::dict parameters_of(const Module& module) {
  nb::dict parameters;
  for (const auto& [name, tensor] : module.parameters()) {
    parameters[nb::str(name.c_str())] = nb::cast(tensor);
  }
  return parameters;
}

// Returns the context of a pass in training, whose dropout draws from `seed`, or of another.
ForwardContext context_of(std::optional<std::uint64_t> seed) {
  ForwardContext context{.training = seed.has_value()};
  context.random = {.seed = seed.value_or(0)};
  return context;
}

void add_linear_layers(nb::module_& nn) {
  nb::class_<Linear, Module>(nn, "Linear", "Maps [..., inputs] to [..., outputs].")
      .def(
          "__init__",
          [](Linear* self, Index inputs, Index outputs, bool bias, std::uint64_t seed) {
            new (self) Linear({.inputs = inputs, .outputs = outputs, .bias = bias}, {.seed = seed});
          },
          "inputs"_a, "outputs"_a, nb::kw_only(), "bias"_a = true, "seed"_a = 0)
      .def(
          "__call__", [](const Linear& self, const Operand& x) { return self.forward(x.tensor()); },
          "x"_a)
      .def_prop_ro(
          "weight", [](const Linear& self) { return self.weight; }, "[outputs, inputs].");
  nb::class_<Embedding, Module>(nn, "Embedding", "Maps int32 ids [...] to [..., width].")
      .def(
          "__init__",
          [](Embedding* self, Index count, Index width, std::uint64_t seed) {
            new (self) Embedding({.count = count, .width = width}, {.seed = seed});
          },
          "count"_a, "width"_a, nb::kw_only(), "seed"_a = 0)
      .def(
          "__call__",
          [](const Embedding& self, const Operand& ids) { return self.forward(ids.tensor()); },
          "ids"_a)
      .def_prop_ro(
          "weight", [](const Embedding& self) { return self.weight; }, "[count, width].");
  nb::class_<Mlp, Module>(nn, "Mlp", "GELU between two linear layers: [..., width] to the same.")
      .def(
          "__init__",
          [](Mlp* self, Index width, Index inner_width, bool gated, bool bias, std::uint64_t seed) {
            new (self)
                Mlp({.width = width, .inner_width = inner_width, .gated = gated, .bias = bias},
                    {.seed = seed});
          },
          "width"_a, nb::kw_only(), "inner_width"_a = 0, "gated"_a = false, "bias"_a = true,
          "seed"_a = 0)
      .def(
          "__call__", [](const Mlp& self, const Operand& x) { return self.forward(x.tensor()); },
          "x"_a);
}

void add_norms(nb::module_& nn) {
  nb::class_<LayerNorm, Module>(nn, "LayerNorm", "Norm of the last axis, layer or RMS.")
      .def(
          "__init__",
          [](LayerNorm* self, Index width, double epsilon, bool bias, const std::string& kind) {
            new (self) LayerNorm({.width = width,
                                  .epsilon = epsilon,
                                  .bias = bias,
                                  .kind = parse_name<NormKind>("kind", kind)});
          },
          "width"_a, nb::kw_only(), "epsilon"_a = 1e-5, "bias"_a = true, "kind"_a = "layer")
      .def(
          "__call__",
          [](const LayerNorm& self, const Operand& x) { return self.forward(x.tensor()); }, "x"_a);
  nb::class_<Dropout, Module>(nn, "Dropout", "Drops elements in training.")
      .def(nb::init<double, std::uint64_t>(), "probability"_a, "label"_a = 0)
      .def(
          "__call__",
          [](const Dropout& self, const Operand& x, std::optional<std::uint64_t> seed) {
            return self.forward(x.tensor(), context_of(seed));
          },
          "x"_a, nb::kw_only(), "seed"_a = nb::none(), "seed : number of the step; None: no drop.");
}

void add_attention(nb::module_& nn) {
  nb::class_<MultiHeadAttention, Module>(nn, "MultiHeadAttention",
                                         "Attention of H heads (Vaswani et al., 2017).")
      .def(
          "__init__",
          [](MultiHeadAttention* self, Index width, Index heads, bool bias, std::uint64_t seed) {
            new (self)
                MultiHeadAttention({.width = width, .heads = heads, .bias = bias}, {.seed = seed});
          },
          "width"_a, "heads"_a, nb::kw_only(), "bias"_a = true, "seed"_a = 0)
      .def(
          "__call__",
          [](const MultiHeadAttention& self, const Operand& query,
             const std::optional<Operand>& key, const std::optional<Operand>& value, bool causal) {
            const Tensor x = query.tensor();
            const Tensor k = key ? key->tensor() : x;
            const Tensor v = value ? value->tensor() : k;
            const nb::gil_scoped_release released;
            AttentionResult result = self.forward(x, k, v, {.causal = causal});
            return std::pair(std::move(result.output), std::move(result.weights));
          },
          "query"_a, "key"_a = nb::none(), "value"_a = nb::none(), nb::kw_only(),
          "causal"_a = false,
          "Returns the output [B, T, C] and the weights of every head [B, H, T, S]; without a key "
          "the query attends to itself.");
}

Tensor gpt_loss(const Gpt& gpt, const Batch& batch, std::optional<std::uint64_t> seed) {
  const nb::gil_scoped_release released;
  return gpt.loss(batch, context_of(seed));
}

// Returns a batch of int32 ids [T] or [B, T]; targets are the next ids.
Batch ids_batch(const Operand& ids) {
  const Tensor tokens = ids.tensor();
  require_value(tokens.dtype() == DType::int32 && (tokens.rank() == 1 || tokens.rank() == 2), "ids",
                "expected int32 ids of shape [T] or [B, T], got ", name_of(tokens.dtype()), " ",
                tokens.shape());
  const Tensor plain = to_contiguous(tokens);
  const Index width = tokens.size(-1);
  std::vector<std::vector<std::int32_t>> sequences;
  for (Index begin = 0; begin < tokens.numel(); begin += width) {
    const auto* first = plain.data<std::int32_t>() + begin;
    sequences.emplace_back(first, first + width);
  }
  return make_batch(sequences);
}

void add_gpt(nb::module_& nn) {
  nb::class_<Gpt, Module>(nn, "Gpt",
                          "A GPT with random weights. Settings are the keys of hl.train: n_layer, "
                          "n_head, n_embd ...")
      .def(
          "__init__",
          [](Gpt* self, Index vocab_size, std::uint64_t seed, const nb::kwargs& settings) {
            TrainConfig config;
            set_settings(config, settings);
            require_allowed_values(config);
            new (self) Gpt(config.model(vocab_size), seed);
          },
          "vocab_size"_a, "seed"_a = 1337, "settings"_a,
          nb::sig("def __init__(self, vocab_size: int, seed: int = 1337, **settings: typing.Any) "
                  "-> None"))
      .def(
          "__call__",
          [](const Gpt& self, const Operand& ids) {
            const Batch batch = ids_batch(ids);
            const nb::gil_scoped_release released;
            return self.logits(batch);
          },
          "ids"_a, "Returns logits [B T, V] of int32 ids [T] or [B, T].")
      .def(
          "loss",
          [](const Gpt& self, const Operand& ids, std::optional<std::uint64_t> seed) {
            return gpt_loss(self, ids_batch(ids), seed);
          },
          "ids"_a, nb::kw_only(), "seed"_a = nb::none(),
          "Returns the mean loss of the next token in nats.\n\n"
          "Parameters\n----------\nseed : number of the step, for dropout; None: no dropout.");
}

}  // namespace

void add_modules(nb::module_& module) {
  nb::module_ nn = module.def_submodule("nn", "Layers with parameters.");
  nb::class_<Module>(nn, "Layer", "A part of a model.")
      .def("parameters", &parameters_of,
           nb::sig("def parameters(self) -> dict[str, headlight._headlight.Tensor]"),
           "Returns the trainable tensors by name; they share elements with the layer.")
      .def("zero_grad", &Module::zero_grad, "Drops all gradients.")
      .def_prop_ro("parameter_count", &Module::parameter_count, "Number of parameters.");
  add_linear_layers(nn);
  add_norms(nn);
  add_attention(nn);
  add_gpt(nn);
}

}  // namespace headlight::python
