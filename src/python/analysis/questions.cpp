#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/json.h"
#include "base/transformed.h"
#include "headlight/base/nearest_name.h"
#include "python/analysis/figure.h"
#include "python/analysis/metric.h"
#include "python/analysis/text_data.h"
#include "python/autograd/arrays.h"
#include "python/bindings.h"
#include "python/errors.h"
#include "python/model/inputs.h"
#include "python/model/model.h"
#include "python/progress.h"
#include "questions/question.h"
#include "show/result/result.h"

// The questions of the table as methods of a model.
namespace headlight::python {
namespace {

using namespace nb::literals;

// Result of an analysis: arrays and labels by name, and a page.
struct Result {
  ResultArrays arrays;
  nb::dict summary;  // single numbers and texts
  Json rows;         // of the answer; null: none
  std::string html;
};

std::vector<std::string> result_names(const Result& result) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : result.arrays.tensors) {
    names.push_back(name);
  }
  return names;
}

Array result_array(const Result& result, const std::string& name) {
  for (const auto& [known, tensor] : result.arrays.tensors) {
    if (known == name) {
      return array_of(tensor, Access::writable);
    }
  }
  throw nb::key_error(name.c_str());
}

std::vector<std::string> result_labels(const Result& result, const std::string& axis) {
  for (const auto& [name, labels] : result.arrays.texts) {
    if (name == axis) {
      return labels;
    }
  }
  throw nb::key_error(axis.c_str());
}

std::string described_result(const Result& result) {
  std::string text = "<headlight.Result:";
  for (const auto& [name, tensor] : result.arrays.tensors) {
    text += concat_text(" ", name, " ", tensor.shape());
  }
  return text + ">";
}

// Returns a value of Python's module json.
nb::object python_value(const Json& json) {
  return nb::module_::import_("json").attr("loads")(json.dump());
}

// Types and defaults of the methods.

std::string type_of(const Parameter& parameter) {
  constexpr const char* kArray = "headlight.types.ArrayLike";
  switch (parameter.kind) {
    case ValueKind::flag:
      return "bool";
    case ValueKind::integer:
      return "int";
    case ValueKind::number:
      return "float";
    case ValueKind::amount:
      return "float | str";
    case ValueKind::texts:
      return "str | collections.abc.Sequence[str]";
    case ValueKind::prompt:
      return kArray;
    case ValueKind::answer:
      return std::string("int | ") + kArray;
    case ValueKind::records:
      return std::string("collections.abc.Sequence[tuple[") + kArray +
             ", ...] | dict[str, typing.Any]]" + (parameter.name == "pairs" ? "" : " | Result");
    case ValueKind::path:
    case ValueKind::output:
      return "str | os.PathLike[str]";
    case ValueKind::data:
      return std::string(kArray) +
             " | os.PathLike[str] | collections.abc.Sequence[os.PathLike[str]]";
    case ValueKind::metric:
      return "str | Metric | collections.abc.Callable[[headlight.types.Array], float | "
             "tuple[float, "
             "headlight.types.ArrayLike]]";
    default:
      return "str";
  }
}

std::string default_of(const Parameter& parameter) {
  const Json& fallback = parameter.fallback;
  if (parameter.kind == ValueKind::flag) {
    return "False";
  }
  return fallback.is_null()     ? "None"
         : fallback.is_string() ? "'" + fallback.text() + "'"
                                : fallback.dump();
}

bool is_positional(const Question& question, const Parameter& parameter) {
  return std::ranges::count(question.positional, parameter.name) > 0;
}

// A required argument after others with a default has one, too.
std::string argument_text(const Question& question, const Parameter& parameter) {
  const std::string argument = concat_text(parameter.name, ": ", type_of(parameter));
  const bool is_first = question.positional.front() == parameter.name;
  if (parameter.is_required && parameter.fallback.is_null() && parameter.unless.empty() &&
      (is_first || !is_positional(question, parameter))) {
    return argument;
  }
  const std::string fallback = default_of(parameter);
  return argument + (fallback == "None" ? " | None" : "") + " = " + fallback;
}

std::string signature_of(const Question& question) {
  std::string text = concat_text("def ", question.name, "(self");
  for (const bool positional : {true, false}) {
    text += positional ? "" : ", *";
    for (const Parameter& parameter : question.parameters) {
      if (is_positional(question, parameter) == positional) {
        text += ", " + argument_text(question, parameter);
      }
    }
  }
  return text + ", progress: bool = True) -> " + (question.makes_model ? "Model" : "Result");
}

std::string meaning_of(const std::vector<ResultKey>& keys) {
  std::string text;
  for (const ResultKey& key : keys) {
    text += concat_text("\n", key.name, " : ", key.meaning, ".");
  }
  return text;
}

std::string docstring_of(const Question& question) {
  std::string text = std::string(question.summary) + "\n\nParameters\n----------";
  for (const Parameter& parameter : question.parameters) {
    text += concat_text("\n", parameter.name, " : ", parameter.help);
    text += parameter.choices.empty() ? "." : ": " + listed(parameter.choices) + ".";
  }
  text += "\n\nReturns\n-------\n";
  text += question.makes_model ? "The new model."
                               : "A Result. Its summary has:" + meaning_of(question.facts);
  return text + "\n\nNotes\n-----\n" + question.details;
}

// Values of arguments.

// A text, or token ids.
Json prompt_json(nb::handle value, const Tokenizer& tokenizer, std::string_view about) {
  if (nb::isinstance<nb::str>(value)) {
    return read_texts(value, about).front();
  }
  return read_one({nb::borrow(value)}, tokenizer, about);
}

Json answer_json(nb::handle value, const Tokenizer& tokenizer, std::string_view about) {
  const bool is_id = PyIndex_Check(value.ptr()) != 0 && !nb::hasattr(value, "__len__");
  return is_id ? Json(read_value<Index>(value, about, "a token id"))
               : prompt_json(value, tokenizer, about);
}

nb::object json_module() { return nb::module_::import_("json"); }

// A pair of texts: a tuple (clean, corrupt, answer, wrong), or a dictionary, also with groups.
Json record_json(nb::handle value, const Tokenizer& tokenizer, std::string_view about) {
  constexpr std::array<std::string_view, 4> kKeys{"clean", "corrupt", "answer", "wrong"};
  Json record = Json::object();
  const auto add = [&](const std::string& key, nb::handle part) {
    const auto place = std::ranges::find(kKeys, key) - kKeys.begin();
    if (place == 4) {
      record.add(key, parse_json(nb::cast<std::string>(json_module().attr("dumps")(part)), key));
    } else if (!part.is_none()) {
      record.add(key,
                 place < 2 ? prompt_json(part, tokenizer, key) : answer_json(part, tokenizer, key));
    }
  };
  if (nb::isinstance<nb::dict>(value)) {
    for (const auto& [key, part] : nb::borrow<nb::dict>(value)) {
      add(nb::cast<std::string>(key), part);
    }
    return record;
  }
  require_value(
      nb::isinstance<nb::tuple>(value) && nb::len(value) >= 2 && nb::len(value) <= 4, about,
      about == "pairs" ? "expected tuples (clean, corrupt, answer, wrong), or dictionaries"
                       : "expected dictionaries, or a Result with rows");
  for (std::size_t i = 0; i < nb::len(value); ++i) {
    add(std::string(kKeys[i]), nb::borrow<nb::tuple>(value)[i]);
  }
  return record;
}

Json argument_json(const Parameter& parameter, nb::handle value, const Tokenizer& tokenizer) {
  const std::string_view about = parameter.name;
  switch (parameter.kind) {
    case ValueKind::flag:
      return read_value<bool>(value, about, "True or False");
    case ValueKind::integer:
      return read_value<Index>(value, about, "a whole number");
    case ValueKind::number:
      return read_value<double>(value, about, "a number");
    case ValueKind::texts:
      return read_texts(value, about);
    case ValueKind::prompt:
      return prompt_json(value, tokenizer, about);
    case ValueKind::amount:
      return nb::isinstance<nb::str>(value) ? Json(nb::cast<std::string>(value))
                                            : Json(read_value<double>(value, about, "a number"));
    case ValueKind::answer:
      return answer_json(value, tokenizer, about);
    case ValueKind::records: {
      if (nb::isinstance<Result>(value)) {
        return nb::cast<const Result&>(value).rows;
      }
      Json records = Json::array();
      for (const nb::handle record : value) {
        records.push_back(record_json(record, tokenizer, about));
      }
      return records;
    }
    case ValueKind::path:
    case ValueKind::output:
      return nb::cast<std::string>(nb::module_::import_("os").attr("fspath")(value));
    case ValueKind::data:
      return true;
    default:
      return read_value<std::string>(value, about, "a text");
  }
}

// Returns the parameter that an argument without a name has.
const Parameter& positional_parameter(const Question& question, std::size_t index) {
  require(index < question.positional.size(), question.name, "() takes ",
          question.positional.size(), " arguments without a name");
  return *std::ranges::find(question.parameters, question.positional[index], &Parameter::name);
}

struct Call {
  Json given = Json::object();
  LogitMetric metric = {};
  std::vector<std::pair<std::string_view, nb::object>> data = {};
  bool progress = true;
};

// Throws TypeError for an argument that the method lacks.
[[noreturn]] void fail_name(const Question& question, const std::string& name) {
  std::string now;
  std::vector<std::string> names;
  for (const Parameter& parameter : question.parameters) {
    names.emplace_back(parameter.name);
    now += std::ranges::count(parameter.former, name) > 0
               ? concat_text("; it is now called ", parameter.name)
               : "";
  }
  const std::string hint = now.empty() ? did_you_mean(name, names) : now;
  throw nb::type_error(concat_text(question.name, "() has no argument ", name, hint).c_str());
}

Call read_call(const Question& question, const Tokenizer& tokenizer, const nb::args& args,
               const nb::kwargs& kwargs) {
  Call call;
  const auto add = [&](const Parameter& parameter, nb::handle value) {
    require(!call.given.contains(parameter.name), question.name, "() got ", parameter.name,
            " twice");
    if (parameter.kind == ValueKind::metric && !nb::isinstance<nb::str>(value)) {
      call.metric = read_metric(value);
    } else if (!value.is_none()) {
      if (parameter.kind == ValueKind::data) {
        call.data.emplace_back(parameter.name, nb::borrow(value));
      }
      call.given.add(std::string(parameter.name), argument_json(parameter, value, tokenizer));
    }
  };
  for (std::size_t i = 0; i < args.size(); ++i) {
    add(positional_parameter(question, i), args[i]);
  }
  for (const auto& [key, value] : kwargs) {
    const auto name = nb::cast<std::string>(key);
    const auto found = std::ranges::find(question.parameters, name, &Parameter::name);
    if (found != question.parameters.end()) {
      add(*found, value);
    } else if (name == "progress") {
      call.progress = read_value<bool>(value, name, "True or False");
    } else {
      fail_name(question, name);
    }
  }
  return call;
}

nb::object ask(const Question& question, Model& model, const nb::args& args,
               const nb::kwargs& kwargs) {
  const Tokenizer& tokenizer = *model.tokenizer();
  Call call = read_call(question, tokenizer, args, kwargs);
  const Arguments arguments(question.parameters, std::move(call.given));
  question.check(arguments);
  Asker asker{
      .model = model.gpt(),
      .tokenizer = tokenizer,
      .encode_prompt = [&](const auto& text, const auto&) { return tokenizer.encode_prompt(text); },
      .encode = [&](const auto& text, const auto&) { return tokenizer.encode(text); },
      .progress = progress_of(question.name.data(), call.progress),
      .metric = call.metric,
      .source = model.path()};
  for (const auto& [name, value] : call.data) {
    asker.data[name] = read_data(model, {value}, arguments.text("documents"));
  }
  QuestionResult result = [&] {
    const Model::Use use(model);
    asker.kept = &model.kept().passes;
    return question.answer(asker, arguments);
  }();
  warn(result.warnings);
  if (result.model) {
    return nb::cast(
        std::make_unique<Model>(std::move(result.model), model.tokenizer(), model.path()));
  }
  return nb::cast(Result{arrays_of(result), nb::cast<nb::dict>(python_value(facts_of(result))),
                         json_of(result, question.rows).value(question.rows, Json::array()),
                         result_html(page_of(result))});
}

}  // namespace

void add_result(nb::module_& module) {
  nb::class_<Result>(module, "Result",
                     "Result of an analysis: arrays by name. A notebook shows it as a page.")
      .def("__getitem__", &result_array, "name"_a)
      .def("__contains__",
           [](const Result& self, const std::string& name) {
             return std::ranges::any_of(self.arrays.tensors,
                                        [&](const auto& named) { return named.first == name; });
           })
      .def("__len__", [](const Result& self) { return self.arrays.tensors.size(); })
      .def(
          "__iter__", [](const Result& self) { return nb::iter(nb::cast(result_names(self))); },
          nb::sig("def __iter__(self) -> collections.abc.Iterator[str]"))
      .def("keys", &result_names, "Returns the names of the arrays.")
      .def("labels", &result_labels, "axis"_a,
           "Returns the labels along an axis, such as \"head\".")
      .def_prop_ro(
          "summary", [](const Result& self) { return self.summary; },
          nb::sig("def summary(self) -> dict[str, typing.Any]"),
          "Single numbers, such as the loss in nats a token.")
      .def_prop_ro(
          "rows", [](const Result& self) { return python_value(self.rows); },
          nb::sig("def rows(self) -> list[dict[str, typing.Any]]"),
          "Rows of the answer, with the keys that docs/questions.md lists. Those of a circuit are "
          "its edges, which circuit() takes again.")
      .def_ro("html", &Result::html, "Page as HTML that needs no other file.")
      .def("_repr_html_", [](const Result& self) { return notebook_html(self.html); })
      .def("__repr__", &described_result);
}

void add_questions(nb::class_<Model>& model) {
  for (const Question* row : questions()) {
    Question question = *row;
    for (Parameter& parameter : question.parameters) {  // the new model need not be written
      parameter.is_required =
          parameter.is_required && !(question.makes_model && parameter.kind == ValueKind::output);
    }
    const std::string signature = signature_of(question);
    const std::string docstring = docstring_of(question);
    model.def(
        row->name.data(),
        [question](Model& self, const nb::args& args, const nb::kwargs& kwargs) {
          return ask(question, self, args, kwargs);
        },
        nb::sig(signature.c_str()), docstring.c_str());
  }
}

}  // namespace headlight::python
