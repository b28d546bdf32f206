#include "parity/verdict.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <limits>
#include <sstream>

#include "parity/runners/runners.h"

namespace headlight::parity {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double element_error(double actual, double expected, const Tolerance& tolerance) {
  if (actual == expected || (std::isnan(actual) && std::isnan(expected))) {
    return 0;
  }
  const double distance = std::abs(actual - expected);
  if (!std::isfinite(distance)) {
    return kInfinity;
  }
  if (tolerance.scale > 0) {
    return distance / tolerance.scale;
  }
  // A tolerance of 0 requires equality.
  return tolerance.relative > 0
             ? distance / (std::abs(expected) + tolerance.absolute / tolerance.relative)
             : kInfinity;
}

// Prints enough digits to distinguish float64 values that differ by the tolerance.
std::string digits(double value) {
  std::ostringstream out;
  out << std::setprecision(13) << value;
  return out.str();
}

void blame(CaseVerdict& verdict, const std::string& trouble) {
  if (verdict.passed) {
    verdict.trouble = trouble;
  }
  verdict.passed = false;
}

// Keeps the error and limit of the tensor that is closest to its limit.
void keep_tightest(CaseVerdict& verdict, double error, double limit) {
  if (verdict.elements == 0 || error * verdict.limit > verdict.error * limit) {
    verdict.error = error;
    verdict.limit = limit;
  }
}

void compare(CaseVerdict& verdict, const std::string& what, const Tensor& actual,
             const Tensor& expected, const Tolerance& tolerance) {
  if (!actual.defined() || actual.shape() != expected.shape() ||
      actual.dtype() != expected.dtype()) {
    verdict.error = kInfinity;
    blame(verdict, actual.defined()
                       ? concat_text(what, " is ", actual.dtype(), " ", actual.shape(),
                                     ", expected ", expected.dtype(), " ", expected.shape())
                       : concat_text(what, " is missing"));
    return;
  }
  const std::vector<double> values = actual.to_vector();
  const std::vector<double> wanted = expected.to_vector();
  double largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double error = element_error(values[i], wanted[i], tolerance);
    largest = std::max(largest, error);
    if (error > tolerance.relative) {
      blame(verdict, concat_text(what, " ", expected.shape(), " element ", i, " is ",
                                 digits(values[i]), ", expected ", digits(wanted[i])));
    }
  }
  keep_tightest(verdict, largest, tolerance.relative);
  verdict.elements += expected.numel();
}

// One side of the comparison: outputs or gradients.
struct Side {
  std::string start;  // prefix of names in messages
  const TensorMap& expected;
  const Results& found;
};

void compare_side(CaseVerdict& verdict, const Case& subject, const Side& side) {
  for (const auto& [name, expected] : side.expected) {
    const auto place = subject.tolerances.find(name);
    const Tolerance& tolerance =
        place == subject.tolerances.end() ? subject.tolerance : place->second;
    const auto [first, last] = side.found.equal_range(name);
    if (first == last) {
      compare(verdict, side.start + name, {}, expected, tolerance);
    }
    for (auto found = first; found != last; ++found) {
      compare(verdict, side.start + name, found->second, expected, tolerance);
    }
  }
  for (const auto& [name, value] : side.found) {
    if (side.expected.count(name) == 0) {
      blame(verdict, side.start + name + " is not expected");
    }
  }
}

CaseVerdict unjudged(const Case& subject) {
  return {.name = subject.name,
          .rung = subject.rung,
          .limit = subject.tolerance.relative,
          .trouble = {}};
}

}  // namespace

CaseVerdict judge(const Case& subject, const Run& run) {
  CaseVerdict verdict = unjudged(subject);
  compare_side(verdict, subject, {"", subject.outputs, run.outputs()});
  compare_side(verdict, subject, {"the gradient of ", subject.gradients, run.gradients()});
  return verdict;
}

CaseVerdict judge(const Case& subject) {
  try {
    const auto runner = all_runners().find(subject.op);
    require(runner != all_runners().end(), "no runner for ", subject.op);
    Run run(subject);
    runner->second(run);
    run.go_backward();
    return judge(subject, run);
  } catch (const std::exception& error) {
    CaseVerdict verdict = unjudged(subject);
    verdict.error = kInfinity;
    blame(verdict, error.what());
    return verdict;
  }
}

std::vector<CaseVerdict> judge_folder(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".safetensors") {
      files.push_back(entry.path());
    }
  }
  require(!files.empty(), folder.string(), ": no .safetensors file");
  std::sort(files.begin(), files.end());
  std::vector<CaseVerdict> verdicts;
  for (const std::filesystem::path& file : files) {
    for (const Case& subject : read_cases(file)) {
      verdicts.push_back(judge(subject));
    }
  }
  return verdicts;
}

}  // namespace headlight::parity
