#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "headlight/autograd/autograd.h"
#include "headlight/interpret/interventions/interventions.h"
#include "interpret/point_values.h"
#include "python/autograd/arrays.h"
#include "python/bindings.h"
#include "python/errors.h"
#include "python/model/inputs.h"
#include "python/model/model.h"

namespace headlight::python {
namespace {

using namespace nb::literals;

// Point of the values that a Python hook gets.
struct HookPoint {
  std::string name;               // "blocks.3.attn.hook_z"
  std::string point;              // "z"
  Index layer = 0;                // 0 outside the layers
  std::optional<Index> sequence;  // of a map; other points have all sequences
  std::vector<Index> lengths;     // rows of each sequence
  // Of each sequence: position of its first row, number of its prompt and sample, and tokens that
  // were generated before.
  std::vector<Index> positions;
  std::vector<Index> prompts;
  std::vector<Index> samples;
  std::vector<Index> steps;
  std::vector<Index> heads;  // numbers along the axis of heads; empty without one

  // Returns the index of a head in the axis of heads.
  Index index(Index head) const {
    const auto found = std::ranges::find(heads, head);
    require_value(found != heads.end(), "head", name, " has ",
                  heads.empty() ? "no heads" : "the heads " + numbers_text(heads), ", got ", head);
    return found - heads.begin();
  }
};

// Calls Python functions at points of a pass, with arrays or with tensors.
class PythonHook final : public ForwardHook {
 public:
  PythonHook(const nb::dict& functions, Model& model, bool tensors, bool batched)
      : model_(model), heads_(model.gpt().heads()), tensors_(tensors), batched_(batched) {
    std::vector<PointRange> points;
    for (const auto& [name, function] : functions) {
      const PointRange range =
          parse_point("hooks", read_value<std::string>(name, "hooks", "names of points"));
      require_value(!range.items, "hooks", "expected whole points, such as z.3, got ",
                    nb::cast<std::string>(name));
      functions_.emplace_back(range, nb::borrow(function));
      points.push_back(range);
    }
    const Model::Use use(model);
    model.require_points(points, "hooks");
  }

  void begin(const Batch& rows) override {
    offsets_ = rows.offsets;
    const auto count = static_cast<std::size_t>(rows.sequence_count());
    const std::vector<PassText>& texts = model_.pass_texts();
    place_ = {};
    for (std::size_t b = 0; b < count; ++b) {
      const PassText text = texts.size() == count ? texts[b] : PassText{.request = b + 1};
      place_.positions.push_back(rows.positions.data<std::int32_t>()[rows.offsets[b]]);
      place_.prompts.push_back(static_cast<Index>(text.request) - 1);
      place_.samples.push_back(text.sample);
      place_.steps.push_back(text.step);
    }
  }

  bool wants(Point point, Index layer) const override {
    return std::ranges::any_of(
        functions_, [&](const auto& entry) { return matches(entry.first, point, layer); });
  }

  bool in_family_units() const override { return true; }
  bool takes_passes_together() const override { return batched_; }

  Tensor visit(const HookSite& site, const Tensor& value) override {
    const nb::gil_scoped_acquire lock;
    Tensor result = value;
    for (const auto& [range, function] : functions_) {
      if (matches(range, site.point, site.layer)) {
        result = tensors_ ? traced(function, site, result) : called(function, site, result);
      }
    }
    return result;
  }

 private:
  static bool matches(const PointRange& range, Point point, Index layer) {
    return range.point == point && (!is_in_layer(point) || range.layers.contains(layer));
  }

  // Returns the function's tensor: gradients flow through its ops.
  Tensor traced(const nb::object& function, const HookSite& site, const Tensor& value) const {
    const bool is_map = items_of(site.point) == PointItems::maps;
    const Tensor shown = is_map ? value : padded_rows(value, offsets_);
    const nb::object returned = function(shown, point_of(site, value));
    if (returned.is_none()) {
      return value;
    }
    const std::string name = point_name(site.point, site.layer);
    require_value(nb::isinstance<Tensor>(returned), name,
                  "expected the hook to return a Tensor or None, got ",
                  nb::cast<std::string>(nb::repr(returned)));
    const Tensor& result = nb::cast<const Tensor&>(returned);
    require_value(result.shape() == shown.shape() && result.dtype() == shown.dtype(), name,
                  "the hook returned ", name_of(result.dtype()), " ", result.shape(), ", expected ",
                  name_of(shown.dtype()), " ", shown.shape());
    return is_map ? result : unpadded_rows(result, offsets_);
  }

  // Returns `value` itself, with its gradient history, if the function leaves all numbers as they
  // are.
  Tensor called(const nb::object& function, const HookSite& site, const Tensor& value) const {
    const bool is_map = items_of(site.point) == PointItems::maps;
    Tensor shown = is_map ? value : padded_rows(value.detach(), offsets_);
    // The function may change its array in place; the pass and caches may share the values.
    shown = shown.owns_storage_alone() ? shown : shown.clone();
    const nb::object returned =
        function(array_of(shown, Access::writable).object, point_of(site, value));
    const Tensor padded = returned.is_none() ? shown : returned_value(returned, shown, site);
    const Tensor result = is_map ? padded : unpadded_rows(padded, offsets_);
    if (same_bits(result, value)) {
      return value;
    }
    require_no_gradient(site, value);
    return returned.is_none() ? result.clone() : result;  // the function may keep its array
  }

  static Tensor returned_value(const nb::object& returned, const Tensor& shown,
                               const HookSite& site) {
    const std::string name = point_name(site.point, site.layer);
    Tensor tensor = tensor_of(returned, name, shown.dtype());
    require_value(tensor.shape() == shown.shape(), name, "the hook returned shape ", tensor.shape(),
                  ", expected ", shown.shape());
    return tensor;
  }

  HookPoint point_of(const HookSite& site, const Tensor& value) const {
    const PointItems items = items_of(site.point);
    const bool is_map = items == PointItems::maps;
    HookPoint point = place_;
    point.name = point_name(site.point, site.layer);
    point.point = name_of(site.point);
    point.layer = site.layer;
    point.sequence = is_map ? std::optional(site.sequence) : std::nullopt;
    point.lengths = lengths_of(offsets_);
    if (items != PointItems::features) {
      point.heads = item_numbers(site.point, site.layer, value.size(is_map ? 0 : 1), heads_);
    }
    return point;
  }

  std::vector<std::pair<PointRange, nb::object>> functions_;
  const Model& model_;
  HeadLayout heads_;
  bool tensors_;
  bool batched_;
  HookPoint place_;  // of the sequences of the pass
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
      .def_ro("lengths", &HookPoint::lengths, "Number of rows of each sequence, [B].")
      .def_ro("positions", &HookPoint::positions,
              "Position of the first row of each sequence in its text, [B]: a generated token is "
              "one row.")
      .def_ro("prompts", &HookPoint::prompts,
              "Number of the prompt of each sequence in generate(), in other passes of the "
              "sequence, [B].")
      .def_ro("samples", &HookPoint::samples,
              "Number of the sample of each sequence in generate(), [B]; else 0.")
      .def_ro("steps", &HookPoint::steps,
              "Number of tokens generated before this pass for each sequence, [B]; 0: the pass "
              "reads its prompt.")
      .def_ro("heads", &HookPoint::heads,
              "Numbers of the heads along their axis: 0, 1, 2 ... unless some were pruned; empty "
              "for points without heads.")
      .def("place", &HookPoint::index, "head"_a,
           "Returns the index of a head in its axis: value[:, :, point.place(3)]. Throws "
           "ValueError for a head that was pruned.");
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
          [](Model& self, const nb::dict& functions, bool tensors, bool batched) {
            return HookScope(self, std::make_shared<PythonHook>(functions, self, tensors, batched));
          },
          "functions"_a, nb::kw_only(), "tensors"_a = false, "batched"_a = false,
          nb::keep_alive<0, 1>(),
          nb::sig("def hooks(self, functions: collections.abc.Mapping[str, "
                  "collections.abc.Callable[[typing.Any, HookPoint], typing.Any]], *, tensors: "
                  "bool = False, batched: bool = False) -> HookScope"),
          "Calls functions with the values at points of every pass inside a with statement.\n\n"
          "Parameters\n----------\n"
          "functions : by the name of a point, short (\"z.3\") or TransformerLens's. A function "
          "gets an array, [B, T, ...] with zeros behind a sequence, and a HookPoint. It changes "
          "the "
          "array in place, or returns another one, or does neither. pattern and attn_scores are "
          "[H, T, S] of one sequence.\n"
          "tensors : the functions get a Tensor, which they must not overwrite, and return another "
          "one, computed with headlight.ops, or None. Gradients flow through it: see logits().\n"
          "batched : questions with many changed passes (patch, ablate ...) may compute several "
          "together; a function then gets [runs B, T, ...], the sequences of each run after those "
          "of the one before. False: each runs alone, [B, T, ...].\n\n"
          "Raises\n------\n"
          "ValueError : from the pass, if a function changes an array through whose values "
          "gradients flow, or returns another shape or type.")
      .def("intervene", &intervene, "changes"_a, nb::keep_alive<0, 1>(),
           "Changes values of every pass inside a with statement: \"off 5.1; scale 7.2 0.5\". See "
           "headlight generate --help all.");
}

}  // namespace headlight::python
