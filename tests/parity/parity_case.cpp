#include "parity/parity_case.h"

#include <cstring>
#include <fstream>
#include <limits>

#include "headlight/autograd/autograd.h"
#include "headlight/formats/arrays/safetensors.h"
#include "headlight/ops/layout.h"

namespace headlight::parity {
namespace {

// Reads the metadata, which read_safetensors() checks but does not return.
Json read_metadata(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::uint64_t length = 0;
  in.read(reinterpret_cast<char*>(&length), sizeof(length));
  std::string header(length, ' ');
  in.read(header.data(), static_cast<std::streamsize>(length));
  require(in.good(), file.string(), ": cannot read the header");
  return Json::parse(header).at("__metadata__");
}

// Reads the scales: {"logits": [limit, scale]}.
std::map<std::string, Tolerance> read_scales(const Json& description) {
  std::map<std::string, Tolerance> tolerances;
  const Json scales = description.value("scales", Json::object());
  for (const auto& [name, pair] : scales.items()) {
    tolerances[name] = {.relative = pair.at(0), .absolute = 0, .scale = pair.at(1)};
  }
  return tolerances;
}

Case described(const std::string& name, const Json& description) {
  return {.name = name,
          .rung = description.at("rung"),
          .op = description.at("op"),
          .attributes = description.at("attributes"),
          .tolerance = {description.at("rtol"), description.at("atol")},
          .tolerances = read_scales(description),
          .inputs = {},
          .outputs = {},
          .gradients = {}};
}

// Adds the tensor "<case>/in/<name>", "out" or "grad" to its case.
void place(std::map<std::string, Case>& cases, const std::string& path, const Tensor& tensor) {
  const std::size_t name_start = path.rfind('/') + 1;
  const std::size_t kind_start = path.rfind('/', name_start - 2) + 1;
  const std::string name = path.substr(name_start);
  const std::string kind = path.substr(kind_start, name_start - 1 - kind_start);
  const auto found = cases.find(path.substr(0, kind_start - 1));
  require(found != cases.end(), "parity: no case describes ", path);
  Case& target = found->second;
  if (kind == "in") {
    target.inputs[name] = tensor;
  } else if (kind == "out") {
    target.outputs[name] = tensor;
  } else {
    require(kind == "grad", "parity: cannot place ", path);
    target.gradients[name] = tensor;
  }
}

std::vector<Index> reversed_axes(const Tensor& x) {
  std::vector<Index> order;
  for (Index axis = x.rank() - 1; axis >= 0; --axis) {
    order.push_back(axis);
  }
  return order;
}

// Returns `x` as every second element of a wider tensor of NaN, to find reads outside the view.
Tensor spread_out(const Tensor& x) {
  Shape wide = x.shape();
  wide[x.rank() - 1] *= 2;
  Tensor all = Tensor::full(wide, std::numeric_limits<double>::quiet_NaN(), x.dtype());
  slice(all, -1, 1, wide.back(), 2).copy_from(x);
  return slice(all, -1, 1, wide.back(), 2);
}

// Returns the same values with other strides.
Tensor laid_out(const Tensor& x, const std::string& view) {
  if (view == "transposed") {
    return permute(permute(x, reversed_axes(x)).clone(), reversed_axes(x));
  }
  if (view == "sliced") {
    return spread_out(x);
  }
  if (view == "expanded") {  // the generator makes rows equal along the first axis
    return expand(slice(x, 0, 0, 1).clone(), x.shape());
  }
  require(view == "contiguous", "parity: unknown view ", view);
  return x;
}

// Returns the name of the input whose thirds are the projections of query, key and value; empty if
// the parameter is none of these.
std::string joined_name(const std::string& name) {
  for (const char* projection : {"q_proj", "k_proj", "v_proj"}) {
    const std::size_t place = name.find(projection);
    if (place != std::string::npos) {
      return std::string(name).replace(place, std::string_view(projection).size(), "c_attn");
    }
  }
  return {};
}

}  // namespace

std::vector<Case> read_cases(const std::filesystem::path& file) {
  std::map<std::string, Case> cases;
  const NamedTensors tensors = read_safetensors(file);
  const Json metadata = read_metadata(file);
  for (const auto& [name, text] : metadata.items()) {
    if (name != "format") {
      cases.emplace(name, described(name, Json::parse(text.get<std::string>())));
    }
  }
  for (const auto& [path, tensor] : tensors) {
    place(cases, path, tensor);
  }
  std::vector<Case> result;
  for (auto& [name, subject] : cases) {
    require(!subject.outputs.empty(), "parity: nothing is expected of ", name);
    result.push_back(std::move(subject));
  }
  return result;
}

Run::Run(const Case& subject) : subject_(subject) {
  const Json views = subject.attributes.value("views", Json::object());
  for (const auto& [name, values] : subject.inputs) {
    Tensor input = laid_out(values, views.value(name, "contiguous")).detach();
    inputs_[name] = input.set_requires_grad(subject.gradients.count(name) > 0);
  }
}

Tensor Run::input(const std::string& name) const {
  const auto found = inputs_.find(name);
  return found == inputs_.end() ? Tensor() : found->second;
}

std::vector<Index> Run::numbers(const std::string& name) const {
  std::vector<Index> result;
  for (const double value : inputs_.at(name).to_vector()) {
    result.push_back(static_cast<Index>(value));
  }
  return result;
}

void Run::load(const Module& module, const std::string& prefix) {
  NamedTensors targets = module.parameters();
  for (const auto& buffer : module.buffers()) {
    targets.push_back(buffer);
  }
  for (auto& [name, target] : targets) {
    const std::string joined = joined_name(prefix + name);
    if (inputs_.count(joined) > 0) {
      std::vector<Tensor>& thirds = thirds_[joined];
      const Index first = target.size(0) * std::ssize(thirds);
      target.copy_from(slice(input(joined).detach(), 0, first, first + target.size(0)));
      thirds.push_back(target);
      continue;
    }
    const Tensor values = input(prefix + name);
    require(values.defined(), "parity: ", subject_.name, " has no input ", prefix, name);
    require(values.shape() == target.shape(), "parity: ", prefix, name, " is ", target.shape(),
            ", got ", values.shape());
    target.copy_from(values);
    inputs_[prefix + name] = target;
  }
}

void Run::go_backward() {
  for (const auto& [name, value] : outputs_) {
    const Tensor seed = input("d_" + name);
    if (seed.defined()) {
      backward(value, {.gradient = seed, .retain_graph = true});
    }
  }
  for (const auto& [name, expected] : subject_.gradients) {
    if (const auto joined = thirds_.find(name); joined != thirds_.end()) {
      std::vector<Tensor> parts;
      for (const Tensor& third : joined->second) {
        parts.push_back(third.grad());
      }
      gradient(name, concat(parts, 0));
    } else if (gradients_.count(name) == 0) {
      gradient(name, input(name).grad());
    }
  }
}

}  // namespace headlight::parity
