#include "generate/grammar/other_keys.h"

#include <algorithm>

#include "generate/grammar/gbnf.h"
#include "headlight/base/utf8.h"

namespace headlight {
namespace {

// Names by their characters: the rest of the names that begin with each character.
struct NameGroup {
  std::string character;
  std::vector<std::string> rests = {};
};

std::vector<NameGroup> groups_of(const std::vector<std::string>& names) {
  std::vector<NameGroup> groups;
  for (const std::string& name : names) {  // ascending
    if (name.empty()) {
      continue;
    }
    const auto length = static_cast<std::size_t>(first_character(name).length);
    if (groups.empty() || !name.starts_with(groups.back().character)) {
      groups.push_back({name.substr(0, length)});
    }
    groups.back().rests.push_back(name.substr(length));
  }
  return groups;
}

// Returns a rule for the texts of plain characters that are none of the ascending `names`.
std::string other_texts(const std::vector<std::string>& names,
                        const std::function<std::string(const std::string& body)>& add_rule) {
  std::string excluded;
  std::string body;
  for (const NameGroup& group : groups_of(names)) {
    const bool is_special = group.character == "]" || group.character == "-" ||
                            group.character == "^" || group.character == "[";
    excluded += (is_special ? "\\" : "") + group.character;
    body += gbnf_literal(group.character) + ' ' + other_texts(group.rests, add_rule) + " | ";
  }
  const bool may_end = std::find(names.begin(), names.end(), "") == names.end();
  return add_rule(body + R"([^"\\\x00-\x1F)" + excluded + "] plain*" + (may_end ? R"( | "")" : ""));
}

}  // namespace

std::string other_keys(const std::vector<std::string>& names,
                       const std::function<std::string(const std::string& body)>& add_rule) {
  std::vector<std::string> plain;  // a name with an escape is no key of this expression
  std::copy_if(names.begin(), names.end(), std::back_inserter(plain), [](const std::string& name) {
    return std::none_of(name.begin(), name.end(), [](char c) {
      return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20;
    });
  });
  std::sort(plain.begin(), plain.end());
  return R"("\"" )" + other_texts(plain, add_rule) + R"( "\"")";
}

}  // namespace headlight
