#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/kernels/precision.h"
#include "headlight/tensor/named_tensors.h"
#include "headlight/tensor/random.h"

namespace headlight {

class ForwardHook;
class KeyValueCache;
class Recorder;
class WeightProducts;

// The first positions of a cache, with which several sequences may begin; none if `length` is 0.
struct KnownPrefix {
  const KeyValueCache* cache = nullptr;
  Index length = 0;

  bool is_there() const { return length > 0; }
};

// Optional inputs of a forward pass.
struct ForwardContext {
  bool training = false;         // dropout is active, batch norm updates its statistics
  RandomStream random{};         // for dropout; each training step has its own
  Recorder* recorder = nullptr;  // collects attention weights if set
  ForwardHook* hook = nullptr;   // sees and replaces intermediate values if set
  // Precision of products with weight matrices and inside attention, forward and backward.
  Precision precision = Precision::float32;
  // Keeps only the inputs of layers and the outputs of attention for backward, which computes the
  // rest again. Has no effect with a recorder or a hook.
  bool recompute = false;
  // If set, multiplies with weight matrices instead of the ops; no gradient is recorded.
  const WeightProducts* products = nullptr;
  // Caches of all sequences of the batch, to continue them: new tokens follow the cached ones and
  // are added to them. No gradient is recorded. Empty: the sequences begin here.
  std::span<KeyValueCache* const> caches = {};
  // The beginnings of all sequences of the batch, whose tokens follow them. As with `caches`, which
  // is empty then, but nothing is added to the caches. Empty: the sequences begin here.
  std::span<const KnownPrefix> prefixes = {};
};

// A part of a model. Registers its tensors and submodules by name; optimizers, checkpoints and
// printouts all use that list.
class Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // Returns all trainable tensors, with submodules, in order of registration. Names are joined by
  // dots: "h.0.attn.c_attn.weight". Tensors share elements and gradients with the module.
  NamedTensors parameters() const;
  // Returns saved state without gradients, for example running statistics.
  NamedTensors buffers() const;
  // Returns the parameters that training changes: all that require a gradient.
  NamedTensors trainable_parameters() const;
  Index parameter_count() const;
  void zero_grad();
  // Returns the part with this dotted name, for example "h.3.attn"; null if there is none.
  const Module* find_part(std::string_view name) const;
  Module* find_part(std::string_view name);

 protected:
  // Makes `tensor` a leaf that collects gradients, and returns it.
  Tensor register_parameter(const std::string& name, Tensor tensor);
  Tensor register_buffer(const std::string& name, Tensor tensor);
  // `part` must live as long as this module.
  void register_module(const std::string& name, Module& part);

 private:
  // Throws Error when a parameter, buffer or part has this name.
  void add_name(const std::string& name);
  void collect(const std::string& prefix, bool buffers, NamedTensors& into) const;

  std::set<std::string> names_;
  NamedTensors parameters_;
  NamedTensors buffers_;
  std::vector<std::pair<std::string, Module*>> parts_;
};

}  // namespace headlight
