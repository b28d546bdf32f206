#include <unistd.h>

#include <filesystem>

#include "headlight/autograd/autograd.h"
#include "headlight/io/safetensors.h"
#include "headlight/nn/recorder.h"
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

void run_family(Run& run) {
  const auto [family, config] =
      parse_model_config(run.attribute<std::string>("config", ""), "config");
  const std::unique_ptr<Gpt> model = Gpt::blank(config);
  read_weights(run, family->layout, *model);
  const Tensor tokens = run.input("tokens");  // [B, T]
  std::vector<std::vector<std::int32_t>> sequences;
  const std::vector<Index> lengths = run.numbers("lengths");
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    const std::int32_t* row = tokens.data<std::int32_t>() + static_cast<Index>(b) * tokens.size(1);
    sequences.emplace_back(row, row + lengths[b]);
  }
  const Batch batch = make_batch(sequences);
  Recorder recorder;
  run.output("logits", model->logits(batch, {.recorder = &recorder}).detach());
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    run.output("attention." + std::to_string(layer), recorder.padded(layer));
  }
  const Tensor loss = model->loss(batch);
  run.output("loss", loss.detach());
  backward(loss);
  for (const auto& [name, gradient] : stored_gradients(*model, family->layout)) {
    run.gradient(name, to_contiguous(gradient));
  }
}

}  // namespace

Runners family_runners() { return {{"family", run_family}}; }

}  // namespace headlight::parity
