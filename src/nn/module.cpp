#include "headlight/nn/module.h"

#include "headlight/base/error.h"

namespace headlight {

void Module::add_name(const std::string& name) {
  require(names_.insert(name).second, "[Module] '", name,
          "' is registered twice: give each parameter and part its own name");
}

Tensor Module::register_parameter(const std::string& name, Tensor tensor) {
  add_name(name);
  tensor.set_requires_grad();
  parameters_.emplace_back(name, tensor);
  return tensor;
}

Tensor Module::register_buffer(const std::string& name, Tensor tensor) {
  add_name(name);
  buffers_.emplace_back(name, tensor);
  return tensor;
}

void Module::register_module(const std::string& name, Module& part) {
  add_name(name);
  parts_.emplace_back(name, &part);
}

void Module::collect(const std::string& prefix, bool buffers, NamedTensors& into) const {
  for (const auto& [name, tensor] : buffers ? buffers_ : parameters_) {
    into.emplace_back(prefix + name, tensor);
  }
  for (const auto& [name, part] : parts_) {
    part->collect(prefix + name + ".", buffers, into);
  }
}

NamedTensors Module::parameters() const {
  NamedTensors result;
  collect("", false, result);
  return result;
}

NamedTensors Module::buffers() const {
  NamedTensors result;
  collect("", true, result);
  return result;
}

Index Module::parameter_count() const {
  Index count = 0;
  for (const auto& [name, tensor] : parameters()) {
    count += tensor.numel();
  }
  return count;
}

void Module::zero_grad() {
  for (auto& [name, tensor] : parameters()) {
    tensor.zero_grad();
  }
}

}  // namespace headlight
