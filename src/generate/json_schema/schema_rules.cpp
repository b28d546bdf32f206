#include "generate/json_schema/schema_rules.h"

#include <algorithm>

#include "generate/grammar/gbnf.h"
#include "generate/json_schema/schema_keywords.h"

namespace headlight {
namespace {

constexpr std::size_t kMaxRuleBytes = std::size_t{1} << 20U;

// Returns an expression for one character within a JSON string, escaped if necessary
// spelling, except that a class of all control characters has them all.
std::string string_character(const std::vector<CharacterRange>& ranges) {
  std::vector<CharacterRange> plain;
  std::string escaped;
  const auto add = [&](const std::string& spelling) {
    escaped += (escaped.empty() ? "" : " | ") + spelling;
  };
  const auto add_escape = [&](char32_t character) {
    const std::string text = Json(std::string(1, static_cast<char>(character))).dump();
    add(gbnf_literal(text.substr(1, text.size() - 2)));  // without quotes
  };
  for (CharacterRange range : ranges) {
    if (range.first == 0 && range.last >= 0x1F) {
      add("control");
      range.first = 0x20;
    }
    for (; range.first < 0x20 && range.first <= range.last; ++range.first) {
      add_escape(range.first);
    }
    for (const char32_t special : {U'"', U'\\'}) {
      if (range.first <= special && special <= range.last) {
        add_escape(special);
        if (range.first < special) {
          plain.push_back({range.first, special - 1});
        }
        range.first = special + 1;
      }
    }
    if (range.first <= range.last) {
      plain.push_back(range);
    }
  }
  const std::string characters = gbnf_class(plain);
  if (escaped.empty()) {
    return characters;
  }
  return '(' + characters + (characters.empty() ? "" : " | ") + escaped + ')';
}

}  // namespace

void SchemaRules::append(const std::string& name, const std::string& body) {
  append(name + " ::= " + body + '\n');
}

void SchemaRules::append(const std::string& rules) {
  text_ += rules;
  require_value(text_.size() <= kMaxRuleBytes, "json_schema", "the schema is too large");
}

std::string SchemaRules::rule(const std::string& body) {
  const auto [entry, is_new] = rules_.try_emplace(body);
  if (is_new) {
    entry->second = new_name("r");
    append(entry->second, body);
  }
  return entry->second;
}

std::string SchemaRules::new_name(const std::string& kind) { return concat_text(kind, names_++); }

std::string SchemaRules::values(const SchemaParts& parts) {
  std::vector<std::pair<const Json*, bool>> key;
  SchemaParts different;
  for (const SchemaPart& part : parts) {
    const std::pair one(part.schema, part.is_negated);
    if (std::find(key.begin(), key.end(), one) == key.end() && *part.schema != Json(true)) {
      key.push_back(one);
      different.push_back(part);
    }
  }
  if (key.empty()) {
    return "value";
  }
  const auto [entry, is_new] = values_.try_emplace(std::move(key));
  if (is_new) {
    entry->second = new_name("v");
    pending_.emplace_back(entry->second, std::move(different));
  }
  return entry->second;
}

bool SchemaRules::next_values(std::string& name, SchemaParts& parts) {
  if (pending_.empty()) {
    return false;
  }
  name = std::move(pending_.back().first);
  parts = std::move(pending_.back().second);
  pending_.pop_back();
  return true;
}

std::string SchemaRules::no_text(const std::string& where, const std::string& reason) {
  if (reason_.second.empty()) {
    reason_ = {where, reason};
  }
  return kNoText;
}

std::string SchemaRules::language(const TextLanguage& texts, const CharacterSpelling& spelling) {
  if (texts.is_empty()) {
    return kNoText;
  }
  const auto [entry, is_new] = languages_.try_emplace(language_rules(texts, "t", spelling));
  if (is_new) {
    entry->second = new_name("t");
    append(language_rules(texts, entry->second, spelling));
  }
  return entry->second;
}

std::string SchemaRules::strings(const TextLanguage& contents) {
  // Wide classes are long: each is a rule.
  const std::string name = language(contents, [&](const std::vector<CharacterRange>& ranges) {
    const std::string one = string_character(ranges);
    return one.empty() ? kNoText : one.find("\\U") == std::string::npos ? one : rule(one);
  });
  return name == kNoText ? name : R"("\"" )" + name + R"( "\"")";
}

std::string SchemaRules::numbers(const TextLanguage& texts) { return language(texts, gbnf_class); }

}  // namespace headlight
