#include "headlight/interpret/interventions/interventions.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "headlight/base/error.h"
#include "headlight/datasets/text_source.h"
#include "headlight/formats/arrays/npz.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "interpret/point_values.h"
#include "tokenizers/text_encoder.h"

namespace headlight {
namespace {

constexpr const char* kAbout = "intervene";

PointValues values_of(const LanguageModel& model, const Change& change,
                      const std::vector<std::int32_t>& tokens) {
  return values_of(
      model, make_batch({tokens}),
      [&](Point point, Index layer) { return covers(change.targets, point, layer); }, true);
}

// Values of the points that the targets cover.
PointValues covered(const PointValues& values, const std::vector<PointRange>& targets) {
  PointValues found;
  std::ranges::copy_if(values, std::inserter(found, found.end()), [&](const auto& value) {
    return covers(targets, value.first.first, value.first.second);
  });
  return found;
}

// Indices of a target's heads, neurons or elements in a value. Throws Error if one is missing.
std::vector<Index> indices_of(const PointRange& target, Index layer, const ValueLayout& value,
                              const HeadLayout& heads, std::string_view about = kAbout) {
  const std::vector<Index> numbers = item_numbers(target.point, layer, value.items, heads);
  const NumberRange wanted = target.items.value_or(NumberRange{});
  std::vector<Index> indices;
  for (std::size_t index = 0; index < numbers.size(); ++index) {
    if (wanted.contains(numbers[index])) {
      indices.push_back(static_cast<Index>(index));
    }
  }
  const bool has_last =
      !wanted.last || std::find(numbers.begin(), numbers.end(), *wanted.last) != numbers.end();
  require_value(!indices.empty() && has_last, about, point_name(target.point, layer), ": expected ",
                numbers_text(numbers), ", got ", wanted.last.value_or(wanted.first));
  return indices;
}

// Returns the name of a target's last layer as users type it: heads as LAYER.HEAD.
std::string typed_name(const PointRange& target, Index layer) {
  return target.point == Point::z && target.items ? head_name({layer, target.items->first})
                                                  : concat_text(name_of(target.point), '.', layer);
}

// Throws Error for targets that the change cannot apply to, or that this model lacks. `found` has
// the values of one pass.
void check_targets(const Change& change, const LanguageModel& model, const PointValues& found,
                   std::string_view about) {
  const Index layers = model.heads().layers();
  for (const PointRange& target : change.targets) {
    const std::string_view name = name_of(target.point);
    require_value(target.point != Point::logits, about,
                  "logits cannot be changed; change ln_final or an earlier point");
    const bool is_map = items_of(target.point) == PointItems::maps;
    require_value(!is_map || change.kind == ChangeKind::off || change.kind == ChangeKind::scale ||
                      change.kind == ChangeKind::freeze,
                  about, "expected off, scale or freeze for ", name, ", got ",
                  name_of(change.kind));
    require_value(!is_map || !change.source.token, about, "expected no 'at' for ", name,
                  ": its values at one token cannot be used at another");
    const Index last = target.layers.last.value_or(target.layers.first);
    require_value(!is_in_layer(target.point) || last < layers, about, "the model has layers 0 to ",
                  layers - 1, ", got ", typed_name(target, last));
    bool is_there = false;
    for (const auto& [spot, value] : found) {
      if (covers(target, spot.first, spot.second)) {
        is_there = true;
        indices_of(target, spot.second, {spot.first, value.shape()}, model.heads(), about);
      }
    }
    require_value(is_there, about, "this model does not compute ", name);
  }
}

// Elements of a row.
Index row_length(const Tensor& value) { return value.numel() / value.size(0); }

// Row [F] of values [N, ...].
Tensor row_of(const Tensor& value, Index row) {
  return reshape(slice(value, 0, row, row + 1), {row_length(value)});
}

// Expands a vector to a whole row [F]. The vector covers the whole row, the chosen items together,
// or one item, which is then repeated for each chosen item.
Tensor widened(const Tensor& vector, const Change& change, const PointInLayer& spot,
               const Tensor& value, const HeadLayout& heads) {
  const ValueLayout layout(spot.first, value.shape());
  const Index length = row_length(value);
  std::vector<Index> indices;
  for (const PointRange& target : change.targets) {
    if (covers(target, spot.first, spot.second)) {
      indices = indices_of(target, spot.second, layout, heads);
    }
  }
  const Index chosen = std::ssize(indices) * layout.width;
  const bool is_for_each = vector.numel() == layout.width && layout.width > 1;
  require_value(vector.numel() == length || vector.numel() == chosen || is_for_each, kAbout,
                change.source.file.string(), ":", change.source.array, ": expected ", chosen,
                " numbers for ", point_name(spot.first, spot.second), ", got ", vector.numel());
  const std::vector<double> numbers = vector.to_vector();
  if (vector.numel() == length) {
    return Tensor::from(numbers, {length});
  }
  std::vector<double> whole(static_cast<std::size_t>(length));
  for (std::size_t i = 0; i < indices.size(); ++i) {
    for (Index d = 0; d < layout.width; ++d) {
      const Index from = is_for_each ? d : static_cast<Index>(i) * layout.width + d;
      whole[static_cast<std::size_t>(indices[i] * layout.width + d)] =
          numbers[static_cast<std::size_t>(from)];
    }
  }
  return Tensor::from(whole, {length});
}

// Computes the values that changes need.
class SourceReader {
 public:
  SourceReader(const LanguageModel& model, const Interventions::Options& options)
      : model_(model), options_(options) {}

  // `found` has the targets' values of one pass.
  PointValues read(const Change& change, const PointValues& found) const {
    switch (change.kind) {
      case ChangeKind::off:
      case ChangeKind::scale:
        return {};
      case ChangeKind::add:
        return change.source.array.empty() ? differences(change) : vectors(change, found);
      case ChangeKind::mean:
        return options_.means != nullptr && !has_source(change) ? given_means(found)
                                                                : means(change);
      case ChangeKind::resample:
        if (options_.rows != nullptr && !has_source(change)) {
          return {};
        }
        break;
      case ChangeKind::freeze:
        break;
    }
    std::vector<std::int32_t> tokens = source_tokens(change.source);
    const auto length = static_cast<Index>(tokens.size());
    const Index block = model_.block_size();
    require_value(change.kind == ChangeKind::resample || length <= block, kAbout,
                  "expected a text of at most ", block, " tokens, got ", length);
    tokens.resize(static_cast<std::size_t>(std::min(length, block)));
    const Index token = change.source.token.value_or(0);
    require_value(token < length, kAbout, "expected a token of the text, 0 to ", length - 1,
                  ", got ", token);
    return values_of(model_, change, tokens);
  }

 private:
  std::vector<std::int32_t> tokens_of(const std::string& text) const {
    require_value(options_.tokenizer != nullptr, kAbout, "texts need a tokenizer");
    const std::vector<std::int32_t> tokens =
        options_.special_tokens ? TextEncoder(*options_.tokenizer, true).encode_prompt(text)
                                : options_.tokenizer->encode_prompt(text);
    require_value(!tokens.empty(), kAbout, "expected a text that is not empty");
    return tokens;
  }
  std::vector<std::int32_t> source_tokens(const ChangeSource& source) const {
    return tokens_of(source.file.empty() ? source.text : read_text_file(source.file));
  }

  PointValues vectors(const Change& change, const PointValues& found) const {
    const Tensor vector = read_vector(change.source);
    PointValues result;
    for (const auto& [spot, value] : found) {
      result[spot] = widened(vector, change, spot, value, model_.heads());
    }
    return result;
  }

  // Value at the last token of `text` minus that of `less`.
  PointValues differences(const Change& change) const {
    PointValues first = values_of(model_, change, tokens_of(change.source.text));
    const PointValues second = values_of(model_, change, tokens_of(change.source.less));
    for (auto& [spot, value] : first) {
      const Tensor& less = second.at(spot);
      value = row_of(value, value.size(0) - 1) - row_of(less, less.size(0) - 1);
    }
    return first;
  }

  static bool has_source(const Change& change) {
    return !change.source.text.empty() || !change.source.file.empty();
  }

  PointValues given_means(const PointValues& found) const {
    PointValues result;
    for (const auto& [spot, value] : found) {
      const auto mean = options_.means->find(spot);
      const bool fits = mean != options_.means->end() && mean->second.numel() == row_length(value);
      require_value(fits, options_.about, "expected a mean of ", row_length(value), " numbers for ",
                    point_name(spot.first, spot.second));
      result[spot] = mean->second;
    }
    return result;
  }

  // Means over all tokens, computed block by block.
  PointValues means(const Change& change) const {
    const std::vector<std::int32_t> tokens = source_tokens(change.source);
    std::map<PointInLayer, std::vector<double>> sums;
    const auto block = static_cast<std::size_t>(model_.block_size());
    for (std::size_t begin = 0; begin < tokens.size(); begin += block) {
      const auto end =
          tokens.begin() + static_cast<std::ptrdiff_t>(std::min(begin + block, tokens.size()));
      for (const auto& [spot, value] :
           values_of(model_, change, {tokens.begin() + static_cast<std::ptrdiff_t>(begin), end})) {
        std::vector<double>& sum = sums[spot];
        sum.resize(static_cast<std::size_t>(row_length(value)));
        const std::vector<double> numbers = value.to_vector();
        for (std::size_t i = 0; i < numbers.size(); ++i) {
          sum[i % sum.size()] += numbers[i] / static_cast<double>(tokens.size());
        }
      }
    }
    PointValues result;
    for (const auto& [spot, sum] : sums) {
      result[spot] = Tensor::from(sum, {static_cast<Index>(sum.size())});
    }
    return result;
  }

  const LanguageModel& model_;
  const Interventions::Options& options_;
};

// Combined changes of a value, element by element: value * factors + shifts.
template <class T>
class ElementMap {
 public:
  explicit ElementMap(const Tensor& value)
      : value_(value),
        factors_(Tensor::ones(value.shape(), value.dtype())),
        shifts_(Tensor::zeros(value.shape(), value.dtype())) {}

  // `source` may be null for kinds without a source.
  void change(const Change& change, Index begin, Index length, const T* source) {
    T* factors = factors_.template data<T>() + begin;
    T* shifts = shifts_.template data<T>() + begin;
    const T factor = static_cast<T>(change.factor);
    for (Index i = 0; i < length; ++i) {
      switch (change.kind) {
        case ChangeKind::scale:
          factors[i] *= factor;
          shifts[i] *= factor;
          break;
        case ChangeKind::add:
          shifts[i] += factor * source[i];
          break;
        default:
          factors[i] = 0;
          shifts[i] = source == nullptr ? 0 : source[i];
      }
    }
    scales_ = scales_ || change.kind != ChangeKind::add;
    shifts_any_ = shifts_any_ || source != nullptr;
  }

  Tensor result() const {
    const Tensor scaled = scales_ ? mul(value_, factors_) : value_;
    return shifts_any_ ? scaled + shifts_ : scaled;
  }

 private:
  const Tensor& value_;
  Tensor factors_;
  Tensor shifts_;
  bool scales_ = false;
  bool shifts_any_ = false;
};

}  // namespace

Tensor read_vector(const ChangeSource& source, std::string_view about) {
  const NamedTensors arrays = read_npz(source.file, nullptr, source.array);
  std::string names;
  for (const auto& [name, tensor] : arrays) {
    if (name == source.array) {
      require_value(
          std::ranges::all_of(tensor.to_vector(), [](double x) { return std::isfinite(x); }), about,
          source.file.string(), ": array ", name, " is not finite");
      return tensor;
    }
    names += (names.empty() ? "" : ", ") + name;
  }
  fail_value(about, source.file.string(), ": expected an array ", source.array, ", got ",
             names.empty() ? "none of numbers" : names);
}

Change with_heads_of_classes(Change change, const std::map<HeadId, HeadScore>& scores,
                             std::string_view about) {
  for (std::string name : change.classes) {
    std::replace(name.begin(), name.end(), '_', ' ');
    bool is_there = false;
    for (const auto& [id, score] : scores) {
      if (score.significant && score.name == name) {
        is_there = true;
        change.targets.push_back(
            {.point = Point::z, .layers = {id.layer, id.layer}, .items = {{id.head, id.head}}});
      }
    }
    require_value(is_there, about, "expected a point such as resid_post.5, or a class of heads",
                  scores.empty() ? " with --scores" : "", ", got ", name);
  }
  change.classes.clear();
  return change;
}

struct Interventions::Resolved {
  Change change;
  // Rows [F] (mean, add) or [T, ...] (freeze, resample); maps are [H, T, T].
  PointValues values;
  const PointValues* rows = nullptr;  // Options::rows, of a resample change without a source

  // Adds the change of one target to the map; `positions` are the rows' positions.
  template <class T>
  void add_to(ElementMap<T>& map, const HookSite& site, const ValueLayout& value,
              const std::vector<Index>& items, std::span<const std::int32_t> positions) const {
    const bool is_map = items_of(site.point) == PointItems::maps;
    for (Index row = 0; row < value.rows; ++row) {
      const Index position = positions[static_cast<std::size_t>(row)];
      if (!change.positions.contains(position)) {
        continue;
      }
      // In maps, only keys visible to the query change: hidden scores stay -infinity.
      const Index length = is_map ? std::min(value.width, position + 1) : value.width;
      for (const Index item : items) {
        const T* from = source<T>({site.point, site.layer}, row, position, item, value);
        if ((values.empty() && rows == nullptr) || from != nullptr) {
          map.change(change, row * value.row_stride + item * value.item_stride, length, from);
        }
      }
    }
  }

 private:
  // Source values of an item in a row of the pass, at a position; null if there are none.
  template <class T>
  const T* source(const PointInLayer& spot, Index row, Index position, Index item,
                  const ValueLayout& value) const {
    if (rows != nullptr) {
      return rows->at(spot).data<T>() + row * value.row_stride + item * value.item_stride;
    }
    if (values.empty()) {
      return nullptr;
    }
    const Tensor& held = values.at(spot);
    if (change.kind == ChangeKind::mean || change.kind == ChangeKind::add) {
      return held.data<T>() + item * value.item_stride;
    }
    const ValueLayout from(spot.first, held.shape());
    const Index other = change.kind == ChangeKind::resample
                            ? position % from.rows
                            : change.source.token.value_or(position);
    return other < from.rows ? held.data<T>() + other * from.row_stride + item * from.item_stride
                             : nullptr;
  }
};

Interventions::Interventions(const LanguageModel& model, const std::vector<Change>& changes,
                             const Options& options)
    : layout_(model.heads()) {
  for (const Change& written : changes) {
    Resolved resolved{.change = with_heads_of_classes(written, options.scores, options.about),
                      .values = {}};
    const PointValues found = options.shapes == nullptr
                                  ? values_of(model, resolved.change, {0})
                                  : covered(*options.shapes, resolved.change.targets);
    check_targets(resolved.change, model, found, options.about);
    resolved.values = SourceReader(model, options).read(resolved.change, found);
    if (written.kind == ChangeKind::resample && resolved.values.empty()) {
      resolved.rows = options.rows;
    }
    for (auto& [spot, value] : resolved.values) {
      value = to_contiguous(convert(value, model.dtype()));
    }
    changes_.push_back(std::move(resolved));
  }
}

Interventions::~Interventions() = default;

void Interventions::begin(const Batch& rows) {
  const auto* positions = rows.positions.data<std::int32_t>();
  positions_.assign(positions, positions + rows.token_count());
  offsets_ = rows.offsets;
}

bool Interventions::wants(Point point, Index layer) const {
  return std::any_of(changes_.begin(), changes_.end(), [&](const Resolved& resolved) {
    return covers(resolved.change.targets, point, layer);
  });
}

Tensor Interventions::visit(const HookSite& site, const Tensor& value) {
  const ValueLayout layout(site.point, value.shape());
  const bool is_map = items_of(site.point) == PointItems::maps;
  const auto sequence = static_cast<std::size_t>(is_map ? site.sequence : 0);
  const Index first = sequence < offsets_.size() ? offsets_[sequence] : 0;
  require(first + layout.rows <= std::ssize(positions_),
          "[interventions] expected begin() with the ", layout.rows,
          " tokens of the pass before a visit: the model does not call it");
  return dispatch_floating(value.dtype(), "Interventions", [&](auto zero) {
    ElementMap<decltype(zero)> map(value);
    for (const Resolved& resolved : changes_) {
      for (const PointRange& target : resolved.change.targets) {
        if (covers(target, site.point, site.layer)) {
          resolved.add_to(
              map, site, layout, indices_of(target, site.layer, layout, layout_),
              std::span<const std::int32_t>(positions_).subspan(static_cast<std::size_t>(first)));
        }
      }
    }
    return map.result();
  });
}

}  // namespace headlight
