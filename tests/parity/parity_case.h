#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "headlight/nn/module.h"
#include "headlight/tensor/tensor.h"

// Parity cases: computed by PyTorch (tools/parity/make_fixtures.py) and again by Headlight.
namespace headlight::parity {

using Json = nlohmann::json;
using TensorMap = std::map<std::string, Tensor>;
using Results = std::multimap<std::string, Tensor>;

// |actual - expected| <= absolute + relative |expected|, for every element; with a scale
// |actual - expected| <= relative scale.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
  double scale = 0;
};

// One case of a fixture file: tensors `<name>/in/x`, `<name>/out/y` and `<name>/grad/x`, and an
// entry of the file's metadata.
struct Case {
  std::string name;
  std::string rung;  // its row in the table
  std::string op;    // name of its runner
  Json attributes;   // attributes of the op; "views" sets the memory layout of inputs
  Tolerance tolerance;
  std::map<std::string, Tolerance> tolerances = {};  // exceptions, by output or gradient
  TensorMap inputs;
  TensorMap outputs;    // expected
  TensorMap gradients;  // expected; an input `d_y` is the gradient of output y
};

// Reads all cases of a file. Throws Error if the file is inconsistent.
std::vector<Case> read_cases(const std::filesystem::path& file);

// One case while Headlight computes it: inputs and results.
class Run {
 public:
  explicit Run(const Case& subject);

  // Returns an input in the memory layout of the case; it requires a gradient if the case expects
  // one. Undefined if the case has no such input.
  Tensor input(const std::string& name) const;
  // Returns an int32 input as numbers.
  std::vector<Index> numbers(const std::string& name) const;
  const Json& attributes() const { return subject_.attributes; }
  template <class T>
  T attribute(const std::string& name, const T& fallback) const {
    return attributes().value(name, fallback);
  }
  // Overwrites parameters and buffers with the inputs `prefix + name`. Their gradients then are the
  // gradients that the case expects of these inputs. Throws Error if an input is missing. q_proj,
  // k_proj and v_proj may be thirds of an input c_attn, as PyTorch joins them.
  void load(const Module& module, const std::string& prefix = "");

  bool expects(const std::string& output) const { return subject_.outputs.count(output) > 0; }
  // Adds a result. One name may have several results; each must agree with the case.
  void output(const std::string& name, const Tensor& value) { outputs_.emplace(name, value); }
  // Adds a gradient, for runners that call backward() themselves.
  void gradient(const std::string& name, const Tensor& value) { gradients_.emplace(name, value); }

  // Runs backward from the outputs with the case's gradients and collects the expected ones.
  void go_backward();
  const Results& outputs() const { return outputs_; }
  const Results& gradients() const { return gradients_; }

 private:
  const Case& subject_;
  TensorMap inputs_;
  std::map<std::string, std::vector<Tensor>> thirds_;  // parameters that share an input
  Results outputs_;
  Results gradients_;
};

}  // namespace headlight::parity
