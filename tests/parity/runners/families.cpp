#include <unistd.h>

#include <filesystem>
#include <limits>
#include <optional>

#include "formats/families/families.h"
#include "formats/huggingface/model_weights.h"
#include "headlight/autograd/autograd.h"
#include "headlight/formats/arrays/safetensors.h"
#include "headlight/generate/decoder.h"
#include "headlight/interpret/effects/attribution.h"
#include "headlight/nn/forward_hook.h"
#include "headlight/nn/recorder.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "parity/runners/runners.h"

// Runners of models of Hugging Face's families, with their configurations and weight names.
namespace headlight::parity {
namespace {

namespace fs = std::filesystem;

// Reads the weights through a file, as users do.
void read_weights(const Run& run, const WeightLayout& layout, Gpt& model) {
  NamedTensors tensors;
  for (const auto& [name, like] : stored_tensors(model, layout)) {
    tensors.emplace_back(name, run.input(name));
  }
  const fs::path folder =
      fs::temp_directory_path() / ("headlight_family_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  write_safetensors(folder / "model.safetensors", tensors);
  {
    const ModelWeights weights(safetensors_weights(folder), layout);
    weights.check(model.config());
    weights.read_into(model);
  }
  fs::remove_all(folder);
}

// Returns the parameters' gradients under the names and in the layout of the family.
NamedTensors stored_gradients(const Gpt& model, const WeightLayout& layout) {
  const std::unique_ptr<Gpt> holder = Gpt::blank(model.config(), model.dtype());
  for (std::size_t i = 0; i < model.weights().size(); ++i) {
    Tensor values = holder->weights()[i].tensor.detach();
    values.copy_from(model.weights()[i].tensor.grad());
  }
  return stored_tensors(*holder, layout);
}

// The model of a case and its input sequences.
struct Subject {
  const ModelFamily* family = nullptr;
  std::unique_ptr<Gpt> model;
  std::vector<std::vector<std::int32_t>> sequences;
};

Subject read_subject(const Run& run) {
  const ModelConfig read = parse_model_config(run.attribute<std::string>("config", ""), "config");
  Subject subject{read.family, Gpt::blank(read.config), {}};
  read_weights(run, read.family->layout, *subject.model);
  const Tensor tokens = run.input("tokens");  // [B, T]
  const std::vector<Index> lengths = run.numbers("lengths");
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    const std::int32_t* row = tokens.data<std::int32_t>() + static_cast<Index>(b) * tokens.size(1);
    subject.sequences.emplace_back(row, row + lengths[b]);
  }
  return subject;
}

void run_family(Run& run) {
  const auto [family, model, sequences] = read_subject(run);
  const Batch batch = make_batch(sequences);
  Recorder recorder;
  run.output("logits", model->logits(batch, {.recorder = &recorder}).detach());
  for (Index layer = 0; layer < model->config().n_layer; ++layer) {
    run.output("attention." + std::to_string(layer), recorder.padded(layer));
  }
  const Tensor loss = model->loss(batch);
  run.output("loss", loss.detach());
  backward(loss);
  for (const auto& [name, gradient] : stored_gradients(*model, family->layout)) {
    run.gradient(name, to_contiguous(gradient));
  }
}

bool is_map(Point point) { return items_of(point) == PointItems::maps; }

// Returns the name that cases_points.py gives to a point.
std::string key_of(const HookSite& site) {
  const std::string name = point_name(site.point, site.layer);
  return is_map(site.point) ? concat_text(name, ", sequence ", site.sequence) : name;
}

// Watches all points, or only one.
class Watch : public ForwardHook {
 public:
  explicit Watch(std::optional<Point> wanted) : wanted_(wanted) {}
  bool wants(Point point, Index) const override { return !wanted_ || point == *wanted_; }

 private:
  std::optional<Point> wanted_;
};

// Keeps the values at the points and, after backward(), their gradients.
class PassWatch final : public Watch {
 public:
  using Watch::Watch;

  Tensor visit(const HookSite& site, const Tensor& value) override {
    const Tensor nothing = Tensor::zeros(value.shape(), value.dtype()).set_requires_grad();
    seen_.push_back({site, value.detach().clone(), nothing});
    return value + nothing;
  }

  void tell(Run& run) const {
    for (const auto& [site, value, nothing] : seen_) {
      run.output(key_of(site), value);
      run.gradient("point " + key_of(site), nothing.grad());
    }
  }

 private:
  struct Seen {
    HookSite site;
    Tensor value;
    Tensor nothing;  // zeros, added to `value`: its gradient is the point's
  };

  std::vector<Seen> seen_;
};

// Joins the values of one-token steps into rows, one sequence after another.
class StepWatch final : public Watch {
 public:
  using Watch::Watch;

  // Sets the sequence of the next steps and its length.
  void begin_sequence(Index number, Index length) {
    sequence_ = number;
    length_ = length;
  }

  Tensor visit(const HookSite& site, const Tensor& value) override {
    const bool is_of_map = is_map(site.point);
    Rows& rows = rows_[key_of({site.point, site.layer, is_of_map ? sequence_ : 0})];
    rows.axis = is_of_map ? 1 : 0;
    rows.parts.push_back(is_of_map ? padded(site.point, value) : value.clone());
    return value;
  }

  void tell(Run& run) const {
    for (const auto& [key, rows] : rows_) {
      run.output(key, concat(rows.parts, rows.axis));
    }
  }

 private:
  struct Rows {
    Index axis = 0;
    std::vector<Tensor> parts;
  };

  // Pads a row [H, 1, S] over the S tokens so far to [H, 1, T].
  Tensor padded(Point point, const Tensor& row) const {
    const double hidden = point == Point::pattern ? 0 : -std::numeric_limits<double>::infinity();
    const Shape rest{row.size(0), 1, length_ - row.size(2)};
    return concat({row, Tensor::full(rest, hidden, row.dtype())}, 2);
  }

  Index sequence_ = 0;
  Index length_ = 0;
  std::map<std::string, Rows> rows_;
};

void decode(Decoder& decoder, const std::vector<std::int32_t>& tokens, ForwardHook& hook) {
  KeyValueCache cache = decoder.make_cache();
  for (const std::int32_t token : tokens) {
    const DecodeItem item{token, &cache};
    decoder.step({&item, 1}, &hook);
  }
}

// Runs a full pass and single steps, watching all points together and each one alone: unwatched
// points are computed in other ways.
void run_points(Run& run) {
  const auto [family, model, sequences] = read_subject(run);
  const Batch batch = make_batch(sequences);
  Decoder decoder(*model);
  std::vector<std::optional<Point>> watched{std::nullopt};
  for (const Choice<Point>& choice : kChoices<Point>) {
    watched.emplace_back(choice.value);
  }
  for (const std::optional<Point>& point : watched) {
    PassWatch pass(point);
    ForwardContext context;
    context.hook = &pass;
    backward(model->loss(batch, context));
    pass.tell(run);
    StepWatch steps(point);
    for (std::size_t b = 0; b < sequences.size(); ++b) {
      steps.begin_sequence(static_cast<Index>(b), std::ssize(sequences[b]));
      decode(decoder, sequences[b], steps);
    }
    steps.tell(run);
  }
}

// Returns the logits of the parts of one kind, in order, as [rows, parts per row].
Tensor logits_of(const AttributionResult& result, LogitPartKind kind, Index rows) {
  std::vector<double> logits;
  for (const LogitPart& part : result.parts) {
    if (part.kind == kind) {
      logits.push_back(part.logit);
    }
  }
  return Tensor::from(logits, {rows, std::ssize(logits) / rows});
}

// Decomposes the logit of a token after the first sequence, in every supported way.
void run_attribution(Run& run) {
  const auto [family, model, sequences] = read_subject(run);
  const Index layers = model->config().n_layer;
  const AttributionTask task{
      .text = sequences.at(0),
      .target = static_cast<std::int32_t>(run.attribute<Index>("target", 0))};
  const auto tell = [&](const char* name, const Tensor& values, const Shape& shape) {
    run.output(name, convert(reshape(values, shape), DType::float32));
  };
  const AttributionResult by_layer = attribute_logit(*model, task, AttributionBy::layer);
  tell("attention", logits_of(by_layer, LogitPartKind::attention, layers), {layers});
  tell("mlp", logits_of(by_layer, LogitPartKind::mlp, layers), {layers});
  tell("embedding", logits_of(by_layer, LogitPartKind::embedding, 1), {1});
  const Tensor shift = logits_of(by_layer, LogitPartKind::norm_bias, 1);
  tell("norm_bias", shift.numel() > 0 ? shift : Tensor::zeros({1, 1}, DType::float64), {1});
  tell("logit", Tensor::from(std::vector<double>{by_layer.logit}, {1}), {1});
  const Index heads = model->config().n_head;
  tell("head",
       logits_of(attribute_logit(*model, task, AttributionBy::head), LogitPartKind::head, layers),
       {layers, heads});
  const Index length = std::ssize(task.text);
  tell("source",
       logits_of(attribute_logit(*model, task, AttributionBy::source), LogitPartKind::head, layers),
       {layers, heads, length});
  const Tensor neurons = logits_of(attribute_logit(*model, task, AttributionBy::neuron),
                                   LogitPartKind::neuron, layers);
  tell("neuron", neurons, neurons.shape());
}

}  // namespace

Runners family_runners() {
  return {{"family", run_family}, {"points", run_points}, {"attribution", run_attribution}};
}

}  // namespace headlight::parity
