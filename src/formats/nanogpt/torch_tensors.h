#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/pickle_reader.h"
#include "formats/nanogpt/torch_file.h"
#include "headlight/tensor/named_tensors.h"

// Tensors in files of torch.save.
namespace headlight {

// Names in a pickle of tensors. The first three are the types of storages, by StorageType.
inline constexpr std::array<std::string_view, 5> kTorchGlobals{
    "torch.FloatStorage", "torch.HalfStorage", "torch.BFloat16Storage",
    "torch._utils._rebuild_tensor_v2", "collections.OrderedDict"};

// Type of the elements of a storage.
enum class StorageType { float32, float16, bfloat16 };

// A contiguous part of a storage.
struct TorchTensor {
  std::string name;
  StorageType type = StorageType::float32;
  std::string storage;  // key
  Index offset = 0;     // bytes
  Shape shape;
};

// Returns the tensors of a dictionary in the file's pickle. Throws Error, one line with the path,
// for other values, for tensors that are not contiguous or exceed their storage, and if they have
// more than twice the bytes of their storages.
std::vector<TorchTensor> torch_tensors(const TorchFile& file, const Pickle& pickle,
                                       const PickleValue& dictionary);
// Reads a tensor as float32, or as bfloat16 if the file has this type.
Tensor read_torch_tensor(const TorchFile& file, const TorchTensor& tensor);
// Overwrites the elements of `target`, a contiguous tensor of the same shape, in its own type.
void read_torch_tensor_into(const TorchFile& file, const TorchTensor& tensor, Tensor& target);

// Reads a file that holds a dictionary of tensors, as torch.save(module.state_dict()) writes it.
// The pickle is only read: nothing in it is called or loaded. Throws Error as torch_tensors().
NamedTensors read_torch_state(const std::filesystem::path& path);

}  // namespace headlight
