#include "headlight/heads/attribution.h"

#include <cmath>
#include <numeric>

#include "headlight/autograd/autograd.h"
#include "headlight/heads/head_set.h"
#include "headlight/heads/patching.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"
#include "heads/effects/forward_replay.h"

namespace headlight {
namespace {

using Vector = std::vector<double>;  // [C]

Vector row_of(const Tensor& x, Index row) { return slice(x, 0, row, row + 1).to_vector(); }

Vector subtracted(Vector a, const Vector& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] -= b[i];
  }
  return a;
}

Vector added(Vector a, const Vector& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] += b[i];
  }
  return a;
}

double mean_of(const Vector& x) {
  double sum = 0;
  for (const double value : x) {
    sum += value;
  }
  return sum / static_cast<double>(x.size());
}

// Of a norm [C], whose shift the model may lack.
Vector values_of(const Tensor& weight, Index width) {
  return weight.defined() ? weight.to_vector() : Vector(static_cast<std::size_t>(width));
}

// A norm of a model as it stood for one vector: of the parts of that vector a linear function.
class FrozenNorm {
 public:
  FrozenNorm(const Gpt& model, Part part, Index layer, const Vector& whole)
      : gain_(values_of(model.weight(part, layer), model.config().n_embd)),
        shift_(values_of(model.bias(part, layer), model.config().n_embd)),
        is_centred_(model.config().norm_type == NormKind::layer) {
    for (double& gain : gain_) {
      gain += model.config().norm_gain_plus_one ? 1 : 0;
    }
    const double mean = is_centred_ ? mean_of(whole) : 0;
    double squares = 0;
    for (const double value : whole) {
      squares += (value - mean) * (value - mean);
    }
    deviation_ =
        std::sqrt(squares / static_cast<double>(whole.size()) + model.config().layer_norm_epsilon);
  }

  // What the norm makes of a part, without the shift.
  Vector of(Vector part) const {
    const double mean = is_centred_ ? mean_of(part) : 0;
    for (std::size_t i = 0; i < part.size(); ++i) {
      part[i] = (part[i] - mean) * gain_[i] / deviation_;
    }
    return part;
  }
  const Vector& shift() const { return shift_; }

 private:
  Vector gain_;
  Vector shift_;
  bool is_centred_;
  double deviation_ = 1;
};

// What a direction of the residual stream adds to the logit, behind the last norm as it stood at
// one position.
class Readout {
 public:
  Readout(const Gpt& model, const Vector& residual, const AttributionTask& task)
      : norm_(model, Part::final_norm, kNoLayer, residual),
        direction_(row_of(model.head_weight(), task.target)) {
    if (task.against) {
      direction_ = subtracted(direction_, row_of(model.head_weight(), *task.against));
    }
  }

  double logit_of(const Vector& part) const { return along(norm_.of(part)); }
  double logit_of_shift() const { return along(norm_.shift()); }

 private:
  double along(const Vector& x) const {
    return std::inner_product(x.begin(), x.end(), direction_.begin(), 0.0);
  }

  FrozenNorm norm_;
  Vector direction_;
};

Index check(const AttributionTask& task, const Gpt& model) {
  require(model.config().norm == NormPosition::pre,
          "attribution needs a model with norm = pre: behind other norms the residual stream is no "
          "sum of parts");
  const auto length = static_cast<Index>(task.text.size());
  require_value(length > 0, "text", "expected at least one token");
  const Index position = task.position.value_or(length - 1);
  require_value(position >= 0 && position < length, "position", "expected 0 to ", length - 1,
                ", got ", position);
  for (const std::int32_t id : {task.target, task.against.value_or(task.target)}) {
    require_value(id >= 0 && id < model.config().vocab_size, "token", "expected 0 to ",
                  model.config().vocab_size - 1, ", got ", id);
  }
  return position;
}

// What one head wrote at a position: its output [D] through its columns of c_proj.
Vector written_by(const Gpt& model, const Tensor& outputs, const Tensor& projection,
                  const HeadId& id, Index position) {
  const Index width = model.block(id.layer).attention().head_width();
  const Index begin = place_of(id, model.heads()) * width;
  return linear(slice(slice(outputs, 0, position, position + 1), 1, begin, begin + width),
                slice(projection, 1, begin, begin + width))
      .to_vector();
}

// What a layer's attention adds to the stream at a position, in parts.
struct AttentionParts {
  std::vector<Vector> of_heads;  // [H][C]
  std::optional<Vector> bias;    // that of the projection, with the shift of a norm behind it
};

AttentionParts attention_parts(const Gpt& model, const ForwardReplay& replay, Index layer,
                               Index position) {
  const Tensor projection = model.weight(Part::attention_output, layer);  // [C, H D]
  AttentionParts parts;
  Vector whole(static_cast<std::size_t>(model.config().n_embd));
  for (const HeadId& id : HeadSet::of_layers(model.heads(), {layer})) {
    parts.of_heads.push_back(written_by(model, replay.outputs(layer), projection, id, position));
    whole = added(whole, parts.of_heads.back());
  }
  if (const Tensor bias = model.bias(Part::attention_output, layer); bias.defined()) {
    parts.bias = bias.to_vector();
    whole = added(whole, *parts.bias);
  }
  if (model.config().output_norms) {
    const FrozenNorm norm(model, Part::attention_output_norm, layer, whole);
    for (Vector& part : parts.of_heads) {
      part = norm.of(part);
    }
    parts.bias = parts.bias ? added(norm.of(*parts.bias), norm.shift()) : norm.shift();
  }
  return parts;
}

void add_layer(const Gpt& model, const ForwardReplay& replay, const Readout& readout, Index layer,
               Index position, std::vector<LogitPart>& parts) {
  Vector rest = subtracted(row_of(replay.residual(layer + 1), position),
                           row_of(replay.residual(layer), position));
  const AttentionParts attention = attention_parts(model, replay, layer, position);
  std::size_t place = 0;
  for (const HeadId& id : HeadSet::of_layers(model.heads(), {layer})) {
    const Vector& written = attention.of_heads[place++];
    parts.push_back({head_name(id), id, readout.logit_of(written)});
    rest = subtracted(rest, written);
  }
  if (attention.bias) {
    parts.push_back({concat_text(layer, ".attn.bias"), {}, readout.logit_of(*attention.bias)});
    rest = subtracted(rest, *attention.bias);
  }
  if (model.config().mlp) {
    parts.push_back({concat_text(layer, ".mlp"), {}, readout.logit_of(rest)});
  }
}

// What the model chooses at the position, from its logits [V].
void take_choice(const Vector& logits, std::int32_t target, AttributionResult& result) {
  const NextToken best = likeliest_token(logits);
  const double behind =
      logits[static_cast<std::size_t>(target)] - logits[static_cast<std::size_t>(best.id)];
  result.probability = best.probability * std::exp(behind);
  result.likeliest = best.id;
  result.is_choice = behind >= 0;
}

}  // namespace

AttributionResult attribute_logit(const Gpt& model, const AttributionTask& task) {
  const Index position = check(task, model);
  const NoGrad no_grad;
  const ForwardReplay replay(model, make_batch({task.text}));
  const Index layers = model.config().n_layer;
  const Readout readout(model, row_of(replay.residual(layers), position), task);
  AttributionResult result;
  result.parts.push_back({"embedding", {}, readout.logit_of(row_of(replay.residual(0), position))});
  for (Index layer = 0; layer < layers; ++layer) {
    add_layer(model, replay, readout, layer, position, result.parts);
  }
  result.parts.push_back({"ln_f.bias", {}, readout.logit_of_shift()});
  for (const LogitPart& part : result.parts) {
    result.logit += part.logit;
  }
  result.has_against = task.against.has_value();
  result.visible = position + 1;
  take_choice(replay.logits_after(position).to_vector(), task.target, result);
  return result;
}

std::string attribution_caution(const AttributionResult& result, const std::string& target_label,
                                const std::string& other_label) {
  const double twice_as_likely = std::log(2.0);
  if (result.has_against && result.logit <= 0) {
    return "caution: the model prefers '" + other_label + "' to '" + target_label +
           "' here: the parts (marked ?) explain a choice that it does not make";
  }
  if (result.has_against && result.logit < twice_as_likely) {
    return "caution: the model hardly prefers '" + target_label + "' to '" + other_label +
           "' here (less than twice as likely): the parts (marked ?) may be chance";
  }
  if (!result.has_against && !result.is_choice) {
    return "caution: the model's next token here is '" + other_label + "', not '" + target_label +
           "': the parts (marked ?) explain a choice that it does not make";
  }
  if (result.visible < kEnoughTokens) {
    return concat_text("caution: only ", result.visible, result.visible == 1 ? " token" : " tokens",
                       " to look at: what heads add here (marked ?) may be other in a longer text");
  }
  return "";
}

}  // namespace headlight
