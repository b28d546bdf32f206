// Draws texts from the grammars of JSON schemas, for tools/parity/check_json_schema.py. Reads lines
// {"schema": ..., "instances": [TEXT, ...], "texts": N} and writes a line for each:
// {"refused": MESSAGE}, or {"texts": [...], "accepted": [whether each instance matches, ...]}.

#include <iostream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "generate/grammar/automaton.h"
#include "headlight/base/error.h"
#include "headlight/generate/grammar.h"

namespace {

using namespace headlight;

constexpr std::size_t kLongText = 60;      // a longer one closes what is open
constexpr std::size_t kLongestText = 500;  // a longer one takes the shortest way to its end
constexpr std::size_t kMostStates = 5'000;

// Returns the shortest text with which the grammar can end; "" also if it is too far away.
std::string shortest_end(GrammarAutomaton& automaton, GrammarAutomaton::State start) {
  struct Step {
    GrammarAutomaton::State state;
    std::size_t before;
    char byte;
  };
  std::vector<Step> steps{{start, 0, ' '}};
  std::set<GrammarAutomaton::State> known{start};
  for (std::size_t i = 0; i < steps.size() && steps.size() < kMostStates; ++i) {
    if (automaton.can_end(steps[i].state)) {
      std::string text;
      for (std::size_t at = i; at != 0; at = steps[at].before) {
        text += steps[at].byte;
      }
      return {text.rbegin(), text.rend()};
    }
    for (int byte = 0; byte < 256; ++byte) {
      const auto next = automaton.next(steps[i].state, static_cast<std::uint8_t>(byte));
      if (next != GrammarAutomaton::kDead && known.insert(next).second) {
        steps.push_back({next, i, static_cast<char>(byte)});
      }
    }
  }
  return "";
}

// Returns how often a byte is drawn.
double weight_of(int byte, bool is_long) {
  const auto c = static_cast<char>(byte);
  if (c == '"' || c == ']' || c == '}') {
    return is_long ? 1e4 : 3;
  }
  const bool is_digit = c >= '0' && c <= '9';
  return byte >= 0x80                         ? 0.05
         : c == '\\' || c == ' ' || c == '\n' ? 0.4
         : is_digit && is_long                ? 1e3
                                              : 1;
}

// Returns a text of the grammar, or "" if it finds none that is short.
std::string drawn_text(const Grammar& grammar, std::mt19937& random) {
  GrammarAutomaton automaton(grammar.program());
  GrammarAutomaton::State state = automaton.start();
  std::string text;
  while (text.size() < kLongestText) {
    const bool is_long = text.size() > kLongText;
    state = automaton.begin_step(state);
    std::vector<double> weights(257, 0);
    weights[256] = automaton.can_end(state) ? (is_long ? 1e5 : 1) : 0;
    for (int byte = 0; byte < 256; ++byte) {
      const auto next = automaton.next(state, static_cast<std::uint8_t>(byte));
      weights[static_cast<std::size_t>(byte)] =
          next == GrammarAutomaton::kDead ? 0 : weight_of(byte, is_long);
    }
    const int drawn = std::discrete_distribution<int>(weights.begin(), weights.end())(random);
    if (drawn == 256) {
      return text;
    }
    text += static_cast<char>(drawn);
    state = automaton.next(state, static_cast<std::uint8_t>(drawn));
  }
  text += shortest_end(automaton, automaton.begin_step(state));
  return grammar.matches(text) ? text : "";
}

Json answer(const Json& question) {
  try {
    const Grammar grammar(json_schema_grammar(question["schema"].dump()));
    std::mt19937 random(1);
    Json texts = Json::array();
    for (Index i = 0; i < question["texts"].integer(); ++i) {
      texts.push_back(drawn_text(grammar, random));
    }
    Json accepted = Json::array();
    for (const Json& instance : question["instances"]) {
      accepted.push_back(grammar.matches(instance.text()));
    }
    return {{"texts", texts}, {"accepted", accepted}};
  } catch (const Error& error) {
    return {{"refused", error.what()}};
  }
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << answer(parse_json(line, "question")).dump() << std::endl;
  }
}
