#include "formats/token_rows.h"

#include <algorithm>
#include <cmath>

#include "headlight/ops/layout.h"

namespace headlight {
namespace {

// In deviations of a column: of the elements of new rows, and the most that is untrained. Rows of
// trained tokens are about one deviation away from the mean.
constexpr double kNewRowDeviation = 0.1;
constexpr double kMostUntrained = 0.25;

// Mean and deviation of the elements of a column.
struct ColumnSpread {
  double mean = 0;
  double deviation = 0;
};

std::vector<ColumnSpread> spreads_of(const Tensor& rows) {
  const Index width = rows.size(1);
  std::vector<ColumnSpread> spreads(static_cast<std::size_t>(width));
  const float* data = rows.data<float>();
  const auto count = static_cast<double>(rows.size(0));
  for (const bool is_second : {false, true}) {
    for (Index i = 0; i < rows.numel(); ++i) {
      ColumnSpread& of = spreads[static_cast<std::size_t>(i % width)];
      const double value = static_cast<double>(data[i]);
      (is_second ? of.deviation : of.mean) +=
          (is_second ? (value - of.mean) * (value - of.mean) : value) / count;
    }
  }
  for (ColumnSpread& of : spreads) {
    of.deviation = std::sqrt(of.deviation);
  }
  return spreads;
}

std::span<const float> row_of(const Tensor& rows, Index row) {
  return {rows.data<float>() + row * rows.size(1), static_cast<std::size_t>(rows.size(1))};
}

// Returns whether a row is about the mean of all rows, or has the same number everywhere.
bool is_untrained(std::span<const float> row, const std::vector<ColumnSpread>& spreads) {
  double squares = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const double distance = static_cast<double>(row[i]) - spreads[i].mean;
    squares += spreads[i].deviation > 0 ? std::pow(distance / spreads[i].deviation, 2) : 0;
  }
  return std::sqrt(squares / static_cast<double>(row.size())) < kMostUntrained ||
         std::ranges::count(row, row.front()) == std::ssize(row);
}

}  // namespace

std::unique_ptr<Gpt> resized(const Gpt& model, const ResizedOptions& options) {
  GptConfig config = model.config();
  config.vocab_size = options.tokens;
  config.tie_weights = options.tied;
  std::unique_ptr<Gpt> result = Gpt::blank(config, model.dtype());
  for (const auto& [weight, target] : result->weights()) {
    const bool is_head = weight.part == Part::head && !weight.is_bias;
    const Tensor source = is_head          ? model.head_weight().detach()
                          : weight.is_bias ? model.bias(weight.part, weight.layer)
                                           : model.weight(weight.part, weight.layer);
    const Index rows = std::min(source.size(0), target.size(0));
    slice(target.detach(), 0, 0, rows).copy_from(slice(source, 0, 0, rows));
  }
  return result;
}

void fill_new_rows(Tensor rows, Index known, const RandomStream& random) {
  if (known == rows.size(0)) {
    return;
  }
  const std::vector<ColumnSpread> spreads = spreads_of(slice(rows, 0, 0, known));
  const Tensor noise =
      random_normal({rows.size(0) - known, rows.size(1)}, random, 0, kNewRowDeviation);
  const float* drawn = noise.data<float>();
  float* data = slice(rows, 0, known, rows.size(0)).data<float>();
  for (Index i = 0; i < noise.numel(); ++i) {
    const ColumnSpread& of = spreads[static_cast<std::size_t>(i % rows.size(1))];
    data[i] = static_cast<float>(of.mean + of.deviation * static_cast<double>(drawn[i]));
  }
}

std::vector<std::int32_t> untrained_rows(const Tensor& matrix,
                                         const std::vector<std::int32_t>& ids) {
  if (ids.empty()) {
    return {};
  }
  const Tensor rows = to_contiguous(convert(matrix.detach(), DType::float32));
  const std::vector<ColumnSpread> spreads = spreads_of(rows);
  std::vector<std::int32_t> untrained;
  for (const std::int32_t id : ids) {
    const auto row = row_of(rows, id);
    const bool has_twin = std::ranges::any_of(ids, [&](std::int32_t other) {
      return other != id && std::ranges::equal(row, row_of(rows, other));
    });
    if (has_twin || is_untrained(row, spreads)) {
      untrained.push_back(id);
    }
  }
  return untrained;
}

}  // namespace headlight
