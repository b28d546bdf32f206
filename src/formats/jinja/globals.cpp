#include <array>
#include <map>

#include "formats/jinja/runtime.h"

// Functions of templates: NAME(...).
namespace headlight::jinja {
namespace {

class Namespace : public Object {
 public:
  const char* type_name() const override { return "namespace"; }
  Value attribute(Runtime&, const std::string& name) override {
    const auto found = members_.find(name);
    return found == members_.end() ? Value() : found->second;
  }
  void set(Runtime& runtime, const std::string& name, const Value& value) override {
    require(!name.starts_with('_'), "a namespace has no attributes that begin with _");
    runtime.budget().spend(name.size() + sizeof(Value));
    members_[name] = value;
  }

 private:
  std::map<std::string, Value> members_;
};

// Returns the members of dict(mapping or pairs, name=value, ...).
Dict dict_of(const Call& call) {
  Dict dict;
  require(call.all.values.size() <= 1, "expected at most one dictionary");
  for (const Value& source : call.all.values) {
    if (source.is_dict()) {
      dict = source.dict();
      continue;
    }
    for (const Value& pair : elements(call.budget(), source)) {
      require(pair.is_list() && pair.list().values.size() == 2, "expected pairs");
      dict.set(call.budget(), pair.list().values[0], pair.list().values[1]);
    }
  }
  for (const auto& [name, value] : call.all.named) {
    dict.set(call.budget(), call.runtime.text(name), value);
  }
  return dict;
}

Value make_namespace(const Call& call) {
  auto& object = call.runtime.make<Namespace>();
  for (const auto& [name, value] : dict_of(call).members) {
    object.set(call.runtime, name.text(), value);
  }
  return Value(&object);
}

Value make_dict(const Call& call) { return Value::dict(call.budget(), dict_of(call)); }

Value range(const Call& call) {
  const bool has_start = call.given(1);
  const std::int64_t start = has_start ? call.value(0).whole() : 0;
  const std::int64_t stop = call.value(has_start ? 1 : 0).whole();
  const std::int64_t step = call.whole_or(2, 1);
  require(step != 0, "range: the step is 0");
  Values values;
  for (std::int64_t at = start; step > 0 ? at < stop : at > stop;) {
    call.budget().spend(sizeof(Value));
    // The limit of Jinja's sandbox.
    require(values.size() < 100'000, "range: expected at most 100000 numbers");
    values.emplace_back(at);
    if (__builtin_add_overflow(at, step, &at)) {
      break;
    }
  }
  return call.runtime.list(
      {.values = std::move(values), .kind = ListKind::range, .range = {start, stop, step}});
}

// cycler(values ...): next() gives one after the other.
class Cycler : public Object {
 public:
  explicit Cycler(Values values) : values_(std::move(values)) {}
  const char* type_name() const override { return "cycler"; }
  Value attribute(Runtime& runtime, const std::string& name) override;

  Value next() {
    const Value value = values_[index_];
    index_ = (index_ + 1) % values_.size();
    return value;
  }
  void reset() { index_ = 0; }

 private:
  Values values_;
  std::size_t index_ = 0;
};

// next() or reset() of a cycler.
class CyclerMethod : public Object {
 public:
  CyclerMethod(Cycler& cycler, bool resets) : cycler_(cycler), resets_(resets) {}
  const char* type_name() const override { return "function"; }
  bool is_callable() const override { return true; }
  Value call(Runtime&, const Arguments&) override {
    if (!resets_) {
      return cycler_.next();
    }
    cycler_.reset();
    return None{};
  }

 private:
  Cycler& cycler_;
  bool resets_;
};

Value Cycler::attribute(Runtime& runtime, const std::string& name) {
  if (name == "current") {
    return values_[index_];
  }
  const bool is_method = name == "next" || name == "reset";
  return is_method ? Value(&runtime.make<CyclerMethod>(*this, name == "reset")) : Value();
}

Value make_cycler(const Call& call) {
  require(!call.all.values.empty(), "cycler: expected values");
  return Value(&call.runtime.make<Cycler>(call.all.values));
}

// joiner(separator): gives "" the first time it is called, then the separator.
class Joiner : public Object {
 public:
  explicit Joiner(Value separator) : separator_(std::move(separator)) {}
  const char* type_name() const override { return "joiner"; }
  bool is_callable() const override { return true; }
  Value call(Runtime& runtime, const Arguments&) override {
    return std::exchange(is_used_, true) ? separator_ : runtime.text("");
  }

 private:
  Value separator_;
  bool is_used_ = false;
};

Value make_joiner(const Call& call) {
  return Value(&call.runtime.make<Joiner>(call.value_or(0, call.runtime.text(", "))));
}

Value raise_exception(const Call& call) {
  fail("the template refuses the messages: ", call.text(0));
}

Value strftime_now(const Call& call) {
  const std::string& format = call.text(0);
  require(format.size() <= 256, "strftime_now: expected at most 256 bytes");
  std::array<char, 8192> text;
  const std::size_t size =
      std::strftime(text.data(), text.size(), format.c_str(), &call.runtime.now());
  return call.runtime.text(std::string(text.data(), size));
}

}  // namespace

std::span<const Function> globals() {
  static constexpr Function kGlobals[] = {
      {"namespace", "*", 0, make_namespace},
      {"dict", "*", 0, make_dict},
      {"range", "start stop step", 1, range},
      {"cycler", "*", 0, make_cycler},
      {"joiner", "sep", 0, make_joiner},
      {"raise_exception", "message", 1, raise_exception},
      {"strftime_now", "format", 1, strftime_now},
  };
  return kGlobals;
}

}  // namespace headlight::jinja
