#include "generate/grammar/program.h"

#include <utility>

#include "generate/grammar/program_checks.h"
#include "headlight/base/error.h"

namespace headlight {
namespace {

constexpr std::size_t kMaxGrammarNodes = std::size_t{1} << 18U;

using Kind = GrammarNode::Kind;

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
