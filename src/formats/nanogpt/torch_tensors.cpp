#include "formats/nanogpt/torch_tensors.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/strings/printable.h"
#include "headlight/base/error.h"
#include "tensor/float16.h"
#include "tensor/tensor_file.h"

namespace headlight {
namespace {

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

TorchTensor parse_torch_tensor(const TorchFile& file, const Pickle& pickle, std::string_view name,
                               const PickleValue& value) {
  const std::string where = shown(file.path()) + ": tensor " + in_quotes(name);
  const auto check = [&](bool good, std::string_view reason) {
    require(good, where, ": ", reason);
  };
  check(is_tensor(pickle, value), "expected a tensor of float32, float16 or bfloat16");
  const auto parts = pickle.items(value);
  const auto storage = pickle.items(parts[1]);
  TorchTensor tensor;
  tensor.name = name;
  tensor.type = static_cast<StorageType>(storage[1].value);
  tensor.storage = pickle.text(storage[2]);
  const Index width = element_bytes(tensor.type);
  const auto bytes = file.storage_bytes(tensor.storage);
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

// Refuses files whose tensors take far more memory than the file: many names of one storage.
void check_sharing(const TorchFile& file, const std::vector<TorchTensor>& tensors) {
  constexpr Index kMostShares = 2;  // tied weights have two names
  std::map<std::string_view, Index> storages;
  Index all = 0;
  for (const TorchTensor& tensor : tensors) {
    all += numel(tensor.shape) * element_bytes(tensor.type);
    storages.emplace(tensor.storage, *file.storage_bytes(tensor.storage));
  }
  Index stored = 0;
  for (const auto& [key, bytes] : storages) {
    stored += bytes;
  }
  require(all <= kMostShares * stored, shown(file.path()), ": data.pkl: the tensors have ", all,
          " bytes, but their storages only ", stored, ": at most ", kMostShares,
          " names may share each element");
}

}  // namespace

std::vector<TorchTensor> torch_tensors(const TorchFile& file, const Pickle& pickle,
                                       const PickleValue& dictionary) {
  std::vector<TorchTensor> tensors;
  const auto items = pickle.items(dictionary);
  for (std::size_t i = 0; i < items.size(); i += 2) {
    require(items[i].kind == PickleKind::text, shown(file.path()),
            ": data.pkl: model: expected names of tensors");
    tensors.push_back(parse_torch_tensor(file, pickle, pickle.text(items[i]), items[i + 1]));
  }
  check_sharing(file, tensors);
  return tensors;
}

Tensor read_torch_tensor(const TorchFile& file, const TorchTensor& tensor) {
  const bool brain = tensor.type == StorageType::bfloat16;
  Tensor result = Tensor::empty(tensor.shape, brain ? DType::bfloat16 : DType::float32);
  read_torch_tensor_into(file, tensor, result);
  return result;
}

void read_torch_tensor_into(const TorchFile& file, const TorchTensor& tensor, Tensor& target) {
  const bool brain = tensor.type == StorageType::bfloat16;
  if (target.dtype() != (brain ? DType::bfloat16 : DType::float32)) {
    target.copy_from(read_torch_tensor(file, tensor));
    return;
  }
  if (tensor.type != StorageType::float16) {
    file.read_storage(tensor.storage, tensor.offset, writable_bytes_of(target));
    return;
  }
  std::vector<std::uint16_t> halves(static_cast<std::size_t>(target.numel()));
  file.read_storage(tensor.storage, tensor.offset, std::as_writable_bytes(std::span(halves)));
  std::transform(halves.begin(), halves.end(), target.mutable_data<float>(), half_to_float);
}

NamedTensors read_torch_state(const std::filesystem::path& path) {
  constexpr std::size_t kMostStateValues = std::size_t{1} << 20;
  const TorchFile file(path);
  const std::string bytes = file.read_pickle();
  const std::string name = shown(path) + ": data.pkl";
  const Pickle pickle(bytes, name,
                      {.expected = "a dictionary of tensors",
                       .most_values = kMostStateValues,
                       .globals = kTorchGlobals});
  require(pickle.root().kind == PickleKind::dictionary, name,
          ": expected a dictionary of tensors, as state_dict() returns");
  NamedTensors tensors;
  for (const TorchTensor& tensor : torch_tensors(file, pickle, pickle.root())) {
    tensors.emplace_back(tensor.name, read_torch_tensor(file, tensor));
  }
  return tensors;
}

}  // namespace headlight
