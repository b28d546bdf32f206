#include "python/analysis/task.h"

#include "python/analysis/metric.h"
#include "python/analysis/text_data.h"
#include "python/model/inputs.h"

namespace headlight::python {
namespace {

// Returns the ids of an answer: of a text, a list or a single id; empty for None.
std::vector<std::int32_t> answer_ids(const Model& model, nb::handle value, const char* about) {
  if (value.is_none()) {
    return {};
  }
  const bool is_id = PyIndex_Check(value.ptr()) != 0 && !nb::hasattr(value, "__len__");
  return is_id ? std::vector{one_token(model, value, about)} : task_ids(model, value, about, true);
}

}  // namespace

std::vector<std::int32_t> task_ids(const Model& model, nb::handle value, const char* about,
                                   bool is_answer) {
  if (is_answer && nb::isinstance<nb::str>(value)) {
    const std::string text = read_texts(value, about).front();
    std::vector<std::int32_t> ids = model.tokenizer()->encode(text);
    require_known(ids, text, *model.tokenizer(), about);
    return ids;
  }
  InputSequences inputs = read_inputs({nb::borrow(value)}, *model.tokenizer(), about);
  require_value(inputs.is_one, about, "expected one text, got several");
  return std::move(inputs.ids.front());
}

std::int32_t one_token(const Model& model, nb::handle value, const char* about) {
  if (nb::isinstance<nb::str>(value)) {
    const std::string text = read_texts(value, about).front();
    return only_token(model.tokenizer()->encode(text), text, *model.tokenizer(), about);
  }
  const std::vector<std::int32_t> ids =
      PyIndex_Check(value.ptr()) != 0
          ? std::vector{read_value<std::int32_t>(value, about, "a token id")}
          : task_ids(model, value, about, true);
  require_value(ids.size() == 1, about, "expected one token, got ", ids.size());
  return ids.front();
}

PatchingTask patching_task(Model& model, const TaskArguments& arguments) {
  PatchingTask task{.clean = task_ids(model, arguments.clean, "clean", false),
                    .corrupt = task_ids(model, arguments.corrupt, "corrupt", false),
                    .answer = answer_ids(model, arguments.answer, "answer"),
                    .wrong = answer_ids(model, arguments.wrong, "wrong")};
  if (!nb::isinstance<nb::str>(arguments.metric)) {
    task.metric = read_metric(arguments.metric);
    return task;
  }
  const auto kind = parse_name<MetricKind>("metric", nb::cast<std::string>(arguments.metric));
  if (arguments.is_alone) {
    check_answers(kind, !task.answer.empty(), !task.wrong.empty());
  }
  const Model::Use use(model);
  complete_task(task, kind, model.gpt(), *model.tokenizer());
  return task;
}

std::vector<PatchingTask> patching_tasks(Model& model, const nb::sequence& pairs,
                                         const nb::object& metric) {
  std::vector<PatchingTask> tasks;
  for (const nb::handle pair : pairs) {
    require_value(nb::isinstance<nb::tuple>(pair) && nb::len(pair) >= 2 && nb::len(pair) <= 4,
                  "pairs", "expected tuples (clean, corrupt, answer, wrong)");
    const auto part = [&](std::size_t i) -> nb::object {
      return i < nb::len(pair) ? nb::object(pair[i]) : nb::object(nb::none());
    };
    tasks.push_back(patching_task(model, {part(0), part(1), part(2), part(3), metric, false}));
  }
  require_value(!tasks.empty(), "pairs", "expected at least one pair of texts");
  return tasks;
}

}  // namespace headlight::python
