#include "python/analysis/result.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "python/analysis/figure.h"
#include "python/bindings.h"

namespace headlight::python {
namespace {

using namespace nb::literals;

std::vector<std::string> result_names(const Result& result) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : result.arrays.tensors) {
    names.push_back(name);
  }
  return names;
}

Array result_array(const Result& result, const std::string& name) {
  for (const auto& [known, tensor] : result.arrays.tensors) {
    if (known == name) {
      return array_of(tensor, Access::writable);
    }
  }
  throw nb::key_error(name.c_str());
}

std::vector<std::string> result_labels(const Result& result, const std::string& axis) {
  for (const auto& [name, labels] : result.arrays.texts) {
    if (name == axis) {
      return labels;
    }
  }
  throw nb::key_error(axis.c_str());
}

std::string described_result(const Result& result) {
  std::string text = "<headlight.Result:";
  for (const auto& [name, tensor] : result.arrays.tensors) {
    text += concat_text(" ", name, " ", tensor.shape());
  }
  return text + ">";
}

}  // namespace

nb::object python_value(const Json& json) {
  return nb::module_::import_("json").attr("loads")(json.dump());
}

void add_result(nb::module_& module) {
  nb::class_<Result>(module, "Result",
                     "Result of an analysis: arrays by name. A notebook shows it as a page.")
      .def("__getitem__", &result_array, "name"_a)
      .def("__contains__",
           [](const Result& self, const std::string& name) {
             return std::ranges::any_of(self.arrays.tensors,
                                        [&](const auto& named) { return named.first == name; });
           })
      .def("__len__", [](const Result& self) { return self.arrays.tensors.size(); })
      .def(
          "__iter__", [](const Result& self) { return nb::iter(nb::cast(result_names(self))); },
          nb::sig("def __iter__(self) -> collections.abc.Iterator[str]"))
      .def("keys", &result_names, "Returns the names of the arrays.")
      .def("labels", &result_labels, "axis"_a,
           "Returns the labels along an axis, such as \"head\".")
      .def_prop_ro(
          "summary", [](const Result& self) { return self.summary; },
          nb::sig("def summary(self) -> dict[str, typing.Any]"),
          "Single numbers, such as the loss in nats a token.")
      .def_prop_ro(
          "rows", [](const Result& self) { return python_value(self.rows); },
          nb::sig("def rows(self) -> list[dict[str, typing.Any]]"),
          "Rows of the answer, with the keys that docs/questions.md lists. Those of a circuit are "
          "its edges, which circuit() takes again.")
      .def_ro("html", &Result::html, "Page as HTML that needs no other file.")
      .def("_repr_html_", [](const Result& self) { return notebook_html(self.html); })
      .def("__repr__", &described_result);
}

}  // namespace headlight::python
