#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "headlight/autograd/autograd.h"
#include "headlight/heads/interventions/interventions.h"
#include "python/autograd/arrays.h"
#include "python/bindings.h"
#include "python/errors.h"
#include "python/model/inputs.h"
#include "python/model/model.h"

namespace headlight::python {
namespace {

using namespace nb::literals;

// Place of the values that a Python hook gets.
struct HookPoint {
  std::string name;               // "blocks.3.attn.hook_z"
  std::string point;              // "z"
  Index layer = 0;                // 0 outside the layers
  std::optional<Index> sequence;  // of a map; other points have all sequences
  std::vector<Index> lengths;     // rows of each sequence
};

// Calls Python functions at points of a pass.
class PythonHook final : public ForwardHook {
 public:
  explicit PythonHook(const nb::dict& functions) {
    for (const auto& [name, function] : functions) {
      const PointRange range =
          parse_point("hooks", read_value<std::string>(name, "hooks", "names of points"));
      require_value(!range.items, "hooks", "expected whole points, such as z.3, got ",
                    nb::cast<std::string>(name));
      functions_.emplace_back(range, nb::borrow(function));
    }
  }

  void begin(const Batch& rows) override { offsets_ = rows.offsets; }

  bool wants(Point point, Index layer) const override {
    return std::ranges::any_of(
        functions_, [&](const auto& entry) { return matches(entry.first, point, layer); });
  }

  Tensor visit(const Place& place, const Tensor& value) override {
    const nb::gil_scoped_acquire lock;
    const bool is_map = items_of(place.point) == PointItems::maps;
    Tensor result = value;
    for (const auto& [range, function] : functions_) {
      if (!matches(range, place.point, place.layer)) {
        continue;
      }
      Tensor shown = is_map ? result : padded_rows(result, offsets_);
      // The function may change its array in place; the pass and caches may share the values.
      shown = shown.owns_storage_alone() ? shown : shown.clone();
      const nb::object changed =
          function(array_of(shown, Access::writable).object, point_of(place, is_map));
      result = !changed.is_none() ? replaced(shown, changed, place, is_map)
               : is_map           ? shown
                                  : unpadded_rows(shown, offsets_);
    }
    return result;
  }

 private:
  static bool matches(const PointRange& range, Point point, Index layer) {
    return range.point == point && (!is_in_layer(point) || range.layers.contains(layer));
  }

  Tensor replaced(const Tensor& shown, const nb::object& changed, const Place& place,
                  bool is_map) const {
    const std::string name = point_name(place.point, place.layer);
    const Tensor tensor = tensor_of(changed, name, shown.dtype());
    require_value(tensor.shape() == shown.shape(), name, "the hook returned shape ", tensor.shape(),
                  ", expected ", shown.shape());
    return is_map ? tensor : unpadded_rows(tensor, offsets_);
  }

  HookPoint point_of(const Place& place, bool is_map) const {
    return {.name = point_name(place.point, place.layer),
            .point = std::string(name_of(place.point)),
            .layer = place.layer,
            .sequence = is_map ? std::optional(place.sequence) : std::nullopt,
            .lengths = lengths_of(offsets_)};
  }

  std::vector<std::pair<PointRange, nb::object>> functions_;
  std::vector<Index> offsets_;
};

// A hook that is attached between __enter__ and __exit__.
class HookScope {
 public:
  HookScope(Model& model, std::shared_ptr<ForwardHook> hook)
      : model_(&model), hook_(std::move(hook)) {}

  // Throws RuntimeError inside its own with statement.
  void enter() {
    if (is_active_) {
      raise(PyExc_RuntimeError, "these hooks are active already");
    }
    const Model::Use use(*model_);
    model_->add_hook(hook_);
    is_active_ = true;
  }
  void exit() {
    const Model::Use use(*model_);
    model_->remove_hook(hook_.get());
    is_active_ = false;
  }

 private:
  Model* model_;
  std::shared_ptr<ForwardHook> hook_;
  bool is_active_ = false;
};

HookScope intervene(Model& model, const std::string& changes) {
  const Model::Use use(model);
  const NoGrad no_grad;
  return {model, std::make_shared<Interventions>(
                     model.gpt(), parse_changes(changes),
                     Interventions::Options{.tokenizer = model.tokenizer().get()})};
}

}  // namespace

void add_hooks(nb::module_& module, nb::class_<Model>& model) {
  nb::class_<HookPoint>(module, "HookPoint", "Place of the values that a hook gets.")
      .def_ro("name", &HookPoint::name, "Name in TransformerLens: \"blocks.3.attn.hook_z\".")
      .def_ro("point", &HookPoint::point, "Short name: \"z\".")
      .def_ro("layer", &HookPoint::layer, "Layer from 0; 0 outside the layers.")
      .def_ro("sequence", &HookPoint::sequence,
              "Number of the sequence of pattern and attn_scores; else None.")
      .def_ro("lengths", &HookPoint::lengths, "Number of rows of each sequence, [B].");
  nb::class_<HookScope>(module, "HookScope", "Changes the model inside a with statement.")
      .def("__enter__",
           [](HookScope& scope) -> HookScope& {
             scope.enter();
             return scope;
           })
      .def(
          "__exit__", [](HookScope& scope, const nb::args&) { scope.exit(); },
          nb::sig("def __exit__(self, *exception: object) -> None"));
  model
      .def(
          "hooks",
          [](Model& self, const nb::dict& functions) {
            return HookScope(self, std::make_shared<PythonHook>(functions));
          },
          "functions"_a, nb::keep_alive<0, 1>(),
          nb::sig("def hooks(self, functions: collections.abc.Mapping[str, "
                  "collections.abc.Callable[[headlight.types.Array, HookPoint], "
                  "headlight.types.ArrayLike | None]]) -> HookScope"),
          "Calls functions with the values at points of every pass inside a with statement.\n\n"
          "Parameters\n----------\n"
          "functions : by the name of a point, short (\"z.3\") or TransformerLens's. A function "
          "gets an array, [B, T, ...] with zeros behind a sequence, and a HookPoint. It changes "
          "the "
          "array in place, or returns another one, or does neither. pattern and attn_scores are "
          "[H, T, S] of one sequence.")
      .def("intervene", &intervene, "changes"_a, nb::keep_alive<0, 1>(),
           "Changes values of every pass inside a with statement: \"off 5.1; scale 7.2 0.5\". See "
           "headlight generate --help all.");
}

}  // namespace headlight::python
