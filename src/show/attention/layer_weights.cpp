#include "show/attention/layer_weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/strings/display_text.h"
#include "base/transformed.h"
#include "show/report/parts/in_language.h"
#include "show/report/parts/numbers.h"

namespace headlight {
namespace {

// Weights computed in float32 or stored as bfloat16 may exceed 1 by rounding.
constexpr float kLargestWeight = 1.01F;

}  // namespace

LayerWeights::LayerWeights(std::string_view where, const AttentionMaps& maps,
                           const LayerAttention& layer, bool differences)
    : heads_(static_cast<Index>(layer.heads.size())),
      tokens_(static_cast<Index>(maps.tokens.size())) {
  require(tokens_ > 0, "[", where, "] expected at least one token, got none");
  require(heads_ > 0, "[", where, "] expected at least one head in layer ", layer.layer,
          ", got none");
  require(layer.layer >= 0, "[", where, "] expected a layer number from 0, got ", layer.layer);
  const std::set<Index> distinct(layer.heads.begin(), layer.heads.end());
  require(static_cast<Index>(distinct.size()) == heads_ && *distinct.begin() >= 0, "[", where,
          "] the heads of layer ", layer.layer, " must be different numbers from 0");
  require(layer.weights.defined(), "[", where, "] layer ", layer.layer, " has no weights");
  const Shape expected = {heads_, tokens_, tokens_};
  require(layer.weights.shape() == expected && layer.weights.dtype() == DType::float32, "[", where,
          "] weights of layer ", layer.layer, ": expected float32 ", expected, ", got ",
          layer.weights.dtype(), " ", layer.weights.shape());
  weights_ = to_contiguous(layer.weights);
  check_values(where, layer, differences);
}

const float* LayerWeights::head(Index head) const {
  return weights_.data<float>() + head * tokens_ * tokens_;
}

std::vector<float> LayerWeights::block_maxima(Index row, Index block) const {
  const Index cells = divided_up(tokens_, block);
  std::vector<float> maxima(static_cast<std::size_t>(cells * cells), 0.0F);
  const float* weight = head(row);
  for (Index query = 0; query < tokens_; ++query) {
    for (Index key = 0; key < tokens_; ++key, ++weight) {
      float& largest = maxima[static_cast<std::size_t>(query / block * cells + key / block)];
      largest = std::abs(*weight) > std::abs(largest) ? *weight : largest;
    }
  }
  return maxima;
}

void LayerWeights::check_values(std::string_view where, const LayerAttention& layer,
                                bool differences) {
  const float least = differences ? -kLargestWeight : 0.0F;
  for (Index h = 0; h < heads_; ++h) {
    const float* value = head(h);
    for (Index query = 0; query < tokens_; ++query) {
      for (Index key = 0; key < tokens_; ++key, ++value) {
        // NaN fails this comparison, as it must.
        require(*value >= least && *value <= kLargestWeight, "[", where, "] weight of head ",
                layer.layer, ".", layer.heads[static_cast<std::size_t>(h)], " from query ", query,
                " to key ", key, ": expected a number in ", differences ? "[-1, 1]" : "[0, 1]",
                ", got ", *value);
        causal_ = causal_ && (key <= query || *value == 0.0F);
      }
    }
  }
}

std::string score_label(const HeadScore& score, Language language) {
  std::string name = score.name;
  for (const VerdictRule& rule : verdict_rules()) {
    if (rule.label == name && language == Language::korean) {
      name = rule.korean_label;
    }
  }
  return printable_text(name) + (score.significant ? "" : " ?");
}

std::vector<std::string> cell_labels(const AttentionMaps& maps) {
  return transformed(maps.tokens, [&](const std::string& token) {
    const std::size_t text = maps.unit == TextUnit::word ? token.find_first_not_of(' ') : 0;
    return display_label(text == token.npos ? token : token.substr(text));
  });
}

std::string counted_cells(Index count, TextUnit unit, Language language) {
  struct Noun {
    TextUnit unit;
    const char* english;
    const char* korean;
  };
  constexpr std::array<Noun, 3> kNouns{{{TextUnit::token, "token", "토큰"},
                                        {TextUnit::character, "character", "글자"},
                                        {TextUnit::word, "word", "단어"}}};
  const Noun& noun = *std::find_if(kNouns.begin(), kNouns.end(),
                                   [&](const Noun& one) { return one.unit == unit; });
  return in_language(language, counted(count, noun.english),
                     concat_text(noun.korean, " ", count, "개"));
}

std::string layer_name(Index layer, Language language) {
  return in_language(language, concat_text("Layer ", layer), concat_text(layer, "층"));
}

const char* map_word(std::string_view name, Language language) {
  struct Word {
    std::string_view name;
    const char* english;
    const char* korean;
  };
  constexpr std::array<Word, 14> kWords{
      {{"query", "Query", "쿼리"},
       {"key", "Key", "키"},
       {"query_position", "Query position", "쿼리 위치"},
       {"key_position", "Key position", "키 위치"},
       {"head", "Head", "헤드"},
       {"attention", "Attention", "어텐션"},
       {"weight", "Attention weight", "어텐션 가중치"},
       {"root_weight", "Attention weight (square-root scale)", "어텐션 가중치 (제곱근 눈금)"},
       {"value_weight", "Weight times value norm", "가중치 × 값 벡터 크기"},
       {"root_value_weight", "Weight times value norm (square-root scale)",
        "가중치 × 값 벡터 크기 (제곱근 눈금)"},
       {"difference", "Difference of weights", "가중치의 차이"},
       {"root_difference", "Difference of weights (square-root scale)",
        "가중치의 차이 (제곱근 눈금)"},
       {"differences", "differences of the attention weights of every head",
        "모든 헤드의 어텐션 가중치 차이"},
       {"figure", "attention weights of every head", "모든 헤드의 어텐션 가중치"}}};
  for (const Word& word : kWords) {
    if (word.name == name) {
      return language == Language::korean ? word.korean : word.english;
    }
  }
  fail("[map_word] no text is called ", name);
}

}  // namespace headlight
