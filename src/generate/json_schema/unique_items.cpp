#include <algorithm>
#include <map>
#include <optional>

#include "generate/grammar/gbnf.h"
#include "generate/json_schema/schema_children.h"
#include "generate/json_schema/schema_keywords.h"
#include "generate/json_schema/typed_rules.h"

namespace headlight {
namespace {

constexpr std::size_t kMaxPermuted = 8;
constexpr std::size_t kMaxOrderedStates = 20'000;

// Returns the values of a case: listed values, booleans and null.
std::optional<std::vector<Json>> case_values(SchemaDocument& document, const SchemaCase& nodes) {
  if (auto listed = listed_values(document, nodes)) {
    return listed;
  }
  std::vector<Json> values;
  for (const std::string& type : types_of(nodes)) {
    if (type == "boolean") {
      values.emplace_back(true);
      values.emplace_back(false);
    } else if (type == "null") {
      values.emplace_back(nullptr);
    } else {
      return std::nullopt;
    }
  }
  return values;
}

std::optional<std::vector<Json>> all_values(SchemaDocument& document, const SchemaParts& parts) {
  std::vector<Json> all;
  for (const SchemaCase& nodes : schema_cases(document, parts)) {
    const auto values = case_values(document, nodes);
    if (!values) {
      return std::nullopt;
    }
    all.insert(all.end(), values->begin(), values->end());
  }
  return all;
}

class UniqueItems {
 public:
  UniqueItems(SchemaRules& rules, const SchemaCase& nodes, const CountLimits& limits)
      : rules_(rules), nodes_(nodes), limits_(limits), first_(first_items(nodes)) {}

  std::string rule() {
    find_values();
    limits_.most = std::min(limits_.most, values_.size());
    if (limits_.least > limits_.most) {
      return rules_.no_text(where(), "minItems: expected at most as many as different items");
    }
    return values_.size() <= kMaxPermuted ? permuted() : ordered();
  }

 private:
  const std::string& where() const { return nodes_[0].part.where; }

  // Finds the different values, and which of them each position may have.
  void find_values() {
    std::map<std::string, std::size_t> numbers;
    for (std::size_t i = 0; i <= std::min(first_, limits_.most - 1); ++i) {
      const auto values = all_values(rules_.document(), item_parts(rules_.document(), nodes_, i));
      if (!values && i >= limits_.least && i > 0) {
        limits_.most = i;  // the listed first items are enough
        break;
      }
      require_schema(values.has_value(), where(), "uniqueItems: a grammar can only compare items ",
                     "with listed values (enum, const, boolean or null)");
      choices_.emplace_back();
      for (const Json& value : *values) {
        rules_.document().spend(1, where());
        const auto [known, is_new] = numbers.try_emplace(comparable(value), values_.size());
        if (is_new) {
          values_.push_back(gbnf_literal(value.dump()));
        }
        std::vector<std::size_t>& choices = choices_.back();
        if (std::find(choices.begin(), choices.end(), known->second) == choices.end()) {
          choices.push_back(known->second);
        }
      }
    }
  }

  // Writes a rule for each set of values that have been written, a bit for each.
  std::string permuted() {
    const std::string name = rules_.new_name("u");
    for (std::size_t used = 0; used < std::size_t{1} << values_.size(); ++used) {
      std::size_t count = 0;
      for (std::size_t i = 0; i < values_.size(); ++i) {
        count += used >> i & 1U;
      }
      std::string body = count >= limits_.least ? "\"\"" : "";
      const std::size_t choices = std::min(count, choices_.size() - 1);
      for (const std::size_t value : count < limits_.most ? choices_[choices] : kNone) {
        const std::size_t bit = std::size_t{1} << value;
        if ((used & bit) == 0) {
          body += concat_text(body.empty() ? "" : " | ", count > 0 ? "\",\" ws " : "",
                              values_[value], ' ', name, '-', used | bit);
        }
      }
      rules_.append(concat_text(name, '-', used), body.empty() ? SchemaRules::kNoText : body);
    }
    return name + "-0";
  }

  // Writes a rule for each value and number of items before it.
  std::string ordered() {
    const std::size_t size = values_.size();
    const bool has_maximum = limits_.most < size;
    const std::size_t counted =
        has_maximum ? limits_.most : std::max<std::size_t>(limits_.least, 1);
    require_schema(choices_.size() == 1 && size * (counted + 1) <= kMaxOrderedStates, where(),
                   "uniqueItems: the items have too many different values");
    std::vector<std::string> remainders;
    for (std::size_t count = 0; count <= counted; ++count) {
      remainders.push_back(rules_.rule(count >= limits_.least ? "\"\"" : SchemaRules::kNoText));
    }
    for (std::size_t i = size; i-- > 0;) {
      for (std::size_t count = 0; count <= counted; ++count) {
        if (!has_maximum || count < counted) {
          const std::string& next = remainders[std::min(count + 1, counted)];
          remainders[count] = rules_.rule(concat_text(count > 0 ? "\",\" ws " : "", values_[i], ' ',
                                                      next, " | ", remainders[count]));
        }
      }
    }
    return remainders[0];
  }

  static inline const std::vector<std::size_t> kNone = {};

  SchemaRules& rules_;
  const SchemaCase& nodes_;
  CountLimits limits_;
  std::size_t first_;
  std::vector<std::string> values_;                // as literals
  std::vector<std::vector<std::size_t>> choices_;  // values of the first items and of all others
};

}  // namespace

std::string unique_items(SchemaRules& rules, const SchemaCase& nodes, const CountLimits& limits) {
  return UniqueItems(rules, nodes, limits).rule();
}

}  // namespace headlight
