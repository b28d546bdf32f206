#include "headlight/interpret/features/top_examples.h"

#include <algorithm>
#include <functional>

#include "base/share.h"
#include "base/transformed.h"
#include "headlight/base/error.h"
#include "headlight/interpret/activations/activation_cache.h"
#include "headlight/interpret/token_cells.h"
#include "headlight/ops/layout.h"

namespace headlight {
namespace {

void check_options(const TopExampleOptions& options) {
  const PointRange& point = options.point;
  const bool is_one_layer = !is_in_layer(point.point) || point.layers.last == point.layers.first;
  require_value(is_one_layer && items_of(point.point) != PointItems::maps, "point",
                "expected a point of one layer, such as neuron.3.17 or resid_post.3");
  const bool is_one_item = point.items && point.items->last == point.items->first;
  require_value(
      options.sae != nullptr || (is_one_item && items_of(point.point) == PointItems::features),
      "point", "expected one neuron or element, such as neuron.3.17");
  require_value(options.sae == nullptr || !point.items, "point",
                "expected a whole point for a feature, such as resid_post.3");
  require_value(
      options.sae == nullptr || (options.feature >= 0 && options.feature < options.sae->features()),
      "feature", "expected 0 to ", options.sae == nullptr ? 0 : options.sae->features() - 1,
      ", got ", options.feature);
  require_value(options.count >= 1 && options.batch_size >= 1,
                options.count < 1 ? "count" : "batch_size", "expected a number from 1");
  require_value(options.before >= 0 && options.after >= 0, options.before < 0 ? "before" : "after",
                "expected a number from 0");
}

// Returns the values of the column [t] in rows `begin` to `end` of a point's values [N, ...].
std::vector<double> column_of(const Tensor& values, Index begin, Index end,
                              const TopExampleOptions& options) {
  const Tensor rows = slice(values, 0, begin, end);
  if (options.sae == nullptr) {
    return rows.to_vector();
  }
  const Tensor features = options.sae->encode(reshape(rows, {end - begin, -1}));
  return select(features, 1, options.feature).to_vector();
}

// Part of a sequence that fits into the context.
struct Window {
  Index sequence = 0;
  Index offset = 0;  // position of its first token in the sequence
  std::vector<std::int32_t> ids = {};
};

// Calls `use` with the windows of all sequences in order, one at a time.
void for_each_window(const TokenDataset& data, Index length,
                     const std::function<void(Window window)>& use) {
  const Index ends = data.documents && data.end_of_text >= 0 ? 1 : 0;  // only predicted
  for (Index i = 0; i < std::ssize(data.sequences); ++i) {
    const TokenSequence ids = data.sequences[static_cast<std::size_t>(i)];
    const Index size = ids.size() - ends;
    const bool adds_begin = data.window_begin >= 0 && size > length && length > 1;
    const Index added = adds_begin ? 1 : 0;
    for (Index begin = adds_begin && ids.front() == data.window_begin ? 1 : 0; begin < size;
         begin += length - added) {
      Window window{.sequence = i,
                    .offset = begin - added,
                    .ids = ids.tokens(begin, std::min(length - added, size - begin))};
      if (adds_begin) {
        window.ids.insert(window.ids.begin(), data.window_begin);
      }
      use(std::move(window));
    }
  }
}

TopExample example_of(const Window& window, const std::vector<double>& values,
                      const TopExampleOptions& options) {
  const Index position = std::ranges::max_element(values) - values.begin();
  Index begin = std::max<Index>(0, position - options.before);
  Index end = std::min(std::ssize(window.ids), position + options.after + 1);
  if (options.tokenizer != nullptr) {
    const std::vector<TokenCell> cells =
        token_cells(*options.tokenizer, window.ids, TextUnit::character);
    const std::vector<Index> cell_indices = cells_of_tokens(cells);
    begin = cells[static_cast<std::size_t>(cell_indices[static_cast<std::size_t>(begin)])].begin;
    end = cells[static_cast<std::size_t>(cell_indices[static_cast<std::size_t>(end - 1)])].end;
  }
  return {.sequence = window.sequence,
          .position = window.offset + position,
          .begin = window.offset + begin,
          .ids = {window.ids.begin() + begin, window.ids.begin() + end},
          .values = {values.begin() + begin, values.begin() + end}};
}

// Keeps the `count` examples with the largest values, largest first; equal ones in input order.
void keep_largest(std::vector<TopExample>& examples, Index count) {
  std::ranges::stable_sort(examples, std::ranges::greater(), &TopExample::value);
  if (std::ssize(examples) > count) {
    examples.resize(static_cast<std::size_t>(count));
  }
}

}  // namespace

std::vector<TopExample> top_examples(const LanguageModel& model, const TokenDataset& data,
                                     const TopExampleOptions& options) {
  check_options(options);
  const std::string name = point_name(options.point.point, options.point.layers.first);
  std::vector<TopExample> examples;
  std::vector<Window> batch;
  Index done = 0;  // tokens
  const auto measure = [&] {
    const ActivationContexts contexts(transformed(batch, &Window::ids), model.block_size());
    const NamedTensors arrays = cache_activations(
        model, contexts, {.points = {options.point}, .batch_size = contexts.count()});
    const auto found = std::ranges::find(arrays, name, &NamedTensors::value_type::first);
    require_value(found != arrays.end(), "point", "this model does not compute ", name);
    Index row = 0;
    for (const Window& window : batch) {
      const Index end = row + std::ssize(window.ids);
      examples.push_back(example_of(window, column_of(found->second, row, end, options), options));
      row = end;
    }
    keep_largest(examples, options.count);
    batch.clear();
    done = std::min(done + row, data.token_count);  // begin tokens of windows are more
    options.progress(share_of(done, data.token_count));
  };
  for_each_window(data, model.block_size(), [&](Window window) {
    batch.push_back(std::move(window));
    if (std::ssize(batch) == options.batch_size) {
      measure();
    }
  });
  if (!batch.empty()) {
    measure();
  }
  return examples;
}

}  // namespace headlight
