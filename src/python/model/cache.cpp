#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <map>

#include "headlight/autograd/autograd.h"
#include "headlight/interpret/activations/activation_cache.h"
#include "interpret/values_by_point.h"
#include "python/autograd/arrays.h"
#include "python/bindings.h"
#include "python/model/cache.h"
#include "python/model/cell_tuples.h"
#include "python/model/forward.h"

namespace headlight::python {
namespace {

using namespace nb::literals;

// Arrays of a cache that describe its rows.
constexpr std::array kRowArrays{"tokens", "positions", "documents", "document_positions",
                                "offsets"};

// Returns the maps of the sequences, [H, T, T] each, as [B, H, T, T].
Tensor padded_maps(const std::vector<Tensor>& maps) {
  Index longest = 0;
  for (const Tensor& map : maps) {
    longest = std::max(longest, map.size(1));
  }
  const Index heads = maps.front().size(0);
  Tensor all = Tensor::zeros({std::ssize(maps), heads, longest, longest}, maps.front().dtype());
  for (std::size_t b = 0; b < maps.size(); ++b) {
    const Index length = maps[b].size(1);
    all.strided_view({heads, length, length}, {longest * longest, longest, 1},
                     static_cast<Index>(b) * heads * longest * longest)
        .copy_from(maps[b]);
  }
  return all;
}

// Splits "blocks.0.attn.hook_pattern/3" into a name and the number of a sequence.
std::optional<std::string> map_name(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string::npos || name.substr(slash) == "/items"
             ? std::nullopt
             : std::optional(name.substr(0, slash));
}

// Returns the values of the points in a pass that does not begin with tokens.
NamedTensors values_from(Model& model, const PassStart& start,
                         const std::vector<PointRange>& points) {
  KeepPoints hook([&](Point point, Index layer) { return covers(points, point, layer); }, false,
                  true);
  logits_from(model, start, false, &hook);
  NamedTensors tensors;
  for (const auto& [spot, values] : hook.values) {
    const bool is_map = items_of(spot.first) == PointItems::maps;
    for (std::size_t i = 0; i < values.size(); ++i) {
      tensors.emplace_back(
          point_name(spot.first, spot.second) + (is_map ? concat_text("/", i) : ""), values[i]);
    }
  }
  return tensors;
}

nb::tuple run_with_cache(Model& model, const Inputs& inputs,
                         const std::optional<std::vector<std::string>>& names,
                         const std::optional<Index>& layer,
                         const std::optional<std::vector<Index>>& lengths) {
  std::vector<PointRange> points = points_of(names);
  const auto is_logits = [](const PointRange& range) { return range.point == Point::logits; };
  const bool has_head = model.gpt().config().has_head();
  const bool wants_logits = std::ranges::any_of(points, is_logits);
  if (!has_head && !names) {
    std::erase_if(points, is_logits);
  } else if (has_head && !wants_logits) {
    points.push_back({.point = Point::logits});
  }
  const PassStart start = start_of(model, inputs, layer, lengths);
  const Batch& batch = start.batch;
  const std::vector<std::vector<std::int32_t>> ids = sequences_of(batch);
  const Index context = model.gpt().block_size();
  for (std::size_t b = 0; b < ids.size(); ++b) {
    require_value(std::ssize(ids[b]) <= context, "inputs", "sequence ", b, " has ", ids[b].size(),
                  " tokens, more than the context length of ", context);
  }
  const ActivationContexts contexts(ids, context);
  NamedTensors tensors;
  {
    const Model::Use use(model);
    const NoGrad no_grad;
    if (names) {
      model.require_points(points, "names");
    }
    tensors = start.values.defined()
                  ? values_from(model, start, points)
                  : cache_activations(
                        model.gpt(), contexts,
                        {.points = points, .positions = {}, .batch_size = contexts.count()});
  }
  Output output{{nb::none()}, lengths_of(batch.offsets), std::nullopt};
  if (has_head) {
    const auto logits =
        std::ranges::find(tensors, point_name(Point::logits, 0), &NamedTensors::value_type::first);
    output.logits = array_of(padded_rows(logits->second, batch.offsets), Access::writable);
    if (!wants_logits) {
      tensors.erase(logits);
    }
  }
  return nb::make_tuple(output, activation_cache(model, tensors, ids));
}

// Returns the TransformerLens name of a point in one layer.
std::string full_point_name(const std::string& name) {
  const PointRange range = parse_point("name", name);
  require_value(!is_in_layer(range.point) || range.layers.last == range.layers.first, "name",
                "expected a point of one layer, such as z.3, got '", name, "'");
  return point_name(range.point, range.layers.first);
}

// Adds the array NAME/items, the numbers of the heads [H], of points whose heads are not 0, 1, 2
// ...
void add_head_numbers(const HeadLayout& heads, const NamedTensors& tensors, nb::dict& cache) {
  for (const auto& [name, tensor] : tensors) {
    const std::string base = map_name(name).value_or(name);
    const std::string items = base + "/items";
    if (name.ends_with("/items") || std::ranges::find(kRowArrays, name) != kRowArrays.end() ||
        cache.contains(items.c_str())) {
      continue;
    }
    const PointRange range = parse_point("name", base);
    if (items_of(range.point) == PointItems::features) {
      continue;
    }
    const Index count = tensor.size(items_of(range.point) == PointItems::maps ? 0 : 1);
    const std::vector<Index> numbers = item_numbers(range.point, range.layers.first, count, heads);
    if (!numbers.empty() && numbers.back() + 1 != count) {
      cache[nb::str(items.c_str())] =
          array_of(std::vector<std::int32_t>(numbers.begin(), numbers.end()));
    }
  }
}

}  // namespace

std::vector<PointRange> points_of(const std::optional<std::vector<std::string>>& names) {
  std::vector<PointRange> points;
  if (names) {
    for (const std::string& name : *names) {
      points.push_back(parse_point("names", name));
    }
  } else {
    for (const auto& choice : kChoices<Point>) {
      points.push_back({.point = choice.value});
    }
  }
  return points;
}

nb::object activation_cache(const Model& model, const NamedTensors& tensors,
                            const std::vector<std::vector<std::int32_t>>& ids) {
  std::vector<Index> offsets{0};
  std::vector<std::vector<std::string>> labels;
  std::vector<std::vector<CellTuple>> cells;
  for (const std::vector<std::int32_t>& sequence : ids) {
    offsets.push_back(offsets.back() + std::ssize(sequence));
    labels.emplace_back();
    for (const std::int32_t id : sequence) {
      labels.back().push_back(model.tokenizer()->token_label(id));
    }
    cells.push_back(character_cells(*model.tokenizer(), sequence));
  }
  nb::dict cache;
  std::map<std::string, std::vector<Tensor>> maps;
  for (const auto& [name, tensor] : tensors) {
    if (std::ranges::find(kRowArrays, name) != kRowArrays.end()) {
      continue;
    }
    if (const auto map = map_name(name)) {
      maps[*map].push_back(tensor);
    } else {
      const bool has_rows = !name.ends_with("/items");
      cache[nb::str(name.c_str())] =
          array_of(has_rows ? padded_rows(tensor, offsets) : tensor, Access::writable).object;
    }
  }
  for (const auto& [name, sequences] : maps) {
    cache[nb::str(name.c_str())] = array_of(padded_maps(sequences), Access::writable).object;
  }
  add_head_numbers(model.gpt().heads(), tensors, cache);
  return nb::module_::import_("headlight.cache")
      .attr("ActivationCache")(cache, labels, cells, nb::find(model));
}

void add_cache(nb::module_& module, nb::class_<Model>& model) {
  model.def(
      "run_with_cache", &run_with_cache, "inputs"_a, "names"_a = nb::none(), nb::kw_only(),
      "start_at_layer"_a = nb::none(), "lengths"_a = nb::none(),
      nb::sig("def run_with_cache(self, inputs: headlight.types.ArrayLike | Tensor, names: "
              "collections.abc.Sequence[str] | None = None, *, start_at_layer: int | None = None, "
              "lengths: collections.abc.Sequence[int] | None = None) -> tuple[Output, "
              "headlight.cache.ActivationCache]"),
      "Computes logits and the values at points of the pass.\n\n"
      "Parameters\n----------\n"
      "names : points, short (\"z\" of every layer, \"z.3\") or TransformerLens's names; None: all "
      "that the model computes.\n"
      "start_at_layer, lengths : as in a call; the cache holds the points that this pass "
      "computes.\n\n"
      "Returns\n-------\n"
      "The Output of this pass (patterns change its last bits), and arrays by TransformerLens's "
      "names in its shapes: [B, T, C], "
      "[B, T, H, D], and [B, H, T, T] for pattern and attn_scores. Zeros are behind the end of a "
      "sequence. Of a pruned model, NAME/items are the numbers of the heads of NAME. A model "
      "without a head has no logits.");
  module.def("point_name", &full_point_name, "name"_a,
             "Returns the name in TransformerLens of a point: \"blocks.3.attn.hook_z\" for "
             "\"z.3\".");
}

}  // namespace headlight::python
