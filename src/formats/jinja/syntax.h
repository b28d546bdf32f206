#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/jinja/value.h"

// The tree of a template. `parts` holds the children of a node, in the order that its kind gives;
// parts in brackets may be null.
namespace headlight::jinja {

enum class Kind : std::uint8_t {
  // Expressions
  constant,     // value
  name,         // text
  list,         // elements
  tuple,        // elements; also targets of assignments
  dict,         // key, value, key, value, ...
  attribute,    // text; object
  item,         // object, key
  slice,        // object, [start], [stop], [step]
  call,         // callee, arguments
  filter,       // text; input, arguments
  test,         // text; input, arguments
  named,        // argument `text`; value
  spread,       // arguments of a list ("*") or dictionary ("**" in text); value
  unary,        // text: - + not; operand
  binary,       // text: operator; left, right
  comparison,   // first, then nodes of kind compared
  compared,     // text: operator; right operand
  conditional,  // condition, value, [other value]
  // Statements
  body,        // statements
  output,      // expression, or a constant for plain text
  branch,      // condition, body, condition, body, ..., else's body if the count is odd
  loop,        // target, list, [filter], body, [body without elements]; text "recursive" or ""
  set,         // target, expression
  capture,     // target, body, [filters]; the filters' input is the name ""
  filtered,    // body, filters
  macro,       // text; body, then parameters: nodes of kind named with [default]
  call_block,  // call, macro
  with,        // body, then target, expression, target, expression, ...
  scope,       // body
  stop,        // {% break %}
  skip,        // {% continue %}
};

struct Node {
  Kind kind = Kind::body;
  std::size_t line = 0;
  std::size_t depth = 0;
  std::string text = {};
  Value value = {};
  std::vector<std::unique_ptr<Node>> parts = {};

  const Node& part(std::size_t index) const { return *parts[index]; }
  const Node* optional(std::size_t index) const {
    return index < parts.size() ? parts[index].get() : nullptr;
  }
};

using NodePtr = std::unique_ptr<Node>;

enum class TokenKind : std::uint8_t { text, name, string, integer, number, symbol, end };

// Part of a template. The tags {{ }} and {% %} are symbols.
struct Token {
  TokenKind kind = TokenKind::end;
  std::size_t line = 0;
  std::string text;
};

// Splits a template; applies trim_blocks, lstrip_blocks and the signs of tags. The last token is
// `end`. Throws Error with the line.
std::vector<Token> tokens_of(std::string_view source);

// Returns the body of a template. Throws Error with the line.
NodePtr parse(std::string_view source);

[[noreturn]] inline void fail_at(std::size_t line, std::string_view problem) {
  fail("chat template, line ", line, ": ", problem);
}

}  // namespace headlight::jinja
