#include <algorithm>
#include <map>

#include "base/strings/printable.h"
#include "generate/grammar/gbnf.h"
#include "generate/json_schema/schema_children.h"
#include "generate/json_schema/schema_keywords.h"
#include "generate/json_schema/schema_values.h"
#include "generate/json_schema/typed_rules.h"

namespace headlight {
namespace {

using Combined = TextLanguage::Combined;

constexpr std::size_t kMaxKeyBytes = 256;
constexpr std::size_t kMaxKeyClasses = 64;
constexpr std::size_t kMaxCountedRules = 20'000;

struct SchemaProperty {
  std::string name;
  SchemaParts parts;
  bool is_required = false;
};

// Keys that match the same patterns.
struct KeyClass {
  TextLanguage keys;
  MemberName matches = {};
};

class ObjectRules {
 public:
  ObjectRules(SchemaRules& rules, const SchemaCase& nodes)
      : rules_(rules), nodes_(nodes), limits_(count_limits(nodes, "Properties")) {}

  std::string rule() {
    if (!find_properties()) {
      return SchemaRules::kNoText;
    }
    other_ = other_member();
    const std::size_t counted = limits_.most == TextLanguage::kNoMaximum
                                    ? std::max<std::size_t>(limits_.least, 1)
                                    : std::min(limits_.most, properties_.size()) + 1;
    const std::size_t states = std::min(counted, properties_.size()) * properties_.size();
    require_schema(counted == 1 || states <= kMaxCountedRules, where(),
                   "minProperties and maxProperties need too large a grammar");
    // Texts after some properties, by the number of members that have been written.
    std::vector<std::string> remainders;
    for (std::size_t count = 0; count <= std::min(counted, properties_.size()); ++count) {
      remainders.push_back(rules_.rule(other_members(count)));
    }
    for (std::size_t i = properties_.size(); i-- > 0;) {
      remainders = before(properties_[i], remainders, std::min(counted, i));
    }
    return remainders[0] == none() ? SchemaRules::kNoText
                                   : rules_.rule("\"{\" ws " + remainders[0] + " ws \"}\"");
  }

 private:
  const std::string& where() const { return nodes_[0].part.where; }

  // A rule that no text matches; as in the rules of this object.
  std::string none() { return rules_.rule(SchemaRules::kNoText); }

  // Lists the properties of all nodes; returns false if a required one is not allowed.
  bool find_properties() {
    std::vector<std::string> names;
    std::map<std::string, bool> required;
    const auto add = [&](const std::string& name, bool is_required) {
      const auto [known, is_new] = required.try_emplace(name, is_required);
      known->second = known->second || is_required;
      if (is_new) {
        names.push_back(name);
      }
    };
    for (const SchemaNode& node : nodes_) {
      const Json properties = node.part.schema->value("properties", Json::object());
      require_schema(properties.is_object(), node.part.where, "properties: expected an object");
      for (const JsonMember& member : properties.members()) {
        add(member.key, false);
      }
    }
    for (const auto& [node, list] : uses_of(nodes_, "required")) {
      require_schema(list->is_array(), node->part.where, "required: expected a list of names");
      for (const Json& name : *list) {
        require_schema(name.is_string(), node->part.where, "required: expected a list of names");
        add(name.text(), true);
      }
    }
    for (const std::string& name : names) {
      rules_.document().spend(1, where());
      SchemaParts parts = member_parts(rules_.document(), nodes_, name);
      const bool is_allowed = is_possible(parts) && is_name(name);
      if (!is_allowed && required[name]) {
        rules_.no_text(where(), concat_text("required: ", in_quotes(name), " is no property"));
        return false;
      }
      names_.push_back(name);
      if (is_allowed) {
        properties_.push_back({name, std::move(parts), required[name]});
      }
    }
    return true;
  }

  static bool is_possible(const SchemaParts& parts) {
    return std::none_of(parts.begin(), parts.end(), [](const SchemaPart& part) {
      return *part.schema == Json(part.is_negated);
    });
  }

  bool is_name(const std::string& name) {
    const auto all = uses_of(nodes_, "propertyNames");
    return std::all_of(all.begin(), all.end(), [&](const auto& use) {
      const SchemaPart part =
          rules_.document().within(use.first->part, *use.second, "/propertyNames");
      return satisfied(rules_.document(), Json(name), part) == Satisfied::yes;
    });
  }

  // Returns one rule for each number of members so far, from 0 to `most`: this property and the
  // rest, or only the rest.
  std::vector<std::string> before(const SchemaProperty& property,
                                  const std::vector<std::string>& remainders, std::size_t most) {
    const std::string member = rules_.rule(gbnf_literal(Json(property.name).dump() + ':') + " ws " +
                                           rules_.values(property.parts));
    std::vector<std::string> all;
    for (std::size_t count = 0; count <= most; ++count) {
      const std::string& next = remainders[std::min(count + 1, remainders.size() - 1)];
      const bool may_write = count < limits_.most && next != none();
      const bool may_skip = !property.is_required && remainders[count] != none();
      const std::string written = (count > 0 ? "\",\" ws " : "") + member + ' ' + next;
      all.push_back(may_write  ? rules_.rule(written + (may_skip ? " | " + remainders[count] : ""))
                    : may_skip ? remainders[count]
                               : none());
    }
    return all;
  }

  // Returns an expression for the members that are not listed, after `count` listed ones. Names may
  // repeat, so that they count only as one towards the minimum.
  std::string other_members(std::size_t count) {
    const bool has_maximum = limits_.most != TextLanguage::kNoMaximum;
    const std::size_t left = has_maximum ? limits_.most - std::min(limits_.most, count) : 1;
    const bool is_required = count < limits_.least;
    if (other_.empty() || left == 0) {
      if (is_required) {
        return rules_.no_text(where(), "minProperties: expected more properties");
      }
      return "\"\"";
    }
    if (count + 1 < limits_.least) {
      require_schema(properties_.size() + 1 >= limits_.least, where(),
                     "minProperties: a grammar cannot count names that the schema does not list");
      return SchemaRules::kNoText;
    }
    const std::string repeats =
        !has_maximum ? "*"
                     : concat_text("{0,", std::min(left, kMaxCount) - (count > 0 ? 0 : 1), '}');
    const std::string next = "(\",\" ws " + other_ + ')';
    if (count == 0) {
      return '(' + other_ + ' ' + next + repeats + ')' + (is_required ? "" : "?");
    }
    return is_required ? next + ' ' + next + (has_maximum ? concat_text("{0,", left - 1, '}') : "*")
                       : next + repeats;
  }

  // Returns the rule of a member that is not listed; "": there are none.
  std::string other_member() {
    const auto given = [&](const char* keyword) { return !uses_of(nodes_, keyword).empty(); };
    const bool is_open = (!given("properties") && !given("patternProperties")) ||
                         given("additionalProperties") || given("unevaluatedProperties") ||
                         properties_.size() < limits_.least;
    if (!is_open && !given("patternProperties")) {
      return "";
    }
    std::string all;
    for (const KeyClass& one : key_classes()) {
      const SchemaParts parts = member_parts(rules_.document(), nodes_, one.matches);
      const bool is_named = !one.matches.surely.empty();
      if ((is_open || is_named) && is_possible(parts)) {
        all += (all.empty() ? "" : " | ") + keys(one) + " \":\" ws " + rules_.values(parts);
      }
    }
    return all.empty() ? "" : rules_.rule(all);
  }

  // Without limits, keys are strings in all spellings.
  std::string keys(const KeyClass& one) {
    const bool is_free = names_.empty() && one.matches.surely.empty() &&
                         uses_of(nodes_, "patternProperties").empty() &&
                         uses_of(nodes_, "propertyNames").empty();
    return is_free ? "string" : rules_.strings(one.keys);
  }

  std::vector<KeyClass> key_classes() {
    for (const std::string& name : names_) {
      require_schema(name.size() <= kMaxKeyBytes, where(), "a name of a property has more than ",
                     kMaxKeyBytes, " bytes");
    }
    TextLanguage keys = within_limits(where(), "names of properties", [&] {
      return TextLanguage::combined(TextLanguage::of_length(0, TextLanguage::kNoMaximum),
                                    TextLanguage::of_words(names_), Combined::only_in_first);
    });
    for (const auto& [node, schema] : uses_of(nodes_, "propertyNames")) {
      const SchemaPart part = rules_.document().within(node->part, *schema, "/propertyNames");
      keys = within_limits(where(), "propertyNames", [&] {
        return TextLanguage::combined(keys, key_language(rules_.document(), {part}),
                                      Combined::in_both);
      });
    }
    std::vector<KeyClass> classes{{std::move(keys)}};
    for (const auto& [node, patterns] : uses_of(nodes_, "patternProperties")) {
      for (const JsonMember& one : patterns->members()) {
        classes = divided(classes, one.key, node->part.where);
      }
    }
    return classes;
  }

  // Divides classes into the keys that surely match a pattern and keys that surely do not.
  std::vector<KeyClass> divided(const std::vector<KeyClass>& classes, const std::string& pattern,
                                const std::string& where) {
    const TextLanguage& surely =
        rules_.document().pattern(Json(pattern), PatternMatch::surely, where);
    const TextLanguage& possibly =
        rules_.document().pattern(Json(pattern), PatternMatch::possibly, where);
    std::vector<KeyClass> all;
    for (const KeyClass& one : classes) {
      KeyClass inside = within_limits(where, "patternProperties", [&] {
        return KeyClass{TextLanguage::combined(one.keys, surely, Combined::in_both), one.matches};
      });
      KeyClass outside = within_limits(where, "patternProperties", [&] {
        return KeyClass{TextLanguage::combined(one.keys, possibly, Combined::only_in_first),
                        one.matches};
      });
      rules_.document().spend(1 + inside.keys.states().size() + outside.keys.states().size(),
                              where);
      inside.matches.surely.insert(pattern);
      for (KeyClass* part : {&inside, &outside}) {
        if (!part->keys.is_empty()) {
          all.push_back(std::move(*part));
        }
      }
    }
    require_schema(all.size() <= kMaxKeyClasses, where,
                   "patternProperties need too large a grammar");
    return all;
  }

  SchemaRules& rules_;
  const SchemaCase& nodes_;
  CountLimits limits_;
  std::vector<SchemaProperty> properties_;
  std::vector<std::string> names_;  // also of properties that are not allowed
  std::string other_;               // rule of a member that is not listed
};

}  // namespace

std::string object_rule(SchemaRules& rules, const SchemaCase& nodes) {
  return ObjectRules(rules, nodes).rule();
}

}  // namespace headlight
