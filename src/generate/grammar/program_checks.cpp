#include "generate/grammar/program_checks.h"

#include <utility>

#include "headlight/base/error.h"

namespace headlight {
namespace {

using Kind = GrammarNode::Kind;
using Numbers = std::vector<std::uint32_t>;

// Returns whether a node reaches the end, given the nodes that do.
bool reaches(const GrammarProgram& program, const GrammarNode& node, EndBy by,
             const std::vector<char>& known) {
  const bool next = known[node.next] != 0;
  switch (node.kind) {
    case Kind::bytes:
      return by == EndBy::any_text && node.low <= node.high && next;
    case Kind::fork:
      return next || known[node.other] != 0;
    case Kind::call:
      return next && known[program.entries[node.other]] != 0;
    case Kind::jump:
      return next;
    case Kind::end:
      return true;
  }
  return false;
}

// Returns for each node the nodes that depend on it.
std::vector<Numbers> dependents(const GrammarProgram& program) {
  std::vector<Numbers> lists(program.nodes.size());
  for (std::uint32_t i = 0; i < program.nodes.size(); ++i) {
    const GrammarNode& node = program.nodes[i];
    if (node.kind != Kind::end) {
      lists[node.next].push_back(i);
    }
    if (node.kind == Kind::fork) {
      lists[node.other].push_back(i);
    } else if (node.kind == Kind::call) {
      lists[program.entries[node.other]].push_back(i);
    }
  }
  return lists;
}

// Returns the rules that a rule may read before its first byte.
Numbers first_rules(const GrammarProgram& program, std::uint32_t rule,
                    const std::vector<char>& may_be_empty, std::vector<char>& visited) {
  Numbers rules;
  Numbers work{program.entries[rule]};
  while (!work.empty()) {
    const std::uint32_t index = work.back();
    work.pop_back();
    const GrammarNode& node = program.nodes[index];
    if (std::exchange(visited[index], 1) != 0 || node.kind == Kind::end ||
        node.kind == Kind::bytes) {
      continue;
    }
    if (node.kind == Kind::call) {
      rules.push_back(node.other);
    } else if (node.kind == Kind::fork) {
      work.push_back(node.other);
    }
    if (node.kind != Kind::call || may_be_empty[program.entries[node.other]] != 0) {
      work.push_back(node.next);
    }
  }
  return rules;
}

// Walks a graph depth first from `start`. Returns a node of a cycle, or `edges.size()`. `state` is
// 0 for new nodes, 1 on the path, 2 for finished ones.
std::size_t find_cycle(const std::vector<Numbers>& edges, std::size_t start,
                       std::vector<char>& state) {
  struct Visit {
    std::size_t node;
    std::size_t edge = 0;
  };
  std::vector<Visit> path;
  if (state[start] == 0) {
    path.push_back({start});
  }
  while (!path.empty()) {
    Visit& visit = path.back();
    state[visit.node] = 1;
    if (visit.edge == edges[visit.node].size()) {
      state[visit.node] = 2;
      path.pop_back();
      continue;
    }
    const std::size_t next = edges[visit.node][visit.edge++];
    if (state[next] == 1) {
      return next;
    }
    if (state[next] == 0) {
      path.push_back({next});
    }
  }
  return edges.size();
}

}  // namespace

std::vector<char> reaches_end(const GrammarProgram& program, EndBy by) {
  const std::vector<Numbers> lists = dependents(program);
  std::vector<char> known(program.nodes.size(), 0);
  Numbers work;
  const auto update = [&](std::uint32_t node) {
    if (known[node] == 0 && reaches(program, program.nodes[node], by, known)) {
      known[node] = 1;
      work.push_back(node);
    }
  };
  for (std::uint32_t node = 0; node < known.size(); ++node) {
    update(node);
  }
  while (!work.empty()) {
    const std::uint32_t node = work.back();
    work.pop_back();
    for (const std::uint32_t dependent : lists[node]) {
      update(dependent);
    }
  }
  return known;
}

void refuse_left_recursion(const GrammarProgram& program, const std::vector<std::string>& names) {
  const std::vector<char> may_be_empty = reaches_end(program, EndBy::empty_text);
  std::vector<char> visited(program.nodes.size(), 0);
  std::vector<Numbers> edges;
  for (std::uint32_t rule = 0; rule < names.size(); ++rule) {
    edges.push_back(first_rules(program, rule, may_be_empty, visited));
  }
  std::vector<char> state(edges.size(), 0);
  for (std::size_t rule = 0; rule < edges.size(); ++rule) {
    const std::size_t found = find_cycle(edges, rule, state);
    require_value(found == edges.size(), "grammar", "the rule '",
                  found < names.size() ? names[found] : "",
                  "' may begin with itself (left recursion): let it begin with a character");
  }
}

}  // namespace headlight
