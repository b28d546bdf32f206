#include <algorithm>
#include <initializer_list>

#include "base/strings/read_number.h"
#include "formats/jinja/syntax.h"
#include "headlight/base/utf8.h"

namespace headlight::jinja {
namespace {

using Words = std::initializer_list<std::string_view>;

bool is_one_of(std::string_view word, Words words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Recursive descent. Each function reads one rule of Jinja's grammar.
class Parser {
 public:
  explicit Parser(std::string_view source) : tokens_(tokens_of(source)) {}

  NodePtr parse_template() {
    NodePtr body = parse_body({});
    if (token().kind != TokenKind::end) {
      unexpected("text or a tag");
    }
    return body;
  }

 private:
  // --- Tokens -----------------------------------------------------------------------------------

  const Token& token(std::size_t ahead = 0) const {
    return tokens_[std::min(next_ + ahead, tokens_.size() - 1)];
  }
  bool at(TokenKind kind, std::string_view text, std::size_t ahead = 0) const {
    return token(ahead).kind == kind && token(ahead).text == text;
  }
  bool at_symbol(std::string_view text) const { return at(TokenKind::symbol, text); }
  bool at_name(std::string_view text) const { return at(TokenKind::name, text); }
  bool accept(TokenKind kind, std::string_view text) {
    const bool found = at(kind, text);
    next_ += found ? 1 : 0;
    return found;
  }
  bool accept_symbol(std::string_view text) { return accept(TokenKind::symbol, text); }
  bool accept_name(std::string_view text) { return accept(TokenKind::name, text); }
  void expect_symbol(std::string_view text) {
    if (!accept_symbol(text)) {
      unexpected(text);
    }
  }
  std::string expect_any_name() {
    if (token().kind != TokenKind::name) {
      unexpected("a name");
    }
    return tokens_[next_++].text;
  }
  [[noreturn]] void unexpected(std::string_view wanted) const {
    const std::string got = token().kind == TokenKind::end ? std::string("the end of the template")
                                                           : "'" + token().text.substr(0, 40) + "'";
    fail_at(token().line, concat_text("expected ", wanted, ", got ", got));
  }

  // --- Nodes ------------------------------------------------------------------------------------

  NodePtr make(Kind kind, std::string text = {}) const {
    auto node = std::make_unique<Node>();
    node->kind = kind;
    node->line = token().line;
    node->text = std::move(text);
    return node;
  }
  // Adds a child. Limits the depth, and with it the recursion of all functions on trees.
  static void add(Node& node, NodePtr child) {
    node.depth = std::max(node.depth, child ? child->depth + 1 : 0);
    if (node.depth > kDeepestSyntax) {
      fail_at(node.line, concat_text("is nested deeper than ", kDeepestSyntax, " levels"));
    }
    node.parts.push_back(std::move(child));
  }
  template <class... Children>
  NodePtr make_of(Kind kind, std::string text, Children... children) const {
    NodePtr node = make(kind, std::move(text));
    (add(*node, std::move(children)), ...);
    return node;
  }
  NodePtr constant(Value value) const {
    NodePtr node = make(Kind::constant);
    node->value = std::move(value);
    return node;
  }
  NodePtr text_constant(std::string text) const {
    Budget unlimited;
    return constant(Value::text(unlimited, std::move(text)));
  }

  // Limits the recursion of the parser itself.
  class Level {
   public:
    explicit Level(Parser& parser) : parser_(parser) {
      if (++parser_.level_ > kDeepestSyntax) {
        fail_at(parser_.token().line,
                concat_text("is nested deeper than ", kDeepestSyntax, " levels"));
      }
    }
    ~Level() { --parser_.level_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Parser& parser_;
  };

  // --- Expressions ------------------------------------------------------------------------------

  NodePtr parse_expression() {
    const Level level(*this);
    NodePtr value = parse_or();
    while (accept_name("if")) {
      NodePtr condition = parse_or();
      NodePtr other = accept_name("else") ? parse_expression() : nullptr;
      value =
          make_of(Kind::conditional, "", std::move(condition), std::move(value), std::move(other));
    }
    return value;
  }

  template <class Operand>
  NodePtr parse_left(TokenKind kind, Words operators, const Operand& operand) {
    NodePtr left = operand();
    while (token().kind == kind && is_one_of(token().text, operators)) {
      NodePtr node = make(Kind::binary, token().text);
      ++next_;
      add(*node, std::move(left));
      add(*node, operand());
      left = std::move(node);
    }
    return left;
  }

  NodePtr parse_or() {
    return parse_left(TokenKind::name, {"or"}, [&] { return parse_and(); });
  }
  NodePtr parse_and() {
    return parse_left(TokenKind::name, {"and"}, [&] { return parse_not(); });
  }
  NodePtr parse_not() {
    const Level level(*this);
    return accept_name("not") ? make_of(Kind::unary, "not", parse_not()) : parse_comparison();
  }

  NodePtr parse_comparison() {
    NodePtr node = make(Kind::comparison);
    add(*node, parse_sum());
    while (true) {
      std::string sign = token().text;
      if (at_name("not") && at(TokenKind::name, "in", 1)) {
        sign = "not in";
        ++next_;
      } else if (!at_name("in") && !(token().kind == TokenKind::symbol &&
                                     is_one_of(sign, {"==", "!=", "<", "<=", ">", ">="}))) {
        break;
      }
      ++next_;
      add(*node, make_of(Kind::compared, sign, parse_sum()));
    }
    return node->parts.size() == 1 ? std::move(node->parts[0]) : std::move(node);
  }

  NodePtr parse_sum() {
    return parse_left(TokenKind::symbol, {"+", "-"}, [&] { return parse_concat(); });
  }
  NodePtr parse_concat() {
    return parse_left(TokenKind::symbol, {"~"}, [&] { return parse_product(); });
  }
  NodePtr parse_product() {
    return parse_left(TokenKind::symbol, {"*", "/", "//", "%"}, [&] { return parse_power(); });
  }
  NodePtr parse_power() {
    return parse_left(TokenKind::symbol, {"**"}, [&] { return parse_unary(true); });
  }

  NodePtr parse_unary(bool with_filters) {
    const Level level(*this);
    NodePtr node;
    if (at_symbol("-") || at_symbol("+")) {
      node = make(Kind::unary, token().text);
      ++next_;
      add(*node, parse_unary(false));
    } else {
      node = parse_primary();
    }
    node = parse_postfix(std::move(node));
    return with_filters ? parse_filters(std::move(node)) : std::move(node);
  }

  NodePtr parse_primary() {
    const Token& first = token();
    ++next_;
    switch (first.kind) {
      case TokenKind::name:
        return parse_name(first.text);
      case TokenKind::string: {
        std::string text = first.text;
        while (token().kind == TokenKind::string) {
          text += tokens_[next_++].text;
        }
        return text_constant(std::move(text));
      }
      case TokenKind::integer:
      case TokenKind::number:
        return parse_number(first);
      default:
        break;
    }
    if (first.text == "(" && first.kind == TokenKind::symbol) {
      return parse_parentheses();
    }
    if (first.text == "[" && first.kind == TokenKind::symbol) {
      NodePtr list = make(Kind::list);
      parse_elements("]", [&] { add(*list, parse_expression()); });
      return list;
    }
    if (first.text == "{" && first.kind == TokenKind::symbol) {
      return parse_dict();
    }
    --next_;
    unexpected("an expression");
  }

  NodePtr parse_name(const std::string& name) const {
    if (is_one_of(name, {"true", "True", "false", "False"})) {
      return constant(Value(name[0] == 't' || name[0] == 'T'));
    }
    return is_one_of(name, {"none", "None"}) ? constant(None{}) : make(Kind::name, name);
  }

  NodePtr parse_number(const Token& digits) const {
    if (digits.kind == TokenKind::integer) {
      Budget budget;
      return constant(Value::whole_number(budget, digits.text));
    } else if (const auto number = read_number<double>(digits.text)) {
      return constant(Value(*number));
    }
    fail_at(digits.line, "a number is too large");
  }

  // Reads elements between commas, up to the closing bracket.
  template <class Element>
  void parse_elements(std::string_view end, const Element& element) {
    while (!accept_symbol(end)) {
      element();
      if (!at_symbol(end)) {
        expect_symbol(",");
      }
    }
  }

  NodePtr parse_parentheses() {
    if (accept_symbol(")")) {
      return make(Kind::tuple);
    }
    NodePtr inner = parse_tuple([&] { return parse_expression(); });
    expect_symbol(")");
    return inner;
  }

  NodePtr parse_dict() {
    NodePtr dict = make(Kind::dict);
    parse_elements("}", [&] {
      add(*dict, parse_expression());
      expect_symbol(":");
      add(*dict, parse_expression());
    });
    return dict;
  }

  bool at_tuple_end() const {
    return token().kind == TokenKind::end || at_symbol("}}") || at_symbol("%}") || at_symbol(")") ||
           at_symbol("]") || at_symbol("=") || at_name("in") || at_name("recursive");
  }

  // Reads one expression, or several with commas as a tuple.
  template <class Element>
  NodePtr parse_tuple(const Element& element) {
    NodePtr first = element();
    if (!at_symbol(",")) {
      return first;
    }
    NodePtr tuple = make_of(Kind::tuple, "", std::move(first));
    while (accept_symbol(",") && !at_tuple_end()) {
      add(*tuple, element());
    }
    return tuple;
  }
  NodePtr parse_tuple() {
    return parse_tuple([&] { return parse_expression(); });
  }

  NodePtr parse_postfix(NodePtr node) {
    while (true) {
      if (accept_symbol(".")) {
        node = parse_attribute(std::move(node));
      } else if (accept_symbol("[")) {
        node = parse_item(std::move(node));
      } else if (at_symbol("(")) {
        node = parse_call(std::move(node));
      } else {
        return node;
      }
    }
  }

  NodePtr parse_attribute(NodePtr object) {
    if (token().kind == TokenKind::integer) {
      return make_of(Kind::item, "", std::move(object), parse_number(tokens_[next_++]));
    }
    NodePtr node = make(Kind::attribute, expect_any_name());
    add(*node, std::move(object));
    return node;
  }

  NodePtr parse_item(NodePtr object) {
    NodePtr start = at_symbol(":") ? nullptr : parse_tuple();
    if (!at_symbol(":")) {
      expect_symbol("]");
      return make_of(Kind::item, "", std::move(object), std::move(start));
    }
    NodePtr slice = make_of(Kind::slice, "", std::move(object), std::move(start));
    while (accept_symbol(":")) {
      add(*slice, at_symbol(":") || at_symbol("]") ? nullptr : parse_expression());
    }
    expect_symbol("]");
    if (slice->parts.size() > 4) {
      fail_at(slice->line, "a slice has more than three parts");
    }
    return slice;
  }

  NodePtr parse_call(NodePtr callee) {
    NodePtr call = make_of(Kind::call, "", std::move(callee));
    parse_arguments(*call);
    return call;
  }

  void parse_arguments(Node& node) {
    expect_symbol("(");
    bool has_named = false;
    parse_elements(")", [&] {
      if (at_symbol("*") || at_symbol("**")) {
        NodePtr spread = make(Kind::spread, tokens_[next_++].text);
        add(*spread, parse_expression());
        add(node, std::move(spread));
      } else if (token().kind == TokenKind::name && at(TokenKind::symbol, "=", 1)) {
        NodePtr named = make(Kind::named, expect_any_name());
        ++next_;
        add(*named, parse_expression());
        add(node, std::move(named));
        has_named = true;
      } else {
        if (has_named) {
          fail_at(node.line, "a named argument precedes one without a name");
        }
        add(node, parse_expression());
      }
    });
  }

  NodePtr parse_filters(NodePtr node) {
    while (true) {
      if (at_symbol("|")) {
        node = parse_filter(std::move(node));
      } else if (accept_name("is")) {
        node = parse_test(std::move(node));
      } else if (at_symbol("(")) {
        node = parse_call(std::move(node));
      } else {
        return node;
      }
    }
  }

  NodePtr parse_filter(NodePtr input) {
    expect_symbol("|");
    NodePtr filter = make(Kind::filter, expect_any_name());
    add(*filter, std::move(input));
    if (at_symbol("(")) {
      parse_arguments(*filter);
    }
    return filter;
  }

  NodePtr parse_test(NodePtr input) {
    const bool is_negated = accept_name("not");
    NodePtr test = make(Kind::test, expect_any_name());
    add(*test, std::move(input));
    const bool at_value =
        token().kind == TokenKind::string || token().kind == TokenKind::integer ||
        token().kind == TokenKind::number || at_symbol("[") || at_symbol("{") ||
        (token().kind == TokenKind::name &&
         !is_one_of(token().text, {"else", "or", "and", "is", "if", "in", "not", "recursive"}));
    if (at_symbol("(")) {
      parse_arguments(*test);
    } else if (at_value) {
      add(*test, parse_postfix(parse_primary()));
    } else if (at_name("is")) {
      fail_at(test->line, "a test cannot follow a test");
    }
    return is_negated ? make_of(Kind::unary, "not", std::move(test)) : std::move(test);
  }

  // --- Statements -------------------------------------------------------------------------------

  // Reads up to a tag whose name is in `ends`, whose {% is read then.
  NodePtr parse_body(Words ends) {
    const Level level(*this);
    NodePtr body = make(Kind::body);
    while (token().kind != TokenKind::end) {
      if (token().kind == TokenKind::text) {
        add(*body, make_of(Kind::output, "", text_constant(token().text)));
        ++next_;
      } else if (accept_symbol("{{")) {
        add(*body, make_of(Kind::output, "", parse_tuple()));
        expect_symbol("}}");
      } else {
        expect_symbol("{%");
        if (token().kind == TokenKind::name && is_one_of(token().text, ends)) {
          return body;
        }
        add(*body, parse_statement());
      }
    }
    if (ends.size() != 0) {
      unexpected(concat_text("{% ", *(ends.end() - 1), " %}"));
    }
    return body;
  }

  // Reads the end tag of a block.
  NodePtr parse_block(std::string_view end) {
    expect_symbol("%}");
    NodePtr body = parse_body({end});
    ++next_;
    expect_symbol("%}");
    return body;
  }

  NodePtr parse_statement() {
    using Rule = NodePtr (Parser::*)();
    static constexpr std::pair<std::string_view, Rule> kRules[] = {
        {"if", &Parser::parse_if},           {"for", &Parser::parse_for},
        {"set", &Parser::parse_set},         {"macro", &Parser::parse_macro},
        {"call", &Parser::parse_call_block}, {"filter", &Parser::parse_filter_block},
        {"with", &Parser::parse_with},       {"generation", &Parser::parse_generation},
        {"break", &Parser::parse_jump},      {"continue", &Parser::parse_jump}};
    const auto* rule = std::find_if(std::begin(kRules), std::end(kRules),
                                    [&](const auto& row) { return at_name(row.first); });
    if (rule == std::end(kRules)) {
      unexpected(
          "a statement (if, for, set, macro, call, filter, with, generation, break, "
          "continue)");
    }
    ++next_;
    return (this->*rule->second)();
  }

  NodePtr parse_if() {
    NodePtr branch = make(Kind::branch);
    add(*branch, parse_tuple());
    expect_symbol("%}");
    add(*branch, parse_body({"elif", "else", "endif"}));
    // All conditions are parts of one node, so that a long chain is not deep.
    while (accept_name("elif")) {
      add(*branch, parse_expression());
      expect_symbol("%}");
      add(*branch, parse_body({"elif", "else", "endif"}));
    }
    if (accept_name("else")) {
      expect_symbol("%}");
      add(*branch, parse_body({"endif"}));
    }
    if (!accept_name("endif")) {
      unexpected("endif");
    }
    expect_symbol("%}");
    return branch;
  }

  NodePtr parse_for() {
    NodePtr loop = make(Kind::loop);
    add(*loop, parse_target());
    if (!accept_name("in")) {
      unexpected("in");
    }
    add(*loop, parse_tuple([&] { return parse_or(); }));
    add(*loop, accept_name("if") ? parse_expression() : nullptr);
    loop->text = accept_name("recursive") ? "recursive" : "";
    expect_symbol("%}");
    ++loops_;
    add(*loop, parse_body({"else", "endfor"}));
    --loops_;
    if (accept_name("else")) {
      expect_symbol("%}");
      add(*loop, parse_body({"endfor"}));
    }
    ++next_;
    expect_symbol("%}");
    return loop;
  }

  NodePtr parse_one_target() {
    if (accept_symbol("(")) {
      const Level level(*this);
      NodePtr target = parse_target();
      expect_symbol(")");
      return target;
    }
    const std::string name = expect_any_name();
    if (is_one_of(name, {"true", "True", "false", "False", "none", "None"})) {
      fail_at(token().line, concat_text("cannot assign to '", name, "'"));
    }
    return make(Kind::name, name);
  }
  NodePtr parse_target() {
    return parse_tuple([&] { return parse_one_target(); });
  }

  NodePtr parse_set() {
    const std::size_t line = token().line;
    NodePtr target;
    if (at(TokenKind::symbol, ".", 1)) {
      target = make_of(Kind::attribute, "", make(Kind::name, expect_any_name()));
      ++next_;
      target->text = expect_any_name();
    } else {
      target = parse_target();
    }
    if (accept_symbol("=")) {
      NodePtr node = make_of(Kind::set, "", std::move(target), parse_tuple());
      node->line = line;
      expect_symbol("%}");
      return node;
    }
    NodePtr filters = at_symbol("|") ? parse_filters(make(Kind::name, "")) : nullptr;
    NodePtr body = parse_block("endset");
    return make_of(Kind::capture, "", std::move(target), std::move(body), std::move(filters));
  }

  void parse_parameters(Node& macro) {
    expect_symbol("(");
    parse_elements(")", [&] {
      NodePtr parameter = make(Kind::named, expect_any_name());
      if (accept_symbol("=")) {
        add(*parameter, parse_expression());
      } else if (macro.parts.size() > 1 && !macro.parts.back()->parts.empty()) {
        fail_at(macro.line, "a parameter with a default precedes one without");
      }
      add(macro, std::move(parameter));
    });
  }

  // Reads parameters and body of a macro. Loops outside are out of its reach.
  NodePtr parse_macro_rest(NodePtr macro, std::string_view end) {
    const std::size_t outer_loops = std::exchange(loops_, 0);
    NodePtr body = parse_block(end);
    loops_ = outer_loops;
    macro->depth = std::max(macro->depth, body->depth + 1);
    macro->parts[0] = std::move(body);
    return macro;
  }

  NodePtr parse_macro() {
    NodePtr macro = make_of(Kind::macro, expect_any_name(), NodePtr());
    parse_parameters(*macro);
    return parse_macro_rest(std::move(macro), "endmacro");
  }

  NodePtr parse_call_block() {
    NodePtr caller = make_of(Kind::macro, "caller", NodePtr());
    if (at_symbol("(")) {
      parse_parameters(*caller);
    }
    NodePtr call = parse_unary(true);
    if (call->kind != Kind::call) {
      fail_at(call->line, "expected a call after {% call %}");
    }
    return make_of(Kind::call_block, "", std::move(call),
                   parse_macro_rest(std::move(caller), "endcall"));
  }

  NodePtr parse_filter_block() {
    NodePtr filter = make(Kind::filter, expect_any_name());
    add(*filter, make(Kind::name, ""));
    if (at_symbol("(")) {
      parse_arguments(*filter);
    }
    NodePtr filters = parse_filters(std::move(filter));
    NodePtr body = parse_block("endfilter");
    return make_of(Kind::filtered, "", std::move(body), std::move(filters));
  }

  NodePtr parse_with() {
    NodePtr with = make_of(Kind::with, "", NodePtr());
    while (!at_symbol("%}")) {
      add(*with, parse_one_target());
      expect_symbol("=");
      add(*with, parse_expression());
      if (!at_symbol("%}")) {
        expect_symbol(",");
      }
    }
    NodePtr body = parse_block("endwith");
    with->depth = std::max(with->depth, body->depth + 1);
    with->parts[0] = std::move(body);
    return with;
  }

  NodePtr parse_generation() {
    const std::size_t outer_loops = std::exchange(loops_, 0);
    NodePtr body = parse_block("endgeneration");
    loops_ = outer_loops;
    return make_of(Kind::scope, "", std::move(body));
  }

  NodePtr parse_jump() {
    const bool is_break = tokens_[next_ - 1].text == "break";
    if (loops_ == 0) {
      fail_at(token().line, concat_text(is_break ? "break" : "continue", " outside of a loop"));
    }
    NodePtr jump = make(is_break ? Kind::stop : Kind::skip);
    expect_symbol("%}");
    return jump;
  }

  std::vector<Token> tokens_;
  std::size_t next_ = 0;
  std::size_t level_ = 0;
  std::size_t loops_ = 0;  // around the statement, in the same macro
};

}  // namespace

NodePtr parse(std::string_view source) {
  const std::size_t valid = valid_utf8_prefix(source);
  require(valid == source.size(), "chat template: invalid UTF-8 at byte ", valid);
  require(source.size() <= kLargestSource, "chat template: expected at most ", kLargestSource,
          " bytes, got ", source.size());
  return Parser(source).parse_template();
}

}  // namespace headlight::jinja
