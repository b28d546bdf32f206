#include "questions/question.h"

#include <algorithm>

#include "headlight/base/error.h"

namespace headlight {

// Each in the file of its name.
const Question& ablate_question();
const Question& attribute_question();
const Question& circuit_question();
const Question& direction_question();
const Question& importance_question();
const Question& lens_question();
const Question& patch_question();
const Question& paths_question();
const Question& prune_question();
const Question& saliency_question();
const Question& svd_question();

const std::vector<const Question*>& questions() {
  static const std::vector<const Question*> all{
      &lens_question(),      &svd_question(),        &ablate_question(),    &patch_question(),
      &paths_question(),     &circuit_question(),    &attribute_question(), &saliency_question(),
      &direction_question(), &importance_question(), &prune_question()};
  return all;
}

std::function<void(double share)> Asker::part(double first, double last) const {
  return [whole = progress, first, last](double share) { whole(first + share * (last - first)); };
}

void Asker::require_room(Index lists, Index top_k) const {
  const Index vocab = model.vocab_size();
  require_value(top_k <= vocab, "top_k", "expected at most ", vocab, ", got ", top_k);
  require_value(most_values == 0 || lists * top_k <= most_values, "top_k", "expected at most ",
                most_values, " tokens in an answer, got a request for ", lists * top_k);
}

bool always_writes(const Question& question) {
  return std::ranges::any_of(question.parameters, [](const Parameter& parameter) {
    return parameter.kind == ValueKind::output && parameter.is_required;
  });
}

bool runs_texts(const Question& question) {
  return std::ranges::any_of(question.parameters, [](const Parameter& parameter) {
    return parameter.kind == ValueKind::prompt || parameter.kind == ValueKind::records ||
           parameter.kind == ValueKind::data;
  });
}

}  // namespace headlight
