#include "questions/question.h"

#include <algorithm>

namespace headlight {

// Each in the file of its name.
const Question& ablate_question();
const Question& attribute_question();
const Question& circuit_question();
const Question& importance_question();
const Question& lens_question();
const Question& patch_question();
const Question& paths_question();
const Question& prune_question();

const std::vector<const Question*>& questions() {
  static const std::vector<const Question*> all{
      &lens_question(),    &ablate_question(),    &patch_question(),      &paths_question(),
      &circuit_question(), &attribute_question(), &importance_question(), &prune_question()};
  return all;
}

std::function<void(double share)> Asker::part(double first, double last) const {
  return [whole = progress, first, last](double share) { whole(first + share * (last - first)); };
}

bool always_writes(const Question& question) {
  return std::ranges::any_of(question.parameters, [](const Parameter& parameter) {
    return parameter.kind == ValueKind::output && parameter.is_required;
  });
}

}  // namespace headlight
