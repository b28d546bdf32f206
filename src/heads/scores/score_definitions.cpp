#include "heads/scores/score_definitions.h"

#include <algorithm>
#include <cmath>

#include "headlight/base/nearest_name.h"

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

template <Index kOffset>
DocumentSum at_offset(const HeadMap& map) {
  return over_queries(map, std::max<Index>(kOffset, 1),
                      [&](Index query) { return map.weight(query, query - kOffset); });
}

DocumentSum first_token(const HeadMap& map) {
  return over_queries(map, 1, [&](Index query) { return map.weight(query, 0); });
}

// Weight on the positions `shift` after earlier occurrences of each query's token. Covers queries
// from `first` on with an earlier occurrence.
DocumentSum after_earlier_equals(const HeadMap& map, Index first, Index shift) {
  const std::vector<Index>& earlier = map.facts().earlier_equal;
  DocumentSum result;
  for (Index query = first; query < map.length(); ++query) {
    Index place = earlier[static_cast<std::size_t>(query)];
    result.weight += place >= 0 ? 1 : 0;
    for (; place >= 0; place = earlier[static_cast<std::size_t>(place)]) {
      result.sum += map.weight(query, place + shift);
    }
  }
  return result;
}

DocumentSum duplicate_token(const HeadMap& map) { return after_earlier_equals(map, 1, 0); }

DocumentSum induction(const HeadMap& map) {
  return after_earlier_equals(map, map.facts().repeat_begin, 1);
}

// Weight from the later span of a pair on the earlier one.
template <PairKind kKind>
DocumentSum back_to(const HeadMap& map) {
  DocumentSum result;
  for (const TokenPair& pair : map.facts().pairs.of(kKind)) {
    for (Index query = pair.later_begin; query < pair.later_end; ++query) {
      result.sum += map.span_weight(query, pair.earlier_begin, pair.earlier_end);
      result.weight += 1;
    }
  }
  return result;
}

// Weight from the token before the later span, which predicts it, on the earlier span.
template <PairKind kKind>
DocumentSum ahead_to(const HeadMap& map) {
  DocumentSum result;
  for (const TokenPair& pair : map.facts().pairs.of(kKind)) {
    const Index query = pair.later_begin - 1;
    if (query + 1 >= pair.earlier_end) {
      result.sum += map.span_weight(query, pair.earlier_begin, pair.earlier_end);
      result.weight += 1;
    }
  }
  return result;
}

// Weight from the token before a later mention of a name on every mention of any repeated name. A
// head that collects candidate names need not predict the right one yet.
DocumentSum names_ahead(const HeadMap& map) {
  const std::vector<TokenPair>& pairs = map.facts().pairs.of(PairKind::name);
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
  for (const TokenPair& pair : map.facts().pairs.of(PairKind::phrase)) {
    const Index length =
        std::min(pair.earlier_end - pair.earlier_begin, pair.later_end - pair.later_begin);
    for (Index place = 0; place + 1 < length; ++place) {
      result.sum += map.weight(pair.later_begin + place, pair.earlier_begin + place + 1);
      result.weight += 1;
    }
  }
  return result;
}

DocumentSum entropy(const HeadMap& map) {
  return over_queries(map, 0, [&](Index query) { return map.entropy(query); });
}

DocumentSum spread(const HeadMap& map) {
  return over_queries(map, 1, [&](Index query) {
    return map.entropy(query) / std::log(static_cast<double>(query + 1));
  });
}

DocumentSum mean_distance(const HeadMap& map) {
  return over_queries(map, 0, [&](Index query) { return map.distance(query); });
}

DocumentSum near(const HeadMap& map) {
  return over_queries(map, kNear, [&](Index query) {
    return map.span_weight(query, query - kNear + 1, query + 1);
  });
}

DocumentSum confidence(const HeadMap& map) {
  return over_queries(map, 0, [&](Index query) { return map.largest(query); });
}

DocumentSum sparsity(const HeadMap& map) {
  return over_queries(map, 1, [&](Index query) {
    return static_cast<double>(map.small_weights(query)) / static_cast<double>(query + 1);
  });
}

std::vector<ScoreDefinition> positional_scores() {
  const std::string_view group = "positional";
  return {{{"previous_token", "prev", group, "weight on the token before", 0, 1, true, "앞"},
           ScoreSource::text,
           at_offset<1>},
          {{"second_previous", "prev2", group, "weight on the token two back", 0, 1, false, "앞2"},
           ScoreSource::text,
           at_offset<2>},
          {{"first_token", "first", group, "weight on the first token (sink)", 0, 1, true, "첫"},
           ScoreSource::text,
           first_token},
          {{"same_token", "self", group, "weight on the query's own position", 0, 1, true, "자기"},
           ScoreSource::text,
           at_offset<0>},
          {{"offset_share", "offset", group,
            "share of queries whose largest weight is best_offset back (Voita et al. 2019)", 0, 1,
            false, "거리율"},
           ScoreSource::offsets}};
}

std::vector<ScoreDefinition> content_scores() {
  const std::string_view group = "content";
  return {
      {{"duplicate_token", "dupl", group, "weight on earlier occurrences of the query's token", 0,
        1, true, "중복"},
       ScoreSource::text,
       duplicate_token},
      {{"induction", "indu", group,
        "weight on the token that followed the query's token earlier, in repeated random tokens", 0,
        1, true, "귀납"},
       ScoreSource::repeats,
       induction},
      {{"copying", "copy", group,
        "sum of the eigenvalues of W_E W_V W_O W_U over the sum of their magnitudes: 1 means "
        "copying",
        -1, 1, true, "복사"},
       ScoreSource::weights},
      {{"k_composition", "k-comp", group,
        "largest K-composition with a head of an earlier layer (Elhage et al. 2021)", 0, 1, false,
        "K합성"},
       ScoreSource::weights}};
}

std::vector<ScoreDefinition> structure_scores() {
  const std::string_view group = "structure";
  const auto text = ScoreSource::text;
  return {
      {{"quote", "quote", group, "a closing quote to its opening quote", 0, 1, true, "따옴"},
       text,
       back_to<PairKind::quote>},
      {{"quote_ahead", "quote>", group, "the token before a closing quote to the opening one", 0, 1,
        false, "따옴>"},
       text,
       ahead_to<PairKind::quote>},
      {{"bracket", "brack", group, "a closing bracket to its opening bracket", 0, 1, true, "괄호"},
       text,
       back_to<PairKind::bracket>},
      {{"bracket_ahead", "brack>", group, "the token before a closing bracket to the opening one",
        0, 1, false, "괄호>"},
       text,
       ahead_to<PairKind::bracket>},
      {{"agreement", "agree", group, "a verb to the subject that it agrees with", 0, 1, true,
        "일치"},
       text,
       back_to<PairKind::agreement>},
      {{"agreement_ahead", "agree>", group, "the token before a verb to its subject", 0, 1, false,
        "일치>"},
       text,
       ahead_to<PairKind::agreement>},
      {{"name", "name", group, "a name to its last mention", 0, 1, true, "이름"},
       text,
       back_to<PairKind::name>},
      {{"name_ahead", "name>", group, "the token before a name to its last mention", 0, 1, false,
        "이름>"},
       text,
       ahead_to<PairKind::name>},
      {{"names_ahead", "names>", group, "the token before a name to the names mentioned so far", 0,
        1, false, "이름들>"},
       text,
       names_ahead},
      {{"phrase", "phrase", group,
        "inside a repeated phrase to the token that came next the first time", 0, 1, true, "구절"},
       text,
       phrase}};
}

std::vector<ScoreDefinition> shape_scores() {
  const std::string_view group = "shape";
  const auto text = ScoreSource::text;
  return {
      {{"entropy", "entr", group, "entropy of the weights, in nats", kUnbounded, kUnbounded, true,
        "엔트로피"},
       text,
       entropy},
      {{"spread", "spread", group, "entropy divided by the largest possible", 0, 1, false, "퍼짐"},
       text,
       spread},
      {{"mean_distance", "dist", group, "tokens back, weighted (Vig and Belinkov 2019)", kUnbounded,
        kUnbounded, true, "거리"},
       text,
       mean_distance},
      {{"near", "near", group, "weight on the last 8 tokens, the query included", 0, 1, false,
        "근처"},
       text,
       near},
      {{"confidence", "conf", group, "largest weight of a query", 0, 1, true, "최대"},
       text,
       confidence},
      {{"sparsity", "sparse", group,
        "share of visible tokens with less than a tenth of a uniform weight", 0, 1, false, "희소"},
       text,
       sparsity}};
}

}  // namespace

const std::vector<ScoreDefinition>& score_definitions() {
  static const std::vector<ScoreDefinition> kDefinitions = [] {
    std::vector<ScoreDefinition> all = positional_scores();
    for (const auto& part : {content_scores(), structure_scores(), shape_scores()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return kDefinitions;
}

const std::vector<ScoreInfo>& score_list() {
  static const std::vector<ScoreInfo> kInfos = [] {
    std::vector<ScoreInfo> infos;
    for (const ScoreDefinition& definition : score_definitions()) {
      infos.push_back(definition.info);
    }
    return infos;
  }();
  return kInfos;
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
