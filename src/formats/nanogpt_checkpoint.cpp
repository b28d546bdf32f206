#include "headlight/formats/nanogpt_checkpoint.h"

#include "base/strings/printable.h"
#include "datasets/pickle_writer.h"
#include "formats/families/families.h"
#include "storage/compressed/zip_archive.h"
#include "tensor/tensor_file.h"

namespace headlight {
namespace {

constexpr double kEpsilon = 1e-5;  // epsilon of nanoGPT's layer norms

// torch._utils._rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks)
void write_tensor(PickleWriter& pickle, const Tensor& tensor, std::size_t storage) {
  pickle.global("torch._utils", "_rebuild_tensor_v2");
  pickle.begin_tuple();
  pickle.begin_tuple();
  pickle.text("storage");
  pickle.global("torch", "FloatStorage");
  pickle.text(std::to_string(storage));
  pickle.text("cpu");
  pickle.integer(tensor.numel());
  pickle.end_tuple();
  pickle.persistent();
  pickle.integer(0);
  pickle.integers(tensor.shape());
  pickle.integers(tensor.strides());
  pickle.boolean(false);
  pickle.global("collections", "OrderedDict");
  pickle.begin_tuple();
  pickle.end_tuple();
  pickle.call();
  pickle.end_tuple();
  pickle.call();
}

void write_model_arguments(PickleWriter& pickle, const GptConfig& config) {
  const std::pair<const char*, Index> sizes[] = {
      {"n_layer", config.n_layer},       {"n_head", config.n_head},
      {"n_embd", config.n_embd},         {"block_size", config.block_size},
      {"vocab_size", config.vocab_size},
  };
  pickle.begin_dictionary();
  for (const auto& [key, value] : sizes) {
    pickle.text(key);
    pickle.integer(value);
  }
  pickle.text("bias");
  pickle.boolean(config.bias);
  pickle.text("dropout");
  pickle.number(config.residual_dropout);
  pickle.end_dictionary();
}

// `tensors` are nanoGPT's but for the tied head, which shares the storage of the token embedding.
std::string checkpoint_pickle(const NamedTensors& tensors, const GptConfig& config,
                              const NanoGptDetails& details) {
  PickleWriter pickle;
  pickle.begin_dictionary();
  pickle.text("model");
  pickle.begin_dictionary();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    pickle.text("transformer." + tensors[i].first);
    write_tensor(pickle, tensors[i].second, i);
  }
  pickle.text("lm_head.weight");
  write_tensor(pickle, tensors[0].second, 0);
  pickle.end_dictionary();
  pickle.text("model_args");
  write_model_arguments(pickle, config);
  pickle.text("iter_num");
  pickle.integer(details.iteration);
  pickle.text("best_val_loss");
  pickle.number(details.best_validation_loss);
  pickle.text("config");
  pickle.begin_dictionary();
  pickle.text("dataset");
  pickle.text(details.dataset);
  pickle.end_dictionary();
  pickle.end_dictionary();
  return pickle.finish();
}

std::span<const std::byte> bytes_of_text(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace

void require_nanogpt(const GptConfig& config) {
  const std::string why = kGpt2.refusal(config);
  require(why.empty(), "nanogpt: ", why);
  const auto refuse_unless = [](bool good, std::string_view what, std::string_view reason) {
    require(good, "nanogpt: ", what, " cannot be expressed: ", reason, "; try --to hf");
  };
  const Index inner = 4 * config.n_embd;
  refuse_unless(config.n_inner == 0 || config.n_inner == inner,
                concat_text("n_inner = ", config.n_inner),
                concat_text("nanoGPT's MLPs are 4 n_embd = ", inner, " wide"));
  refuse_unless(config.tie_weights, "an untied output head",
                "nanoGPT shares it with the token embedding");
  refuse_unless(
      config.activation == Activation::gelu_tanh || config.activation == Activation::gelu_erf,
      "activation = " + std::string(name_of(config.activation)), "nanoGPT has GELU");
  require(config.layer_norm_epsilon == kEpsilon, "nanogpt: layer_norm_epsilon ",
          config.layer_norm_epsilon, " cannot be expressed: nanoGPT's is ", kEpsilon);
}

bool nanogpt_differs(const GptConfig& config) { return config.activation == Activation::gelu_tanh; }

void write_nanogpt_checkpoint(const std::filesystem::path& path, const Gpt& model,
                              const NanoGptDetails& details,
                              const std::function<void(double)>& progress) {
  require_nanogpt(model.config());
  require(model.dtype() == DType::float32, "nanogpt: only float32 weights can be written, got ",
          model.dtype());
  const NamedTensors tensors = model.parameters();  // matrices are [outputs, inputs], as nanoGPT's
  require_finite(tensors, shown(path) + ": ");
  const std::string program = checkpoint_pickle(tensors, model.config(), details);
  replace_zip(path, [&](ZipArchive& archive) {
    archive.add("ckpt/data.pkl", bytes_of_text(program));
    archive.add("ckpt/byteorder", bytes_of_text("little"));
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      archive.add("ckpt/data/" + std::to_string(i), bytes_of(tensors[i].second));
    }
    archive.add("ckpt/version", bytes_of_text("3\n"));
    archive.close(progress);
  });
}

}  // namespace headlight
