#include "generate/grammar/character_network.h"

#include <algorithm>
#include <map>
#include <utility>

#include "headlight/base/error.h"

namespace headlight {
namespace {

constexpr std::size_t kMaxNodes = 20'000;
constexpr std::size_t kMaxNetworkWork = 5'000'000;  // nodes that are visited

}  // namespace

std::uint32_t CharacterNetwork::add(Node node) {
  require(nodes_.size() < kMaxNodes, "needs too large a grammar: ask for fewer repetitions");
  nodes_.push_back(std::move(node));
  return static_cast<std::uint32_t>(nodes_.size() - 1);
}

CharacterNetwork::Part CharacterNetwork::single(Kind kind) {
  const std::uint32_t exit = add({});
  return {add({.kind = kind, .next = exit}), exit};
}

CharacterNetwork::Part CharacterNetwork::empty() {
  const std::uint32_t node = add({});
  return {node, node};
}

CharacterNetwork::Part CharacterNetwork::character(std::vector<CharacterRange> ranges) {
  const Part part = single(Kind::character);
  nodes_[part.entry].ranges = std::move(ranges);
  return part;
}

CharacterNetwork::Part CharacterNetwork::start_of_text() { return single(Kind::start_of_text); }

CharacterNetwork::Part CharacterNetwork::end_of_text() { return single(Kind::end_of_text); }

CharacterNetwork::Part CharacterNetwork::sequence(Part first, Part second) {
  nodes_[first.exit].next = second.entry;
  return {first.entry, second.exit};
}

CharacterNetwork::Part CharacterNetwork::either(Part first, Part second) {
  const std::uint32_t exit = add({});
  nodes_[first.exit].next = exit;
  nodes_[second.exit].next = exit;
  return {add({.kind = Kind::fork, .next = first.entry, .other = second.entry}), exit};
}

CharacterNetwork::Part CharacterNetwork::repeated(Part part, bool at_least_once) {
  const std::uint32_t exit = add({});
  const std::uint32_t again = add({.kind = Kind::fork, .next = part.entry, .other = exit});
  nodes_[part.exit].next = again;
  return {at_least_once ? part.entry : again, exit};
}

// Returns the nodes that read a character, mark an end or end a part, ascending.
CharacterNetwork::Nodes CharacterNetwork::closure(Nodes from, unsigned anchors) const {
  std::vector<char> visited(nodes_.size(), 0);
  Nodes reached;
  while (!from.empty()) {
    const std::uint32_t number = from.back();
    from.pop_back();
    if (std::exchange(visited[number], 1) != 0) {
      continue;
    }
    const Node& node = nodes_[number];
    const bool passes = node.kind == Kind::fork ||
                        (node.kind == Kind::jump && node.next != kOpen) ||
                        (node.kind == Kind::start_of_text && (anchors & kAtStart) != 0) ||
                        (node.kind == Kind::end_of_text && (anchors & kAtEnd) != 0);
    if (passes) {
      from.push_back(node.next);
      if (node.kind == Kind::fork) {
        from.push_back(node.other);
      }
    } else if (node.kind != Kind::start_of_text) {
      reached.push_back(number);
    }
  }
  std::sort(reached.begin(), reached.end());
  return reached;
}

bool CharacterNetwork::ends(const Nodes& nodes, std::uint32_t exit, unsigned anchors) const {
  const Nodes last = closure(nodes, anchors | kAtEnd);
  return std::find(last.begin(), last.end(), exit) != last.end();
}

// Returns the ranges in which all characters lead from `nodes` to the same nodes, and these.
std::vector<std::pair<CharacterRange, CharacterNetwork::Nodes>> CharacterNetwork::targets(
    const Nodes& nodes, std::size_t& work) const {
  std::map<char32_t, Nodes> limits;  // where ranges begin or end: the nodes from there on
  for (const std::uint32_t number : nodes) {
    for (const CharacterRange& range : nodes_[number].ranges) {
      limits[range.first];
      limits[range.last + 1];
    }
  }
  for (const std::uint32_t number : nodes) {
    for (const CharacterRange& range : nodes_[number].ranges) {
      for (auto at = limits.find(range.first); at->first <= range.last; ++at, ++work) {
        at->second.push_back(nodes_[number].next);
      }
    }
  }
  std::vector<std::pair<CharacterRange, Nodes>> all;
  for (auto at = limits.begin(); at != limits.end(); ++at) {
    work += nodes_.size() / 8 + 1;
    Nodes reached = closure(at->second, kInside);
    if (!reached.empty()) {
      all.emplace_back(CharacterRange{at->first, std::next(at)->first - 1}, std::move(reached));
    }
  }
  return all;
}

TextLanguage CharacterNetwork::language(Part part) const {
  // The start is a state of its own: only there is the start of the text.
  std::map<Nodes, std::uint32_t> numbers;
  std::vector<Nodes> sets{closure({part.entry}, kAtStart)};
  std::vector<TextLanguage::State> states;
  std::size_t work = 0;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    TextLanguage::State state;
    state.accepts = i == 0 ? ends({part.entry}, part.exit, kAtStart)  //
                           : ends(sets[i], part.exit, kInside);
    for (auto& [range, nodes] : targets(sets[i], work)) {
      const auto [known, is_new] =
          numbers.try_emplace(nodes, static_cast<std::uint32_t>(sets.size()));
      if (is_new) {
        sets.push_back(std::move(nodes));
      }
      state.edges.push_back({range, known->second});
    }
    states.push_back(std::move(state));
    require(sets.size() <= TextLanguage::kMaxStates && work <= kMaxNetworkWork,
            "needs too large a grammar: ask for less at once");
  }
  return TextLanguage(states);
}

}  // namespace headlight
