#include "formats/nanogpt/nanogpt_file.h"

#include "base/strings/printable.h"
#include "formats/huggingface/config_reader.h"
#include "headlight/base/error.h"
#include "tensor/tensor_file.h"

namespace headlight {
namespace {

constexpr std::string_view kExpected = "a nanoGPT checkpoint";
constexpr std::size_t kMostValues = std::size_t{1} << 22;

// Returns a simple value as JSON; null for others.
Json json_of(const Pickle& pickle, const PickleValue& value) {
  switch (value.kind) {
    case PickleKind::boolean:
      return value.value != 0;
    case PickleKind::integer:
      return value.value;
    case PickleKind::number:
      return pickle.number(value);
    case PickleKind::text:
      return pickle.text(value);
    default:
      return nullptr;
  }
}

// Returns the configuration in model_args. Throws Error that begins with the key.
GptConfig read_arguments(const Pickle& pickle, const PickleValue& arguments) {
  Json json = Json::object();
  const auto items = pickle.items(arguments);
  for (std::size_t i = 0; i < items.size(); i += 2) {
    if (items[i].kind == PickleKind::text) {
      json[std::string(pickle.text(items[i]))] = json_of(pickle, items[i + 1]);
    }
  }
  const ConfigReader reader(json);
  const auto size = [&](const char* key, Index largest) {
    require_value(reader.find(key) != nullptr, key, "is missing");
    return reader.size(key, 0, 1, largest);
  };
  GptConfig config;
  config.vocab_size = size("vocab_size", kLargestSize);
  config.block_size = size("block_size", kLargestSize);
  config.n_layer = size("n_layer", kMostLayers);
  config.n_head = size("n_head", kLargestSize);
  config.n_embd = size("n_embd", kLargestSize);
  config.bias = reader.boolean("bias", true);
  config.residual_dropout = reader.number("dropout", 0);
  config.attention_dropout = config.residual_dropout;
  config.embedding_dropout = config.residual_dropout;
  config.activation = Activation::gelu_erf;
  config.validate();
  return config;
}

std::vector<StoredTensor> nanogpt_tensors(const Weight& weight, const GptConfig&) {
  return {{.name = weight.name, .rows = weight.shape[0]}};
}

}  // namespace

bool is_torch_file(const std::filesystem::path& path) {
  std::error_code ignored;
  return path.extension() == ".pt" && !std::filesystem::is_directory(path, ignored);
}

NanoGptFile::NanoGptFile(const std::filesystem::path& path) : file_(path) {
  const std::string name = shown(path) + ": data.pkl";
  const std::string bytes = file_.read_pickle();
  const Pickle pickle(
      bytes, name, {.expected = kExpected, .most_values = kMostValues, .globals = kTorchGlobals});
  const PickleValue* arguments = pickle.find(pickle.root(), "model_args");
  require(arguments != nullptr && arguments->kind == PickleKind::dictionary, name,
          ": has no model_args: not ", kExpected);
  config_ = in_place(concat_text(name, ": model_args: "),
                     [&] { return read_arguments(pickle, *arguments); });
  read_tensors(pickle);
  const PickleValue* config = pickle.find(pickle.root(), "config");
  const PickleValue* dataset = config == nullptr ? nullptr : pickle.find(*config, "dataset");
  if (dataset != nullptr && dataset->kind == PickleKind::text) {
    dataset_ = pickle.text(*dataset);
  }
}

void NanoGptFile::read_tensors(const Pickle& pickle) {
  constexpr std::string_view kCompiled = "_orig_mod.";
  const PickleValue* model = pickle.find(pickle.root(), "model");
  require(model != nullptr && model->kind == PickleKind::dictionary, shown(path()),
          ": data.pkl: has no model: not ", kExpected);
  tensors_ = torch_tensors(file_, pickle, *model);
  for (TorchTensor& tensor : tensors_) {
    tensor.name = tensor.name.substr(tensor.name.starts_with(kCompiled) ? kCompiled.size() : 0);
    check_tensor_name(path(), tensor.name);
  }
}

const WeightLayout kNanoGptLayout{.prefix = "transformer.",
                                  .head = "lm_head.weight",
                                  .buffers = {".attn.bias"},
                                  .layers = "h.",
                                  .tensors_of = nanogpt_tensors};

WeightFiles nanogpt_weights(const std::shared_ptr<const NanoGptFile>& file) {
  WeightFiles files{.where = shown(file->path()), .described_by = "its model_args"};
  for (const TorchTensor& tensor : file->tensors()) {
    files.tensors.push_back(
        {.name = tensor.name,
         .shape = tensor.shape,
         .read = [file, &tensor] { return file->read(tensor); },
         .read_into = [file, &tensor](Tensor& target) { file->read_into(tensor, target); }});
  }
  return files;
}

}  // namespace headlight
