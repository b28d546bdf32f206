#include "parity/parity_support.h"
#include "parity/runners/runners.h"
#include "parity/table.h"
#include "support/test.h"

namespace judgement_test {
using namespace headlight::parity;

// A case of y = exp(x) at 0 and log(2) with the given expected output and gradient.
Case exponential(const Tensor& expected, const Tensor& gradient) {
  return {.name = "exp",
          .rung = "exp, float64",
          .op = "exp",
          .attributes = parity::Json::object(),
          .tolerance = {1e-10, 1e-12},
          .inputs = {{"x", doubles({0, std::log(2.0)}, {2})}, {"d_y", doubles({1, 10}, {2})}},
          .outputs = {{"y", expected}},
          .gradients = {{"x", gradient}}};
}

// Returns the names of the functions that a header declares at the start of a line.
std::vector<std::string> functions_in(const fs::path& header) {
  static const std::regex kFunction(
      R"(\n(?:inline )?(?:Tensor|AttentionResult|std::vector<Tensor>) (operator\S|\w+)\()");
  return matches_of(file_contents(header), kFunction);
}

TEST_CASE("a parity case passes when outputs and gradients lie within its tolerance") {
  const CaseVerdict verdict = judge(exponential(doubles({1, 2}, {2}), doubles({1, 20}, {2})));
  CHECK(verdict.passed);
  CHECK(verdict.elements == 4);
  CHECK(verdict.error < 1e-15);
  CHECK(verdict.limit == 1e-10);
}

TEST_CASE("a parity case fails for one wrong element of an output and names it") {
  const CaseVerdict verdict =
      judge(exponential(doubles({1, 2 + 1e-9}, {2}), doubles({1, 20}, {2})));
  CHECK_FALSE(verdict.passed);
  CHECK(verdict.error == Approx(5e-10).epsilon(0.01));
  CHECK(mentions(verdict.trouble, {"y [2] element 1 is 2"}));
  CHECK_FALSE(all_passed({verdict}));
}

TEST_CASE("a parity case fails for a wrong gradient or shape or type and for a missing output") {
  const Tensor y = doubles({1, 2}, {2});
  const Tensor gradient = doubles({1, 20}, {2});
  CHECK(mentions(judge(exponential(y, doubles({1, 21}, {2}))).trouble, {"gradient of x"}));
  CHECK(mentions(judge(exponential(doubles({1, 2}, {1, 2}), gradient)).trouble,
                 {"float64 [2]", "expected float64 [1, 2]"}));
  CHECK(mentions(judge(exponential(floats({1, 2}, {2}), gradient)).trouble, {"float32"}));
  Case missing = exponential(y, gradient);
  missing.outputs["z"] = y;
  CHECK(mentions(judge(missing).trouble, {"z is missing"}));
}

TEST_CASE("a parity case fails for an output that it does not expect") {
  Case subject = exponential(doubles({1, 2}, {2}), doubles({1, 20}, {2}));
  subject.outputs.clear();
  CHECK(mentions(judge(subject).trouble, {"y is not expected"}));
}

TEST_CASE("when several results have one name each of them must agree") {
  const Case subject = exponential(doubles({1, 2}, {2}), doubles({1, 20}, {2}));
  Run run(subject);
  run.output("y", doubles({1, 2}, {2}));
  run.gradient("x", doubles({1, 20}, {2}));
  CHECK(judge(subject, run).passed);
  CHECK(judge(subject, run).elements == 4);
  run.output("y", doubles({1, 3}, {2}));
  run.gradient("x", doubles({2, 20}, {2}));
  CHECK(mentions(judge(subject, run).trouble, {"y [2] element 1 is 3"}));
  CHECK(judge(subject, run).elements == 8);
}

TEST_CASE("a parity case fails for NaN instead of a number and for a number instead of NaN") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor gradient = doubles({1, 20}, {2});
  CHECK_FALSE(judge(exponential(doubles({1, nan}, {2}), gradient)).passed);
  CHECK_FALSE(judge(exponential(doubles({1, infinity}, {2}), gradient)).passed);
  Case undefined = exponential(doubles({1, nan}, {2}), doubles({1, nan}, {2}));
  undefined.inputs["x"] = doubles({0, nan}, {2});
  CHECK(judge(undefined).passed);
}

TEST_CASE("a parity case without runner or input fails instead of disappearing") {
  Case unknown = exponential(doubles({1, 2}, {2}), doubles({1, 20}, {2}));
  unknown.op = "no_such_op";
  CHECK(mentions(judge(unknown).trouble, {"no runner for no_such_op"}));
  Case empty = exponential(doubles({1, 2}, {2}), doubles({1, 20}, {2}));
  empty.inputs.clear();
  CHECK_FALSE(judge(empty).passed);
}

TEST_CASE("the parity table has a row for each group of cases and names the failed ones") {
  const Tensor gradient = doubles({1, 20}, {2});
  std::ostringstream out;
  print_table(out, {judge(exponential(doubles({1, 2}, {2}), gradient)),
                    judge(exponential(doubles({1, 3}, {2}), gradient))});
  CHECK(std::regex_search(out.str(), std::regex("exp, float64 +\\| +2 \\|.*\\| FAILED\n")));
  CHECK(contains(out.str(), "\nexp: y [2] element 1 is 2"));
}

TEST_CASE("every function of the ops headers has frozen cases and a runner") {
  std::set<std::string> functions;
  const auto headers = fs::path(HEADLIGHT_SOURCE_DIR) / "include" / "headlight" / "ops";
  for (const auto& header : fs::directory_iterator(headers)) {
    const std::vector<std::string> names = functions_in(header.path());
    functions.insert(names.begin(), names.end());
  }
  CHECK(functions.size() > 50);
  std::set<std::string> tried;
  for (const char* group : {"ops", "preference", "llama"}) {
    for (const Case& subject : read_cases(fixture(group))) {
      tried.insert(subject.op);
    }
  }
  for (const std::string& name : functions) {
    INFO("no parity case computes " << name);
    CHECK(tried.count(name) == 1);
    CHECK(all_runners().count(name) == 1);
  }
}
}  // namespace judgement_test
