#include "serve/request/fields.h"

#include "headlight/base/error.h"
#include "headlight/base/nearest_name.h"

namespace headlight::serve {
namespace {

// Returns a number, or the type of another value.
std::string described(const Json& value) {
  return value.is_number() ? value.dump() : value.type_name();
}

}  // namespace

Fields::Fields(std::string_view body, WorkBudget budget)
    : budget_(std::move(budget)), body_(parse_json(body, "body", budget_)) {
  require_value(body_.is_object(), "body", "expected an object, got ", body_.type_name());
}

Fields Fields::of(Json object, WorkBudget budget) {
  Fields fields;
  fields.budget_ = std::move(budget);
  fields.body_ = std::move(object);
  return fields;
}

const Json* Fields::find(const std::string& name) {
  known_.insert(name);
  const Json* value = body_.find(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

const Json* Fields::find(const std::string& name, bool (Json::*is_right)() const,
                         const char* expected) {
  const Json* value = find(name);
  require_value(value == nullptr || (value->*is_right)(), name, "expected ", expected, ", got ",
                value == nullptr ? "" : value->type_name());
  return value;
}

const Json& Fields::get(const std::string& name) {
  const Json* value = find(name);
  require_value(value != nullptr, name, "expected a value, got none");
  return *value;
}

Index Fields::integer(const std::string& name, Index fallback, Index least, Index most) {
  const Json* value = find(name);
  if (value == nullptr) {
    return fallback;
  }
  const bool fits = value->is_integer() && value->integer() >= least && value->integer() <= most;
  require_value(fits, name, "expected a whole number from ", least, " to ", most, ", got ",
                described(*value));
  return value->integer();
}

double Fields::number(const std::string& name, double fallback, double least, double most) {
  const Json* value = find(name);
  if (value == nullptr) {
    return fallback;
  }
  const bool fits = value->is_number() && value->number() >= least && value->number() <= most;
  require_value(fits, name, "expected a number from ", least, " to ", most, ", got ",
                described(*value));
  return value->number();
}

bool Fields::boolean(const std::string& name, bool fallback) {
  const Json* value = find(name, &Json::is_boolean, "true or false");
  return value == nullptr ? fallback : value->boolean();
}

std::string Fields::text(const std::string& name, const std::string& fallback) {
  const Json* value = find(name, &Json::is_string, "a text");
  return value == nullptr ? fallback : value->text();
}

std::vector<std::string> Fields::texts(const std::string& name, std::size_t most) {
  const Json* value = find(name);
  std::vector<std::string> texts;
  if (value == nullptr) {
    return texts;
  }
  if (value->is_string()) {
    return {value->text()};
  }
  require_value(value->is_array() && value->size() <= most, name, "expected a text or up to ", most,
                " of them, got ", value->type_name());
  for (const Json& text : *value) {
    require_value(text.is_string(), name, "expected texts, got ", text.type_name());
    texts.push_back(text.text());
  }
  return texts;
}

void Fields::refuse_others() const {
  for (const auto& [key, value] : body_.members()) {
    if (known_.count(key) == 0 && !value.is_null()) {
      fail_value(escaped(key), "is not a key of this request",
                 did_you_mean(key, {known_.begin(), known_.end()}));
    }
  }
}

Index token_count(const std::vector<std::vector<std::int32_t>>& texts) {
  Index count = 0;
  for (const std::vector<std::int32_t>& text : texts) {
    count += std::ssize(text);
  }
  return count;
}

std::vector<std::int32_t> token_list(const Json& list, const std::string& name, Index vocabulary) {
  require_value(list.is_array(), name, "expected a list of token ids, got ", list.type_name());
  std::vector<std::int32_t> tokens;
  for (const Json& value : list) {
    require_value(value.is_integer() && value.integer() >= 0 && value.integer() < vocabulary, name,
                  "expected token ids from 0 to ", vocabulary - 1, ", got ", described(value));
    tokens.push_back(static_cast<std::int32_t>(value.integer()));
  }
  return tokens;
}

}  // namespace headlight::serve
