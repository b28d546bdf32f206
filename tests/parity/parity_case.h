#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "headlight/nn/module.h"
#include "headlight/tensor/tensor.h"

// Cases that PyTorch has computed (tools/parity/make_fixtures.py), computed again by Headlight.
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

// One section of a fixture file: tensors `<name>/in/x`, `<name>/out/y` and `<name>/grad/x`, and an
// entry of the file's metadata.
struct Case {
  std::string name;
  std::string rung;  // the row of the table that counts it
  std::string op;    // the name of its runner
  Json attributes;   // of the op; "views" says how inputs lie in memory
  Tolerance tolerance;
  std::map<std::string, Tolerance> tolerances = {};  // other ones, by output or gradient
  TensorMap inputs;
  TensorMap outputs;    // expected
  TensorMap gradients;  // expected; an input `d_y` is the gradient that reaches output y
};

// Every case of a file. Throws Error when the file does not hold together.
std::vector<Case> read_cases(const std::filesystem::path& file);

// One case while Headlight computes it.
class Run {
 public:
  explicit Run(const Case& subject);

  // An input, laid out in memory as the case asks and collecting a gradient when the case expects
  // one; undefined when the case has no such input.
  Tensor input(const std::string& name) const;
  // An int32 input as numbers.
  std::vector<Index> numbers(const std::string& name) const;
  const Json& attributes() const { return subject_.attributes; }
  template <class T>
  T attribute(const std::string& name, const T& fallback) const {
    return attributes().value(name, fallback);
  }
  // Overwrites parameters and buffers with the inputs `prefix + name`; the gradients that the case
  // expects of these inputs are then the parameters'. Throws Error when one has no input.
  void load(const Module& module, const std::string& prefix = "");

  bool expects(const std::string& output) const { return subject_.outputs.count(output) > 0; }
  // Again for what was computed in another way, too: all of them must agree with the case.
  void output(const std::string& name, const Tensor& value) { outputs_.emplace(name, value); }
  // A gradient, of runners that go backward themselves.
  void gradient(const std::string& name, const Tensor& value) { gradients_.emplace(name, value); }

  // Sends the case's output gradients backward and collects what it expects.
  void go_backward();
  const Results& outputs() const { return outputs_; }
  const Results& gradients() const { return gradients_; }

 private:
  const Case& subject_;
  TensorMap inputs_;
  Results outputs_;
  Results gradients_;
};

}  // namespace headlight::parity
