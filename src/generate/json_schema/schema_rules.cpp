#include "generate/json_schema/schema_rules.h"

#include <algorithm>

#include "generate/grammar/gbnf.h"
#include "generate/json_schema/schema_keywords.h"

namespace headlight {
namespace {

constexpr std::size_t kMaxRuleBytes = std::size_t{1} << 20U;

std::string class_character(char32_t character) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const bool is_plain = (character >= '0' && character <= '9') ||
                        (character >= 'A' && character <= 'Z') ||
                        (character >= 'a' && character <= 'z');
  if (is_plain) {
    return std::string(1, static_cast<char>(character));
  }
  const int digits = character < 0x100 ? 2 : character < 0x10000 ? 4 : 8;
  std::string text = digits == 2 ? "\\x" : digits == 4 ? "\\u" : "\\U";
  for (int i = digits - 1; i >= 0; --i) {
    text += kDigits[(character >> static_cast<unsigned>(4 * i)) & 0xFU];
  }
  return text;
}

// Returns a class of GBNF, without halves of surrogate pairs.
std::string class_expression(const std::vector<CharacterRange>& ranges) {
  std::string all;
  for (const CharacterRange& range : ranges) {
    for (const auto& [low, high] : {CharacterRange{0, 0xD7FF}, {0xE000, kLastCharacter}}) {
      const char32_t first = std::max(range.first, low);
      const char32_t last = std::min(range.last, high);
      if (first <= last) {
        all += class_character(first) + (first < last ? '-' + class_character(last) : "");
      }
    }
  }
  return all.empty() ? "" : '[' + all + ']';
}

// Returns an expression for one character within a JSON string; those that need an escape have one
// spelling, except that a class of all control characters has them all.
std::string string_character(const std::vector<CharacterRange>& ranges) {
  constexpr std::string_view kShort = "\b\t\n\f\r";
  constexpr std::string_view kLetters = "btnfr";
  std::vector<CharacterRange> plain;
  std::string escaped;
  const auto add = [&](const std::string& spelling) {
    escaped += (escaped.empty() ? "" : " | ") + spelling;
  };
  for (CharacterRange range : ranges) {
    if (range.first == 0 && range.last >= 0x1F) {
      add("control");
      range.first = 0x20;
    }
    for (; range.first < 0x20 && range.first <= range.last; ++range.first) {
      const std::size_t known = kShort.find(static_cast<char>(range.first));
      add(known != std::string_view::npos
              ? gbnf_literal(std::string("\\") + kLetters[known])
              : gbnf_literal("\\u00" + class_character(range.first).substr(2)));
    }
    for (const char32_t special : {U'"', U'\\'}) {
      if (range.first <= special && special <= range.last) {
        add(gbnf_literal(std::string("\\") + static_cast<char>(special)));
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
  const std::string characters = class_expression(plain);
  if (escaped.empty()) {
    return characters;
  }
  return '(' + characters + (characters.empty() ? "" : " | ") + escaped + ')';
}

}  // namespace

void SchemaRules::append(const std::string& name, const std::string& body) {
  text_ += name + " ::= " + body + '\n';
  require_value(text_.size() <= kMaxRuleBytes, "json_schema", "the schema is too large");
}

std::string SchemaRules::rule(const std::string& body) {
  const auto [place, is_new] = rules_.try_emplace(body);
  if (is_new) {
    place->second = new_name("r");
    append(place->second, body);
  }
  return place->second;
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
  const auto [place, is_new] = values_.try_emplace(std::move(key));
  if (is_new) {
    place->second = new_name("v");
    pending_.emplace_back(place->second, std::move(different));
  }
  return place->second;
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

std::string SchemaRules::no_text(const std::string& place, const std::string& reason) {
  if (reason_.second.empty()) {
    reason_ = {place, reason};
  }
  return kNoText;
}

std::string SchemaRules::language(const TextLanguage& texts, const CharacterSpelling& spelling) {
  if (texts.is_empty()) {
    return kNoText;
  }
  std::string all;
  for (const std::string& body : language_rules(texts, "t", spelling)) {
    all += body + '\n';
  }
  const auto [place, is_new] = languages_.try_emplace(std::move(all));
  if (is_new) {
    place->second = new_name("t");
    const std::vector<std::string> bodies = language_rules(texts, place->second, spelling);
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      append(i == 0 ? place->second : concat_text(place->second, '-', i), bodies[i]);
    }
  }
  return place->second;
}

std::string SchemaRules::strings(const TextLanguage& contents) {
  // Wide classes are long: each is a rule.
  const std::string name = language(contents, [&](const std::vector<CharacterRange>& ranges) {
    const std::string one = string_character(ranges);
    return one.empty() ? kNoText : one.find("\\U") == std::string::npos ? one : rule(one);
  });
  return name == kNoText ? name : R"("\"" )" + name + R"( "\"")";
}

std::string SchemaRules::numbers(const TextLanguage& texts) {
  return language(texts, class_expression);
}

}  // namespace headlight
