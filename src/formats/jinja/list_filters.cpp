#include <algorithm>

#include "base/strings/read_number.h"
#include "formats/jinja/print.h"
#include "formats/jinja/runtime.h"
#include "formats/jinja/text_case.h"

// Filters on several elements: list | NAME.
namespace headlight::jinja {
namespace {

// Returns the attribute of a value under a path like "function.name"; parts of digits are indices.
Value by_path(Runtime& runtime, Value value, const Value& path) {
  if (path.is_whole()) {
    return item(runtime, value, path);
  }
  std::string_view rest = path.text();
  while (true) {
    const std::string_view part = rest.substr(0, rest.find('.'));
    const auto index = read_number<std::int64_t>(part);
    value = item(runtime, value, index ? Value(*index) : runtime.text(std::string(part)));
    if (part.size() == rest.size()) {
      return value;
    }
    rest.remove_prefix(part.size() + 1);
  }
}

Value attribute_or_self(const Call& call, const Value& value, std::size_t slot) {
  const bool has_path = call.given(slot) && !call.value(slot).is_none();
  return has_path ? by_path(call.runtime, value, call.value(slot)) : value;
}

Value lowered(const Call& call, const Value& key, bool is_case_sensitive) {
  return key.is_text() && !is_case_sensitive ? call.runtime.text(lower_text(key.text())) : key;
}

// Returns the key by which filters compare: texts in lower case, unless the case counts.
Value sort_key(const Call& call, const Value& value, std::size_t attribute_slot,
               bool is_case_sensitive) {
  return lowered(call, attribute_or_self(call, value, attribute_slot), is_case_sensitive);
}

using Keyed = std::pair<Value, Value>;  // key, value

std::vector<Keyed> keyed(const Call& call, std::size_t attribute_slot, bool is_case_sensitive) {
  std::vector<Keyed> result;
  for (const Value& value : elements(call.budget(), call.self)) {
    result.emplace_back(sort_key(call, value, attribute_slot, is_case_sensitive), value);
  }
  return result;
}

void sort_keyed(const Call& call, std::vector<Keyed>& all, bool is_reverse) {
  std::stable_sort(all.begin(), all.end(), [&](const Keyed& a, const Keyed& b) {
    return is_reverse ? less(call.budget(), b.first, a.first)
                      : less(call.budget(), a.first, b.first);
  });
}

Values values_of(const std::vector<Keyed>& all) {
  Values values;
  for (const Keyed& one : all) {
    values.push_back(one.second);
  }
  return values;
}

Value sort_filter(const Call& call) {
  std::vector<Keyed> all = keyed(call, 2, call.flag_or(1, false));
  sort_keyed(call, all, call.flag_or(0, false));
  return call.runtime.list(values_of(all));
}

Value dict_sort(const Call& call) {
  const std::string by = call.text_or(1, "key");
  require(by == "key" || by == "value", "dictsort: expected key or value");
  std::vector<Keyed> all;
  for (const auto& [name, value] : call.self.dict().members) {
    const Value& key = by == "key" ? name : value;
    all.emplace_back(lowered(call, key, call.flag_or(0, false)),
                     call.runtime.list({name, value}, ListKind::tuple));
  }
  sort_keyed(call, all, call.flag_or(2, false));
  return call.runtime.list(values_of(all));
}

// Returns the groups of elements whose attribute is equal, in the order of the attribute.
Value group_by(const Call& call) {
  const bool is_case_sensitive = call.flag_or(2, false);
  const auto attribute_of = [&](const Value& value) {
    const Value found = by_path(call.runtime, value, call.value(0));
    return found.is_undefined() ? call.value_or(1, found) : found;
  };
  std::vector<Keyed> all;
  for (const Value& value : elements(call.budget(), call.self)) {
    all.emplace_back(lowered(call, attribute_of(value), is_case_sensitive), value);
  }
  sort_keyed(call, all, false);
  Values groups;
  for (auto begin = all.begin(), end = begin; begin != all.end(); begin = end) {
    end = std::find_if(begin, all.end(), [&](const Keyed& one) {
      return !equal(call.budget(), one.first, begin->first);
    });
    groups.push_back(
        call.runtime.list({attribute_of(begin->second), call.runtime.list(values_of({begin, end}))},
                          ListKind::group));
  }
  return call.runtime.list(std::move(groups));
}

Value unique(const Call& call) {
  Values chosen;
  Dict seen;
  for (const auto& [key, value] : keyed(call, 1, call.flag_or(0, false))) {
    if (seen.find(call.budget(), key) == nullptr) {
      seen.set(call.budget(), key, value);
      chosen.push_back(value);
    }
  }
  return call.runtime.list(std::move(chosen), ListKind::generator);
}

template <bool kLargest>
Value extreme(const Call& call) {
  const std::vector<Keyed> all = keyed(call, 1, call.flag_or(0, false));
  const auto before = [&](const Keyed& a, const Keyed& b) {
    return kLargest ? less(call.budget(), b.first, a.first) : less(call.budget(), a.first, b.first);
  };
  const auto found = std::min_element(all.begin(), all.end(), before);
  return found == all.end() ? undefined("an empty list has no smallest or largest element")
                            : found->second;
}

Value join_filter(const Call& call) {
  const std::string between = call.given(0) ? printed(call.budget(), call.value(0)) : "";
  std::string out;
  bool is_first = true;
  for (const Value& value : elements(call.budget(), call.self)) {
    out += is_first ? "" : between;
    call.budget().spend(between.size());
    out += printed(call.budget(), attribute_or_self(call, value, 1));
    is_first = false;
  }
  return call.runtime.text(std::move(out));
}

Value first(const Call& call) {
  const Values all = elements(call.budget(), call.self);
  return all.empty() ? undefined("an empty list has no first element") : all.front();
}

Value last(const Call& call) {
  require(!call.self.is_list() || call.self.list().kind != ListKind::generator,
          "last: a generator has no last element");
  const Values all = elements(call.budget(), call.self);
  return all.empty() ? undefined("an empty list has no last element") : all.back();
}

Value reverse(const Call& call) {
  Values all = elements(call.budget(), call.self);
  std::reverse(all.begin(), all.end());
  if (!call.self.is_text()) {
    return call.runtime.list(std::move(all), ListKind::generator);
  }
  std::string text;
  for (const Value& character : all) {
    text += character.text();
  }
  return call.runtime.text(std::move(text));
}

Value sum(const Call& call) {
  Value total = call.value_or(1, Value(std::int64_t{0}));
  for (const Value& value : elements(call.budget(), call.self)) {
    total = arithmetic(call.runtime, "+", total, attribute_or_self(call, value, 0));
  }
  return total;
}

// Returns rows of so many elements. Argument 1 fills the last row.
Value batch(const Call& call) {
  const std::int64_t size = call.value(0).whole();
  require(size >= 1, "batch: expected rows of 1 or more, got ", size);
  Values rows;
  Values row;
  const Values all = elements(call.budget(), call.self);
  for (std::size_t i = 0; i < all.size(); ++i) {
    row.push_back(all[i]);
    if (std::ssize(row) < size && i + 1 < all.size()) {
      continue;
    }
    const bool is_filled = call.given(1) && !call.value(1).is_none();
    call.budget().spend(is_filled ? static_cast<std::size_t>(size) : 0, sizeof(Value));
    row.resize(is_filled ? static_cast<std::size_t>(size) : row.size(), call.value_or(1, None{}));
    rows.push_back(call.runtime.list(std::exchange(row, {})));
  }
  return call.runtime.list(std::move(rows), ListKind::generator);
}

// Returns so many columns, the first ones longer by one. Argument 1 fills the others.
Value columns(const Call& call) {
  const std::int64_t count = call.value(0).whole();
  require(count >= 1 && count <= 100'000, "slice: expected 1 to 100000 columns, got ", count);
  const Values all = elements(call.budget(), call.self);
  const std::int64_t size = std::ssize(all) / count;
  const std::int64_t longer = std::ssize(all) % count;
  Values result;
  auto begin = all.begin();
  for (std::int64_t i = 0; i < count; ++i) {
    const auto end = begin + size + (i < longer ? 1 : 0);
    Values column(begin, end);
    if (i >= longer && call.given(1) && !call.value(1).is_none()) {
      column.push_back(call.value(1));
    }
    result.push_back(call.runtime.list(std::move(column)));
    begin = end;
  }
  return call.runtime.list(std::move(result), ListKind::generator);
}

Value to_list(const Call& call) { return call.runtime.list(elements(call.budget(), call.self)); }

Value items(const Call& call) {
  require(call.self.is_dict() || call.self.is_undefined(), "items: expected a dictionary, got a ",
          call.self.type_name());
  Values pairs;
  for (const Value& key : elements(call.budget(), call.self)) {
    pairs.push_back(
        call.runtime.list({key, *call.self.dict().find(call.budget(), key)}, ListKind::tuple));
  }
  return call.runtime.list(std::move(pairs), ListKind::generator);
}

// Returns the arguments from `from`.
Arguments rest_of(const Arguments& all, std::size_t from) {
  return {Values(all.values.begin() + static_cast<std::ptrdiff_t>(from), all.values.end()),
          all.named};
}

// Returns the elements of the input. Filters that map or choose take any false value as empty.
Values input_elements(const Call& call) {
  return call.self.is_true() ? elements(call.budget(), call.self) : Values();
}

// list | map(attribute=PATH, default=VALUE) or list | map(FILTER, arguments).
Value map(const Call& call) {
  Values results;
  const auto named = [&](std::string_view name) -> const Value* {
    const auto found = std::find_if(call.all.named.begin(), call.all.named.end(),
                                    [&](const auto& one) { return one.first == name; });
    return found == call.all.named.end() ? nullptr : &found->second;
  };
  const Value* path = call.all.values.empty() ? named("attribute") : nullptr;
  require(path != nullptr || !call.all.values.empty(), "map: expected a filter or attribute=");
  for (const Value& value : input_elements(call)) {
    Value result = path != nullptr ? by_path(call.runtime, value, *path)
                                   : apply_filter(call.runtime, call.all.values[0].text(), value,
                                                  rest_of(call.all, 1));
    const Value* fallback = path != nullptr ? named("default") : nullptr;
    results.push_back(fallback != nullptr && result.is_undefined() ? *fallback : result);
  }
  return call.runtime.list(std::move(results), ListKind::generator);
}

// Keeps the elements for which a test holds (kKept) or not; of an attribute (kAttribute).
template <bool kKept, bool kAttribute>
Value choose(const Call& call) {
  const std::size_t test = kAttribute ? 1 : 0;
  require(call.all.values.size() >= test, "expected the name of an attribute");
  Values chosen;
  for (const Value& value : input_elements(call)) {
    const Value tested = kAttribute ? by_path(call.runtime, value, call.all.values[0]) : value;
    const bool holds = call.all.values.size() > test
                           ? apply_test(call.runtime, call.all.values[test].text(), tested,
                                        rest_of(call.all, test + 1))
                           : tested.is_true();
    if (holds == kKept) {
      chosen.push_back(value);
    }
  }
  return call.runtime.list(std::move(chosen), ListKind::generator);
}

}  // namespace

std::span<const Function> list_filters() {
  static constexpr Function kFilters[] = {
      {"length", "", 0, [](const Call& call) { return Value(length(call.budget(), call.self)); }},
      {"count", "", 0, [](const Call& call) { return Value(length(call.budget(), call.self)); }},
      {"join", "d attribute", 0, join_filter},
      {"attr", "name", 1,
       [](const Call& call) {  // no item of a dictionary
         const bool has_it =
             !call.self.is_dict() || find_method(call.self, call.text(0)) != nullptr;
         return has_it ? attribute(call.runtime, call.self, call.text(0)) : Value();
       }},
      {"first", "", 0, first},
      {"last", "", 0, last},
      {"list", "", 0, to_list},
      {"items", "", 0, items},
      {"reverse", "", 0, reverse},
      {"sort", "reverse case_sensitive attribute", 0, sort_filter},
      {"dictsort", "case_sensitive by reverse", 0, dict_sort},
      {"groupby", "attribute default case_sensitive", 1, group_by},
      {"batch", "linecount fill_with", 1, batch},
      {"slice", "slices fill_with", 1, columns},
      {"unique", "case_sensitive attribute", 0, unique},
      {"min", "case_sensitive attribute", 0, extreme<false>},
      {"max", "case_sensitive attribute", 0, extreme<true>},
      {"sum", "attribute start", 0, sum},
      {"map", "*", 0, map},
      {"select", "*", 0, choose<true, false>},
      {"reject", "*", 0, choose<false, false>},
      {"selectattr", "*", 0, choose<true, true>},
      {"rejectattr", "*", 0, choose<false, true>},
  };
  return kFilters;
}

}  // namespace headlight::jinja
