#include "headlight/nn/module.h"

#include <utility>

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

NamedTensors Module::trainable_parameters() const {
  NamedTensors result = parameters();
  std::erase_if(result, [](const auto& item) { return !item.second.requires_grad(); });
  return result;
}

const Module* Module::find_part(std::string_view name) const {
  for (const auto& [own, part] : parts_) {
    if (name == own) {
      return part;
    }
    if (name.starts_with(own) && name[own.size()] == '.') {
      return std::as_const(*part).find_part(name.substr(own.size() + 1));
    }
  }
  return nullptr;
}

Module* Module::find_part(std::string_view name) {
  return const_cast<Module*>(std::as_const(*this).find_part(name));
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
