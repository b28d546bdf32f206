#include <algorithm>

#include "generate/json_schema/schema_children.h"
#include "generate/json_schema/schema_keywords.h"
#include "generate/json_schema/typed_rules.h"

namespace headlight {
namespace {

constexpr std::size_t kNoMaximum = TextLanguage::kNoMaximum;
constexpr std::size_t kMaxItemStates = 4'000;
constexpr std::size_t kMaxContains = 3;

std::string comma(std::size_t index) { return index > 0 ? "\",\" ws " : ""; }

std::string repeats(std::size_t least, std::size_t most) {
  return most == kNoMaximum ? concat_text('{', least, ",}")
                            : concat_text('{', least, ',', std::min(most, kMaxCount), '}');
}

// Items that some of the items must satisfy.
struct Contained {
  SchemaPart part;
  std::size_t least = 1;
  std::size_t most = kNoMaximum;

  std::size_t counted() const { return most == kNoMaximum ? least : most; }
};

// Returns an expression for the items after the first `before` ones.
std::string more_items(const std::string& item, std::size_t before, const CountLimits& all) {
  const std::size_t least = all.least - std::min(all.least, before);
  const std::size_t most = all.most == kNoMaximum ? kNoMaximum : all.most - before;
  const std::string next = "(\",\" ws " + item + ')';
  if (before > 0) {
    return next + repeats(least, most);
  }
  const std::string later =
      next + repeats(least - std::min<std::size_t>(least, 1), most == kNoMaximum ? most : most - 1);
  return '(' + item + ' ' + later + ')' + (least == 0 ? "?" : "");
}

class ArrayRules {
 public:
  ArrayRules(SchemaRules& rules, const SchemaCase& nodes)
      : rules_(rules),
        nodes_(nodes),
        first_(first_items(nodes)),
        limits_(count_limits(nodes, "Items")) {}

  std::string rule() {
    find_contained();
    find_last_item();
    const std::string& where = nodes_[0].part.where;
    if (limits_.least > limits_.most) {
      return rules_.no_text(where, concat_text("minItems: expected at most ", limits_.most));
    }
    const auto unique = uses_of(nodes_, "uniqueItems");
    const bool is_unique = std::any_of(unique.begin(), unique.end(),
                                       [](const auto& use) { return *use.second == Json(true); });
    if (is_unique && limits_.most > 1) {
      require_schema(contained_.empty(), where, "uniqueItems cannot be combined with contains");
      return brackets(unique_items(rules_, nodes_, limits_));
    }
    return brackets(contained_.empty() ? plain_items() : containing_items());
  }

 private:
  std::string brackets(const std::string& items) {
    return items == SchemaRules::kNoText ? items : rules_.rule("\"[\" ws " + items + " ws \"]\"");
  }

  void find_contained() {
    for (const auto& [node, schema] : uses_of(nodes_, "contains")) {
      Contained one{rules_.document().within(node->part, *schema, "/contains")};
      one.least = count_of(*node->part.schema, "minContains", 1, node->part.where);
      one.most = count_of(*node->part.schema, "maxContains", kNoMaximum, node->part.where);
      if (one.least > 0 || one.most != kNoMaximum) {
        contained_.push_back(std::move(one));
      }
    }
  }

  // Lowers the maximum to the items that are possible, and to the listed items if no keyword
  // is about others.
  void find_last_item() {
    for (std::size_t i = 0; i <= first_; ++i) {
      const SchemaParts parts = item_parts(rules_.document(), nodes_, i);
      if (std::any_of(parts.begin(), parts.end(),
                      [](const SchemaPart& one) { return *one.schema == Json(false); })) {
        limits_.most = std::min(limits_.most, i);
      }
      const bool is_closed = i == first_ && i > 0 && parts.empty() && contained_.empty();
      if (is_closed && limits_.least <= i) {
        limits_.most = std::min(limits_.most, i);
      }
    }
  }

  std::string item(std::size_t index) {
    return rules_.values(item_parts(rules_.document(), nodes_, index));
  }

  std::string plain_items() {
    std::string rest = "\"\"";
    if (limits_.most > first_) {
      rest = more_items(item(first_), first_, limits_);
    }
    for (std::size_t i = std::min(first_, limits_.most); i-- > 0;) {
      rest = comma(i) + item(i) + ' ' + rules_.rule(rest) + (i >= limits_.least ? R"( | "")" : "");
    }
    return rules_.rule(rest);
  }

  // Writes a rule for each number of items so far and of contained ones. After the last number of
  // items that matters, the rules repeat.
  std::string containing_items() {
    const std::string& where = nodes_[0].part.where;
    last_ = limits_.most != kNoMaximum ? limits_.most
                                       : std::max({limits_.least, first_, std::size_t{1}});
    std::size_t states = last_ + 1;
    for (const Contained& one : contained_) {
      states = one.counted() < kMaxItemStates ? states * (one.counted() + 1) : kMaxItemStates + 1;
      require_schema(states <= kMaxItemStates && contained_.size() <= kMaxContains, where,
                     "contains needs too large a grammar: expected smaller minContains, ",
                     "maxContains, minItems and maxItems");
    }
    name_ = rules_.new_name("c");
    std::vector<std::size_t> counts(contained_.size(), 0);
    for (std::size_t i = 0; i <= last_; ++i) {
      do {
        rules_.document().spend(1, where);
        rules_.append(state_name(i, counts), state_body(i, counts));
      } while (next_counts(counts));
    }
    return state_name(0, counts);
  }

  // Moves to the next combination of counts; returns false after the last, with zeros again.
  bool next_counts(std::vector<std::size_t>& counts) const {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i]++ < contained_[i].counted()) {
        return true;
      }
      counts[i] = 0;
    }
    return false;
  }

  std::string state_name(std::size_t index, const std::vector<std::size_t>& counts) const {
    std::string name = concat_text(name_, '-', index);
    for (const std::size_t count : counts) {
      name += concat_text('-', count);
    }
    return name;
  }

  std::string state_body(std::size_t index, const std::vector<std::size_t>& counts) {
    std::string all;
    bool may_end = index >= limits_.least;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      may_end = may_end && counts[i] >= contained_[i].least;
    }
    if (may_end) {
      all = "\"\"";
    }
    const std::size_t subsets = std::size_t{1} << contained_.size();
    for (std::size_t chosen = 0; chosen < subsets && index < limits_.most; ++chosen) {
      const std::string one = next_item(index, counts, chosen);
      all += one.empty() ? "" : (all.empty() ? "" : " | ") + one;
    }
    return all.empty() ? SchemaRules::kNoText : all;
  }

  // Returns an expression for an item that is one of the `chosen` contained ones, a bit for each,
  // and the rest; "" if they are too many.
  std::string next_item(std::size_t index, std::vector<std::size_t> counts, std::size_t chosen) {
    SchemaParts parts = item_parts(rules_.document(), nodes_, std::min(index, first_));
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const Contained& one = contained_[i];
      SchemaPart part = one.part;
      if ((chosen >> i & 1U) != 0) {
        if (counts[i] == one.most) {
          return "";
        }
        counts[i] = std::min(counts[i] + 1, one.counted());
        parts.push_back(part);
      } else if (one.most != kNoMaximum) {
        part.is_negated = !part.is_negated;
        parts.push_back(part);
      }
    }
    return comma(index) + rules_.values(parts) + ' ' +
           state_name(std::min(index + 1, last_), counts);
  }

  SchemaRules& rules_;
  const SchemaCase& nodes_;
  std::size_t first_;  // items whose schemas depend on their index
  CountLimits limits_;
  std::vector<Contained> contained_;
  std::string name_;      // of the rules with contained items
  std::size_t last_ = 0;  // number of items from which these rules repeat
};

}  // namespace

std::string array_rule(SchemaRules& rules, const SchemaCase& nodes) {
  return ArrayRules(rules, nodes).rule();
}

}  // namespace headlight
