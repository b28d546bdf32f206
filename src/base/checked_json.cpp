#include "base/checked_json.h"

#include <utility>
#include <vector>

#include "base/printable.h"
#include "headlight/base/error.h"
#include "headlight/base/utf8.h"

namespace headlight {
namespace {

constexpr std::size_t kMaxQuoted = 40;  // bytes

using MemberFunction = std::function<void(const std::string&, Json&)>;

constexpr std::size_t kMaxValues = std::size_t{1} << 22;
constexpr std::size_t kMaxMemberValues = std::size_t{1} << 16;
constexpr std::size_t kMaxKeyBytes = std::size_t{1} << 16;  // keys are copied, values are moved

// Builds the document from the parser's events, because the library's own builder accepts repeated
// keys and any depth. With a member function, members of the outermost object are handed to it and
// replaced by null.
class CheckedBuilder final : public nlohmann::json_sax<Json> {
 public:
  CheckedBuilder(std::string_view name, const MemberFunction* member)
      : name_(name), member_(member) {}

  Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { fail(name_, ": binary values are not JSON text"); }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_array() override { return close(); }

  bool key(string_t& key) override {
    require(key.size() <= kMaxKeyBytes, name_, ": key ", in_quotes(key), " is longer than ",
            kMaxKeyBytes, " bytes");
    if (open_.back()->contains(key)) {
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
  // The middle of "... syntax error while parsing value - REASON; last read: ..."; what follows it
  // may be long and quotes the file.
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
    open_.push_back(&place(std::move(container)));
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

  // Pointers to open containers stay valid: an array grows only while no element of it is open, and
  // objects never move their members.
  Json& place(Json value) {
    require(++values_ <= (member_ == nullptr ? kMaxValues : kMaxMemberValues), name_,
            ": too many JSON values");
    if (open_.empty()) {
      require(member_ == nullptr || value.is_object(), name_, ": expected a JSON object");
      return root_ = std::move(value);
    }
    Json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return parent.back();
    }
    return parent[key_] = std::move(value);
  }

  bool hand_over() {
    if (member_ != nullptr && open_.size() == 1) {
      Json& value = root_[top_key_];
      (*member_)(top_key_, value);
      value = nullptr;
      values_ = 0;
    }
    return true;
  }

  std::string_view name_;
  const MemberFunction* member_;
  Json root_;
  std::vector<Json*> open_;  // the containers around the next value, outermost first
  std::string key_;          // of the next value
  std::string top_key_;      // of the member of the outermost object that is being read
  std::size_t values_ = 0;   // of the document, or of the member that is being read
};

Json build(std::string_view text, std::string_view name, const MemberFunction* member) {
  // The library takes a zero byte for the end of the text and would not look behind it.
  const std::size_t zero = text.find('\0');
  require(zero == std::string_view::npos, name, ": invalid JSON at byte ", zero, ": zero byte");
  CheckedBuilder builder(name, member);
  Json::sax_parse(text, &builder);
  return builder.take();
}

}  // namespace

Json parse_json(std::string_view text, std::string_view name) { return build(text, name, nullptr); }

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
  return Json(shown).dump(-1, ' ', false, Json::error_handler_t::replace);
}

const Json& json_member(const Json& object, const std::string& key, std::string_view where) {
  require(object.is_object(), where, ": expected an object, got ", object.type_name());
  const auto found = object.find(key);
  if (found == object.end()) {
    fail(where, ": key ", quoted_text(key), " is missing");
  }
  return *found;
}

std::string json_string(const Json& object, const std::string& key, std::string_view where) {
  const Json& value = json_member(object, key, where);
  if (!value.is_string()) {
    fail(where, ": ", quoted_text(key), " must be a string, got ", value.type_name());
  }
  return value.get<std::string>();
}

}  // namespace headlight
