#include "formats/jinja/value.h"

#include <algorithm>
#include <cstdlib>

#include "base/strings/read_number.h"
#include "headlight/base/utf8.h"

namespace headlight::jinja {
namespace {

constexpr std::size_t kMostDigits = 4300;  // as in Python
constexpr std::size_t kShare = 32;         // bytes that a shared value adds to its contents

std::size_t depth_of(const Value& value) {
  return value.is_list() ? value.list().depth : value.is_dict() ? value.dict().depth : 0;
}

std::size_t checked_depth(std::size_t inner) {
  require(inner < kDeepestValue, "lists are nested deeper than ", kDeepestValue, " levels");
  return inner + 1;
}

bool equal_dicts(Budget& budget, const Dict& a, const Dict& b) {
  return a.members.size() == b.members.size() &&
         std::all_of(a.members.begin(), a.members.end(), [&](const auto& member) {
           const Value* other = b.find(budget, member.first);
           return other != nullptr && equal(budget, member.second, *other);
         });
}

bool equal_numbers(const Value& a, const Value& b) {
  if (a.is_float() || b.is_float()) {
    return a.number() == b.number();
  }
  return a.is_big() || b.is_big() ? a.is_big() && b.is_big() && a.digits() == b.digits()
                                  : a.whole() == b.whole();
}

}  // namespace

Value undefined(const std::string& reason) {
  return Undefined{std::make_shared<const std::string>(reason)};
}

Value Value::text(Budget& budget, std::string text, bool is_safe) {
  budget.spend(text.size() + kShare);
  Value value;
  value.held_ = std::make_shared<const Text>(Text{std::move(text), is_safe});
  return value;
}

Value Value::list(Budget& budget, List list) {
  budget.spend(list.values.size() + 1, sizeof(Value));
  std::size_t inner = 0;
  for (const Value& element : list.values) {
    inner = std::max(inner, depth_of(element));
  }
  list.depth = checked_depth(inner);
  Value value;
  value.held_ = std::make_shared<const List>(std::move(list));
  return value;
}

Value Value::dict(Budget& budget, Dict dict) {
  budget.spend(dict.members.size() + 1, 2 * sizeof(Value));
  std::size_t inner = 0;
  for (const auto& member : dict.members) {
    inner = std::max({inner, depth_of(member.first), depth_of(member.second)});
  }
  dict.depth = checked_depth(inner);
  Value value;
  value.held_ = std::make_shared<const Dict>(std::move(dict));
  return value;
}

Value Value::whole_number(Budget& budget, const std::string& digits) {
  if (const auto small = read_number<std::int64_t>(digits)) {
    return Value(*small);
  }
  const std::size_t sign = digits.starts_with('-') ? 1 : 0;
  const std::size_t first = std::min(digits.find_first_not_of('0', sign), digits.size());
  if (first > sign) {
    return whole_number(budget, digits.substr(0, sign) + digits.substr(first));
  }
  require(digits.size() <= kMostDigits, "a number has more than ", kMostDigits, " digits");
  budget.spend(digits.size() + kShare);
  Value value;
  value.held_ = std::make_shared<const BigNumber>(BigNumber{digits});
  return value;
}

bool Value::is_sequence() const {
  const bool is_indexed = is_list() && list().kind <= ListKind::range;
  return is_text() || is_dict() || is_undefined() || is_indexed;
}

bool Value::is_iterable() const { return is_text() || is_dict() || is_list() || is_undefined(); }

const char* Value::type_name() const {
  if (is_object()) {
    return object().type_name();
  }
  if (is_list()) {
    static constexpr const char* kKinds[] = {"list",  "tuple", "tuple",
                                             "range", "view",  "generator"};
    return kKinds[static_cast<std::size_t>(list().kind)];
  }
  static constexpr const char* kNames[] = {
      "undefined value", "None", "bool", "int", "float", "str", "list", "dict", "object", "int"};
  return kNames[held_.index()];
}

const Value& Value::defined() const {
  if (const auto* missing = std::get_if<Undefined>(&held_)) {
    fail(missing->reason ? std::string_view(*missing->reason) : "a value is undefined");
  }
  return *this;
}

template <class T>
const T& Value::get(const char* expected) const {
  const T* value = std::get_if<T>(&defined().held_);
  if (value == nullptr) {
    fail("expected a ", expected, ", got a value of type ", type_name());
  }
  return *value;
}

std::int64_t Value::whole() const {
  require(!is_big(), "the number ", is_big() ? digits() : "", " is outside the range of 64 bits");
  return is_boolean() ? std::int64_t{std::get<bool>(held_)} : get<std::int64_t>("whole number");
}

double Value::number() const {
  if (is_big()) {
    return std::strtod(digits().c_str(), nullptr);
  }
  return is_whole() ? static_cast<double>(whole()) : get<double>("number");
}

const std::string& Value::digits() const {
  return get<std::shared_ptr<const BigNumber>>("whole number")->digits;
}

const std::string& Value::text() const { return get<std::shared_ptr<const Text>>("text")->text; }
const List& Value::list() const { return *get<std::shared_ptr<const List>>("list"); }
const Dict& Value::dict() const { return *get<std::shared_ptr<const Dict>>("dictionary"); }
Object& Value::object() const { return *get<Object*>("function or namespace"); }

bool Value::is_true() const {
  if (is_number()) {
    return number() != 0;
  }
  if (is_list()) {
    return list().kind == ListKind::generator || !list().values.empty();
  }
  return is_text() ? !text().empty() : is_dict() ? !dict().members.empty() : is_object();
}

const Value* Dict::find(Budget& budget, const Value& key) const {
  require(!key.is_dict() && !(key.is_list() && !is_tuple_kind(key.list().kind)), "a value of type ",
          key.type_name(), " is no key of a dictionary");
  const auto found = std::find_if(members.begin(), members.end(), [&](const auto& member) {
    return equal(budget, member.first, key);
  });
  return found == members.end() ? nullptr : &found->second;
}

void Dict::set(Budget& budget, const Value& key, const Value& value) {
  if (const Value* old = find(budget, key)) {
    const auto found = std::find_if(members.begin(), members.end(),
                                    [&](const auto& member) { return &member.second == old; });
    found->second = value;
  } else {
    members.emplace_back(key, value);
  }
}

Value value_of(Budget& budget, const Json& json) {
  if (json.is_null()) {
    return None{};
  }
  if (json.is_boolean()) {
    return Value(json.boolean());
  }
  if (json.is_string()) {
    return Value::text(budget, json.text());
  }
  if (json.is_array()) {
    List list;
    for (const Json& element : json) {
      list.values.push_back(value_of(budget, element));
    }
    return Value::list(budget, std::move(list));
  }
  if (json.is_object()) {
    Dict dict;
    for (const JsonMember& member : json.members()) {
      dict.members.emplace_back(Value::text(budget, member.key), value_of(budget, member.value));
    }
    return Value::dict(budget, std::move(dict));
  }
  const bool is_big = json.is_natural() || json.digits() != nullptr;
  return json.is_integer() ? Value(std::int64_t{json.integer()})
         : is_big          ? Value::whole_number(budget, json.dump())
                           : Value(json.number());
}

bool equal(Budget& budget, const Value& a, const Value& b) {
  budget.step();
  if (a.is_number() && b.is_number()) {
    return equal_numbers(a, b);
  }
  if (a.is_text() && b.is_text()) {
    const bool same_size = a.text().size() == b.text().size();
    budget.spend(same_size ? a.text().size() : 0);
    return same_size && a.text() == b.text();
  }
  if (a.is_list() && b.is_list()) {
    const List& left = a.list();
    const List& right = b.list();
    const bool same_kind =
        is_tuple_kind(left.kind) ? is_tuple_kind(right.kind) : left.kind == right.kind;
    return same_kind && std::equal(left.values.begin(), left.values.end(), right.values.begin(),
                                   right.values.end(), [&](const Value& x, const Value& y) {
                                     return equal(budget, x, y);
                                   });
  }
  if (a.is_dict() && b.is_dict()) {
    return equal_dicts(budget, a.dict(), b.dict());
  }
  if (a.is_object() && b.is_object()) {
    return &a.object() == &b.object();
  }
  return (a.is_none() && b.is_none()) || (a.is_undefined() && b.is_undefined());
}

bool less(Budget& budget, const Value& a, const Value& b) {
  budget.step();
  if (a.is_whole() && b.is_whole()) {
    return a.whole() < b.whole();
  }
  if (a.is_big() && b.is_big()) {
    const bool a_minus = a.digits()[0] == '-';
    const bool b_minus = b.digits()[0] == '-';
    const auto size_of = [](const Value& value) {
      return std::pair(value.digits().size(), std::string_view(value.digits()));
    };
    return a_minus != b_minus ? a_minus
           : a_minus          ? size_of(b) < size_of(a)
                              : size_of(a) < size_of(b);
  }
  if (a.defined().is_number() && b.defined().is_number()) {
    return a.number() < b.number();
  }
  if (a.is_text() && b.is_text()) {
    budget.spend(std::min(a.text().size(), b.text().size()));
    return a.text() < b.text();  // the order of UTF-8 is that of code points
  }
  require(a.is_sequence() && a.is_list() && b.is_list() && a.list().kind == b.list().kind, "a ",
          a.type_name(), " and a ", b.type_name(), " have no order");
  const Values& left = a.list().values;
  const Values& right = b.list().values;
  for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    if (!equal(budget, left[i], right[i])) {
      return less(budget, left[i], right[i]);
    }
  }
  return left.size() < right.size();
}

Values elements(Budget& budget, const Value& value) {
  Values result;
  if (value.is_text()) {
    for (std::string_view rest = value.text(); !rest.empty();) {
      const auto size = static_cast<std::size_t>(first_character(rest).length);
      result.push_back(Value::text(budget, std::string(rest.substr(0, size))));
      rest.remove_prefix(size);
    }
    return result;
  }
  if (value.is_dict()) {
    budget.spend(value.dict().members.size(), sizeof(Value));
    for (const auto& member : value.dict().members) {
      result.push_back(member.first);
    }
    return result;
  }
  require(value.is_iterable(), "a value of type ", value.type_name(), " cannot be iterated");
  if (value.is_list() && !value.list().consumed) {
    value.list().consumed = value.list().kind == ListKind::generator;
    budget.spend(value.list().values.size(), sizeof(Value));
    result = value.list().values;
  }
  return result;
}

std::int64_t length(Budget& budget, const Value& value) {
  if (value.is_text()) {
    budget.spend(value.text().size());
    return character_count(value.text());
  }
  if (value.is_dict()) {
    return std::ssize(value.dict().members);
  }
  if (value.is_undefined()) {
    return 0;
  }
  require(value.is_list() && value.list().kind != ListKind::generator, "a value of type ",
          value.type_name(), " has no length");
  return std::ssize(value.list().values);
}

}  // namespace headlight::jinja
