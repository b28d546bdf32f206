#include "tensor/array_source.h"
#include "support/test.h"

ArraySource pieces_of(const std::string& name, const Tensor& tensor) {
  return {name, tensor.dtype(), tensor.shape(), [tensor](Index offset, std::span<std::byte> bytes) {
            const void* from = tensor.dtype() == DType::float32
                                   ? static_cast<const void*>(tensor.data<float>())
                                   : tensor.data<std::int32_t>();
            std::memcpy(bytes.data(), static_cast<const std::byte*>(from) + offset, bytes.size());
          }};
}

// An array of more elements than are converted at once, an empty array, and integers.
const NamedTensors& tensors() {
  static const NamedTensors instance{{"long", random_normal({3, 7001}, {1, 2})},
                                     {"none", Tensor::zeros({0, 4})},
                                     {"numbers", Tensor::from(Ids{3, -1, 4}, {3})}};
  return instance;
}

std::vector<ArraySource> sources() {
  std::vector<ArraySource> result;
  for (const auto& [name, tensor] : tensors()) {
    result.push_back(pieces_of(name, tensor));
  }
  return result;
}

TEST_CASE("arrays read in pieces give the same files as tensors") {
  const TemporaryFolder folder;
  for (const StoredFloats type :
       {StoredFloats::float32, StoredFloats::float16, StoredFloats::bfloat16}) {
    if (type != StoredFloats::bfloat16) {
      write_npz(folder / "expected.npz", tensors(), type);
      write_npz(folder / "pieces.npz", sources(), type);
      CHECK(file_contents(folder / "pieces.npz") == file_contents(folder / "expected.npz"));
    }
    write_safetensors(folder / "expected.safetensors", tensors(), {{"a", "b"}}, type);
    write_safetensors(folder / "pieces.safetensors", sources(), {{"a", "b"}}, type);
    CHECK(file_contents(folder / "pieces.safetensors") ==
          file_contents(folder / "expected.safetensors"));
  }
}

TEST_CASE("an array that cannot be read leaves no file and gives an error with the reason") {
  const TemporaryFolder folder;
  std::vector<ArraySource> arrays = sources();
  arrays[2].read = [](Index, std::span<std::byte>) { fail("the disk is gone"); };
  CHECK(error_of([&] { write_npz(folder / "a.npz", arrays, StoredFloats::float32); }) ==
        "the disk is gone");
  CHECK(error_of([&] {
          write_safetensors(folder / "a.safetensors", arrays, {}, StoredFloats::float16);
        }) == "the disk is gone");
  CHECK(fs::is_empty(folder.path()));
}
