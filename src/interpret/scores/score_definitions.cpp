#include "interpret/scores/score_definitions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/transformed.h"
#include "headlight/base/nearest_name.h"
#include "interpret/words.h"

namespace headlight {
namespace {

constexpr Index kNear = 8;        // keys that count as near, including the query itself
constexpr double kUnbounded = 0;  // ScoreInfo: low == high

// Sum of value(query) over all queries from `first` on.
template <class Value>
DocumentSum over_queries(const HeadMap& map, Index first, const Value& value) {
  DocumentSum result;
  for (Index query = first; query < map.length(); ++query) {
    result.sum += value(query);
    result.weight += 1;
  }
  return result;
}

// Sum of one of the sums of every query.
template <auto kSum>
DocumentSum over_rows(const HeadMap& map) {
  return over_queries(map, 0, [&](Index query) { return map.sums(query).*kSum; });
}

template <Index kOffset>
DocumentSum at_offset(const HeadMap& map) {
  return over_queries(map, std::max<Index>(kOffset, 1),
                      [&](Index query) { return map.weight(query, query - kOffset); });
}

DocumentSum first_token(const HeadMap& map) {
  if (map.facts().without_first) {
    return {};
  }
  return over_queries(map, 1, [&](Index query) { return map.weight(query, 0); });
}

// Weight on the positions `shift` after earlier occurrences of each query's token. Covers queries
// from `first` on with an earlier occurrence.
DocumentSum after_earlier_equals(const HeadMap& map, Index first, Index shift) {
  const std::vector<Index>& earlier = map.facts().earlier_equal;
  DocumentSum result;
  for (Index query = first; query < map.length(); ++query) {
    Index position = earlier[static_cast<std::size_t>(query)];
    result.weight += position >= 0 ? 1 : 0;
    for (; position >= 0; position = earlier[static_cast<std::size_t>(position)]) {
      result.sum += map.weight(query, position + shift);
    }
  }
  return result;
}

DocumentSum duplicate_token(const HeadMap& map) { return after_earlier_equals(map, 1, 0); }

DocumentSum induction(const HeadMap& map) {
  return after_earlier_equals(map, map.facts().repeat_begin, 1);
}

using Measure = std::function<DocumentSum(const HeadMap& map)>;

// Weight from the later span of a pair on the earlier one.
Measure back_to(std::string relation) {
  return [relation = std::move(relation)](const HeadMap& map) {
    DocumentSum result;
    for (const TokenPair& pair : pairs_of(map.facts().pairs, relation)) {
      for (Index query = pair.later_begin; query < pair.later_end; ++query) {
        result.sum += map.span_weight(query, pair.earlier_begin, pair.earlier_end);
        result.weight += 1;
      }
    }
    return result;
  };
}

// Weight from the token before the later span, which predicts it, on the earlier span.
Measure ahead_to(std::string relation) {
  return [relation = std::move(relation)](const HeadMap& map) {
    DocumentSum result;
    for (const TokenPair& pair : pairs_of(map.facts().pairs, relation)) {
      const Index query = pair.later_begin - 1;
      if (query + 1 >= pair.earlier_end) {
        result.sum += map.span_weight(query, pair.earlier_begin, pair.earlier_end);
        result.weight += 1;
      }
    }
    return result;
  };
}

// Weight on all cells of a class, for queries from the second on that see one.
template <bool TokenCell::*kClass>
DocumentSum on_class(const HeadMap& map) {
  const std::vector<TokenCell>& cells = map.facts().cells;
  DocumentSum result;
  for (Index key = 0; key < std::ssize(cells); ++key) {
    if (cells[static_cast<std::size_t>(key)].*kClass) {
      const Index first = map.facts().causal ? std::max<Index>(key, 1) : 1;
      result.weight = std::max(result.weight, static_cast<double>(map.length() - first));
      result.sum += map.length() > 1 ? map.column_sum(key) : 0;
    }
  }
  return result;
}

// Weight from the token before a later mention of a name on every mention of any repeated name. A
// head that collects candidate names need not predict the right one yet.
DocumentSum names_ahead(const HeadMap& map) {
  const std::vector<TokenPair>& pairs = pairs_of(map.facts().pairs, "name");
  std::vector<bool> is_name(static_cast<std::size_t>(map.length()));
  for (const TokenPair& pair : pairs) {
    std::fill(is_name.begin() + pair.earlier_begin, is_name.begin() + pair.earlier_end, true);
    std::fill(is_name.begin() + pair.later_begin, is_name.begin() + pair.later_end, true);
  }
  DocumentSum result;
  for (const TokenPair& pair : pairs) {
    const Index query = pair.later_begin - 1;
    if (query + 1 < pair.earlier_end) {
      continue;
    }
    for (Index key = 0; key <= query; ++key) {
      result.sum += is_name[static_cast<std::size_t>(key)] ? map.weight(query, key) : 0;
    }
    result.weight += 1;
  }
  return result;
}

// Weight from each token of a repetition on the token that followed the first time.
DocumentSum phrase(const HeadMap& map) {
  DocumentSum result;
  for (const TokenPair& pair : pairs_of(map.facts().pairs, "phrase")) {
    const Index length =
        std::min(pair.earlier_end - pair.earlier_begin, pair.later_end - pair.later_begin);
    for (Index offset = 0; offset + 1 < length; ++offset) {
      result.sum += map.weight(pair.later_begin + offset, pair.earlier_begin + offset + 1);
      result.weight += 1;
    }
  }
  return result;
}

DocumentSum spread(const HeadMap& map) {
  return over_queries(map, 1, [&](Index query) {
    return map.sums(query).entropy / std::log(static_cast<double>(map.keys(query)));
  });
}

DocumentSum near(const HeadMap& map) {
  return over_queries(map, kNear, [&](Index query) {
    return map.span_weight(query, query - kNear + 1, query + 1);
  });
}

DocumentSum sparsity(const HeadMap& map) {
  return over_queries(map, 1, [&](Index query) {
    return static_cast<double>(map.sums(query).below) / static_cast<double>(map.keys(query));
  });
}

// Returns whether score_definitions() measures a relation.
bool is_relation(std::string_view name) {
  constexpr std::array<std::string_view, 5> kKnown{"quote", "bracket", "agreement", "name",
                                                   "phrase"};
  return std::find(kKnown.begin(), kKnown.end(), name) != kKnown.end();
}

ScoreDefinition make_score(std::string_view group, std::string name, bool is_default,
                           std::string meaning, Measure measure,
                           ScoreSource source = ScoreSource::text, double low = 0,
                           double high = 1) {
  std::string title = word(Language::english, "column_" + name);
  return {{std::move(name), std::move(title), group, std::move(meaning), low, high, is_default},
          source,
          std::move(measure)};
}

// Score of a relation that users annotate. Its title is `title` in each language.
ScoreDefinition make_own_score(std::string name, std::string title, std::string meaning,
                               Measure measure) {
  return {{std::move(name), std::move(title), "own", std::move(meaning), 0, 1, true},
          ScoreSource::text,
          std::move(measure)};
}

// Scores that also have a meaning if queries see later keys.
constexpr std::array<std::string_view, 17> kOfBothSides{
    "previous_token", "second_previous", "first_token", "same_token", "duplicate_token",
    "quote",          "bracket",         "agreement",   "name",       "entropy",
    "spread",         "mean_distance",   "confidence",  "sparsity",   "special_token",
    "separator",      "punctuation"};

std::vector<ScoreDefinition> make_definitions() {
  constexpr std::string_view kPositional = "positional";
  constexpr std::string_view kContent = "content";
  constexpr std::string_view kStructure = "structure";
  constexpr std::string_view kShape = "shape";
  std::vector<ScoreDefinition> definitions{
      make_score(kPositional, "previous_token", true, "weight on the token before", at_offset<1>),
      make_score(kPositional, "second_previous", false, "weight on the token two back",
                 at_offset<2>),
      make_score(kPositional, "first_token", true, "weight on the first token (sink)", first_token),
      make_score(kPositional, "same_token", true, "weight on the query's own position",
                 at_offset<0>),
      make_score(kPositional, "offset_share", false,
                 "share of queries whose largest weight is best_offset back (Voita et al. 2019)",
                 nullptr, ScoreSource::offsets),
      make_score(kContent, "duplicate_token", true,
                 "weight on earlier occurrences of the query's token", duplicate_token),
      make_score(
          kContent, "induction", true,
          "weight on the token that followed the query's token earlier, in repeated random tokens",
          induction, ScoreSource::repeats),
      make_score(
          kContent, "copying", true,
          "sum of the eigenvalues of W_E W_V W_O W_U over the sum of their magnitudes: 1 means "
          "copying",
          nullptr, ScoreSource::weights, -1, 1),
      make_score(kContent, "k_composition", false,
                 "largest K-composition with a head of an earlier layer (Elhage et al. 2021)",
                 nullptr, ScoreSource::weights),
      make_score(kContent, "special_token", true, "weight on special tokens such as <|endoftext|>",
                 on_class<&TokenCell::is_special>),
      make_score(kContent, "separator", true,
                 "weight on white space alone, and on special tokens that end an earlier text",
                 on_class<&TokenCell::is_separator>),
      make_score(kContent, "punctuation", true, "weight on tokens of punctuation only",
                 on_class<&TokenCell::is_punctuation>),
      make_score(kStructure, "quote", true, "a closing quote to its opening quote",
                 back_to("quote")),
      make_score(kStructure, "quote_ahead", false,
                 "the token before a closing quote to the opening one", ahead_to("quote")),
      make_score(kStructure, "bracket", true, "a closing bracket to its opening bracket",
                 back_to("bracket")),
      make_score(kStructure, "bracket_ahead", false,
                 "the token before a closing bracket to the opening one", ahead_to("bracket")),
      make_score(kStructure, "agreement", true, "a verb to the subject that it agrees with",
                 back_to("agreement")),
      make_score(kStructure, "agreement_ahead", false, "the token before a verb to its subject",
                 ahead_to("agreement")),
      make_score(kStructure, "name", true, "a name to its last mention", back_to("name")),
      make_score(kStructure, "name_ahead", false, "the token before a name to its last mention",
                 ahead_to("name")),
      make_score(kStructure, "names_ahead", false,
                 "the token before a name to the names mentioned so far", names_ahead),
      make_score(kStructure, "phrase", true,
                 "inside a repeated phrase to the token that came next the first time", phrase),
      make_score(kShape, "entropy", true, "entropy of the weights, in nats",
                 over_rows<&kernels::WeightRowSums::entropy>, ScoreSource::text, kUnbounded,
                 kUnbounded),
      make_score(kShape, "spread", false, "entropy divided by the largest possible", spread),
      make_score(kShape, "mean_distance", true, "tokens back, weighted (Vig and Belinkov 2019)",
                 over_rows<&kernels::WeightRowSums::distance>, ScoreSource::text, kUnbounded,
                 kUnbounded),
      make_score(kShape, "near", false, "weight on the last 8 tokens, the query included", near),
      make_score(kShape, "confidence", true, "largest weight of a query",
                 over_rows<&kernels::WeightRowSums::largest>),
      make_score(kShape, "sparsity", false,
                 "share of visible tokens with less than a tenth of a uniform weight", sparsity)};
  for (ScoreDefinition& definition : definitions) {
    definition.needs_causal = std::ranges::count(kOfBothSides, definition.info.name) == 0;
  }
  return definitions;
}

}  // namespace

const std::vector<ScoreDefinition>& score_definitions() {
  static const std::vector<ScoreDefinition> kDefinitions = make_definitions();
  return kDefinitions;
}

std::vector<ScoreDefinition> definitions_with(const std::vector<SequencePairs>& annotations) {
  std::vector<ScoreDefinition> definitions = score_definitions();
  const auto is_free = [&](const std::string& name) {
    return std::none_of(definitions.begin(), definitions.end(),
                        [&](const ScoreDefinition& known) { return known.info.name == name; });
  };
  std::set<std::string, std::less<>> own;
  for (const SequencePairs& pairs : annotations) {
    for (const auto& [relation, spans] : pairs) {
      if (!is_relation(relation)) {
        own.insert(relation);
      }
    }
  }
  for (const std::string& name : own) {
    const std::string ahead = name + "_ahead";
    require_value(is_free(name) && is_free(ahead), "annotations", "the relation '", name,
                  "' has the name of a score: rename it");
    definitions.push_back(make_own_score(
        name, name, "the later span of '" + name + "' to the earlier one", back_to(name)));
    definitions.back().needs_causal = false;
    definitions.push_back(make_own_score(
        ahead, name + ">", "the token before the later span of '" + name + "' to the earlier one",
        ahead_to(name)));
    definitions.back().info.is_default = false;
  }
  return definitions;
}

const std::vector<ScoreInfo>& score_list() {
  static const std::vector<ScoreInfo> kInfos = score_list_with({});
  return kInfos;
}

std::vector<ScoreInfo> score_list_with(const std::vector<SequencePairs>& annotations) {
  return transformed(definitions_with(annotations), &ScoreDefinition::info);
}

std::size_t score_index(std::string_view name) {
  std::vector<std::string> names;
  for (const ScoreInfo& info : score_list()) {
    if (info.name == name) {
      return names.size();
    }
    names.emplace_back(info.name);
  }
  fail("no score is called '", name, "'", did_you_mean(name, names));
}

}  // namespace headlight
