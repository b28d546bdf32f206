#include "generate/json_schema/schema_children.h"

#include <algorithm>

#include "generate/json_schema/schema_keywords.h"
#include "generate/json_schema/schema_values.h"

namespace headlight {
namespace {

// Returns whether one of the nodes within `outer` evaluates a child; `evaluates` tests a node.
template <class Evaluates>
bool is_evaluated_within(SchemaDocument& document, const SchemaCase& nodes, std::size_t outer,
                         const Evaluates& evaluates) {
  for (std::size_t i = outer; i < nodes.size(); ++i) {
    int parent = static_cast<int>(i);
    std::size_t steps = 1;
    for (; parent > static_cast<int>(outer); ++steps) {
      parent = nodes[static_cast<std::size_t>(parent)].parent;
    }
    document.spend(steps, nodes[outer].part.where);
    if (parent == static_cast<int>(outer) && nodes[i].is_evaluated &&
        evaluates(nodes[i], i == outer)) {
      return true;
    }
  }
  return false;
}

// Returns "prefixItems", or the list that was called "items" in older drafts.
const Json& first_items_of(const SchemaPart& part) {
  static const Json kNone = Json::array();
  for (const char* keyword : {"prefixItems", "items"}) {
    const Json* list = part.schema->find(keyword);
    const bool is_list = list != nullptr && list->is_array();
    require_schema(list == nullptr || is_list || std::string_view(keyword) == "items", part.where,
                   keyword, ": expected a list of schemas");
    if (is_list) {
      return *list;
    }
  }
  return kNone;
}

// Returns the keyword for the items after the first ones, or "".
std::string later_items_keyword(const Json& schema) {
  const Json* items = schema.find("items");
  const bool is_list = items != nullptr && items->is_array();
  const char* keyword = is_list ? "additionalItems" : "items";
  return schema.contains(keyword) ? keyword : "";
}

const Json& members_of(const SchemaPart& part, std::string_view keyword) {
  static const Json kNone = Json::object();
  const Json* members = part.schema->find(keyword);
  require_schema(members == nullptr || members->is_object(), part.where, keyword,
                 ": expected an object");
  return members == nullptr ? kNone : *members;
}

// Returns whether "properties" or "patternProperties" surely name a member.
bool names_member(SchemaDocument& document, const SchemaPart& part, const MemberName& name) {
  const Json& patterns = members_of(part, "patternProperties");
  document.spend(1 + patterns.size(), part.where);
  if (name.text != nullptr && members_of(part, "properties").contains(*name.text)) {
    return true;
  }
  return std::any_of(patterns.members().begin(), patterns.members().end(),
                     [&](const JsonMember& one) { return name.surely.contains(one.key); });
}

}  // namespace

std::size_t first_items(const SchemaCase& nodes) {
  std::size_t count = 0;
  for (const SchemaNode& node : nodes) {
    count = std::max(count, first_items_of(node.part).size());
  }
  return count;
}

SchemaParts item_parts(SchemaDocument& document, const SchemaCase& nodes, std::size_t index) {
  SchemaParts parts;
  document.spend(nodes.size(), nodes[0].part.where);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const SchemaPart& part = nodes[i].part;
    const Json& first = first_items_of(part);
    const std::string later = later_items_keyword(*part.schema);
    if (index < first.size()) {
      parts.push_back(document.within(part, first[index], concat_text("/prefixItems/", index)));
    } else if (!later.empty()) {
      parts.push_back(document.within(part, (*part.schema)[later], '/' + later));
    }
    const auto evaluates = [&](const SchemaNode& node, bool is_same) {
      return index < first_items_of(node.part).size() ||
             !later_items_keyword(*node.part.schema).empty() ||
             (!is_same && node.part.schema->contains("unevaluatedItems"));
    };
    const Json* others = part.schema->find("unevaluatedItems");
    if (others != nullptr && !is_evaluated_within(document, nodes, i, evaluates)) {
      parts.push_back(document.within(part, *others, "/unevaluatedItems"));
    }
  }
  return parts;
}

SchemaParts member_parts(SchemaDocument& document, const SchemaCase& nodes,
                         const MemberName& name) {
  SchemaParts parts;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const SchemaPart& part = nodes[i].part;
    const Json& properties = members_of(part, "properties");
    const auto add = [&](const Json* schema, const std::string& inner) {
      if (schema != nullptr) {
        parts.push_back(document.within(part, *schema, inner));
      }
    };
    if (name.text != nullptr) {
      add(properties.find(*name.text), "/properties/" + *name.text);
    }
    for (const JsonMember& one : members_of(part, "patternProperties").members()) {
      if (name.surely.contains(one.key) || name.perhaps.contains(one.key)) {
        add(&one.value, "/patternProperties/" + one.key);
      }
    }
    if (!names_member(document, part, name)) {
      add(part.schema->find("additionalProperties"), "/additionalProperties");
    }
    const auto evaluates = [&](const SchemaNode& node, bool is_same) {
      return names_member(document, node.part, name) ||
             node.part.schema->contains("additionalProperties") ||
             (!is_same && node.part.schema->contains("unevaluatedProperties"));
    };
    if (part.schema->contains("unevaluatedProperties") &&
        !is_evaluated_within(document, nodes, i, evaluates)) {
      add(part.schema->find("unevaluatedProperties"), "/unevaluatedProperties");
    }
  }
  return parts;
}

SchemaParts member_parts(SchemaDocument& document, const SchemaCase& nodes,
                         const std::string& name) {
  MemberName known{&name};
  for (const SchemaNode& node : nodes) {
    for (const JsonMember& one : members_of(node.part, "patternProperties").members()) {
      const Satisfied match = pattern_match(document, Json(one.key), name, node.part.where);
      if (match != Satisfied::no) {
        (match == Satisfied::yes ? known.surely : known.perhaps).insert(one.key);
      }
    }
  }
  return member_parts(document, nodes, known);
}

}  // namespace headlight
