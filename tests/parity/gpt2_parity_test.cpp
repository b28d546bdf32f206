#include "parity/parity_support.h"
#include "support/test.h"

// Frozen cases of whole transformers models and of their training by PyTorch.

namespace gpt2_parity_test {
using namespace headlight::parity;

void check_all(const std::string& group, std::size_t count) {
  const ThreadScope one_thread(1);  // the cases are many tiny passes
  const std::vector<Case> cases = read_cases(fixture(group));
  CHECK(cases.size() == count);
  for (const Case& subject : cases) {
    const CaseVerdict verdict = judge(subject);
    INFO(verdict.name << ": " << verdict.trouble);
    CHECK(verdict.passed);
  }
}

TEST_CASE("whole models of all families agree with transformers") {
  check_all("gpt2", 10);
  check_all("families", 24);
  check_all("more_families", 41);
}

TEST_CASE("hook points, their gradients and parts of logits agree with PyTorch's hooks") {
  check_all("points", 9);
  check_all("attribution", 9);
}

TEST_CASE("twenty updates end where those of PyTorch's optimizers end", "[long]") {
  check_all("training", 12);
  check_all("muon", 21);
}

TEST_CASE("every hook point has a frozen case") {
  std::set<std::string> seen;
  for (const Case& subject : read_cases(fixture("points"))) {
    for (const auto& [name, values] : subject.outputs) {
      seen.insert(name.substr(0, name.find(',')));
    }
  }
  for (const Choice<Point>& choice : kChoices<Point>) {
    INFO(choice.name);
    CHECK(seen.count(point_name(choice.value, 0)) == (choice.value == Point::feature ? 0 : 1));
  }
}

TEST_CASE("a wrong learning rate, decay or loss makes a training case fail") {
  const ThreadScope one_thread(1);
  Case subject = read_cases(fixture("training")).at(1);
  REQUIRE(subject.name == "gpt2_training, adamw, packed, float64");
  REQUIRE(judge(subject).passed);
  for (const char* attribute : {"learning_rate", "weight_decay", "grad_clip"}) {
    Case changed = subject;
    changed.attributes[attribute] = 1.001 * subject.attributes[attribute].get<double>();
    INFO(attribute);
    CHECK_FALSE(judge(changed).passed);
  }
  Tensor losses = subject.outputs.at("losses").clone();
  losses.copy_from(Tensor::zeros(losses.shape(), losses.dtype()));
  subject.outputs["losses"] = losses;
  const CaseVerdict verdict = judge(subject);
  CHECK_FALSE(verdict.passed);
  CHECK(verdict.trouble.find("losses") == 0);
}
}  // namespace gpt2_parity_test
