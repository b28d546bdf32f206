#include "cli/tensor_list.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <iostream>

#include "headlight/base/error.h"
#include "headlight/base/utf8.h"
#include "headlight/formats/gguf/gguf.h"
#include "headlight/io/npz.h"
#include "headlight/io/safetensors.h"
#include "views/report/numbers.h"

namespace headlight::cli {
namespace {

TensorList list_safetensors(const std::filesystem::path& path) {
  TensorList list{.format = "safetensors"};
  for (const auto& [key, value] : read_safetensors_metadata(path)) {
    list.metadata.push_back({key, value});
  }
  for (const auto& [name, info] : read_safetensors_header(path)) {
    list.tensors.push_back({name, info.dtype, info.shape});
  }
  return list;
}

TensorList list_npz(const std::filesystem::path& path) {
  TensorList list{.format = "npz"};
  for (const ArrayInfo& array : read_npz_header(path)) {
    const std::string_view type = array.texts ? "text" : name_of(array.dtype);
    list.tensors.push_back({array.name, std::string(type), array.shape});
  }
  return list;
}

// Scalar as JSON. A float becomes the double with its shortest decimal digits.
template <class T>
Json json_of_scalar(const T& value) {
  if constexpr (std::is_same_v<T, float>) {
    std::array<char, 32> text{};
    const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
    return std::strtod(std::string(text.data(), end).c_str(), nullptr);
  } else if constexpr (std::is_same_v<T, std::int8_t> || std::is_same_v<T, std::uint8_t>) {
    return Index{value};
  } else {
    return value;
  }
}

Json json_of_list(std::monostate) { return nullptr; }

// First elements of a list, and its length.
template <class T>
Json json_of_list(const std::vector<T>& values) {
  constexpr std::size_t kShown = 8;
  Json first = Json::array();
  for (std::size_t i = 0; i < std::min(values.size(), kShown); ++i) {
    first.push_back(json_of_scalar(static_cast<T>(values[i])));
  }
  return {{"length", values.size()}, {"first", first}};
}

Json json_of_scalar(const GgufArray& array) {
  return std::visit([](const auto& list) { return json_of_list(list); }, array);
}

Json json_of_metadata(const GgufValue& value) {
  return std::visit([](const auto& element) { return json_of_scalar(element); }, value);
}

TensorList list_gguf(const std::filesystem::path& path) {
  const GgufFile file(path);
  TensorList list{.format = "gguf"};
  for (const auto& [key, value] : file.metadata()) {
    list.metadata.push_back({key, json_of_metadata(value)});
  }
  for (const GgufTensor& tensor : file.tensors()) {
    list.tensors.push_back({tensor.name, std::string(name_of(tensor.type)), tensor.shape});
  }
  return list;
}

// Value as one line without control characters: a text, a number, or "8 values: 1, 2, ...".
std::string text_of(const Json& value) {
  if (value.is_string()) {
    return escaped(replace_invalid_utf8(value.text()));
  }
  if (!value.is_object()) {
    return escaped(value.dump());
  }
  std::string text =
      grouped(value["length"].integer()) + (value["length"] == 1 ? " value" : " values");
  for (const Json& element : value["first"]) {
    text += &element == &value["first"].front() ? ": " : ", ";
    text += escaped(element.dump());
  }
  return text + (value["first"].size() < value["length"].natural() ? ", ..." : "");
}

}  // namespace

bool is_tensor_file(const std::filesystem::path& path) {
  return path.extension() == ".safetensors" || path.extension() == ".npz" ||
         path.extension() == ".gguf";
}

TensorList list_tensor_file(const std::filesystem::path& path) {
  return path.extension() == ".npz"    ? list_npz(path)
         : path.extension() == ".gguf" ? list_gguf(path)
                                       : list_safetensors(path);
}

Json tensor_list_json(const TensorList& list) {
  Json json{{"format", list.format}, {"tensors", Json::array()}, {"metadata", Json::object()}};
  for (const auto& [key, value] : list.metadata) {
    json["metadata"].add(key, value);
  }
  Index elements = 0;
  for (const ListedTensor& tensor : list.tensors) {
    json["tensors"].push_back(
        {{"name", tensor.name},
         {"dtype", tensor.dtype},
         {"shape", std::vector<Index>(tensor.shape.begin(), tensor.shape.end())}});
    elements += numel(tensor.shape);
  }
  json["elements"] = elements;
  return json;
}

void print_tensor_list(const TensorList& list) {
  Index elements = 0;
  for (const ListedTensor& tensor : list.tensors) {
    std::cout << escaped(tensor.name) << "  " << tensor.dtype << " " << tensor.shape << "\n";
    elements += numel(tensor.shape);
  }
  std::cout << "\n" << list.tensors.size() << " tensors, " << grouped(elements) << " elements\n";
  for (const auto& [key, value] : list.metadata) {
    std::cout << "metadata " << escaped(key) << ": " << text_of(value) << "\n";
  }
}

}  // namespace headlight::cli
