#include "base/json.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "base/strings/printable.h"
#include "headlight/base/error.h"
#include "headlight/base/utf8.h"

namespace headlight {
namespace {

using Library = nlohmann::ordered_json;

constexpr std::size_t kMaxQuoted = 40;     // bytes
constexpr std::size_t kMostDigits = 4300;  // of a whole number, as in Python

using MemberFunction = std::function<void(const std::string&, Json&)>;

constexpr std::size_t kMaxValues = std::size_t{1} << 22;
constexpr std::size_t kMaxMemberValues = std::size_t{1} << 16;
constexpr std::size_t kMaxKeyBytes = std::size_t{1} << 16;  // keys are copied, values moved
constexpr std::size_t kIndexBlock = 32;                     // members
constexpr std::size_t kHeapBytes = 48;  // a text or list on the heap, with the allocator's part

bool is_pair_with_key(const Json& part) {
  return part.is_array() && part.size() == 2 && part[0].is_string();
}

// Writes a value as the library does, without a copy of the whole value in the library's types.
class JsonWriter {
 public:
  // `indent`: blanks per level; below 0: one line.
  JsonWriter(int indent, Json::BadUtf8 bad)
      : indent_(indent),
        bad_(bad == Json::BadUtf8::replaced ? Library::error_handler_t::replace
                                            : Library::error_handler_t::strict) {}

  std::string text(const Json& json) {
    write(json);
    return std::move(text_);
  }

 private:
  void write(const Json& json) {
    if (json.is_array()) {
      write_all(json.list(), "[]", [&](const Json& value) { write(value); });
    } else if (json.is_object()) {
      write_all(json.members(), "{}", [&](const JsonMember& member) {
        write(std::string_view(member.key));
        text_ += indent_ < 0 ? ":" : ": ";
        write(member.value);
      });
    } else if (json.is_string()) {
      write(std::string_view(json.text()));
    } else if (json.digits() != nullptr) {
      text_ += *json.digits();
    } else if (json.is_natural()) {
      text_ += std::to_string(json.natural());
    } else if (json.is_integer()) {
      text_ += std::to_string(json.integer());
    } else if (json.is_number()) {
      write(json.number());
    } else {
      text_ += json.is_null() ? "null" : json.boolean() ? "true" : "false";
    }
  }

  template <class Values, class Write>
  void write_all(const Values& values, std::string_view brackets, const Write& write_one) {
    text_ += brackets.front();
    ++depth_;
    bool is_first = true;
    for (const auto& value : values) {
      text_ += std::exchange(is_first, false) ? "" : ",";
      break_line();
      write_one(value);
    }
    --depth_;
    if (!values.empty()) {
      break_line();
    }
    text_ += brackets.back();
  }

  void break_line() {
    if (indent_ >= 0) {
      text_ += '\n';
      text_.append(depth_ * static_cast<std::size_t>(indent_), ' ');
    }
  }

  void write(double number) {
    if (!std::isfinite(number)) {
      text_ += "null";
      return;
    }
    std::array<char, 64> digits{};
    text_.append(digits.data(),
                 nlohmann::detail::to_chars(digits.data(), digits.data() + digits.size(), number));
  }

  void write(std::string_view text) {
    const bool is_plain = std::ranges::all_of(
        text, [](char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; });
    if (is_plain) {
      text_ += '"';
      text_ += text;
      text_ += '"';
    } else {
      text_ += Library(std::string(text)).dump(-1, ' ', false, bad_);
    }
  }

  int indent_;
  Library::error_handler_t bad_;
  std::size_t depth_ = 0;
  std::string text_;
};

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
  json.value_ = Held(Members());
  return json;
}

const char* Json::type_name() const {
  constexpr std::array kNames{"null",   "boolean", "number", "number", "number",
                              "string", "array",   "object", "number"};
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

const std::string* Json::digits() const {
  const auto* held = std::get_if<Held<Digits>>(&value_);
  return held == nullptr ? nullptr : &(**held).text;
}

double Json::number() const {
  if (const std::string* all = digits()) {
    return std::strtod(all->c_str(), nullptr);
  }
  return is_integer()   ? static_cast<double>(integer())
         : is_natural() ? static_cast<double>(natural())
                        : get<double>("a number");
}

const std::string& Json::text() const { return *get<Held<std::string>>("a text"); }

const Json::List& Json::list() const { return *get<Held<List>>("a list"); }

const Json::Object& Json::members() const { return (*get<Held<Members>>("an object")).all; }

std::size_t Json::size() const {
  return is_array() ? list().size() : is_object() ? members().size() : is_null() ? 0 : 1;
}

Json::List::const_iterator Json::begin() const { return list().begin(); }

Json::List::const_iterator Json::end() const { return list().end(); }

const Json& Json::operator[](std::size_t index) const {
  const List& values = list();
  require(index < values.size(), "[Json] index ", index, " is past the end of a list of length ",
          values.size());
  return values[index];
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
  const JsonMember* found = (*get<Held<Members>>("an object")).find(key);
  return found == nullptr ? nullptr : &found->value;
}

// The index has sorted parts, the largest first: one of kIndexBlock * 2^k entries for every bit k
// of the number of its blocks. Members after the last whole block are not in the index. Keys of
// equal hash are sorted, so that nobody can choose keys that take long to find.
const JsonMember* Json::Members::find(std::string_view key) const {
  const std::size_t hash = std::hash<std::string_view>()(key);
  const auto is_before = [&](const IndexEntry& entry, std::string_view wanted) {
    return entry.hash < hash || (entry.hash == hash && all[entry.member].key < wanted);
  };
  auto begin = index.begin();
  for (std::size_t size = std::bit_floor(index.size()); size >= kIndexBlock; size /= 2) {
    if ((index.size() & size) != 0) {
      const auto end = begin + static_cast<std::ptrdiff_t>(size);
      const auto entry = std::lower_bound(begin, end, key, is_before);
      if (entry != end && all[entry->member].key == key) {
        return &all[entry->member];
      }
      begin = end;
    }
  }
  const auto rest = all.begin() + std::ssize(index);
  const auto found = std::find_if(rest, all.end(), [&](const auto& one) { return one.key == key; });
  return found == all.end() ? nullptr : &*found;
}

bool Json::Members::comes_before(const IndexEntry& a, const IndexEntry& b) const {
  return std::tie(a.hash, all[a.member].key, a.member) <
         std::tie(b.hash, all[b.member].key, b.member);
}

// Every block joins the parts of its size, as a carry joins the bits of a number.
JsonMember& Json::Members::add(JsonMember member) {
  all.push_back(std::move(member));
  if (all.size() % kIndexBlock == 0) {
    const auto is_before = [this](const IndexEntry& a, const IndexEntry& b) {
      return comes_before(a, b);
    };
    const std::size_t before = index.size();
    for (std::size_t i = before; i < all.size(); ++i) {
      index.push_back({std::hash<std::string_view>()(all[i].key), static_cast<std::uint32_t>(i)});
    }
    std::sort(index.begin() + static_cast<std::ptrdiff_t>(before), index.end(), is_before);
    for (std::size_t size = kIndexBlock; (before & size) != 0; size *= 2) {
      const auto length = static_cast<std::ptrdiff_t>(size);
      std::inplace_merge(index.end() - 2 * length, index.end() - length, index.end(), is_before);
    }
  }
  return all.back();
}

bool Json::Members::operator==(const Members& other) const { return all == other.all; }

Json Json::value(std::string_view key, const Json& fallback) const {
  const Json* found = find(key);
  return found == nullptr ? fallback : *found;
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
  return (*get<Held<Members>>("an object")).add({std::move(key), std::move(value)}).value;
}

void Json::update(const Json& object) {
  for (const auto& [key, value] : object.members()) {
    (*this)[key] = value;
  }
}

std::size_t Json::memory() const {
  std::size_t bytes = sizeof(Json);
  if (is_string()) {
    bytes += kHeapBytes + text().capacity();
  } else if (is_array()) {
    bytes += kHeapBytes;
    for (const Json& value : list()) {
      bytes += value.memory();
    }
  } else if (is_object()) {
    bytes += kHeapBytes;
    for (const JsonMember& member : members()) {
      bytes +=
          sizeof(Members::IndexEntry) + kHeapBytes + member.key.capacity() + member.value.memory();
    }
  }
  return bytes;
}

std::string Json::dump(int indent, BadUtf8 bad) const {
  try {
    return JsonWriter(indent, bad).text(*this);
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
  JsonBuilder(std::string_view name, const MemberFunction* member, WorkBudget budget)
      : name_(name), member_(member), budget_(std::move(budget)) {}

  Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  // The parser calls this only for numbers with a minus; -0 becomes the double -0.0.
  bool number_integer(number_integer_t value) override {
    return value == 0 ? add(-0.0) : add(value);
  }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  // The parser also calls this for whole numbers beyond 64 bits.
  bool number_float(number_float_t value, const string_t& text) override {
    const bool is_whole = text.find_first_of(".eE") == std::string::npos;
    return is_whole && text.size() <= kMostDigits ? add(with_digits(text)) : add(value);
  }
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
    if (open_.back()->contains(key)) {
      const std::string context = open_.size() > 1 ? " in " + in_quotes(top_key_) : "";
      fail(name_, ": duplicate key ", in_quotes(key), context);
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
  static Json with_digits(const std::string& text) {
    Json json;
    json.value_ = Json::Held(Json::Digits{text});
    return json;
  }

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

  bool open(Json container) {
    require(open_.size() < kMaxJsonDepth, name_, ": JSON is nested deeper than ", kMaxJsonDepth);
    open_.push_back(&attach(std::move(container)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return hand_over();
  }

  bool add(Json value) {
    attach(std::move(value));
    return hand_over();
  }

  // Pointers to open containers stay valid: a container grows only while none inside it is open.
  Json& attach(Json value) {
    require(++values_ <= (member_ == nullptr ? kMaxValues : kMaxMemberValues), name_,
            ": too many JSON values");
    budget_.spend(1);
    if (open_.empty()) {
      require(member_ == nullptr || value.is_object(), name_, ": expected a JSON object");
      return root_ = std::move(value);
    }
    Json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return const_cast<Json&>(parent.list().back());
    }
    return parent.add(std::move(key_), std::move(value));
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
  WorkBudget budget_;
  Json root_;
  std::vector<Json*> open_;  // the containers around the next value, outermost first
  std::string key_;          // key of the next value
  std::string top_key_;      // key of the current member of the outermost object
  std::size_t values_ = 0;   // values so far, of the document or of the current member
};

namespace {

Json build(std::string_view text, std::string_view name, const MemberFunction* member,
           WorkBudget budget = {}) {
  // The library treats a zero byte as the end of the text and would ignore the rest.
  const std::size_t zero = text.find('\0');
  require(zero == std::string_view::npos, name, ": invalid JSON at byte ", zero, ": zero byte");
  JsonBuilder builder(name, member, std::move(budget));
  nlohmann::json::sax_parse(text, &builder);
  return builder.take();
}

}  // namespace

Json parse_json(std::string_view text, std::string_view name, WorkBudget budget) {
  return build(text, name, nullptr, std::move(budget));
}

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
