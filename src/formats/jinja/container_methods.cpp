#include <algorithm>

#include "formats/jinja/runtime.h"

// Methods of Python's dict, list and tuple that change nothing.
namespace headlight::jinja {
namespace {

template <class Part>
Value dict_view(const Call& call, const char* name, const Part& part) {
  Values values;
  for (const auto& member : call.self.dict().members) {
    values.push_back(part(member));
  }
  return call.runtime.list({.values = std::move(values), .kind = ListKind::view, .name = name});
}

Value dict_items(const Call& call) {
  return dict_view(call, "dict_items", [&](const auto& member) {
    return call.runtime.list({member.first, member.second}, ListKind::tuple);
  });
}
Value dict_keys(const Call& call) {
  return dict_view(call, "dict_keys", [](const auto& member) { return member.first; });
}
Value dict_values(const Call& call) {
  return dict_view(call, "dict_values", [](const auto& member) { return member.second; });
}

Value dict_get(const Call& call) {
  const Value* found = call.self.dict().find(call.budget(), call.value(0));
  return found == nullptr ? call.value_or(1, None{}) : *found;
}

Value list_index(const Call& call) {
  const Values& values = call.self.list().values;
  const auto found = std::find_if(values.begin(), values.end(), [&](const Value& value) {
    return equal(call.budget(), value, call.value(0));
  });
  require(found != values.end(), "index: the list does not contain the value");
  return Value(std::int64_t{found - values.begin()});
}

Value list_count(const Call& call) {
  const Values& values = call.self.list().values;
  return Value(std::int64_t{std::count_if(values.begin(), values.end(), [&](const Value& value) {
    return equal(call.budget(), value, call.value(0));
  })});
}

}  // namespace

std::span<const Function> container_methods() {
  static constexpr Function kMethods[] = {
      {"items", "", 0, dict_items},
      {"keys", "", 0, dict_keys},
      {"values", "", 0, dict_values},
      {"get", "key default", 1, dict_get},
      {"copy", "", 0, [](const Call& call) { return call.self; }},
      {"index", "value", 1, list_index},
      {"count", "value", 1, list_count},
  };
  return kMethods;
}

}  // namespace headlight::jinja
