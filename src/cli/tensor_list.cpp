#include "cli/tensor_list.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include "headlight/base/error.h"
#include "headlight/base/utf8.h"
#include "headlight/formats/arrays/npz.h"
#include "headlight/formats/arrays/safetensors.h"
#include "headlight/formats/gguf/gguf.h"
#include "show/report/parts/numbers.h"

namespace headlight::cli {
namespace {

void add_tensor(Json& list, const std::string& name, std::string_view dtype, const Shape& shape) {
  list["tensors"].push_back({{"name", name},
                             {"dtype", dtype},
                             {"shape", std::vector<Index>(shape.begin(), shape.end())}});
  list["elements"] = list["elements"].integer() + numel(shape);
}

void list_safetensors(const std::filesystem::path& path, Json& list) {
  for (const auto& [key, value] : read_safetensors_metadata(path)) {
    list["metadata"].add(key, value);
  }
  for (const auto& [name, info] : read_safetensors_header(path)) {
    add_tensor(list, name, info.dtype, info.shape);
  }
}

void list_npz(const std::filesystem::path& path, Json& list) {
  for (const ArrayInfo& array : read_npz_header(path)) {
    add_tensor(list, array.name, array.texts ? "text" : name_of(array.dtype), array.shape);
  }
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

void list_gguf(const std::filesystem::path& path, Json& list) {
  const GgufFile file(path);
  for (const auto& [key, value] : file.metadata()) {
    list["metadata"].add(
        key, std::visit([](const auto& element) { return json_of_scalar(element); }, value));
  }
  for (const GgufTensor& tensor : file.tensors()) {
    add_tensor(list, tensor.name, name_of(tensor.type), tensor.shape);
  }
}

// Value as one line without control characters: a text, a number, or "8 values: 1, 2, ...".
std::string value_text(const Json& value) {
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

Json list_tensor_file(const std::filesystem::path& path) {
  Json list{{"format", path.extension().string().substr(1)},
            {"tensors", Json::array()},
            {"metadata", Json::object()},
            {"elements", 0}};
  const auto read = path.extension() == ".npz"    ? list_npz
                    : path.extension() == ".gguf" ? list_gguf
                                                  : list_safetensors;
  read(path, list);
  return list;
}

std::string tensor_list_text(const Json& list) {
  std::string text;
  for (const Json& tensor : list["tensors"]) {
    Shape shape;
    for (const Json& size : tensor["shape"]) {
      shape.push_back(size.integer());
    }
    text +=
        concat_text(escaped(tensor["name"].text()), "  ", tensor["dtype"].text(), " ", shape, "\n");
  }
  text += concat_text("\n", list["tensors"].size(), " tensors, ",
                      grouped(list["elements"].integer()), " elements\n");
  for (const auto& [key, value] : list["metadata"].members()) {
    text += "metadata " + escaped(key) + ": " + value_text(value) + "\n";
  }
  return text;
}

}  // namespace headlight::cli
