#include "questions/question.h"

namespace headlight {

const std::vector<const Question*>& questions() {
  static const std::vector<const Question*> all{&importance_question(), &lens_question(),
                                                &attribute_question(),  &patch_question(),
                                                &paths_question(),      &circuit_question()};
  return all;
}

}  // namespace headlight
