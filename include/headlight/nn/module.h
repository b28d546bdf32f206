#pragma once

#include <span>
#include <string>
#include <vector>

#include "headlight/kernels/precision.h"
#include "headlight/tensor/named_tensors.h"
#include "headlight/tensor/random.h"

namespace headlight {

class ForwardHook;
class KeyValueCache;
class Recorder;
class WeightProducts;

// What a forward pass may need besides its input.
struct ForwardContext {
  bool training = false;         // dropout drops, batch norm learns
  RandomStream random{};         // of the dropout; a step of training gets a stream of its own
  Recorder* recorder = nullptr;  // collects attention weights when given
  ForwardHook* hook = nullptr;   // sees and replaces what the pass computes when given
  // Of products with weight matrices and of those inside attention, forward and backward.
  Precision precision = Precision::float32;
  // Multiplies with weight matrices in the place of the ops when given; no gradient is recorded
  // then.
  const WeightProducts* products = nullptr;
  // Of every sequence of the batch, to continue it: its tokens follow those in its cache, which
  // grows by them. No gradient is recorded then. Empty: the sequences begin here.
  std::span<KeyValueCache* const> caches = {};
};

// A part of a model: it registers its tensors and its parts once, by name, and the optimizer,
// checkpoints and printouts all walk that one list.
class Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // Everything that learns, parts included, in order of registration; names are joined by dots, as
  // in "h.0.attn.c_attn.weight". The tensors share their elements and gradients with the module.
  NamedTensors parameters() const;
  // State that is saved but learns no gradient, such as running statistics.
  NamedTensors buffers() const;
  Index parameter_count() const;
  void zero_grad();

 protected:
  // `tensor` becomes a leaf that collects gradients. Returns it.
  Tensor register_parameter(const std::string& name, Tensor tensor);
  Tensor register_buffer(const std::string& name, Tensor tensor);
  // The part must live as long as this module.
  void register_module(const std::string& name, Module& part);

 private:
  // Throws Error when a parameter, buffer or part has this name.
  void require_new(const std::string& name) const;
  void collect(const std::string& prefix, bool buffers, NamedTensors& into) const;

  NamedTensors parameters_;
  NamedTensors buffers_;
  std::vector<std::pair<std::string, Module*>> parts_;
};

}  // namespace headlight
