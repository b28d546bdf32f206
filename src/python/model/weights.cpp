#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "python/autograd/arrays.h"
#include "python/bindings.h"
#include "python/model/inputs.h"
#include "python/model/model.h"
#include "python/model/weights.h"

namespace headlight::python {
namespace {

using namespace nb::literals;

std::vector<std::string> weight_names(const Weights& weights) {
  std::vector<std::string> names;
  for (const ModelWeight& weight : weights.model->gpt().weights()) {
    names.push_back(weight.weight.name);
  }
  return names;
}

// Returns a weight; undefined if there is none.
Tensor find_weight(const Weights& weights, const std::string& name) {
  for (const ModelWeight& weight : weights.model->gpt().weights()) {
    if (weight.weight.name == name) {
      return weight.tensor;
    }
  }
  return transformer_lens_weight(weights.model->gpt(), name);
}

// Returns the numbers of the heads of a weight "NAME/items", int32; undefined for other names.
Tensor head_numbers(const Gpt& model, const std::string& name) {
  constexpr std::string_view kItems = "/items";
  const std::size_t length = name.size() - std::min(name.size(), kItems.size());
  const std::vector<Index> numbers = name.ends_with(kItems)
                                         ? transformer_lens_heads(model, name.substr(0, length))
                                         : std::vector<Index>();
  return numbers.empty() ? Tensor()
                         : Tensor::from(std::vector<std::int32_t>(numbers.begin(), numbers.end()),
                                        {std::ssize(numbers)});
}

Tensor existing_weight(const Weights& weights, const std::string& name) {
  const Tensor tensor = find_weight(weights, name);
  if (!tensor.defined()) {
    throw nb::key_error(("the model has no weight " + name).c_str());
  }
  return tensor;
}

Array weight_array(const Weights& weights, const std::string& name) {
  if (const Tensor numbers = head_numbers(weights.model->gpt(), name); numbers.defined()) {
    return array_of(numbers);
  }
  return array_of(existing_weight(weights, name));
}

void set_weight(const Weights& weights, const std::string& name, const Inputs& value) {
  Tensor weight = existing_weight(weights, name);
  const Tensor array = tensor_of(value.value, name, weight.dtype());
  require_value(array.shape() == weight.shape(), name, "expected shape ", weight.shape(), ", got ",
                array.shape());
  const Model::Use use(*weights.model);
  weight.copy_from(array);
}

bool has_weight(const Weights& weights, const std::string& name) {
  return find_weight(weights, name).defined();
}

std::vector<std::pair<std::string, Array>> weight_items(const Weights& weights) {
  std::vector<std::pair<std::string, Array>> all;
  for (const std::string& name : weight_names(weights)) {
    all.emplace_back(name, weight_array(weights, name));
  }
  return all;
}

}  // namespace

void add_weights(nb::module_& module) {
  nb::class_<Weights>(
      module, "Weights",
      "Weights of a model by name: read-only views without a copy. Assign an array to change "
      "one.\n\n"
      "Names are those of Hugging Face's GPT-2, such as \"h.0.attn.c_attn.weight\" (matrices are "
      "[outputs, inputs]). Names of TransformerLens give views too, such as \"blocks.0.attn.W_Q\" "
      "[H, C, D]; \"blocks.0.attn.W_Q/items\" [H] are the numbers of its heads, which matter in "
      "pruned models.")
      .def("__getitem__", &weight_array, "name"_a)
      .def("__setitem__", &set_weight, "name"_a, "value"_a)
      .def("__contains__", &has_weight, "name"_a)
      .def("__len__", [](const Weights& weights) { return weights.model->gpt().weights().size(); })
      .def(
          "__iter__",
          [](const Weights& weights) { return nb::iter(nb::cast(weight_names(weights))); },
          nb::sig("def __iter__(self) -> collections.abc.Iterator[str]"))
      .def("keys", &weight_names, "Returns the names, without those of TransformerLens.")
      .def("items", &weight_items, "Returns names and views.");
}

}  // namespace headlight::python
