#include "questions/question.h"

namespace headlight {

// Each in the file of its name.
const Question& ablate_question();
const Question& attribute_question();
const Question& circuit_question();
const Question& importance_question();
const Question& lens_question();
const Question& patch_question();
const Question& paths_question();

const std::vector<const Question*>& questions() {
  static const std::vector<const Question*> all{
      &lens_question(),    &ablate_question(),    &patch_question(),     &paths_question(),
      &circuit_question(), &attribute_question(), &importance_question()};
  return all;
}

}  // namespace headlight
