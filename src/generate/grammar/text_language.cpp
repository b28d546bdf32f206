#include "generate/grammar/text_language.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "headlight/base/error.h"
#include "headlight/base/utf8.h"

namespace headlight {
namespace {

using Edge = TextLanguage::Edge;
using State = TextLanguage::State;
using Targets = std::pair<std::uint32_t, std::uint32_t>;

constexpr std::uint32_t kNowhere = 0xFFFF'FFFF;
constexpr std::size_t kMaxCombinedEdges = std::size_t{1} << 19U;

void require_small(bool is_small) {
  require(is_small, "needs too large a grammar: ask for less at once");
}

// Returns 1 for the states that lead to a text.
std::vector<char> useful_states(const std::vector<State>& states) {
  std::vector<std::vector<std::uint32_t>> sources(states.size());
  std::vector<std::uint32_t> work;
  std::vector<char> useful(states.size(), 0);
  for (std::uint32_t i = 0; i < states.size(); ++i) {
    for (const Edge& edge : states[i].edges) {
      sources[edge.target].push_back(i);
    }
    if (states[i].accepts) {
      useful[i] = 1;
      work.push_back(i);
    }
  }
  while (!work.empty()) {
    const std::uint32_t state = work.back();
    work.pop_back();
    for (const std::uint32_t source : sources[state]) {
      if (std::exchange(useful[source], 1) == 0) {
        work.push_back(source);
      }
    }
  }
  return useful;
}

void add_edge(State& state, const CharacterRange& range, std::uint32_t target) {
  if (!state.edges.empty() && state.edges.back().target == target &&
      state.edges.back().range.last + 1 == range.first) {
    state.edges.back().range.last = range.last;
  } else {
    state.edges.push_back({range, target});
  }
}

// Calls `visit(range, targets)` for the ranges in which both states go to one target each.
template <class Visit>
void visit_common_ranges(const std::vector<Edge>& a, const std::vector<Edge>& b,
                         const Visit& visit) {
  std::size_t i = 0;
  std::size_t j = 0;
  const auto target_at = [](const std::vector<Edge>& edges, std::size_t& index, char32_t first,
                            char32_t& last) {
    while (index < edges.size() && edges[index].range.last < first) {
      ++index;
    }
    if (index == edges.size()) {
      return kNowhere;
    }
    const CharacterRange& range = edges[index].range;
    const bool is_inside = range.first <= first;
    last = std::min<char32_t>(last, is_inside ? range.last : range.first - 1);
    return is_inside ? edges[index].target : kNowhere;
  };
  for (char32_t first = 0; first <= kLastCharacter;) {
    char32_t last = kLastCharacter;
    const std::uint32_t left = target_at(a, i, first, last);
    const std::uint32_t right = target_at(b, j, first, last);
    visit(CharacterRange{first, last}, Targets{left, right});
    first = last + 1;
  }
}

// Builds the states of words, which are sorted; equal ends of words share states.
class WordStates {
 public:
  explicit WordStates(const std::vector<std::string>& words) : words_(words) {}

  // Returns the state of the words from `begin` to `end`, whose first `length` bytes are equal.
  std::uint32_t state(std::size_t begin, std::size_t end, std::size_t length) {
    State state;
    state.accepts = begin < end && words_[begin].size() == length;
    std::size_t index = begin + (state.accepts ? 1 : 0);
    while (index < end) {
      const Utf8Character found = first_character(std::string_view(words_[index]).substr(length));
      const auto size = static_cast<std::size_t>(found.length);
      const std::string_view character = std::string_view(words_[index]).substr(length, size);
      const std::size_t first = index;
      while (index < end && words_[index].compare(length, size, character) == 0) {
        ++index;
      }
      add_edge(state, {found.code_point, found.code_point},
               this->state(first, index, length + size));
    }
    const auto [known, is_new] =
        numbers_.try_emplace(state, static_cast<std::uint32_t>(states_.size()));
    if (is_new) {
      require_small(states_.size() < TextLanguage::kMaxStates);
      states_.push_back(state);
    }
    return known->second;
  }

  const std::vector<State>& states() const { return states_; }

 private:
  const std::vector<std::string>& words_;
  std::map<State, std::uint32_t> numbers_;
  std::vector<State> states_;
};

}  // namespace

bool Edge::operator<(const Edge& other) const {
  return std::tie(range.first, range.last, target) <
         std::tie(other.range.first, other.range.last, other.target);
}

bool State::operator<(const State& other) const {
  return std::tie(accepts, edges) < std::tie(other.accepts, other.edges);
}

TextLanguage::TextLanguage(const std::vector<State>& states, std::uint32_t start) {
  const std::vector<char> useful = useful_states(states);
  if (states.empty() || useful[start] == 0) {
    return;
  }
  std::vector<std::uint32_t> numbers(states.size(), kNowhere);
  std::vector<std::uint32_t> order{start};
  numbers[start] = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    State state{.accepts = states[order[i]].accepts};
    for (const Edge& edge : states[order[i]].edges) {
      if (useful[edge.target] == 0) {
        continue;
      }
      if (numbers[edge.target] == kNowhere) {
        numbers[edge.target] = static_cast<std::uint32_t>(order.size());
        order.push_back(edge.target);
      }
      add_edge(state, edge.range, numbers[edge.target]);
    }
    states_.push_back(std::move(state));
  }
}

TextLanguage TextLanguage::of_words(std::vector<std::string> words) {
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  WordStates builder(words);
  const std::uint32_t start = builder.state(0, words.size(), 0);
  return TextLanguage(builder.states(), start);
}

TextLanguage TextLanguage::of_length(std::size_t least, std::size_t most) {
  const bool is_open = most == kNoMaximum;
  const std::size_t count = is_open ? least : most;
  require_small(count < kMaxStates);
  std::vector<State> states(count + 1);
  for (std::size_t i = 0; i <= count; ++i) {
    states[i].accepts = i >= least;
    if (i < count || is_open) {
      const std::size_t target = std::min(i + 1, count);
      states[i].edges.push_back({{0, kLastCharacter}, static_cast<std::uint32_t>(target)});
    }
  }
  return TextLanguage(states);
}

TextLanguage TextLanguage::combined(const TextLanguage& a, const TextLanguage& b, Combined how) {
  const auto is_useful = [&](const Targets& pair) {
    const bool in_first = pair.first != kNowhere;
    const bool in_second = pair.second != kNowhere;
    return how == Combined::in_both     ? in_first && in_second
           : how == Combined::in_either ? in_first || in_second
                                        : in_first;
  };
  const auto start_of = [](const TextLanguage& one) { return one.is_empty() ? kNowhere : 0; };
  const std::vector<Edge> none;
  std::vector<Targets> pairs{{start_of(a), start_of(b)}};
  if (!is_useful(pairs[0])) {
    return TextLanguage(std::vector<State>());
  }
  std::map<Targets, std::uint32_t> numbers{{pairs[0], 0}};
  std::vector<State> states;
  std::size_t edges = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto [left, right] = pairs[i];
    const bool first = left != kNowhere && a.states_[left].accepts;
    const bool second = right != kNowhere && b.states_[right].accepts;
    State state{.accepts = how == Combined::in_both     ? first && second
                           : how == Combined::in_either ? first || second
                                                        : first && !second};
    visit_common_ranges(left == kNowhere ? none : a.states_[left].edges,
                        right == kNowhere ? none : b.states_[right].edges,
                        [&](const CharacterRange& range, const Targets& targets) {
                          if (!is_useful(targets)) {
                            return;
                          }
                          const auto [known, is_new] = numbers.try_emplace(
                              targets, static_cast<std::uint32_t>(pairs.size()));
                          if (is_new) {
                            pairs.push_back(targets);
                          }
                          add_edge(state, range, known->second);
                        });
    edges += state.edges.size();
    require_small(pairs.size() <= 2 * kMaxStates && edges <= kMaxCombinedEdges);
    states.push_back(std::move(state));
  }
  TextLanguage result(states);
  require_small(result.states_.size() <= kMaxStates);
  return result;
}

bool TextLanguage::contains(std::string_view text) const {
  std::uint32_t state = 0;
  while (!text.empty() && state < states_.size()) {
    const Utf8Character found = first_character(text);
    text.remove_prefix(static_cast<std::size_t>(found.length));
    const std::vector<Edge>& edges = states_[state].edges;
    const auto edge = std::find_if(edges.begin(), edges.end(), [&](const Edge& one) {
      return one.range.first <= found.code_point && found.code_point <= one.range.last;
    });
    state = edge == edges.end() ? kNowhere : edge->target;
  }
  return state < states_.size() && states_[state].accepts;
}

std::string language_rules(const TextLanguage& language, const std::string& name,
                           const CharacterSpelling& spelling) {
  std::string rules;
  const auto name_of = [&](std::uint32_t state) {
    return state == 0 ? name : concat_text(name, '-', state);
  };
  for (std::uint32_t i = 0; i < language.states().size(); ++i) {
    const State& state = language.states()[i];
    std::map<std::uint32_t, std::vector<CharacterRange>> targets;
    for (const Edge& edge : state.edges) {
      targets[edge.target].push_back(edge.range);
    }
    std::string body;
    for (const auto& [target, ranges] : targets) {
      body += concat_text(body.empty() ? "" : " | ", spelling(ranges), ' ', name_of(target));
    }
    body += state.accepts ? (body.empty() ? R"("")" : R"( | "")") : "";
    rules += concat_text(name_of(i), " ::= ", body, '\n');
  }
  return rules;
}

}  // namespace headlight
