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
#include "headlight/train/train_config.h"
#include "interpret/layer_maps.h"
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

// Throws Error if next tokens are the targets of a bidirectional model.
void check_targets(const Model& model, const std::optional<Inputs>& targets) {
  if (!targets || is_next(*targets)) {
    require_causal(model.gpt());
  }
}

Output call_model(Model& model, const Inputs& inputs, const std::optional<Inputs>& targets) {
  if (targets) {
    check_targets(model, targets);
  }
  return forward(model, batch_of(model, inputs, targets), targets.has_value());
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
  if (targets && !is_next(*targets)) {
    set_targets(batch, read_inputs(*targets, *model.tokenizer(), "targets", kIgnoreTarget).ids);
  }
  return batch;
}

std::vector<std::vector<std::int32_t>> sequences_of(const Batch& batch) {
  const auto* ids = batch.tokens.data<std::int32_t>();
  std::vector<std::vector<std::int32_t>> sequences;
  for (std::size_t b = 0; b + 1 < batch.offsets.size(); ++b) {
    sequences.emplace_back(ids + batch.offsets[b], ids + batch.offsets[b + 1]);
  }
  return sequences;
}

Output forward(Model& model, const Batch& batch, bool with_loss) {
  std::optional<double> loss;
  Tensor logits;
  {
    const Model::Use use(model);
    const NoGrad no_grad;
    logits = model.gpt().logits(batch);
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
           "Computes the logits of the token after each token.\n\n"
           "Parameters\n----------\n"
           "inputs : B sequences; T is the length of the longest one.\n"
           "targets : ids of the same lengths, -1 where there is none, or \"next\": the token "
           "after each token.\n\n"
           "Raises\n------\n"
           "ValueError : for ids outside the vocabulary and texts longer than the context.")
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
          "gpt", [](Model& self) -> Gpt& { return self.gpt(); }, nb::rv_policy::reference_internal,
          nb::sig("def gpt(self) -> headlight.nn.Gpt"),
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
