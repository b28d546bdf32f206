#include "questions/question.h"

#include <algorithm>

namespace headlight {

const std::vector<const Question*>& questions() {
  static const std::vector<const Question*> all{&importance_question(), &lens_question(),
                                                &attribute_question(),  &patch_question(),
                                                &paths_question(),      &circuit_question()};
  return all;
}

const Question* find_question(std::string_view name) {
  const auto found = std::ranges::find(questions(), name, &Question::name);
  return found == questions().end() ? nullptr : *found;
}

}  // namespace headlight
