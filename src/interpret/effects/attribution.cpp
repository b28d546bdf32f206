#include "headlight/interpret/effects/attribution.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "headlight/autograd/autograd.h"
#include "headlight/interpret/head_set.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"
#include "interpret/effects/forward_replay.h"
#include "interpret/effects/frozen_norm.h"
#include "interpret/effects/token_groups.h"
#include "interpret/layer_maps.h"
#include "interpret/point_values.h"

namespace headlight {
namespace {

using Vector = std::vector<double>;

double product(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Contribution of a norm's shift to a product with `direction`.
double shift_product(const FrozenNorm& norm, const Tensor& direction) {
  return norm.shift().defined() ? product(norm.shift().to_vector(), direction.to_vector()) : 0;
}

Tensor precise(const Tensor& x) { return convert(x, DType::float64); }

Tensor row_slice(const Tensor& x, Index row) { return slice(x, 0, row, row + 1); }

Index check(const AttributionTask& task, const Gpt& model, AttributionBy by) {
  require_causal(model);
  require(model.config().has_final_norm(),
          "attribution needs a model without norm = post: behind such norms the residual stream is "
          "not a sum of parts");
  require_value(by != AttributionBy::neuron || model.config().mlp, "by",
                "cannot be neuron: the layers of this model have no MLP");
  const auto length = static_cast<Index>(task.text.size());
  require_value(length > 0, "text", "expected at least one token");
  const Index position = task.position.value_or(length - 1);
  require_value(position >= 0 && position < length, "position", "expected 0 to ", length - 1,
                ", got ", position);
  for (const std::int32_t id : {task.target.value_or(0), task.against.value_or(0)}) {
    require_value(id >= 0 && id < model.config().vocab_size, "token", "expected 0 to ",
                  model.config().vocab_size - 1, ", got ", id);
  }
  return position;
}

// Whether the parts are computed from the values at a point.
bool is_read(Point point, AttributionBy by) {
  switch (point) {
    case Point::resid_pre:
    case Point::attn_out:
    case Point::mlp_out:
    case Point::resid_post:
      return true;
    case Point::z:
      return by == AttributionBy::head || by == AttributionBy::source;
    case Point::v:
    case Point::pattern:
      return by == AttributionBy::source;
    case Point::mlp_post:
      return by == AttributionBy::neuron;
    default:
      return false;
  }
}

// The row of a value that has `after` rows behind it; for v all rows up to it.
Tensor rows_at(Index after, const HookSite& site, const Tensor& value) {
  const Index axis = items_of(site.point) == PointItems::maps ? 1 : 0;
  const Index row = value.size(axis) - 1 - after;
  return slice(value, axis, site.point == Point::v ? 0 : row, row + 1);
}

// Contribution of the inputs of an output matrix (of attention or MLP) to a logit.
struct OutputReadout {
  Vector weights;                   // logit per unit of each input
  std::optional<double> bias = {};  // logit of the matrix bias and output norm shift
};

// Readout of `read` [1, K]: pulls `direction` [1, C] back through any output norm and the matrix.
OutputReadout read_output(const Gpt& model, Branch branch, Index layer, const Tensor& read,
                          Tensor direction) {
  const bool is_attention = branch == Branch::attention;
  const Part part = is_attention ? Part::attention_output : Part::mlp_out;
  const Tensor matrix = precise(model.weight(part, layer));  // [C, K]
  const Tensor own_bias = model.bias(part, layer);
  const Tensor bias = own_bias.defined() ? precise(own_bias) : Tensor();
  OutputReadout readout;
  if (model.config().has_output_norms()) {
    const FrozenNorm norm(model, is_attention ? Part::attention_output_norm : Part::mlp_output_norm,
                          layer, linear(read, matrix, bias));
    readout.bias = shift_product(norm, direction);
    direction = norm.pulled_back(direction);
  }
  if (bias.defined()) {
    readout.bias = readout.bias.value_or(0) + product(bias.to_vector(), direction.to_vector());
  }
  readout.weights = matmul(direction, matrix).to_vector();
  return readout;
}

// Returns the head's bias of the logit of `target`, minus that of `against`; 0 without one.
double head_bias(const Gpt& model, std::int32_t target, std::optional<std::int32_t> against) {
  if (!model.head_bias().defined()) {
    return 0;
  }
  const Vector bias = model.head_bias().to_vector();
  const auto of = [&](std::int32_t id) { return bias[static_cast<std::size_t>(id)]; };
  return of(target) - (against ? of(*against) : 0);
}

// Decomposition of one logit of one text.
class ResidualDecomposition {
 public:
  ResidualDecomposition(const Gpt& model, const AttributionTask& task, AttributionBy by,
                        Index position, RecordedPasses* kept)
      : model_(model), by_(by), position_(position), layers_(model.config().n_layer) {
    const Batch batch = make_batch({deciding_tokens(model, task.text, position)});
    watch_.emplace(
        [by](Point point, Index) { return is_read(point, by); },
        [after = batch.token_count() - 1 - position](const HookSite& site, const Tensor& value) {
          return rows_at(after, site, value);
        });
    const Index first = by == AttributionBy::source ? 0 : position;  // sources are tokens before it
    const PassedText text = read_from(model, batch, first, *watch_, kept);
    logits_ = model.head_product(row_slice(text.ends, position)).to_vector();
    const auto head_row = [&](std::int32_t id) {
      return precise(model.head_rows(Tensor::from({id}, {1})));
    };
    target_ = task.target ? *task.target : likeliest_token(logits_).id;
    Tensor unembedding = head_row(target_);
    if (task.against) {
      unembedding = unembedding - head_row(*task.against);
    }
    const FrozenNorm norm(model, Part::final_norm, kNoLayer,
                          values_at(Point::resid_post, layers_ - 1));
    if (const double scale = model.config().logit_scale; scale > 0) {
      unembedding = unembedding * scale;
    }
    direction_ = norm.pulled_back(unembedding);
    shift_ = shift_product(norm, unembedding) + head_bias(model, target_, task.against);
  }

  const Vector& logits() const { return logits_; }  // [V], of the model itself
  std::int32_t target() const { return target_; }

  std::vector<LogitPart> parts(const std::function<void(double share)>& progress) {
    add({.name = "embedding", .logit = read(values_at(Point::resid_pre, 0))});
    for (Index layer = 0; layer < layers_; ++layer) {
      const Index begin = std::ssize(parts_);
      add_attention(layer);
      if (model_.config().mlp) {
        add_mlp(layer);
      }
      if (model_.attached() != nullptr) {
        const double whole =
            read(values_at(Point::resid_post, layer)) -
            (layer == 0 ? parts_.front().logit : read(values_at(Point::resid_post, layer - 1)));
        const double known =
            std::accumulate(parts_.begin() + begin, parts_.end(), 0.0,
                            [](double sum, const LogitPart& part) { return sum + part.logit; });
        add_part(layer, ".intervention", whole - known, LogitPartKind::intervention);
      }
      progress(static_cast<double>(layer + 1) / static_cast<double>(layers_));
    }
    add({.name = "ln_f.bias", .logit = shift_, .kind = LogitPartKind::norm_bias, .layer = layers_});
    return std::move(parts_);
  }

  // Returns the logit of the residual stream after the embedding and after every attention and MLP.
  std::vector<LogitPart> stream() {
    add({.name = "embedding", .logit = shift_ + read(values_at(Point::resid_pre, 0))});
    for (Index layer = 0; layer < layers_; ++layer) {
      const double before = parts_.back().logit;
      const double after = shift_ + read(values_at(Point::resid_post, layer));
      const bool has_mlp = model_.config().mlp;
      const double attention = has_mlp ? before + read(values_at(Point::attn_out, layer)) : after;
      add_part(layer, ".attn", attention, LogitPartKind::attention);
      if (has_mlp) {
        add_part(layer, ".mlp", after, LogitPartKind::mlp);
      }
    }
    return std::move(parts_);
  }

 private:
  // float64: [1, C], [1, H D], [1, I]; v: [S, G, D], pattern: [H, 1, T], for S visible tokens.
  Tensor values_at(Point point, Index layer) const {
    return precise(watch_->values.at({point, layer}));
  }
  void add(LogitPart part) { parts_.push_back(std::move(part)); }
  // Adds a part for a whole layer; `suffix` as in ".mlp.bias".
  void add_part(Index layer, const char* suffix, double logit, LogitPartKind kind) {
    add({.name = concat_text(layer, suffix), .logit = logit, .kind = kind, .layer = layer});
  }
  // Contribution of a part [1, C] of the stream to the logit.
  double read(const Tensor& part) const {
    return product(part.to_vector(), direction_.to_vector());
  }

  void add_attention(Index layer) {
    if (by_ == AttributionBy::layer || by_ == AttributionBy::neuron) {
      add_part(layer, ".attn", read(values_at(Point::attn_out, layer)), LogitPartKind::attention);
      return;
    }
    const Tensor z = values_at(Point::z, layer);
    const OutputReadout readout =
        read_output(model_, Branch::attention, layer, reshape(z, {1, z.numel()}), direction_);
    by_ == AttributionBy::source ? add_sources(layer, z.to_vector(), readout.weights)
                                 : add_heads(layer, z.to_vector(), readout.weights);
    if (readout.bias) {
      add_part(layer, ".attn.bias", *readout.bias, LogitPartKind::attention_bias);
    }
  }

  // Adds the heads' parts from their outputs z [H D] and readout weights.
  void add_heads(Index layer, const Vector& z, const Vector& weights) {
    const auto width = static_cast<std::size_t>(model_.heads().head_width);
    std::size_t begin = 0;
    for (const HeadId& id : HeadSet::of_layers(model_.heads(), {layer})) {
      add({.name = head_name(id),
           .head = id,
           .logit = product(std::span(z).subspan(begin, width),
                            std::span(weights).subspan(begin, width)),
           .kind = LogitPartKind::head,
           .layer = layer});
      begin += width;
    }
  }

  void add_sources(Index layer, const Vector& z, const Vector& weights) {
    const AttentionPlan plan = block_plan(model_.config(), layer).attention;
    const Vector values =
        within_limit(values_at(Point::v, layer), model_.config()).to_vector();  // [S, G, D]
    const Vector patterns = values_at(Point::pattern, layer).to_vector();       // [H, T]
    const auto width = static_cast<std::size_t>(plan.head_width);
    const auto row = static_cast<std::size_t>(plan.key_width());
    const std::size_t keys = patterns.size() / static_cast<std::size_t>(plan.heads);
    Index index = 0;
    for (const HeadId& id : HeadSet::of_layers(model_.heads(), {layer})) {
      const auto head = static_cast<std::size_t>(index);
      const auto group = static_cast<std::size_t>(plan.key_head(index)) * width;
      const std::span<const double> of_head = std::span(weights).subspan(head * width, width);
      Vector sources;
      for (std::size_t s = 0; s <= static_cast<std::size_t>(position_); ++s) {
        const double value = product(std::span(values).subspan(s * row + group, width), of_head);
        sources.push_back(patterns[head * keys + s] * value);
      }
      add_head_sources(id, std::move(sources),
                       product(std::span(z).subspan(head * width, width), of_head));
      ++index;
    }
  }

  // Adds the parts of a head's sources. `whole` is the head's contribution. If it differs from
  // their sum, a hook has replaced the head's output.
  void add_head_sources(const HeadId& id, Vector sources, double whole) {
    double replaced = 0;
    if (model_.attached() != nullptr) {
      double sum = 0;
      double size = std::abs(whole);
      for (const double logit : sources) {
        sum += logit;
        size += std::abs(logit);
      }
      constexpr double kRounding = 1e-3;  // bfloat16 rounding, with a margin
      if (std::abs(sum - whole) > kRounding * size) {
        std::fill(sources.begin(), sources.end(), 0.0);
        replaced = whole;
      }
    }
    for (std::size_t s = 0; s < sources.size(); ++s) {
      add({.name = concat_text(head_name(id), " @", s),
           .head = id,
           .logit = sources[s],
           .kind = LogitPartKind::head,
           .layer = id.layer,
           .source = static_cast<Index>(s)});
    }
    if (model_.attached() != nullptr) {
      add({.name = head_name(id) + ".intervention",
           .head = id,
           .logit = replaced,
           .kind = LogitPartKind::intervention,
           .layer = id.layer});
    }
  }

  void add_mlp(Index layer) {
    if (by_ != AttributionBy::neuron) {
      add_part(layer, ".mlp", read(values_at(Point::mlp_out, layer)), LogitPartKind::mlp);
      return;
    }
    const Tensor neurons = values_at(Point::mlp_post, layer);
    const OutputReadout readout = read_output(model_, Branch::mlp, layer, neurons, direction_);
    const Vector activations = neurons.to_vector();
    for (std::size_t n = 0; n < activations.size(); ++n) {
      add({.name = concat_text("neuron.", layer, ".", n),
           .logit = activations[n] * readout.weights[n],
           .kind = LogitPartKind::neuron,
           .layer = layer,
           .neuron = static_cast<Index>(n)});
    }
    if (readout.bias) {
      add_part(layer, ".mlp.bias", *readout.bias, LogitPartKind::mlp_bias);
    }
  }

  const Gpt& model_;
  AttributionBy by_;
  Index position_;
  Index layers_;
  std::optional<KeepValues> watch_;
  Vector logits_;
  std::int32_t target_ = 0;
  Tensor direction_;  // [1, C] of the stream after the last layer
  double shift_ = 0;  // contribution of the last norm's shift
  std::vector<LogitPart> parts_;
};

// Sets the target, its probability and the most likely token from the model's logits [V].
void take_choice(const Vector& logits, std::int32_t target, AttributionResult& result) {
  const NextToken best = likeliest_token(logits);
  result.target = target;
  const double behind =
      logits[static_cast<std::size_t>(target)] - logits[static_cast<std::size_t>(best.id)];
  result.probability = best.probability * std::exp(behind);
  result.likeliest = best.id;
  result.target_is_likeliest = behind >= 0;
}

// The mean of every column of `values` [prompts][N].
std::vector<Interval> means_of(const std::vector<Vector>& values) {
  std::vector<std::vector<DocumentSum>> measures(values.front().size());
  for (const Vector& prompt : values) {
    for (std::size_t i = 0; i < measures.size(); ++i) {
      measures[i].push_back({prompt[i], 1});
    }
  }
  return bootstrap_means(measures);
}

void take_means(AttributionStudy& study) {
  const std::vector<Interval> means = means_of(study.logits);
  for (std::size_t i = 0; i < means.size(); ++i) {
    study.parts[i].logit = means[i];
    study.parts[i].part.logit = means[i].mean;
  }
  std::vector<Vector> wholes;
  std::vector<Vector> sources;  // [prompts][S]
  for (std::size_t p = 0; p < study.prompts.size(); ++p) {
    wholes.push_back({study.prompts[p].logit});
    const std::size_t count = study.groups.empty()
                                  ? static_cast<std::size_t>(study.prompts[p].visible)
                                  : study.groups.size();
    Vector& sums = sources.emplace_back(count);
    for (std::size_t i = 0; i < means.size(); ++i) {
      if (const std::optional<Index> source = study.parts[i].part.source) {
        sums[static_cast<std::size_t>(*source)] += study.logits[p][i];
      }
    }
  }
  study.logit = means_of(wholes).front();
  const bool has_sources =
      std::any_of(study.parts.begin(), study.parts.end(),
                  [](const auto& mean) { return mean.part.source.has_value(); });
  if (has_sources) {
    study.sources = means_of(sources);
  }
}

// Number of tokens visible at the task's position.
Index visible_of(const AttributionTask& task) {
  return task.position.value_or(std::ssize(task.text) - 1) + 1;
}

void check_lengths(const std::vector<AttributionTask>& tasks) {
  for (std::size_t i = 1; i < tasks.size(); ++i) {
    require_value(
        visible_of(tasks[i]) == visible_of(tasks[0]), "pairs",
        "source tokens can be compared only between texts of the same length, or by groups, got ",
        visible_of(tasks[0]), " tokens in prompt 1 and ", visible_of(tasks[i]), " in prompt ",
        i + 1, " and no groups");
  }
}

// Index in `groups` of each token's group, [S]; groups.size() for kOtherTokens.
std::vector<std::size_t> token_groups(const std::vector<TokenGroup>& groups, Index visible) {
  check_groups(groups, visible);
  std::vector<std::size_t> group_of_token(static_cast<std::size_t>(visible), groups.size());
  for (std::size_t group = 0; group < groups.size(); ++group) {
    for (const Index position : groups[group].positions) {
      std::size_t& of_token = group_of_token[static_cast<std::size_t>(position)];
      require_value(of_token == groups.size() || of_token == group, "group",
                    "expected each token in one group, got token ", position, " in '",
                    groups[std::min(of_token, groups.size() - 1)].name, "' and '",
                    groups[group].name, "'");
      of_token = group;
    }
  }
  return group_of_token;
}

// Sums the sources of each head by group; `group_of_token` has the group index of every token.
std::vector<LogitPart> grouped_sources(const std::vector<LogitPart>& parts,
                                       const std::vector<std::size_t>& group_of_token,
                                       const std::vector<std::string>& names) {
  std::vector<LogitPart> grouped;
  std::size_t begin = 0;  // first group of the current head
  for (const LogitPart& part : parts) {
    if (!part.source) {
      grouped.push_back(part);
      continue;
    }
    if (part.source == 0) {
      begin = grouped.size();
      for (std::size_t index = 0; index < names.size(); ++index) {
        LogitPart group = part;
        group.name = head_name(*part.head) + " @" + names[index];
        group.source = static_cast<Index>(index);
        group.logit = 0;
        grouped.push_back(std::move(group));
      }
    }
    grouped[begin + group_of_token[static_cast<std::size_t>(*part.source)]].logit += part.logit;
  }
  return grouped;
}

// Attributes prompt `i`. If `names` is not empty, the sources are these groups.
AttributionResult attribute_prompt(const Gpt& model, const std::vector<AttributionTask>& tasks,
                                   std::size_t i, const std::vector<std::string>& names,
                                   const AttributionStudyOptions& options) {
  const auto progress = [&](double share) {
    options.progress((static_cast<double>(i) + share) / static_cast<double>(tasks.size()));
  };
  const AttributionTask& task = tasks[i];
  std::vector<std::size_t> group_of_token;  // group index of each token
  if (!names.empty()) {
    group_of_token = token_groups(in_order(task.groups, tasks[0].groups, i + 1), visible_of(task));
  }
  AttributionResult result = attribute_logit(model, task, options.by, progress, options.kept);
  if (!names.empty()) {
    result.parts = grouped_sources(result.parts, group_of_token, names);
  }
  return result;
}

std::vector<std::string> source_groups(const std::vector<AttributionTask>& tasks,
                                       AttributionBy by) {
  std::vector<std::string> names;
  if (by == AttributionBy::source && !tasks[0].groups.empty()) {
    for (const TokenGroup& group : tasks[0].groups) {
      names.push_back(group.name);
    }
    names.emplace_back(kOtherTokens);
  }
  return names;
}

}  // namespace

bool AttributionResult::is_clear() const {
  return has_against ? logit >= kTwiceAsLikely : target_is_likeliest;
}

AttributionResult attribute_logit(const Gpt& model, const AttributionTask& task, AttributionBy by,
                                  const std::function<void(double share)>& progress,
                                  RecordedPasses* kept) {
  const Index position = check(task, model, by);
  const NoGrad no_grad;
  ResidualDecomposition decomposition(model, task, by, position, kept);
  const Vector& logits = decomposition.logits();
  const bool is_stream = by == AttributionBy::stream;
  AttributionResult result;
  result.parts = is_stream ? decomposition.stream() : decomposition.parts(progress);
  for (const LogitPart& part : result.parts) {
    result.logit = is_stream ? part.logit : result.logit + part.logit;
  }
  if (model.attached() != nullptr) {
    double own = logits[static_cast<std::size_t>(decomposition.target())];
    own -= task.against ? logits[static_cast<std::size_t>(*task.against)] : 0;
    // An intervention after the last layer changes the logit without changing another part.
    result.parts.push_back({.name = "ln_f.intervention",
                            .logit = own - (is_stream ? 0 : result.logit),
                            .kind = LogitPartKind::intervention,
                            .layer = model.config().n_layer});
    result.logit = own;
  }
  result.has_against = task.against.has_value();
  result.visible = position + 1;
  take_choice(logits, decomposition.target(), result);
  return result;
}

AttributionStudy attribute_prompts(const Gpt& model, const std::vector<AttributionTask>& tasks,
                                   const AttributionStudyOptions& options) {
  require_value(!tasks.empty(), "pairs", "expected at least one prompt");
  AttributionStudy study;
  study.groups = source_groups(tasks, options.by);
  if (options.by == AttributionBy::source && study.groups.empty()) {
    check_lengths(tasks);
  }
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const auto attribute = [&] { return attribute_prompt(model, tasks, i, study.groups, options); };
    AttributionResult result =
        tasks.size() == 1 ? attribute() : in_place(concat_text("prompt ", i + 1, ": "), attribute);
    Vector& logits = study.logits.emplace_back();
    for (LogitPart& part : result.parts) {
      logits.push_back(part.logit);
      if (i == 0) {
        study.parts.push_back({std::move(part), {}});
      }
    }
    result.parts.clear();
    study.clear += result.is_clear() ? 1 : 0;
    study.prompts.push_back(std::move(result));
    options.progress(static_cast<double>(i + 1) / static_cast<double>(tasks.size()));
  }
  take_means(study);
  return study;
}

std::string attribution_caution(const AttributionResult& result, const std::string& target_label,
                                const std::string& other_label) {
  if (result.has_against && result.logit <= 0) {
    return "caution: the model prefers '" + other_label + "' to '" + target_label +
           "' here: the parts (marked ?) explain a choice that it does not make";
  }
  if (result.has_against && !result.is_clear()) {
    return "caution: the model hardly prefers '" + target_label + "' to '" + other_label +
           "' here (less than twice as likely): the parts (marked ?) may be chance";
  }
  if (!result.has_against && !result.target_is_likeliest) {
    return "caution: the model's next token here is '" + other_label + "', not '" + target_label +
           "': the parts (marked ?) explain a choice that it does not make";
  }
  if (result.visible < kEnoughTokens) {
    return concat_text(
        "caution: only ", result.visible, result.visible == 1 ? " token" : " tokens",
        " to attend to: the contributions of heads (marked ?) may differ in a longer text");
  }
  return "";
}

std::string attribution_caution(const AttributionStudy& study) {
  const Index prompts = std::ssize(study.prompts);
  if (2 * study.clear < prompts) {
    return concat_text("caution: the model does this task clearly in ", study.clear, " of ",
                       prompts, " prompts: the parts (marked ?) may be chance");
  }
  return few_documents_caution(prompts);
}

}  // namespace headlight
