#include "generate/json_schema/schema_cases.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "generate/json_schema/schema_keywords.h"

namespace headlight {
namespace {

constexpr int kMaxCombined = 64;

// Schemas one of which must hold, each with others that must then hold too.
struct SchemaChoice {
  std::vector<SchemaParts> branches;
  int parent = -1;
  bool is_evaluated = true;
};

struct OpenCase {
  SchemaCase nodes = {};
  std::vector<SchemaChoice> choices = {};
  bool is_impossible = false;
};

// Returns whether a schema has a list of values, and no other keyword than its type and notes.
bool lists_values_only(const Json& schema) {
  constexpr std::array<std::string_view, 9> kKnown{"const",       "enum",     "type",
                                                   "title",       "$comment", "default",
                                                   "description", "examples", "deprecated"};
  return (schema.contains("const") || schema.contains("enum")) &&
         std::ranges::all_of(schema.members(), [&](const JsonMember& member) {
           return std::ranges::count(kKnown, member.key) > 0;
         });
}

SchemaPart negated(SchemaPart part) {
  part.is_negated = !part.is_negated;
  return part;
}

class CaseFinder {
 public:
  explicit CaseFinder(SchemaDocument& document) : document_(document) {}

  std::vector<SchemaCase> find(const SchemaParts& parts) {
    OpenCase all;
    for (const SchemaPart& part : parts) {
      add(all, part, -1, true);
    }
    complete(std::move(all));
    return std::move(found_);
  }

 private:
  // Adds the cases of all branches of the first choice.
  void complete(OpenCase open) {
    constexpr std::size_t kWorkOfNode = 10;
    document_.spend(1 + kWorkOfNode * open.nodes.size(), "#");
    if (open.is_impossible || types_of(open.nodes).empty()) {
      return;
    }
    if (open.choices.empty()) {
      found_.push_back(std::move(open.nodes));
      return;
    }
    const SchemaChoice choice = std::move(open.choices.back());
    open.choices.pop_back();
    for (const SchemaParts& branch : choice.branches) {
      OpenCase one = open;
      for (const SchemaPart& part : branch) {
        add(one, part, choice.parent, choice.is_evaluated);
      }
      complete(std::move(one));
    }
  }

  void add(OpenCase& open, const SchemaPart& part, int parent, bool is_evaluated) {
    const Json& schema = *part.schema;
    require_schema(schema.is_object() || schema.is_boolean(), part.where, "expected a schema, got ",
                   schema.type_name());
    if (schema.is_boolean()) {
      open.is_impossible = open.is_impossible || schema.boolean() == part.is_negated;
      return;
    }
    check_chain(open, part, parent);
    document_.spend(1 + schema.size(), part.where);
    const auto number = static_cast<int>(open.nodes.size());
    open.nodes.push_back({part, &schema, parent, is_evaluated});
    if (part.is_negated) {
      open.nodes.back().part.schema = &any_value();
      open.choices.push_back({negation(document_, part), number, false});
      return;
    }
    for (const char* keyword : {"$ref", "$dynamicRef", "$recursiveRef"}) {
      if (schema.contains(keyword)) {
        add(open, document_.target(part, keyword), number, is_evaluated);
      }
    }
    for (const SchemaPart& one : list_of(part, "allOf")) {
      add(open, one, number, is_evaluated);
    }
    add_choices(open, part, number, is_evaluated);
  }

  // Refuses a schema that asks for itself before any value is read.
  static void check_chain(const OpenCase& open, const SchemaPart& part, int parent) {
    int length = 0;
    for (int i = parent; i >= 0; i = open.nodes[static_cast<std::size_t>(i)].parent) {
      const SchemaNode& outer = open.nodes[static_cast<std::size_t>(i)];
      require_schema(outer.source != part.schema || outer.part.is_negated != part.is_negated,
                     part.where, "the schema is a part of itself");
      require_schema(++length <= kMaxCombined, part.where, "schemas are combined too deeply");
    }
  }

  SchemaParts list_of(const SchemaPart& part, const std::string& keyword) {
    const Json* list = part.schema->find(keyword);
    if (list == nullptr) {
      return {};
    }
    require_schema(list->is_array() && !list->empty(), part.where, keyword,
                   ": expected a list of schemas");
    SchemaParts parts;
    for (std::size_t i = 0; i < list->size(); ++i) {
      parts.push_back(document_.within(part, (*list)[i], concat_text('/', keyword, '/', i)));
    }
    return parts;
  }

  void add_choices(OpenCase& open, const SchemaPart& part, int number, bool is_evaluated) {
    const Json& schema = *part.schema;
    const auto inner = [&](const char* keyword) {
      return document_.within(part, schema[keyword], concat_text('/', keyword));
    };
    SchemaChoice any{{}, number, is_evaluated};
    for (const SchemaPart& one : list_of(part, "anyOf")) {
      any.branches.push_back({one});
    }
    SchemaChoice exactly_one{one_of(part), number, is_evaluated};
    SchemaChoice condition{{}, number, is_evaluated};
    if (schema.contains("if") && (schema.contains("then") || schema.contains("else"))) {
      condition.branches = {{inner("if")}, {negated(inner("if"))}};
      for (std::size_t i = 0; i < 2; ++i) {
        if (schema.contains(i == 0 ? "then" : "else")) {
          condition.branches[i].push_back(inner(i == 0 ? "then" : "else"));
        }
      }
    }
    for (SchemaChoice& choice : dependencies(part, number, is_evaluated)) {
      open.choices.push_back(std::move(choice));
    }
    for (SchemaChoice* choice : {&any, &exactly_one, &condition}) {
      if (!choice->branches.empty()) {
        open.choices.push_back(std::move(*choice));
      }
    }
    if (schema.contains("not")) {
      add(open, negated(inner("not")), number, false);
    }
  }

  // Returns the values that exactly one of the schemas lists; none if they do not only list values.
  Json values_of_one(const SchemaParts& choices) {
    std::map<std::string, std::pair<Json, int>> values;  // with the number of schemas that list it
    for (const SchemaPart& choice : choices) {
      const Json& schema = *choice.schema;
      if (!schema.is_object() || !lists_values_only(schema)) {
        return Json::array();
      }
      const std::vector<std::string> types = types_of(schema, choice.where);
      std::set<std::string> own;
      for (const Json& value : listed_values(schema, choice.where)) {
        document_.spend(1, choice.where);
        const bool is_allowed = std::ranges::any_of(
            types, [&](const std::string& type) { return has_type(value, type); });
        const std::string key = comparable(value);
        if (is_allowed && own.insert(key).second) {
          ++values.try_emplace(key, value, 0).first->second.second;
        }
      }
    }
    Json once = Json::array();
    for (const auto& [key, counted] : values) {
      if (counted.second == 1) {
        once.push_back(counted.first);
      }
    }
    return once;
  }

  // Returns each schema with the negation of the others that it may share values with.
  std::vector<SchemaParts> one_of(const SchemaPart& part) {
    const SchemaParts choices = list_of(part, "oneOf");
    if (const Json values = values_of_one(choices); !values.empty()) {
      return {{document_.made({{"enum", values}}, part)}};
    }
    std::vector<SchemaParts> branches;
    for (std::size_t i = 0; i < choices.size(); ++i) {
      SchemaParts branch{choices[i]};
      for (std::size_t j = 0; j < choices.size(); ++j) {
        if (i != j && !are_disjoint(document_, choices[i], choices[j])) {
          branch.push_back(negated(choices[j]));
        }
      }
      branches.push_back(std::move(branch));
    }
    return branches;
  }

  // Returns for each dependency of a property: the object has no such property, or satisfies it.
  std::vector<SchemaChoice> dependencies(const SchemaPart& part, int number, bool is_evaluated) {
    std::vector<SchemaChoice> choices;
    for (const char* keyword : {"dependentRequired", "dependentSchemas", "dependencies"}) {
      const Json all = part.schema->value(keyword, Json::object());
      require_schema(all.is_object(), part.where, keyword, ": expected an object");
      for (const JsonMember& one : all.members()) {
        const Json* kept = (*part.schema)[keyword].find(one.key);
        const Json without{{"type", "object"}, {"propertyNames", {{"not", {{"const", one.key}}}}}};
        const Json with{{"type", "object"}, {"required", Json::array({one.key})}};
        const SchemaPart needed =
            one.value.is_array()
                ? document_.made({{"type", "object"}, {"required", one.value}}, part)
                : document_.within(part, *kept, concat_text('/', keyword, '/', one.key));
        choices.push_back({{{document_.made(without, part)}, {document_.made(with, part), needed}},
                           number,
                           is_evaluated});
      }
    }
    return choices;
  }

  SchemaDocument& document_;
  std::vector<SchemaCase> found_;
};

// Returns the types of both lists. Integers are numbers.
std::vector<std::string> common_types(const std::vector<std::string>& a,
                                      const std::vector<std::string>& b) {
  const auto has = [](const std::vector<std::string>& types, std::string_view type) {
    return std::find(types.begin(), types.end(), type) != types.end();
  };
  std::vector<std::string> common;
  for (const std::string& type : a) {
    if (has(b, type) || (type == "integer" && has(b, "number"))) {
      common.push_back(type);
    } else if (type == "number" && has(b, "integer") && !has(a, "integer")) {
      common.emplace_back("integer");
    }
  }
  return common;
}

}  // namespace

std::vector<SchemaCase> schema_cases(SchemaDocument& document, const SchemaParts& parts) {
  return CaseFinder(document).find(parts);
}

std::vector<std::string> types_of(const SchemaCase& nodes) {
  std::vector<std::string> types = types_of(Json::object(), "#");
  std::vector<std::string> of_keywords;
  bool is_typed = false;
  for (const SchemaNode& node : nodes) {
    const Json& schema = *node.part.schema;
    is_typed =
        is_typed || schema.contains("type") || schema.contains("enum") || schema.contains("const");
    types = common_types(types, types_of(schema, node.part.where));
    for (const std::string& type : types_of_keywords(schema)) {
      if (std::find(of_keywords.begin(), of_keywords.end(), type) == of_keywords.end()) {
        of_keywords.push_back(type);
      }
    }
  }
  return is_typed || of_keywords.empty() ? types : of_keywords;
}

std::vector<std::pair<const SchemaNode*, const Json*>> uses_of(const SchemaCase& nodes,
                                                               std::string_view keyword) {
  std::vector<std::pair<const SchemaNode*, const Json*>> uses;
  for (const SchemaNode& node : nodes) {
    if (const Json* value = node.part.schema->find(keyword)) {
      uses.emplace_back(&node, value);
    }
  }
  return uses;
}

std::size_t largest_count(const SchemaCase& nodes, std::string_view keyword) {
  std::size_t count = 0;
  for (const SchemaNode& node : nodes) {
    count = std::max(count, count_of(*node.part.schema, keyword, 0, node.part.where));
  }
  return count;
}

std::size_t smallest_count(const SchemaCase& nodes, std::string_view keyword,
                           std::size_t fallback) {
  std::size_t count = fallback;
  for (const SchemaNode& node : nodes) {
    count = std::min(count, count_of(*node.part.schema, keyword, fallback, node.part.where));
  }
  return count;
}

}  // namespace headlight
