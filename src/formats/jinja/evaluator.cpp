#include "formats/jinja/evaluator.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>

#include "formats/jinja/print.h"
#include "formats/jinja/runtime.h"

namespace headlight::jinja {
namespace {

// Variables of a template, a macro, or a pass of a loop.
struct Scope {
  const Scope* outer = nullptr;
  std::map<std::string, Value, std::less<>> values = {};

  const Value* find(const std::string& name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
      const auto found = scope->values.find(name);
      if (found != scope->values.end()) {
        return &found->second;
      }
    }
    return nullptr;
  }
};

enum class Jump : std::uint8_t { none, stop, skip };

bool uses(Budget& budget, const Node& node, std::string_view name) {
  budget.step();
  return (node.kind == Kind::name && node.text == name) ||
         std::any_of(node.parts.begin(), node.parts.end(), [&](const NodePtr& part) {
           return part != nullptr && uses(budget, *part, name);
         });
}

// Runs a tree.
class Evaluator {
 public:
  explicit Evaluator(const std::tm& now) : runtime_(now) {}

  std::string render(const Node& body, const Json& variables) {
    try {
      Scope& scope = new_scope(nullptr);
      for (const Function& function : globals()) {
        scope.values.emplace(function.name, function_value(runtime_, function, {}));
      }
      for (const JsonMember& member : variables.members()) {
        scope.values.insert_or_assign(member.key, value_of(budget(), member.value));
      }
      return captured(body, scope).text;
    } catch (Error& error) {
      error.add_location(concat_text("chat template, line ", line_, ": "));
      throw;
    }
  }

  struct Captured {
    std::string text;
    Jump jump = Jump::none;
  };

  // Runs statements and returns their output.
  template <class Work>
  Captured captured(const Work& work) {
    Captured result;
    std::string* outer = std::exchange(out_, &result.text);
    try {
      result.jump = work();
    } catch (...) {
      out_ = outer;
      throw;
    }
    out_ = outer;
    return result;
  }
  Captured captured(const Node& body, Scope& scope) {
    return captured([&] { return run(body, scope); });
  }

  Scope& new_scope(const Scope* outer) {
    budget().spend(sizeof(Scope));
    return scopes_.emplace_back(Scope{outer});
  }

  Runtime& runtime() { return runtime_; }
  Budget& budget() { return runtime_.budget(); }

  Value value(const Node& node, Scope& scope);
  Jump run_loop(const Node& node, const Value& list, Scope& scope, std::int64_t depth);
  void assign(const Node& target, const Value& value, Scope& scope);

 private:
  Jump run(const Node& node, Scope& scope);
  Jump run_branch(const Node& node, Scope& scope);
  Jump run_body(const Node& node, Scope& scope);
  Jump run_capture(const Node& node, Scope& scope);
  Jump run_filtered(const Node& node, Scope& scope);
  Jump run_with(const Node& node, Scope& scope);
  void run_set(const Node& node, Scope& scope);
  void run_call_block(const Node& node, Scope& scope);
  Value filtered(const Node* filters, std::string text, Scope& scope);
  Values loop_values(const Node& node, const Value& list, Scope& scope);

  Value list_value(const Node& node, Scope& scope);
  Value dict_value(const Node& node, Scope& scope);
  Value call(const Node& node, Scope& scope, const Value* caller);
  Value filter_or_test(const Node& node, Scope& scope);
  Value unary(const Node& node, Scope& scope);
  Value binary(const Node& node, Scope& scope);
  Value comparison(const Node& node, Scope& scope);
  Value slice_value(const Node& node, Scope& scope);
  Arguments arguments(const Node& node, Scope& scope);
  void spread(const Node& node, Scope& scope, Arguments& arguments);

  void add_output(const std::string& text) {
    budget().spend(text.size());
    *out_ += text;
  }

  Runtime runtime_;
  std::deque<Scope> scopes_;
  std::string* out_ = nullptr;
  std::size_t line_ = 1;
};

// --- Objects ------------------------------------------------------------------------------------

class Macro : public Object {
 public:
  Macro(Evaluator& evaluator, const Node& node, const Scope& scope)
      : evaluator_(evaluator), node_(node), scope_(scope) {}
  const char* type_name() const override { return "macro"; }
  bool is_callable() const override { return true; }
  Value attribute(Runtime& runtime, const std::string& name) override {
    return name == "name" ? runtime.text(node_.text) : Value();
  }

  Value call(Runtime& runtime, const Arguments& arguments) override {
    Scope& scope = evaluator_.new_scope(&scope_);
    scope.values["caller"] = undefined("there is no caller");
    bind_positional(runtime, arguments, scope);
    bind_names(runtime, arguments, scope);
    for (std::size_t i = 1; i < node_.parts.size(); ++i) {
      const Node& parameter = node_.part(i);
      if (scope.values.find(parameter.text) == scope.values.end()) {
        scope.values[parameter.text] =
            parameter.parts.empty()
                ? undefined(concat_text("parameter '", parameter.text, "' was not provided"))
                : evaluator_.value(parameter.part(0), scope);
      }
    }
    return runtime.text(evaluator_.captured(node_.part(0), scope).text);
  }

 private:
  bool has_parameter(std::string_view name) const {
    return std::any_of(node_.parts.begin() + 1, node_.parts.end(),
                       [&](const NodePtr& parameter) { return parameter->text == name; });
  }

  bool body_uses(Runtime& runtime, std::string_view name) const {
    return uses(runtime.budget(), node_.part(0), name);
  }

  void bind_positional(Runtime& runtime, const Arguments& arguments, Scope& scope) const {
    const std::size_t count = node_.parts.size() - 1;
    Values more;
    for (std::size_t i = 0; i < arguments.values.size(); ++i) {
      if (i < count) {
        scope.values[node_.part(i + 1).text] = arguments.values[i];
      } else {
        more.push_back(arguments.values[i]);
      }
    }
    require(more.empty() || body_uses(runtime, "varargs"), "macro '", node_.text,
            "' takes at most ", count, " arguments, got ", arguments.values.size());
    scope.values["varargs"] = runtime.list(std::move(more), ListKind::tuple);
  }

  void bind_names(Runtime& runtime, const Arguments& arguments, Scope& scope) const {
    Dict more;
    for (const auto& [name, value] : arguments.named) {
      if (has_parameter(name)) {
        require(scope.values.emplace(name, value).second, "macro '", node_.text, "' got '", name,
                "' twice");
      } else if (name == "caller" && body_uses(runtime, name)) {
        scope.values[name] = value;
      } else {
        require(body_uses(runtime, "kwargs"), "macro '", node_.text, "' has no parameter '", name,
                "'");
        more.set(runtime.budget(), runtime.text(name), value);
      }
    }
    scope.values["kwargs"] = Value::dict(runtime.budget(), std::move(more));
  }

  Evaluator& evaluator_;
  const Node& node_;
  const Scope& scope_;
};

// The variable `loop`.
class Loop : public Object {
 public:
  struct Context {
    Evaluator& evaluator;
    const Node& node;
    Scope& scope;        // around the loop
    std::int64_t depth;  // loops of the same node around this one
  };

  Loop(Context context, Values values) : context_(context), values_(std::move(values)) {}
  const char* type_name() const override { return "loop"; }
  bool is_callable() const override { return context_.node.text == "recursive"; }

  const Values& values() const { return values_; }
  void move_to(std::int64_t index) { index_ = index; }
  Value attribute(Runtime& runtime, const std::string& name) override;

  Value call(Runtime& runtime, const Arguments& arguments) override {
    require(is_callable() && arguments.values.size() == 1 && arguments.named.empty(),
            "only a recursive loop can be called, with one list");
    return runtime.text(context_.evaluator
                            .captured([&] {
                              return context_.evaluator.run_loop(context_.node, arguments.values[0],
                                                                 context_.scope,
                                                                 context_.depth + 1);
                            })
                            .text);
  }

  Value cycle(const Values& choices) const {
    require(!choices.empty(), "cycle: expected values");
    return choices[static_cast<std::size_t>(index_) % choices.size()];
  }

  // Returns whether the values differ from the last call's.
  Value changed(Budget& budget, const Values& values) {
    const bool is_same =
        seen_ && std::ranges::equal(*seen_, values, [&](const Value& a, const Value& b) {
          return equal(budget, a, b);
        });
    seen_ = values;
    return Value(!is_same);
  }

 private:
  Context context_;
  Values values_;
  std::int64_t index_ = 0;
  std::optional<Values> seen_ = {};
};

// loop.cycle or loop.changed
class LoopFunction : public Object {
 public:
  LoopFunction(Loop& loop, bool is_cycle) : loop_(loop), is_cycle_(is_cycle) {}
  const char* type_name() const override { return "function"; }
  bool is_callable() const override { return true; }
  Value call(Runtime& runtime, const Arguments& arguments) override {
    return is_cycle_ ? loop_.cycle(arguments.values)
                     : loop_.changed(runtime.budget(), arguments.values);
  }

 private:
  Loop& loop_;
  bool is_cycle_;
};

Value Loop::attribute(Runtime& runtime, const std::string& name) {
  const std::int64_t count = std::ssize(values_);
  const std::pair<std::string_view, std::int64_t> numbers[] = {{"index", index_ + 1},
                                                               {"index0", index_},
                                                               {"length", count},
                                                               {"revindex", count - index_},
                                                               {"depth", context_.depth + 1},
                                                               {"depth0", context_.depth},
                                                               {"revindex0", count - index_ - 1}};
  for (const auto& [known, number] : numbers) {
    if (known == name) {
      return Value(number);
    }
  }
  if (name == "first" || name == "last") {
    return Value(index_ == (name == "first" ? 0 : count - 1));
  }
  if (name == "previtem" || name == "nextitem") {
    const std::int64_t other = index_ + (name == "nextitem" ? 1 : -1);
    return other >= 0 && other < count ? values_[static_cast<std::size_t>(other)]
                                       : undefined("there is no such item of the loop");
  }
  return name == "cycle" || name == "changed"
             ? Value(&runtime.make<LoopFunction>(*this, name == "cycle"))
             : Value();
}

// --- Statements ---------------------------------------------------------------------------------

Jump Evaluator::run(const Node& node, Scope& scope) {
  const Deeper deeper(budget());
  line_ = node.line;
  switch (node.kind) {
    case Kind::body:
      return run_body(node, scope);
    case Kind::output:
      add_output(printed(budget(), value(node.part(0), scope)));
      return Jump::none;
    case Kind::branch:
      return run_branch(node, scope);
    case Kind::loop:
      return run_loop(node, value(node.part(1), scope), scope, 0);
    case Kind::set:
      run_set(node, scope);
      return Jump::none;
    case Kind::capture:
      return run_capture(node, scope);
    case Kind::filtered:
      return run_filtered(node, scope);
    case Kind::macro:
      scope.values.insert_or_assign(node.text, Value(&runtime_.make<Macro>(*this, node, scope)));
      return Jump::none;
    case Kind::call_block:
      run_call_block(node, scope);
      return Jump::none;
    case Kind::with:
      return run_with(node, scope);
    case Kind::scope:
      return run(node.part(0), new_scope(&scope));
    case Kind::stop:
      return Jump::stop;
    default:
      return Jump::skip;
  }
}

Jump Evaluator::run_body(const Node& node, Scope& scope) {
  for (const NodePtr& statement : node.parts) {
    if (const Jump jump = run(*statement, scope); jump != Jump::none) {
      return jump;
    }
  }
  return Jump::none;
}

Jump Evaluator::run_branch(const Node& node, Scope& scope) {
  const std::size_t count = node.parts.size();
  for (std::size_t i = 0; i + 1 < count; i += 2) {
    if (value(node.part(i), scope).is_true()) {
      return run(node.part(i + 1), scope);
    }
  }
  return count % 2 == 1 ? run(node.part(count - 1), scope) : Jump::none;
}

Values Evaluator::loop_values(const Node& node, const Value& list, Scope& scope) {
  Values values = elements(budget(), list);
  const Node* filter = node.optional(2);
  if (filter == nullptr) {
    return values;
  }
  Values chosen;
  for (const Value& element : values) {
    Scope& inner = new_scope(&scope);
    assign(node.part(0), element, inner);
    if (value(*filter, inner).is_true()) {
      chosen.push_back(element);
    }
  }
  return chosen;
}

Jump Evaluator::run_loop(const Node& node, const Value& list, Scope& scope, std::int64_t depth) {
  auto& loop =
      runtime_.make<Loop>(Loop::Context{*this, node, scope, depth}, loop_values(node, list, scope));
  const auto count = std::ssize(loop.values());
  for (std::int64_t i = 0; i < count; ++i) {
    loop.move_to(i);
    Scope& inner = new_scope(&scope);
    inner.values["loop"] = Value(&loop);
    assign(node.part(0), loop.values()[static_cast<std::size_t>(i)], inner);
    if (run(node.part(3), inner) == Jump::stop) {
      return Jump::none;
    }
  }
  const Node* fallback = count == 0 ? node.optional(4) : nullptr;
  return fallback == nullptr ? Jump::none : run(*fallback, new_scope(&scope));
}

void Evaluator::assign(const Node& target, const Value& value, Scope& scope) {
  if (target.kind == Kind::name) {
    scope.values.insert_or_assign(target.text, value);
  } else if (target.kind == Kind::attribute) {
    const Value object = this->value(target.part(0), scope);
    object.object().set(runtime_, target.text, value);
  } else {
    const Values values = elements(budget(), value.defined());
    require(values.size() == target.parts.size(), "expected ", target.parts.size(),
            " values to unpack, got ", values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      assign(target.part(i), values[i], scope);
    }
  }
}

void Evaluator::run_set(const Node& node, Scope& scope) {
  budget().spend(sizeof(Value) + node.part(0).text.size());
  assign(node.part(0), value(node.part(1), scope), scope);
}

Value Evaluator::filtered(const Node* filters, std::string text, Scope& scope) {
  const Value input = runtime_.text(std::move(text));
  if (filters == nullptr) {
    return input;
  }
  Scope& inner = new_scope(&scope);
  inner.values[""] = input;
  return value(*filters, inner);
}

Jump Evaluator::run_capture(const Node& node, Scope& scope) {
  Captured body = captured(node.part(1), new_scope(&scope));
  if (body.jump == Jump::none) {
    assign(node.part(0), filtered(node.optional(2), std::move(body.text), scope), scope);
  }
  return body.jump;
}

Jump Evaluator::run_filtered(const Node& node, Scope& scope) {
  Captured body = captured(node.part(0), new_scope(&scope));
  if (body.jump == Jump::none) {
    add_output(printed(budget(), filtered(node.optional(1), std::move(body.text), scope)));
  }
  return body.jump;
}

Jump Evaluator::run_with(const Node& node, Scope& scope) {
  Scope& inner = new_scope(&scope);
  for (std::size_t i = 1; i + 1 < node.parts.size(); i += 2) {
    assign(node.part(i), value(node.part(i + 1), scope), inner);
  }
  return run(node.part(0), inner);
}

void Evaluator::run_call_block(const Node& node, Scope& scope) {
  const Value caller(&runtime_.make<Macro>(*this, node.part(1), scope));
  add_output(printed(budget(), call(node.part(0), scope, &caller)));
}

// --- Expressions --------------------------------------------------------------------------------

Value Evaluator::value(const Node& node, Scope& scope) {
  const Deeper deeper(budget());
  line_ = node.line;
  switch (node.kind) {
    case Kind::constant:
      return node.value;
    case Kind::name: {
      const Value* found = scope.find(node.text);
      return found != nullptr ? *found : undefined(concat_text("'", node.text, "' is undefined"));
    }
    case Kind::list:
    case Kind::tuple:
      return list_value(node, scope);
    case Kind::dict:
      return dict_value(node, scope);
    case Kind::attribute:
      return attribute(runtime_, value(node.part(0), scope), node.text);
    case Kind::item: {
      const Value object = value(node.part(0), scope);
      return item(runtime_, object, value(node.part(1), scope));
    }
    case Kind::slice:
      return slice_value(node, scope);
    case Kind::call:
      return call(node, scope, nullptr);
    case Kind::filter:
    case Kind::test:
      return filter_or_test(node, scope);
    case Kind::unary:
      return unary(node, scope);
    case Kind::binary:
      return binary(node, scope);
    case Kind::comparison:
      return comparison(node, scope);
    default:
      break;
  }
  const Node* other = node.optional(2);
  const bool holds = value(node.part(0), scope).is_true();
  return holds              ? value(node.part(1), scope)
         : other != nullptr ? value(*other, scope)
                            : undefined("an expression with 'if' has no 'else'");
}

Value Evaluator::list_value(const Node& node, Scope& scope) {
  Values values;
  for (const NodePtr& part : node.parts) {
    values.push_back(value(*part, scope));
  }
  return runtime_.list(std::move(values),
                       node.kind == Kind::tuple ? ListKind::tuple : ListKind::list);
}

Value Evaluator::dict_value(const Node& node, Scope& scope) {
  Dict dict;
  for (std::size_t i = 0; i + 1 < node.parts.size(); i += 2) {
    const Value key = value(node.part(i), scope);
    dict.set(budget(), key, value(node.part(i + 1), scope));
  }
  return Value::dict(budget(), std::move(dict));
}

Value Evaluator::slice_value(const Node& node, Scope& scope) {
  const Value object = value(node.part(0), scope);
  std::array<Value, 3> bounds;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const Node* bound = node.optional(i + 1);
    bounds[i] = bound == nullptr ? Value(None{}) : value(*bound, scope).defined();
  }
  return slice(runtime_, object, bounds);
}

void Evaluator::spread(const Node& node, Scope& scope, Arguments& arguments) {
  const Value all = value(node.part(0), scope);
  if (node.text == "*") {
    const Values values = elements(budget(), all);
    arguments.values.insert(arguments.values.end(), values.begin(), values.end());
  } else {
    for (const auto& [name, one] : all.dict().members) {
      budget().spend(name.text().size() + sizeof(Value));
      arguments.named.emplace_back(name.text(), one);
    }
  }
}

Arguments Evaluator::arguments(const Node& node, Scope& scope) {
  Arguments result;
  for (std::size_t i = 1; i < node.parts.size(); ++i) {
    const Node& part = node.part(i);
    if (part.kind == Kind::spread) {
      spread(part, scope, result);
    } else if (part.kind == Kind::named) {
      result.named.emplace_back(part.text, value(part.part(0), scope));
    } else {
      result.values.push_back(value(part, scope));
    }
  }
  return result;
}

Value Evaluator::call(const Node& node, Scope& scope, const Value* caller) {
  const Node& callee = node.part(0);
  const bool is_attribute = callee.kind == Kind::attribute;
  const Value object = value(is_attribute ? callee.part(0) : callee, scope);
  Arguments all = arguments(node, scope);
  line_ = node.line;
  if (caller != nullptr) {
    all.named.emplace_back("caller", *caller);
  }
  if (!is_attribute) {
    return call_value(runtime_, object, all);
  }
  const Function* method = find_method(object.defined(), callee.text);
  return method != nullptr ? jinja::run(runtime_, *method, object, all)
                           : call_value(runtime_, attribute(runtime_, object, callee.text), all);
}

Value Evaluator::filter_or_test(const Node& node, Scope& scope) {
  const Value input = value(node.part(0), scope);
  const Arguments all = arguments(node, scope);
  line_ = node.line;
  return node.kind == Kind::filter ? apply_filter(runtime_, node.text, input, all)
                                   : Value(apply_test(runtime_, node.text, input, all));
}

Value Evaluator::unary(const Node& node, Scope& scope) {
  const Value operand = value(node.part(0), scope);
  if (node.text == "not") {
    return Value(!operand.is_true());
  }
  if (operand.is_big()) {
    const bool is_negative = operand.digits()[0] == '-';
    return node.text == "+" ? operand
                            : Value::whole_number(budget(), is_negative ? operand.digits().substr(1)
                                                                        : "-" + operand.digits());
  }
  return operand.is_float() && node.text == "-"
             ? Value(-operand.number())
             : arithmetic(runtime_, node.text, Value(std::int64_t{0}), operand);
}

Value Evaluator::binary(const Node& node, Scope& scope) {
  Value left = value(node.part(0), scope);
  if (node.text == "and" || node.text == "or") {
    return left.is_true() == (node.text == "or") ? left : value(node.part(1), scope);
  }
  return arithmetic(runtime_, node.text, left, value(node.part(1), scope));
}

Value Evaluator::comparison(const Node& node, Scope& scope) {
  Value left = value(node.part(0), scope);
  for (std::size_t i = 1; i < node.parts.size(); ++i) {
    Value right = value(node.part(i).part(0), scope);
    if (!compare(runtime_, node.part(i).text, left, right)) {
      return Value(false);
    }
    left = std::move(right);
  }
  return Value(true);
}

}  // namespace

std::string render(const Node& body, const Json& variables, const std::tm& now) {
  return Evaluator(now).render(body, variables);
}

}  // namespace headlight::jinja
