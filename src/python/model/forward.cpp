#include "python/model/forward.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "headlight/autograd/autograd.h"
#include "headlight/ops/cross_entropy.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/train/train_config.h"
#include "interpret/layer_maps.h"
#include "interpret/values_by_point.h"
#include "python/autograd/arrays.h"
#include "python/bindings.h"
#include "python/errors.h"
#include "python/model/weights.h"

namespace headlight::python {
namespace {

using namespace nb::literals;

// Sets the targets of a batch from ids of the same lengths.
void set_targets(Batch& batch, const std::vector<std::vector<std::int32_t>>& targets) {
  require_value(std::ssize(targets) == batch.sequence_count(), "targets", "expected ",
                batch.sequence_count(), " sequences, got ", targets.size());
  std::vector<std::int32_t> all;
  for (std::size_t b = 0; b < targets.size(); ++b) {
    const Index length = batch.offsets[b + 1] - batch.offsets[b];
    require_value(std::ssize(targets[b]) == length, "targets", "expected ", length,
                  " ids for sequence ", b, ", got ", targets[b].size());
    all.insert(all.end(), targets[b].begin(), targets[b].end());
  }
  batch.targets = Tensor::from(all, {std::ssize(all)});
  batch.target_count = std::ssize(all) - std::ranges::count(all, kIgnoreTarget);
}

bool is_next(const Inputs& targets) {
  return nb::isinstance<nb::str>(targets.value) && nb::cast<std::string>(targets.value) == "next";
}

// Sets the targets of a batch, unless they are the next tokens, which it has.
void add_targets(const Model& model, Batch& batch, const Inputs& targets) {
  if (!is_next(targets)) {
    set_targets(batch, read_inputs(targets, *model.tokenizer(), "targets", kIgnoreTarget).ids);
  }
}

// Throws Error if next tokens are the targets of a bidirectional model.
void check_targets(const Model& model, const std::optional<Inputs>& targets) {
  if (!targets || is_next(*targets)) {
    require_causal(model.gpt());
  }
}

using Lengths = std::optional<std::vector<Index>>;

Output call_model(Model& model, const Inputs& inputs, const std::optional<Inputs>& targets,
                  const std::optional<Index>& layer, const Lengths& lengths) {
  PassStart start = start_of(model, inputs, layer, lengths);
  if (targets) {
    check_targets(model, targets);
    require_value(!start.values.defined() || !is_next(*targets), "targets",
                  "expected ids: inputs without tokens have no next ones");
    add_targets(model, start.batch, *targets);
  }
  return forward(model, start, targets.has_value());
}

// Returns logits whose gradients flow to tensors of hooks and of inputs.
Tensor traced_logits(Model& model, const Inputs& inputs, bool last,
                     const std::optional<Index>& layer, const Lengths& lengths) {
  const PassStart start = start_of(model, inputs, layer, lengths);
  const Tensor logits = [&] {
    const Model::Use use(model);
    const FrozenWeights frozen(model.gpt());
    return logits_from(model, start, last);
  }();
  return last ? logits : padded_rows(logits, start.batch.offsets);
}

// Returns values of sequences [B, T, C] in the type of the weights; undefined if `value` is text
// or ids. Tensors keep their history.
Tensor given_values(const Model& model, nb::handle value) {
  Tensor values;
  if (nb::isinstance<Tensor>(value)) {
    values = nb::cast<Tensor>(value);
  } else if (nb::hasattr(value, "dtype") &&
             nb::cast<std::string>(value.attr("dtype").attr("kind")) == "f") {
    values = tensor_of(value, "inputs", model.gpt().dtype());
  }
  if (!values.defined() || !is_floating(values.dtype())) {
    return {};
  }
  const Index width = model.gpt().config().n_embd;
  require_value((values.rank() == 2 || values.rank() == 3) && values.size(-1) == width, "inputs",
                "expected values of shape [T, ", width, "] or [B, T, ", width, "], got ",
                values.shape());
  require_value(values.dtype() == model.gpt().dtype(), "inputs", "expected the type ",
                name_of(model.gpt().dtype()), " of the weights, got ", name_of(values.dtype()));
  return values.rank() == 2 ? unsqueeze(values, 0) : values;
}

double mean_loss(Model& model, const Inputs& inputs, const std::optional<Inputs>& targets) {
  check_targets(model, targets);
  const Batch batch = batch_of(model, inputs, targets);
  const Model::Use use(model);
  const NoGrad no_grad;
  return model.gpt().loss(batch).item();
}

// Converts a configuration's value.
nb::object object_of(const TrainConfig& config, const ConfigField& field) {
  return visit_value(field, config, [](const auto& value) -> nb::object {
    if constexpr (HasChoices<std::remove_cvref_t<decltype(value)>>) {
      return nb::cast(std::string(name_of(value)));
    } else {
      return nb::cast(value);
    }
  });
}

// Returns the keys of a run that describe the model, and the number of ids.
nb::object config_of(const Model& model) {
  const TrainConfig config = train_config_of(model.gpt().config());
  nb::dict values;
  for (const ConfigField& field : config_fields()) {
    if (field.role == ConfigRole::architecture) {
      values[nb::str(field.key.data(), field.key.size())] = object_of(config, field);
    }
  }
  values["vocab_size"] = model.gpt().vocab_size();
  values["logit_scale"] = model.gpt().config().logit_scale;
  return nb::module_::import_("types").attr("SimpleNamespace")(**values);
}

std::unique_ptr<Model> load_at(const PathInput& input, const std::string& dtype, Index block_size,
                               bool adapter, bool bidirectional,
                               const std::optional<PathInput>& base) {
  const std::filesystem::path& path = input.path;
  require_value(block_size >= 0, "block_size", "expected at least 0, got ", block_size);
  std::vector<std::string> warnings;
  const LoadOptions options{.dtype = parse_name<DType>("dtype", dtype),
                            .adjust =
                                [&](GptConfig& config) {
                                  config.block_size = block_size == 0
                                                          ? config.block_size
                                                          : std::min(config.block_size, block_size);
                                },
                            .adapter = adapter,
                            .base = base ? base->path : std::filesystem::path(),
                            .bidirectional = bidirectional,
                            .warn = [&](const std::string& line) { warnings.push_back(line); }};
  std::unique_ptr<Model> model;
  try {
    const nb::gil_scoped_release released;
    LoadedModel loaded = load_model(path, options);
    model = std::make_unique<Model>(std::move(loaded.model), std::move(loaded.tokenizer), path);
  } catch (const Error& error) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) {
      raise(PyExc_FileNotFoundError, error.what());
    }
    throw;
  }
  model->tokenizer()->set_reads_special(!model->gpt().config().causal);
  warn(warnings);
  return model;
}

void save_model(Model& model, const PathInput& path) {
  const Model::Use use(model);
  std::filesystem::create_directories(path.path);
  write_model_files(path.path, model.gpt(), *model.tokenizer());
}

std::string described(const Model& model) {
  const GptConfig& config = model.gpt().config();
  return concat_text("<headlight.Model: ", config.n_layer, " layers, ", config.n_head, " heads, ",
                     model.gpt().parameter_count(), " parameters>");
}

void add_load(nb::module_& module) {
  module.def("load", &load_at, "path"_a, nb::kw_only(), "dtype"_a = "float32", "block_size"_a = 0,
             "adapter"_a = true, "bidirectional"_a = false, "base"_a = nb::none(),
             "Loads a model.\n\n"
             "Parameters\n----------\n"
             "path : a run, a checkpoint, a folder of Hugging Face, an adapter (LoRA), a GGUF file "
             "or nanoGPT's ckpt.pt.\n"
             "dtype : \"float32\" or \"float64\", type of the weights.\n"
             "block_size : largest context in tokens; 0: the model's.\n"
             "adapter : add an adapter to its base model.\n"
             "bidirectional : accept models such as BERT.\n"
             "base : base model of the adapter, if it has moved or the adapter names none.\n\n"
             "Raises\n------\n"
             "FileNotFoundError : there is no such path.\n"
             "ValueError : the file is damaged or of an unknown format.");
}

}  // namespace

Batch batch_of(const Model& model, const Inputs& inputs, const std::optional<Inputs>& targets) {
  const InputSequences sequences = read_inputs(inputs, *model.tokenizer(), "inputs");
  for (const auto& ids : sequences.ids) {
    require_value(!ids.empty(), "inputs", "expected at least one token in every text, got none");
  }
  Batch batch = make_batch(sequences.ids);
  if (targets) {
    add_targets(model, batch, *targets);
  }
  return batch;
}

PassStart start_of(const Model& model, const Inputs& inputs, const std::optional<Index>& layer,
                   const std::optional<std::vector<Index>>& lengths) {
  const Tensor values = given_values(model, inputs.value);
  const Index layers = model.gpt().config().n_layer;
  require_value(!layer || (*layer >= 0 && *layer <= layers), "start_at_layer", "expected 0 to ",
                layers, ", got ", layer.value_or(0));
  if (!values.defined()) {
    require_value(!layer && !lengths, layer ? "start_at_layer" : "lengths",
                  "needs values of the residual stream as inputs, got tokens");
    return {.batch = batch_of(model, inputs, {})};
  }
  const std::vector<Index> all(static_cast<std::size_t>(values.size(0)), values.size(1));
  const std::vector<Index>& used = lengths ? *lengths : all;
  require_value(used.size() == all.size(), "lengths", "expected ", all.size(), " numbers, got ",
                used.size());
  std::vector<std::vector<std::int32_t>> ids;
  for (const Index length : used) {
    require_value(length >= 1 && length <= values.size(1), "lengths", "expected 1 to ",
                  values.size(1), ", got ", length);
    ids.emplace_back(static_cast<std::size_t>(length));
  }
  Batch batch = make_batch(ids);
  const Tensor rows = unpadded_rows(values, batch.offsets);
  const double unit = family_unit(Point::resid_pre, model.gpt().config().residual_multiplier);
  return {std::move(batch), layer && unit != 1 ? rows / unit : rows, layer};
}

Tensor logits_from(Model& model, const PassStart& start, bool last, ForwardHook* hook) {
  const Gpt& gpt = model.gpt();
  const ForwardContext context{.hook = hook};
  if (!start.layer) {
    std::optional<HookInUse> given;
    if (start.values.defined()) {
      given.emplace(model, std::make_shared<GivenEmbeddings>(start.values, true), true);
    }
    return last ? gpt.next_logits(start.batch, context) : gpt.logits(start.batch, context);
  }
  const Tensor hidden = gpt.hidden_from(*start.layer, start.values, start.batch, context);
  return gpt.logits_of(last ? last_rows(hidden, start.batch) : hidden, context);
}

std::vector<std::vector<std::int32_t>> sequences_of(const Batch& batch) {
  const auto* ids = batch.tokens.data<std::int32_t>();
  std::vector<std::vector<std::int32_t>> sequences;
  for (std::size_t b = 0; b + 1 < batch.offsets.size(); ++b) {
    sequences.emplace_back(ids + batch.offsets[b], ids + batch.offsets[b + 1]);
  }
  return sequences;
}

Output forward(Model& model, const PassStart& start, bool with_loss) {
  const Batch& batch = start.batch;
  std::optional<double> loss;
  Tensor logits;
  {
    const Model::Use use(model);
    const NoGrad no_grad;
    logits = logits_from(model, start, false);
    if (with_loss) {
      loss = cross_entropy(logits, batch.targets, {.ignore_index = kIgnoreTarget}).item();
    }
  }
  return {array_of(padded_rows(logits, batch.offsets), Access::writable), lengths_of(batch.offsets),
          loss};
}

nb::class_<Model> add_model(nb::module_& module) {
  nb::class_<Output>(module, "Output", "Result of a pass.")
      .def_prop_ro(
          "logits", [](const Output& output) { return output.logits; },
          "Logits of the token after each token, [B, T, V]; zeros behind the end of a "
          "sequence.")
      .def_ro("lengths", &Output::lengths, "Number of tokens of each sequence, [B].")
      .def_ro("loss", &Output::loss, "Mean loss of a target in nats; None without targets.");
  nb::class_<Model> model(module, "Model",
                          "A model with its tokenizer.\n\n"
                          "Inputs are a text, token ids of shape [T] or [B, T], or a list of texts "
                          "or of ids of different lengths. Texts are encoded as prompts.");
  model
      .def("__call__", &call_model, "inputs"_a, nb::kw_only(), "targets"_a = nb::none(),
           "start_at_layer"_a = nb::none(), "lengths"_a = nb::none(),
           "Computes the logits of the token after each token.\n\n"
           "Parameters\n----------\n"
           "inputs : B sequences; T is the length of the longest one. Or floating-point values "
           "[T, C] or [B, T, C] in place of the embeddings of tokens, as the point embed has "
           "them.\n"
           "targets : ids of the same lengths, -1 where there is none, or \"next\": the token "
           "after each token.\n"
           "start_at_layer : the pass begins at this layer, with inputs that are the residual "
           "stream there, as cache[\"resid_pre.3\"].\n"
           "lengths : number of rows of each sequence of values; None: T.\n\n"
           "Raises\n------\n"
           "ValueError : for ids outside the vocabulary and texts longer than the context.")
      .def("logits", &traced_logits, "inputs"_a, nb::kw_only(), "last"_a = false,
           "start_at_layer"_a = nb::none(), "lengths"_a = nb::none(),
           "Computes logits with gradients: a Tensor [B, T, V] with zeros behind the end of a "
           "sequence, or with `last` those after each sequence, [B, V].\n\n"
           "Gradients flow to the tensors of hooks(..., tensors=True), and to inputs that are a "
           "Tensor of values. The weights of the model are constants; `gpt` trains them. "
           "Parameters are those of a call.")
      .def("loss", &mean_loss, "inputs"_a, "targets"_a = nb::none(),
           "Returns the mean loss in nats of the next token, or of the targets. Never holds all "
           "logits.")
      .def_prop_ro("config", &config_of, "Settings of the architecture: n_layer, n_head ...",
                   nb::sig("def config(self) -> types.SimpleNamespace"))
      .def_prop_ro("tokenizer", &Model::tokenizer, "Tokenizer of the model.")
      .def_prop_ro(
          "weights", [](Model& self) { return Weights{&self}; }, nb::keep_alive<0, 1>(),
          "Weights by name.")
      .def_prop_ro(
          "gpt", [](Model& self) -> Gpt& { return self.shared_gpt(); },
          nb::rv_policy::reference_internal, nb::sig("def gpt(self) -> headlight.nn.Gpt"),
          "The model as a layer with gradients, to train it by hand.")
      .def("save", &save_model, "path"_a,
           "Writes the model and its tokenizer to a folder, as for Hugging Face's transformers.")
      .def_prop_ro("path", &Model::path, "Path that it was loaded from.")
      .def_prop_ro(
          "parameter_count", [](const Model& self) { return self.gpt().parameter_count(); },
          "Number of parameters.")
      .def("__repr__", &described);
  add_load(module);
  return model;
}

}  // namespace headlight::python
