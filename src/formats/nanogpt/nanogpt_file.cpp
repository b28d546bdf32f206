#include "formats/nanogpt/nanogpt_file.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/printable.h"
#include "formats/huggingface/config_reader.h"
#include "headlight/base/error.h"
#include "io/float16.h"
#include "io/tensor_file.h"

namespace headlight {
namespace {

constexpr std::string_view kExpected = "a nanoGPT checkpoint";
constexpr std::size_t kMostValues = std::size_t{1} << 22;

// Names in the pickle of a checkpoint. The first three are the types of storages, by StorageType.
constexpr std::array<std::string_view, 5> kGlobals{
    "torch.FloatStorage", "torch.HalfStorage", "torch.BFloat16Storage",
    "torch._utils._rebuild_tensor_v2", "collections.OrderedDict"};
constexpr Index kStorageTypes = 3;
constexpr Index kRebuildTensor = 3;

Index element_bytes(StorageType type) { return type == StorageType::float32 ? 4 : 2; }

bool is_global(const PickleValue& value, Index first, Index count) {
  return value.kind == PickleKind::global && value.value >= first && value.value < first + count;
}

// True for torch._utils._rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks)
// with the storage ("storage", type, key, device, elements).
bool is_tensor(const Pickle& pickle, const PickleValue& value) {
  if (value.kind != PickleKind::call) {
    return false;
  }
  const auto parts = pickle.items(value);
  if (!is_global(parts[0], kRebuildTensor, 1) || parts.size() < 5 ||
      parts[1].kind != PickleKind::stored || parts[2].kind != PickleKind::integer) {
    return false;
  }
  const auto storage = pickle.items(parts[1]);
  return storage.size() == 5 && is_global(storage[1], 0, kStorageTypes) &&
         storage[2].kind == PickleKind::text && storage[4].kind == PickleKind::integer;
}

// Returns the whole numbers of a tuple; nothing for other values.
std::optional<Shape> numbers_of(const Pickle& pickle, const PickleValue& value) {
  if (value.kind != PickleKind::tuple || std::ssize(pickle.items(value)) > kMaxRank) {
    return std::nullopt;
  }
  Shape numbers;
  for (const PickleValue& item : pickle.items(value)) {
    if (item.kind != PickleKind::integer || item.value < 0 || item.value > kMaxAxisSize) {
      return std::nullopt;
    }
    numbers.push_back(item.value);
  }
  return numbers;
}

// Axes of size 1 may have any stride.
bool is_contiguous(const Shape& shape, const Shape& strides) {
  const Shape expected = contiguous_strides(shape);
  bool same = shape.rank() == strides.rank();
  for (Index axis = 0; same && axis < shape.rank(); ++axis) {
    same = shape[axis] <= 1 || strides[axis] == expected[axis];
  }
  return same;
}

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
  const Pickle pickle(bytes, name,
                      {.expected = kExpected, .most_values = kMostValues, .globals = kGlobals});
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
  const auto items = pickle.items(*model);
  for (std::size_t i = 0; i < items.size(); i += 2) {
    require(items[i].kind == PickleKind::text, shown(path()),
            ": data.pkl: model: expected names of tensors");
    std::string_view name = pickle.text(items[i]);
    name.remove_prefix(name.starts_with(kCompiled) ? kCompiled.size() : 0);
    check_tensor_name(path(), name);
    tensors_.push_back(parse_tensor(pickle, name, items[i + 1]));
  }
}

NanoGptTensor NanoGptFile::parse_tensor(const Pickle& pickle, std::string_view name,
                                        const PickleValue& value) const {
  const std::string where = shown(path()) + ": tensor " + in_quotes(name);
  const auto check = [&](bool good, std::string_view reason) {
    require(good, where, ": ", reason);
  };
  check(is_tensor(pickle, value), "expected a tensor of float32, float16 or bfloat16");
  const auto parts = pickle.items(value);
  const auto storage = pickle.items(parts[1]);
  NanoGptTensor tensor;
  tensor.name = name;
  tensor.type = static_cast<StorageType>(storage[1].value);
  tensor.storage = pickle.text(storage[2]);
  const Index width = element_bytes(tensor.type);
  const auto bytes = file_.storage_bytes(tensor.storage);
  check(bytes.has_value(), "its storage is missing");
  check(*bytes % width == 0 && *bytes / width == storage[4].value,
        "its storage has another size than data.pkl states");
  const auto shape = numbers_of(pickle, parts[3]);
  const auto strides = numbers_of(pickle, parts[4]);
  const auto size = shape ? checked_byte_count(*shape, width) : std::nullopt;
  check(size && strides && is_contiguous(*shape, *strides), "expected contiguous elements");
  const Index first = parts[2].value;
  check(first >= 0 && first <= *bytes / width && *size <= *bytes - first * width,
        "exceeds its storage");
  tensor.offset = first * width;
  tensor.shape = *shape;
  return tensor;
}

Tensor NanoGptFile::read(const NanoGptTensor& tensor) const {
  const bool brain = tensor.type == StorageType::bfloat16;
  Tensor result = Tensor::empty(tensor.shape, brain ? DType::bfloat16 : DType::float32);
  read_into(tensor, result);
  return result;
}

void NanoGptFile::read_into(const NanoGptTensor& tensor, Tensor& target) const {
  const bool brain = tensor.type == StorageType::bfloat16;
  if (target.dtype() != (brain ? DType::bfloat16 : DType::float32)) {
    target.copy_from(read(tensor));
    return;
  }
  if (tensor.type != StorageType::float16) {
    file_.read_storage(tensor.storage, tensor.offset, writable_bytes_of(target));
    return;
  }
  std::vector<std::uint16_t> halves(static_cast<std::size_t>(target.numel()));
  file_.read_storage(tensor.storage, tensor.offset, std::as_writable_bytes(std::span(halves)));
  std::transform(halves.begin(), halves.end(), target.mutable_data<float>(), half_to_float);
}

const WeightLayout kNanoGptLayout{.prefix = "transformer.",
                                  .head = "lm_head.weight",
                                  .buffers = {".attn.bias"},
                                  .layers = "h.",
                                  .tensors_of = nanogpt_tensors};

WeightFiles nanogpt_weights(const std::shared_ptr<const NanoGptFile>& file) {
  WeightFiles files{.where = shown(file->path()), .described_by = "its model_args"};
  for (const NanoGptTensor& tensor : file->tensors()) {
    files.tensors.push_back(
        {.name = tensor.name,
         .shape = tensor.shape,
         .read = [file, &tensor] { return file->read(tensor); },
         .read_into = [file, &tensor](Tensor& target) { file->read_into(tensor, target); }});
  }
  return files;
}

}  // namespace headlight
