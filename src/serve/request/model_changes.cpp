#include "serve/request/model_changes.h"

#include "headlight/base/error.h"
#include "headlight/interpret/head_set.h"

namespace headlight::serve {
namespace {

// Each change costs a forward pass of one token, and one over its text.
constexpr std::size_t kMostChanges = 256;
constexpr std::size_t kMostTargets = 1'024;  // each pass checks every target at every point
constexpr std::size_t kMostBytes = 65'536;
constexpr Index kMostTokensOfTexts = 16'384;  // limit for all texts of the changes together

std::map<HeadId, HeadScore> read_classes(Fields& fields) {
  std::map<HeadId, HeadScore> classes;
  const Json* given = fields.find("classes", &Json::is_object, "an object");
  if (given == nullptr) {
    return classes;
  }
  for (const auto& [head, name] : given->members()) {
    const HeadSet heads = HeadSet::parse(head);
    require_value(heads.size() == 1 && name.is_string(), "classes",
                  "expected heads with names, e.g. {\"1.0\": \"induction\"}");
    classes[heads[0]] = {.name = name.text(), .score = 1};
  }
  return classes;
}

}  // namespace

std::shared_ptr<ForwardHook> ModelChanges::hook_for(const LoadedModel& loaded) const {
  return changes.empty() ? nullptr
                         : std::make_shared<Interventions>(
                               *loaded.model, changes,
                               Interventions::Options{.tokenizer = loaded.tokenizer.get(),
                                                      .scores = classes,
                                                      .special_tokens = special_tokens});
}

ModelChanges read_model_changes(RequestTexts& texts, const std::string& name) {
  const std::string text = texts.fields().text(name, "");
  ModelChanges result{.classes = read_classes(texts.fields()),
                      .special_tokens = texts.reads_special()};
  if (text.empty()) {
    return result;
  }
  require_value(text.size() <= kMostBytes, name, "expected at most ", kMostBytes, " bytes, got ",
                text.size());
  result.changes = parse_changes(text);
  require_value(result.changes.size() <= kMostChanges, name, "expected at most ", kMostChanges,
                " changes, got ", result.changes.size());
  Index tokens = 0;
  std::size_t targets = 0;
  for (const Change& change : result.changes) {
    targets += change.targets.size() + change.classes.size();
    const std::string file = change.source.file.string();
    require_value(
        file.empty() || texts.may_add(file + ":" + change.source.array), name,
        "expected texts in quotes, or a direction of the server: requests cannot name files");
    for (const std::string& source : {change.source.text, change.source.less}) {
      tokens += source.empty() ? 0 : std::ssize(texts.encode_prompt(source, name));
    }
  }
  require_value(targets <= kMostTargets, name, "expected at most ", kMostTargets,
                " targets in all, got ", targets, "; a range such as 5.* or z.0-11 is one");
  require_value(tokens <= kMostTokensOfTexts, name, "expected texts of at most ",
                kMostTokensOfTexts, " tokens together, got ", tokens);
  result.work = std::ssize(result.changes) + tokens;
  return result;
}

}  // namespace headlight::serve
