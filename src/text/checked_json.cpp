#include "text/checked_json.h"

#include <unordered_set>
#include <vector>

#include "headlight/tensor/error.h"
#include "headlight/text/utf8.h"

namespace headlight {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxQuoted = 40;  // bytes

// Looks at a text before anything is built from it. The library's own parser keeps the last of two
// equal keys and nests without limit.
class JsonChecker final : public nlohmann::json_sax<json> {
 public:
  explicit JsonChecker(std::string_view name) : name_(name) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t) override { return enter(); }
  bool end_array() override { return leave(); }
  bool key(string_t& key) override {
    if (!keys_.back().insert(key).second) {
      fail(name_, ": key ", quoted_text(key), " comes twice");
    }
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    fail(name_, ": invalid JSON at byte ", position == 0 ? 0 : position - 1);
  }

 private:
  bool enter() {
    require(keys_.size() < kMaxDepth, name_, ": JSON nests deeper than ", kMaxDepth, " levels");
    keys_.emplace_back();
    return true;
  }
  bool leave() {
    keys_.pop_back();
    return true;
  }

  std::string_view name_;
  std::vector<std::unordered_set<std::string>> keys_;  // of every open object; empty for arrays
};

}  // namespace

json parse_checked_json(std::string_view text, std::string_view name) {
  require_utf8(text, name);
  JsonChecker checker(name);
  json::sax_parse(text, &checker);
  return json::parse(text);
}

std::string quoted_text(std::string_view text) {
  std::string shown(text.substr(0, kMaxQuoted));
  shown.resize(static_cast<std::size_t>(complete_utf8_prefix(shown)));
  if (shown.size() < text.size()) {
    shown += "...";
  }
  return json(shown).dump(-1, ' ', false, json::error_handler_t::replace);
}

const json& json_member(const json& object, const std::string& key, std::string_view where) {
  require(object.is_object(), where, ": expected an object, got ", object.type_name());
  const auto found = object.find(key);
  if (found == object.end()) {
    fail(where, ": key ", quoted_text(key), " is missing");
  }
  return *found;
}

std::string json_string(const json& object, const std::string& key, std::string_view where) {
  const json& value = json_member(object, key, where);
  if (!value.is_string()) {
    fail(where, ": ", quoted_text(key), " must be a string, got ", value.type_name());
  }
  return value.get<std::string>();
}

}  // namespace headlight
