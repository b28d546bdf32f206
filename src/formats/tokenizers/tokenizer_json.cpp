#include "formats/tokenizers/tokenizer_json.h"

#include "headlight/base/error.h"

namespace headlight {

bool is_step(const Json& json, std::string_view type) {
  return json.is_object() && json.value("type", Json()) == Json(type);
}

bool is_null(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  return value == nullptr || value->is_null();
}

bool json_flag(const Json& object, std::string_view key, bool fallback, std::string_view where) {
  const Json* value = object.find(key);
  if (value == nullptr) {
    return fallback;
  }
  if (!value->is_boolean()) {
    fail(where, key, ": expected true or false, got ", quoted_text(value->dump()));
  }
  return value->boolean();
}

std::pair<std::string_view, std::string_view> merge_pair(const Json& merge,
                                                         std::string_view where) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
    return {merge[0].text(), merge[1].text()};
  }
  const std::string_view text = merge.is_string() ? std::string_view(merge.text()) : "";
  const std::size_t blank = text.find(' ');
  if (blank == text.npos || text.find(' ', blank + 1) != text.npos) {
    fail(where, ": expected \"LEFT RIGHT\" or [\"LEFT\", \"RIGHT\"], got ",
         quoted_text(merge.dump()));
  }
  return {text.substr(0, blank), text.substr(blank + 1)};
}

std::string byte_token(std::size_t byte) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  return concat_text("<0x", kDigits[byte >> 4], kDigits[byte & 15], ">");
}

bool is_byte_token(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789ABCDEFabcdef";
  return name.size() == 6 && name.starts_with("<0x") && name.ends_with('>') &&
         kDigits.find(name[3]) != std::string_view::npos &&
         kDigits.find(name[4]) != std::string_view::npos;
}

Json added_token_json(std::int32_t id, std::string_view content, bool special) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", special}};
}

Json byte_level_json(bool cuts) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", true},
          {"use_regex", cuts}};
}

Json template_json(const NamedId& first, const std::optional<NamedId>& last) {
  const auto special = [](const NamedId& token) {
    return Json{{"SpecialToken", {{"id", token.first}, {"type_id", 0}}}};
  };
  const auto text = [](const char* id, int type) {
    return Json{{"Sequence", {{"id", id}, {"type_id", type}}}};
  };
  Json result = {{"type", "TemplateProcessing"}};
  result["single"] = Json::array({special(first), text("A", 0)});
  result["pair"] = Json::array({special(first), text("A", 0), text("B", 1)});
  const auto add = [&](const NamedId& token) {
    result["special_tokens"][token.first] = {{"id", token.first},
                                             {"ids", Json::array({token.second})},
                                             {"tokens", Json::array({token.first})}};
  };
  add(first);
  if (last) {
    result["single"].push_back(special(*last));
    result["pair"].push_back(special(*last));
    add(*last);
  }
  return result;
}

}  // namespace headlight
