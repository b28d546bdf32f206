#include "cli/tensor_list.h"

#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "headlight/io/npz.h"
#include "headlight/io/safetensors.h"
#include "views/report/json_output.h"
#include "views/report/numbers.h"

namespace headlight::cli {
namespace {

struct ListedTensor {
  std::string name;
  std::string dtype;  // as the format spells it
  Shape shape;
};

struct TensorList {
  std::string format;
  std::vector<ListedTensor> tensors = {};
  std::map<std::string, std::string> metadata = {};
};

TensorList list_safetensors(const std::filesystem::path& path) {
  TensorList list{.format = "safetensors", .metadata = read_safetensors_metadata(path)};
  for (const auto& [name, info] : read_safetensors_header(path)) {
    list.tensors.push_back({name, info.dtype, info.shape});
  }
  return list;
}

TensorList list_npz(const std::filesystem::path& path) {
  TensorList list{.format = "npz"};
  for (const ArrayInfo& array : read_npz_header(path)) {
    list.tensors.push_back({array.name, std::string(name_of(array.dtype)), array.shape});
  }
  return list;
}

Index element_count(const Shape& shape) {
  Index count = 1;
  for (const Index size : shape) {
    count *= size;
  }
  return count;
}

Json json_of(const TensorList& list) {
  Json json{{"format", list.format}, {"tensors", Json::array()}, {"metadata", list.metadata}};
  Index elements = 0;
  for (const ListedTensor& tensor : list.tensors) {
    json["tensors"].push_back(
        {{"name", tensor.name},
         {"dtype", tensor.dtype},
         {"shape", std::vector<Index>(tensor.shape.begin(), tensor.shape.end())}});
    elements += element_count(tensor.shape);
  }
  json["elements"] = elements;
  return json;
}

void print_text(const TensorList& list) {
  Index elements = 0;
  for (const ListedTensor& tensor : list.tensors) {
    std::cout << tensor.name << "  " << tensor.dtype << " " << tensor.shape << "\n";
    elements += element_count(tensor.shape);
  }
  std::cout << "\n" << list.tensors.size() << " tensors, " << grouped(elements) << " elements\n";
  for (const auto& [key, value] : list.metadata) {
    std::cout << "metadata " << key << ": " << value << "\n";
  }
}

}  // namespace

bool is_tensor_file(const std::filesystem::path& path) {
  return path.extension() == ".safetensors" || path.extension() == ".npz";
}

void print_tensor_file(const std::filesystem::path& path, bool json) {
  const TensorList list = path.extension() == ".npz" ? list_npz(path) : list_safetensors(path);
  json ? print_json(json_of(list)) : print_text(list);
}

}  // namespace headlight::cli
