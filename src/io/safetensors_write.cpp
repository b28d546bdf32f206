#include <algorithm>
#include <array>
#include <bit>

#include "base/json.h"
#include "base/printable.h"
#include "headlight/base/error.h"
#include "headlight/files/file_writer.h"
#include "io/safetensors_header.h"
#include "io/tensor_file.h"

namespace headlight {
namespace {

constexpr std::size_t kDataAlignment = 8;

std::string_view file_type(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return "F64";
    case DType::bfloat16:
      return "BF16";
    case DType::int32:
      return "I32";
    case DType::boolean:
      return "BOOL";
    case DType::float32:
      break;
  }
  return "F32";
}

std::string shape_text(const Shape& shape) {
  std::string text = "[";
  for (const Index size : shape) {
    text += (text.size() > 1 ? "," : "") + std::to_string(size);
  }
  return text + "]";
}

// Larger elements first, else in the given order.
std::vector<const NamedTensors::value_type*> data_order(const NamedTensors& tensors) {
  std::vector<const NamedTensors::value_type*> order;
  for (const auto& tensor : tensors) {
    order.push_back(&tensor);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return element_size(a->second.dtype()) > element_size(b->second.dtype());
  });
  return order;
}

std::string strict_json(const Json& json) { return json.dump(-1, Json::BadUtf8::refused); }

// The JSON object, without padding.
std::string header_text(const std::vector<const NamedTensors::value_type*>& order,
                        const std::map<std::string, std::string>& metadata) {
  std::string text = "{";
  if (!metadata.empty()) {
    text += strict_json(kMetadataName) + ":" + strict_json(metadata);
  }
  Index begin = 0;
  for (const auto* entry : order) {
    const auto& [name, tensor] = *entry;
    const Index end = begin + tensor.numel() * static_cast<Index>(element_size(tensor.dtype()));
    text += text.size() > 1 ? "," : "";
    text += strict_json(name) + ":{\"dtype\":\"" + std::string(file_type(tensor.dtype())) +
            "\",\"shape\":" + shape_text(tensor.shape()) + ",\"data_offsets\":[" +
            std::to_string(begin) + "," + std::to_string(end) + "]}";
    begin = end;
  }
  return text + "}";
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                       const std::map<std::string, std::string>& metadata) {
  check_tensors(path, tensors);
  for (const auto& [name, tensor] : tensors) {
    require(name != kMetadataName, shown(path), ": a tensor cannot be named ", kMetadataName);
  }
  const auto order = data_order(tensors);
  std::string header;
  try {
    header = header_text(order, metadata);
  } catch (const Error&) {
    fail(shown(path), ": a name or the metadata is not UTF-8");
  }
  header.append((kDataAlignment - header.size() % kDataAlignment) % kDataAlignment, ' ');
  require(header.size() <= static_cast<std::size_t>(kMaxSafetensorsHeader), shown(path),
          ": header of ", header.size(), " bytes, at most ", kMaxSafetensorsHeader,
          " can be written");
  replace_file(path, [&](FileWriter& writer) {
    const auto length = static_cast<std::uint64_t>(header.size());
    writer.write(std::as_bytes(std::span(&length, 1)));
    writer.write(header);
    for (const auto* entry : order) {
      writer.write(bytes_of(to_contiguous(entry->second)));
    }
  });
}

}  // namespace headlight
