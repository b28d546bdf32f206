#include <unistd.h>

#include <filesystem>
#include <limits>
#include <optional>

#include "headlight/autograd/autograd.h"
#include "headlight/generate/decoder.h"
#include "headlight/heads/attribution.h"
#include "headlight/io/safetensors.h"
#include "headlight/nn/forward_hook.h"
#include "headlight/nn/recorder.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "io/formats/families.h"
#include "io/formats/model_weights.h"
#include "parity/runners.h"

// Models of Hugging Face's families, from their own configurations and names.
namespace headlight::parity {
namespace {

namespace fs = std::filesystem;

// The weights, through a file as a user has them.
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

// Of the parameters, under the names and in the layout of the family.
NamedTensors stored_gradients(const Gpt& model, const WeightLayout& layout) {
  const std::unique_ptr<Gpt> holder = Gpt::blank(model.config(), model.dtype());
  for (std::size_t i = 0; i < model.weights().size(); ++i) {
    Tensor values = holder->weights()[i].tensor.detach();
    values.copy_from(model.weights()[i].tensor.grad());
  }
  return stored_tensors(*holder, layout);
}

// A model of a case, with what it reads.
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

// As cases_points.py calls it.
std::string key_of(const Place& place) {
  const std::string name = point_name(place.point, place.layer);
  return is_map(place.point) ? concat_text(name, ", sequence ", place.sequence) : name;
}

// All points, or one that nothing else is watched beside.
class Watch : public ForwardHook {
 public:
  explicit Watch(std::optional<Point> wanted) : wanted_(wanted) {}
  bool wants(Point point, Index) const override { return !wanted_ || point == *wanted_; }

 private:
  std::optional<Point> wanted_;
};

// Keeps what it sees and, after backward(), the gradients there.
class PassWatch final : public Watch {
 public:
  using Watch::Watch;

  Tensor visit(const Place& place, const Tensor& value) override {
    const Tensor nothing = Tensor::zeros(value.shape(), value.dtype()).set_requires_grad();
    seen_.push_back({place, value.detach().clone(), nothing});
    return value + nothing;
  }

  void tell(Run& run) const {
    for (const auto& [place, value, nothing] : seen_) {
      run.output(key_of(place), value);
      run.gradient("point " + key_of(place), nothing.grad());
    }
  }

 private:
  struct Seen {
    Place place;
    Tensor value;
    Tensor nothing;  // a leaf that was added
  };

  std::vector<Seen> seen_;
};

// Joins what it sees of steps of a token each, which are the rows of sequences one after the other.
class StepWatch final : public Watch {
 public:
  using Watch::Watch;

  // Of the sequence whose steps come next, with its length.
  void begin_sequence(Index number, Index length) {
    sequence_ = number;
    length_ = length;
  }

  Tensor visit(const Place& place, const Tensor& value) override {
    const bool is_of_map = is_map(place.point);
    Rows& rows = rows_[key_of({place.point, place.layer, is_of_map ? sequence_ : 0})];
    rows.axis = is_of_map ? 1 : 0;
    rows.parts.push_back(is_of_map ? padded(place.point, value) : value.clone());
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

  // [H, 1, S], of the S tokens so far, as [H, 1, T].
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

// In a pass and step by step, all points together and each of them alone: what is not watched is
// computed in other ways.
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

// Logits of parts of a kind, in their order, of an even number to each of `rows`: [rows, ...].
Tensor logits_of(const AttributionResult& result, LogitPartKind kind, Index rows) {
  std::vector<double> logits;
  for (const LogitPart& part : result.parts) {
    if (part.kind == kind) {
      logits.push_back(part.logit);
    }
  }
  return Tensor::from(logits, {rows, std::ssize(logits) / rows});
}

// The parts of the logit of one token behind the first sequence, in every way of taking it apart.
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
