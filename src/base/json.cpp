#include "base/json.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "base/printable.h"
#include "headlight/base/error.h"
#include "headlight/base/utf8.h"

namespace headlight {
namespace {

using Library = nlohmann::ordered_json;

constexpr std::size_t kMaxQuoted = 40;  // bytes

using MemberFunction = std::function<void(const std::string&, Json&)>;

constexpr std::size_t kMaxValues = std::size_t{1} << 22;
constexpr std::size_t kMaxMemberValues = std::size_t{1} << 16;
constexpr std::size_t kMaxKeyBytes = std::size_t{1} << 16;  // keys are copied, values moved

bool is_pair_with_key(const Json& part) {
  return part.is_array() && part.size() == 2 && part[0].is_string();
}

Library library_value(const Json& json) {
  if (json.is_array()) {
    Library list = Library::array();
    for (const Json& value : json.list()) {
      list.push_back(library_value(value));
    }
    return list;
  }
  if (!json.is_object()) {
    return json.is_null()      ? Library()
           : json.is_boolean() ? Library(json.boolean())
           : json.is_string()  ? Library(json.text())
           : json.is_natural() ? Library(json.natural())
           : json.is_integer() ? Library(json.integer())
                               : Library(json.number());
  }
  Library object = Library::object();
  auto& entries = object.get_ref<Library::object_t&>();
  for (const auto& [key, value] : json.members()) {
    // The keys are unique, so skip the map's search for an equal key.
    entries.Library::object_t::Container::emplace_back(key, library_value(value));
  }
  return object;
}

}  // namespace

Json::Json(std::initializer_list<Json> parts) {
  if (!std::all_of(parts.begin(), parts.end(), is_pair_with_key)) {
    *this = array(parts);
    return;
  }
  *this = object();
  for (const Json& part : parts) {
    (*this)[part[0].text()] = part[1];
  }
}

Json Json::array(std::initializer_list<Json> values) {
  Json json;
  json.value_ = Held(List(values));
  return json;
}

Json Json::object() {
  Json json;
  json.value_ = Held(Object());
  return json;
}

const char* Json::type_name() const {
  constexpr std::array kNames{"null",   "boolean", "number", "number",
                              "number", "string",  "array",  "object"};
  return kNames[value_.index()];
}

template <class T>
const T& Json::get(const char* expected) const {
  const T* value = std::get_if<T>(&value_);
  if (value == nullptr) {
    fail("expected ", expected, ", got ", type_name());
  }
  return *value;
}

bool Json::boolean() const { return get<bool>("true or false"); }

Index Json::integer() const { return get<std::int64_t>("a whole number"); }

std::uint64_t Json::natural() const {
  return is_natural() && is_integer() ? static_cast<std::uint64_t>(integer())
                                      : get<std::uint64_t>("a whole number from 0");
}

double Json::number() const {
  return is_integer()   ? static_cast<double>(integer())
         : is_natural() ? static_cast<double>(natural())
                        : get<double>("a number");
}

const std::string& Json::text() const { return *get<Held<std::string>>("a text"); }

const Json::List& Json::list() const { return *get<Held<List>>("a list"); }

const Json::Object& Json::members() const { return *get<Held<Object>>("an object"); }

std::size_t Json::size() const {
  return is_array() ? list().size() : is_object() ? members().size() : is_null() ? 0 : 1;
}

Json::List::const_iterator Json::begin() const { return list().begin(); }

Json::List::const_iterator Json::end() const { return list().end(); }

const Json& Json::operator[](std::size_t place) const {
  const List& values = list();
  require(place < values.size(), "[Json] index ", place, " is past the end of a list of length ",
          values.size());
  return values[place];
}

void Json::push_back(Json value) {
  if (is_null()) {
    *this = array();
  }
  const_cast<List&>(list()).push_back(std::move(value));
}

const Json* Json::find(std::string_view key) const {
  if (!is_object()) {
    return nullptr;
  }
  for (const JsonMember& member : members()) {
    if (member.key == key) {
      return &member.value;
    }
  }
  return nullptr;
}

Json Json::value(std::string_view key, const Json& otherwise) const {
  const Json* found = find(key);
  return found == nullptr ? otherwise : *found;
}

const Json& Json::operator[](std::string_view key) const {
  const Json* found = find(key);
  if (found == nullptr) {
    members();
    fail("key ", quoted_text(key), " is missing");
  }
  return *found;
}

Json& Json::operator[](std::string_view key) {
  if (const Json* found = find(key)) {
    return const_cast<Json&>(*found);
  }
  return add(std::string(key), nullptr);
}

Json& Json::add(std::string key, Json value) {
  if (is_null()) {
    *this = Json::object();
  }
  auto& object = const_cast<Object&>(members());
  object.push_back({std::move(key), std::move(value)});
  return object.back().value;
}

void Json::update(const Json& object) {
  for (const auto& [key, value] : object.members()) {
    (*this)[key] = value;
  }
}

std::string Json::dump(int indent, BadUtf8 bad) const {
  const bool replaced = bad == BadUtf8::replaced;
  try {
    return library_value(*this).dump(
        indent, ' ', false,
        replaced ? Library::error_handler_t::replace : Library::error_handler_t::strict);
  } catch (const Library::exception&) {
    fail("a text is not UTF-8");
  }
}

bool Json::equals(const Json& other) const {
  if (holds<double>() != other.holds<double>() && is_number() && other.is_number()) {
    return number() == other.number();
  }
  if (!is_object() || !other.is_object()) {
    return value_ == other.value_;
  }
  return size() == other.size() && std::ranges::all_of(members(), [&](const JsonMember& member) {
           const Json* found = other.find(member.key);
           return found != nullptr && *found == member.value;
         });
}

// Builds a value from the parser's events, because the library's builder accepts duplicate keys and
// any depth. With a member function, each member of the outermost object is passed to it and then
// replaced by null.
class JsonBuilder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  JsonBuilder(std::string_view name, const MemberFunction* member) : name_(name), member_(member) {}

  Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  // The parser calls this only for numbers with a minus; -0 becomes the double -0.0.
  bool number_integer(number_integer_t value) override {
    return value == 0 ? add(-0.0) : add(value);
  }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override {
    Json text;
    text.value_ = Json::Held(std::move(value));
    return add(std::move(text));
  }
  bool binary(binary_t&) override { fail(name_, ": binary values are not JSON text"); }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_array() override { return close(); }

  bool key(string_t& key) override {
    require(key.size() <= kMaxKeyBytes, name_, ": key ", in_quotes(key), " is longer than ",
            kMaxKeyBytes, " bytes");
    if (is_known(key)) {
      const std::string place = open_.size() > 1 ? " in " + in_quotes(top_key_) : "";
      fail(name_, ": duplicate key ", in_quotes(key), place);
    }
    if (open_.size() == 1) {
      top_key_ = key;
    }
    key_ = std::move(key);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    fail(name_, ": invalid JSON at byte ", position == 0 ? 0 : position - 1, reason(error.what()));
  }

 private:
  struct Open {
    Json* container;
    std::unordered_set<std::size_t> hashes = {};  // of the keys of an object with many members
  };

  // Returns ": REASON" from the message "... syntax error while parsing value - REASON; last read:
  // ...", or "". The rest of the message may be long and quotes the file.
  static std::string reason(std::string_view message) {
    const std::size_t start = message.find(" - ");
    if (start == std::string_view::npos) {
      return "";
    }
    const std::string_view rest = message.substr(start + 3);
    return ": " + std::string(rest.substr(0, rest.find(';')));
  }

  static std::size_t hash_of(std::string_view key) { return std::hash<std::string_view>()(key); }

  bool is_known(std::string_view key) {
    constexpr std::size_t kFew = 32;  // below this, a linear search is enough
    auto& [container, hashes] = open_.back();
    if (hashes.empty() && container->size() >= kFew) {
      for (const JsonMember& member : container->members()) {
        hashes.insert(hash_of(member.key));
      }
    }
    return (hashes.empty() || hashes.contains(hash_of(key))) && container->contains(key);
  }

  bool open(Json container) {
    require(open_.size() < kMaxJsonDepth, name_, ": JSON is nested deeper than ", kMaxJsonDepth);
    open_.push_back({&place(std::move(container))});
    return true;
  }

  bool close() {
    open_.pop_back();
    return hand_over();
  }

  bool add(Json value) {
    place(std::move(value));
    return hand_over();
  }

  // Pointers to open containers stay valid: a container grows only while none inside it is open.
  Json& place(Json value) {
    require(++values_ <= (member_ == nullptr ? kMaxValues : kMaxMemberValues), name_,
            ": too many JSON values");
    if (open_.empty()) {
      require(member_ == nullptr || value.is_object(), name_, ": expected a JSON object");
      return root_ = std::move(value);
    }
    Open& parent = open_.back();
    if (parent.container->is_array()) {
      parent.container->push_back(std::move(value));
      return const_cast<Json&>(parent.container->list().back());
    }
    if (!parent.hashes.empty()) {
      parent.hashes.insert(hash_of(key_));
    }
    return parent.container->add(std::move(key_), std::move(value));
  }

  bool hand_over() {
    if (member_ != nullptr && open_.size() == 1) {
      auto& value = const_cast<Json&>(root_.members().back().value);
      (*member_)(top_key_, value);
      value = nullptr;
      values_ = 0;
    }
    return true;
  }

  std::string_view name_;
  const MemberFunction* member_;
  Json root_;
  std::vector<Open> open_;  // the containers around the next value, outermost first
  std::string key_;         // key of the next value
  std::string top_key_;     // key of the current member of the outermost object
  std::size_t values_ = 0;  // values so far, of the document or of the current member
};

namespace {

Json build(std::string_view text, std::string_view name, const MemberFunction* member) {
  // The library treats a zero byte as the end of the text and would ignore the rest.
  const std::size_t zero = text.find('\0');
  require(zero == std::string_view::npos, name, ": invalid JSON at byte ", zero, ": zero byte");
  JsonBuilder builder(name, member);
  nlohmann::json::sax_parse(text, &builder);
  return builder.take();
}

}  // namespace

Json parse_json(std::string_view text, std::string_view name) { return build(text, name, nullptr); }

std::optional<Json> try_parse_json(std::string_view text) {
  try {
    return parse_json(text, "");
  } catch (const Error&) {
    return std::nullopt;
  }
}

void parse_json_members(std::string_view text, std::string_view name,
                        const MemberFunction& member) {
  build(text, name, &member);
}

std::string quoted_text(std::string_view text) {
  std::string shown(text.substr(0, kMaxQuoted));
  shown.resize(static_cast<std::size_t>(complete_utf8_prefix(shown)));
  if (shown.size() < text.size()) {
    shown += "...";
  }
  return Json(shown).dump();
}

const Json& json_member(const Json& object, std::string_view key, std::string_view where) {
  require(object.is_object(), where, ": expected an object, got ", object.type_name());
  const Json* found = object.find(key);
  if (found == nullptr) {
    fail(where, ": key ", quoted_text(key), " is missing");
  }
  return *found;
}

std::string json_string(const Json& object, std::string_view key, std::string_view where) {
  const Json& value = json_member(object, key, where);
  if (!value.is_string()) {
    fail(where, ": ", quoted_text(key), " must be a string, got ", value.type_name());
  }
  return value.text();
}

}  // namespace headlight
