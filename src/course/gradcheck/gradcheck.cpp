#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "base/share.h"
#include "base/transformed.h"
#include "cli/terminal/log.h"
#include "cli/terminal/options.h"
#include "cli/terminal/progress.h"
#include "course/course.h"
#include "course/gradcheck/cases.h"
#include "headlight/autograd/gradient_check.h"
#include "headlight/base/nearest_name.h"
#include "show/report/parts/json_output.h"
#include "show/report/parts/numbers.h"
#include "show/report/parts/table.h"

namespace headlight::cli {
namespace {

struct OpReport {
  std::string op;
  Index inputs = 0;    // cases tried
  Index elements = 0;  // gradients compared
  double largest_error = 0;
  bool passed = true;
};

CommandInfo command_info() {
  return {.name = "gradcheck",
          .summary = "Check the gradient of every op against central differences",
          .positional = "",
          .details =
              "Runs every differentiable op in float64 on plain and awkward inputs (no elements, "
              "axes of\nsize 1, broadcasting, transposed, sliced and expanded views, masked rows, "
              "a tensor used\ntwice) and compares each gradient g with the central difference d = "
              "(f(x + eps) - f(x - eps))\n/ (2 eps). A gradient passes when |g - d| <= atol + rtol "
              "* |d|; the error shown is\n|g - d| / max(|d|, atol / rtol). Failures are described "
              "on stderr. Exit code 1 when any op fails.\n\n"
              "JSON keys: passed, ops (each with op, inputs, elements, largest_error, passed); "
              "largest_error\nis null for NaN.",
          .examples = {"headlight gradcheck", "headlight gradcheck --op layer_norm --json"}};
}

double positive(const Options& options, const std::string& name) {
  const double value = options.number(name);
  require(value > 0, "--", name, ": expected a number above 0, got '", options.text(name), "'");
  return value;
}

GradientCheckOptions check_options(const Options& options) {
  return {.epsilon = positive(options, "eps"),
          .relative_tolerance = positive(options, "rtol"),
          .absolute_tolerance = positive(options, "atol")};
}

// Cases of one op; all cases if `op` is empty.
GradientCases chosen_cases(const std::string& op) {
  GradientCases cases = all_gradient_cases();
  const std::vector<std::string> names = transformed(cases, &GradientCase::op);
  std::erase_if(cases, [&](const GradientCase& one) { return !op.empty() && one.op != op; });
  require(!cases.empty(), "--op: unknown op '", op, "'", did_you_mean(op, names));
  return cases;
}

// Checks one case. An op that throws fails the check.
GradientCheckResult run_case(const GradientCase& one, GradientCheckOptions options) {
  options.elements_per_input = one.elements_per_input;
  try {
    return check_gradients(one.function, one.inputs, options);
  } catch (const Error& error) {
    return {.passed = false, .worst = error.what()};
  }
}

void add_result(OpReport& report, const GradientCheckResult& result) {
  ++report.inputs;
  report.elements += result.elements;
  const bool larger = !(result.largest_error <= report.largest_error);
  if (larger && !std::isnan(report.largest_error)) {
    report.largest_error = result.largest_error;
  }
  report.passed = report.passed && result.passed;
}

std::vector<OpReport> run_cases(const GradientCases& cases, const GradientCheckOptions& options) {
  std::vector<OpReport> reports;
  const auto progress = progress_bar("checking gradients");
  Index done = 0;
  for (const GradientCase& one : cases) {
    progress(share_of(done++, std::ssize(cases)));
    auto report = std::ranges::find(reports, one.op, &OpReport::op);
    if (report == reports.end()) {
      report = reports.insert(reports.end(), OpReport{.op = one.op});
    }
    const GradientCheckResult result = run_case(one, options);
    add_result(*report, result);
    if (!result.passed) {
      log_error(concat_text("gradcheck: ", one.op, ", ", one.description, ": ", result.worst));
    }
  }
  return reports;
}

bool all_passed(const std::vector<OpReport>& reports) {
  return std::ranges::all_of(reports, &OpReport::passed);
}

std::string table_of(const std::vector<OpReport>& reports) {
  Table table({{"op", true}, {"inputs"}, {"gradients"}, {"largest error"}, {"verdict", true}});
  Index inputs = 0;
  Index elements = 0;
  Index failed = 0;
  for (const OpReport& report : reports) {
    table.add({report.op, std::to_string(report.inputs), std::to_string(report.elements),
               fmt::format("{:.1e}", report.largest_error), report.passed ? "ok" : "FAILED"});
    inputs += report.inputs;
    elements += report.elements;
    failed += report.passed ? 0 : 1;
  }
  return table.text() + "\n" + counted(std::ssize(reports), "op") + ", " +
         counted(inputs, "input") + ", " + counted(elements, "gradient") + ": " +
         (failed == 0 ? "all agree" : counted(failed, "op") + " FAILED") + "\n";
}

Json json_of(const std::vector<OpReport>& reports) {
  const auto op_json = [](const OpReport& report) -> Json {
    return {{"op", report.op},
            {"inputs", report.inputs},
            {"elements", report.elements},
            {"largest_error", report.largest_error},
            {"passed", report.passed}};
  };
  return {{"passed", all_passed(reports)}, {"ops", transformed(reports, op_json)}};
}

Options gradcheck_options() {
  Options options(command_info());
  options.value("op", "Check only this op")
      .value("eps", "Step of the central differences", "1e-6")
      .value("rtol", "Largest relative difference that still counts as equal", "1e-5")
      .value("atol", "Largest absolute difference that still counts as equal", "1e-7");
  return options;
}

}  // namespace

int run_gradcheck(const Words& words) {
  bool passed = true;
  run(gradcheck_options(), words, [&](const Options& options) {
    const GradientCheckOptions check = check_options(options);
    const std::vector<OpReport> reports = run_cases(chosen_cases(options.text("op")), check);
    std::cout << (options.json() ? json_line(json_of(reports)) : table_of(reports));
    passed = all_passed(reports);
  });
  return passed ? 0 : 1;
}

}  // namespace headlight::cli
