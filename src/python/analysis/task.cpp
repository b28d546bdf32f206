#include "python/analysis/task.h"

#include "python/analysis/text_data.h"
#include "python/model/inputs.h"

namespace headlight::python {

std::vector<std::int32_t> task_ids(const Model& model, nb::handle value, const char* about,
                                   bool is_answer) {
  if (is_answer && nb::isinstance<nb::str>(value)) {
    return model.tokenizer()->encode(read_texts(value, about).front());
  }
  InputSequences inputs = read_inputs({nb::borrow(value)}, *model.tokenizer(), about);
  require_value(inputs.is_one, about, "expected one text, got several");
  return std::move(inputs.ids.front());
}

std::int32_t one_token(const Model& model, nb::handle value, const char* about) {
  const std::vector<std::int32_t> ids =
      PyIndex_Check(value.ptr()) != 0
          ? std::vector{read_value<std::int32_t>(value, about, "a token id")}
          : task_ids(model, value, about, true);
  require_value(ids.size() == 1, about, "expected one token, got ", ids.size());
  return ids.front();
}

PatchingTask patching_task(const Model& model, nb::handle clean, nb::handle corrupt,
                           nb::handle answer, nb::handle wrong) {
  return {.clean = task_ids(model, clean, "clean", false),
          .corrupt = task_ids(model, corrupt, "corrupt", false),
          .answer = task_ids(model, answer, "answer", true),
          .wrong = task_ids(model, wrong, "wrong", true)};
}

}  // namespace headlight::python
