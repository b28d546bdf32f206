#include "generate/grammar/program.h"

#include <utility>

#include "headlight/base/error.h"

namespace headlight {
namespace {

enum class EndBy { any_text, empty_text };

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

// Returns 1 for each node from which a text leads to the end of its rule: any text, or only the
// empty one.
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

// Throws Error with the name of a rule that may begin with itself: reading it would never end.
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

constexpr std::size_t kMaxGrammarNodes = std::size_t{1} << 18U;

// Divides the bytes into classes at the limits of all nodes.
void find_byte_classes(GrammarProgram& program) {
  std::array<bool, 257> begins{};
  begins[0] = true;
  for (const GrammarNode& node : program.nodes) {
    if (node.kind == Kind::bytes && node.low <= node.high) {
      begins[node.low] = true;
      begins[node.high + std::size_t{1}] = true;
    }
  }
  for (std::size_t byte = 0; byte < 256; ++byte) {
    if (begins[byte]) {
      program.class_bytes.push_back(static_cast<std::uint8_t>(byte));
    }
    program.class_of[byte] = static_cast<std::uint8_t>(program.class_bytes.size() - 1);
  }
}

}  // namespace

std::uint32_t ProgramBuilder::add(const GrammarNode& node) {
  require_value(program_.nodes.size() < kMaxGrammarNodes, "grammar", "is too large: more than ",
                kMaxGrammarNodes, " characters and repetitions");
  program_.nodes.push_back(node);
  return static_cast<std::uint32_t>(program_.nodes.size() - 1);
}

GrammarFragment ProgramBuilder::empty() {
  const std::uint32_t node = add({});
  return {node, node};
}

GrammarFragment ProgramBuilder::byte(std::uint8_t low, std::uint8_t high) {
  const std::uint32_t exit = add({});
  return {add({.kind = Kind::bytes, .low = low, .high = high, .next = exit}), exit};
}

GrammarFragment ProgramBuilder::call(std::uint32_t rule) {
  const std::uint32_t exit = add({});
  return {add({.kind = Kind::call, .next = exit, .other = rule}), exit};
}

GrammarFragment ProgramBuilder::sequence(GrammarFragment first, GrammarFragment second) {
  program_.nodes[first.exit].next = second.entry;
  return {first.entry, second.exit};
}

GrammarFragment ProgramBuilder::either(GrammarFragment first, GrammarFragment second) {
  const std::uint32_t exit = add({});
  program_.nodes[first.exit].next = exit;
  program_.nodes[second.exit].next = exit;
  return {add({.kind = Kind::fork, .next = first.entry, .other = second.entry}), exit};
}

GrammarFragment ProgramBuilder::repeated(GrammarFragment part, std::uint32_t least) {
  const std::uint32_t exit = add({});
  const std::uint32_t again = add({.kind = Kind::fork, .next = part.entry, .other = exit});
  program_.nodes[part.exit].next = again;
  return {least == 0 ? again : part.entry, exit};
}

GrammarFragment ProgramBuilder::counted(GrammarFragment part, std::uint32_t least,
                                        std::uint32_t most, const std::string& name) {
  const std::uint32_t rule = new_rule(name);
  define(rule, part);
  GrammarFragment all = empty();
  for (std::uint32_t i = 0; i < least; ++i) {
    all = sequence(all, call(rule));
  }
  // Each further repetition may leave for the common exit.
  const std::uint32_t exit = add({});
  for (std::uint32_t i = least; i < most; ++i) {
    const GrammarFragment more = call(rule);
    program_.nodes[all.exit].next = add({.kind = Kind::fork, .next = more.entry, .other = exit});
    all.exit = more.exit;
  }
  program_.nodes[all.exit].next = exit;
  return {all.entry, exit};
}

std::uint32_t ProgramBuilder::new_rule(const std::string& name) {
  names_.push_back(name);
  program_.entries.push_back(0);
  return static_cast<std::uint32_t>(names_.size() - 1);
}

void ProgramBuilder::define(std::uint32_t rule, GrammarFragment body) {
  program_.entries[rule] = body.entry;
  program_.nodes[body.exit].kind = Kind::end;
}

// Every chain of jumps ends: a loop contains a fork.
void ProgramBuilder::remove_jumps() {
  std::vector<GrammarNode>& nodes = program_.nodes;
  const auto target = [&](std::uint32_t node) {
    std::uint32_t last = node;
    while (nodes[last].kind == Kind::jump) {
      last = nodes[last].next;
    }
    while (nodes[node].kind == Kind::jump) {  // shortens the chain for later calls
      node = std::exchange(nodes[node].next, last);
    }
    return last;
  };
  for (GrammarNode& node : nodes) {
    if (node.kind != Kind::end) {
      node.next = target(node.next);
    }
    if (node.kind == Kind::fork) {
      node.other = target(node.other);
    }
  }
  for (std::uint32_t& entry : program_.entries) {
    entry = target(entry);
  }
}

GrammarProgram ProgramBuilder::finish(std::uint32_t root) {
  program_.root = root;
  remove_jumps();
  refuse_left_recursion(program_, names_);
  program_.can_finish = reaches_end(program_, EndBy::any_text);
  require_value(program_.can_finish[program_.entries[root]] != 0, "grammar",
                "no text matches the rule '", names_[root], "'");
  find_byte_classes(program_);
  return std::move(program_);
}

}  // namespace headlight
