#include "datasets/pickle_reader.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <string>
#include <utility>

#include "headlight/base/error.h"

namespace headlight {

// Interpreter of the operations of one pickle.
class PickleReader {
 public:
  PickleReader(std::string_view name, const PickleRules& rules, Pickle& pickle)
      : rest_(pickle.bytes_), name_(name), rules_(rules), pickle_(pickle) {}

  PickleValue read() {
    constexpr Index kProtocol = 0x80;
    const bool begins = rest_.size() >= 2 && take_number(1) == kProtocol;
    const Index protocol = begins ? take_number(1) : 0;
    require(protocol >= 2 && protocol <= 5, name_,
            ": not a Python pickle of protocol 2 to 5, expected ", rules_.expected);
    while (true) {
      const auto operation = static_cast<unsigned>(take_number(1));
      if (operation == '.') {
        break;
      }
      const std::size_t position = offset() - 1;
      if (!push_scalar(operation) && !run_containers(operation) && !use_memo(operation) &&
          !run_names(operation)) {
        fail(name_, ": byte ", position, ": pickle operation ", operation,
             " is not supported; expected ", rules_.expected);
      }
    }
    require(rest_.empty(), name_, ": ", rest_.size(),
            " unexpected bytes after the end of the data");
    require(stack_.size() == 1, name_, ": is damaged: expected one value");
    return pop();
  }

 private:
  bool push_scalar(unsigned operation) {
    switch (operation) {
      case 'N':
        push({PickleKind::none});
        return true;
      case 0x88:  // NEWTRUE
      case 0x89:  // NEWFALSE
        push({PickleKind::boolean, 0, operation == 0x88 ? 1 : 0});
        return true;
      case 'K':  // BININT1
        push({PickleKind::integer, 0, take_number(1)});
        return true;
      case 'M':  // BININT2
        push({PickleKind::integer, 0, take_number(2)});
        return true;
      case 'J':  // BININT
        push({PickleKind::integer, 0, static_cast<std::int32_t>(take_number(4))});
        return true;
      case 0x8a:  // LONG1
        push({PickleKind::integer, 0, take_long()});
        return true;
      case 'G': {  // BINFLOAT, the only big-endian value
        const auto bits = static_cast<std::uint64_t>(take_number(8));
        push({PickleKind::number, 0, static_cast<Index>(__builtin_bswap64(bits))});
        return true;
      }
      case 'X':  // BINUNICODE
        push_text(take_number(4));
        return true;
      case 0x8c:  // SHORT_BINUNICODE
        push_text(take_number(1));
        return true;
      default:
        return false;
    }
  }

  bool run_containers(unsigned operation) {
    switch (operation) {
      case '(':
        push({PickleKind::mark});
        return true;
      case '}':
        push_container(PickleKind::dictionary, 0);
        return true;
      case ']':
      case ')':
        push_container(PickleKind::tuple, 0);
        return true;
      case 't':  // TUPLE
        push_container(PickleKind::tuple, take_mark());
        return true;
      case 0x85:  // TUPLE1
      case 0x86:  // TUPLE2
      case 0x87:  // TUPLE3
        push_container(PickleKind::tuple, operation - 0x84);
        return true;
      case 's':  // SETITEM
        add_items(PickleKind::dictionary, 2);
        return true;
      case 'u':  // SETITEMS
        add_items(PickleKind::dictionary, take_mark());
        return true;
      case 'a':  // APPEND
        add_items(PickleKind::tuple, 1);
        return true;
      case 'e':  // APPENDS
        add_items(PickleKind::tuple, take_mark());
        return true;
      default:
        return false;
    }
  }

  // Runs operations on the memo: values that are written once and later used by their number, which
  // must count up.
  bool use_memo(unsigned operation) {
    switch (operation) {
      case 0x94:  // MEMOIZE
        memoize(std::ssize(memo_));
        return true;
      case 'q':  // BINPUT
        memoize(take_number(1));
        return true;
      case 'r':  // LONG_BINPUT
        memoize(take_number(4));
        return true;
      case 'h':  // BINGET
        recall(take_number(1));
        return true;
      case 'j':  // LONG_BINGET
        recall(take_number(4));
        return true;
      default:
        return false;
    }
  }

  bool run_names(unsigned operation) {
    switch (operation) {
      case 0x95: {  // FRAME
        const Index length = take_number(8);
        require(length >= 0 && length <= std::ssize(rest_), name_, ": is cut off");
        return true;
      }
      case 'c': {  // GLOBAL
        const std::string_view module = take_line();
        push_global(module, take_line());
        return true;
      }
      case 0x93: {  // STACK_GLOBAL
        const PickleValue name = pop(PickleKind::text);
        push_global(pickle_.text(pop(PickleKind::text)), pickle_.text(name));
        return true;
      }
      case 'R':  // REDUCE
        push_call();
        return true;
      case 'b':  // BUILD sets attributes, which are dropped
        pop();
        require(!stack_.empty() && stack_.back().kind == PickleKind::dictionary, name_,
                ": sets attributes of a value other than a dictionary");
        return true;
      case 'Q': {  // BINPERSID
        const PickleValue parts = pop(PickleKind::tuple);
        push({PickleKind::stored, 0, parts.value});
        return true;
      }
      default:
        return false;
    }
  }

  void count(std::size_t more) {
    values_ += more;
    require(values_ <= rules_.most_values, name_, ": more values than ", rules_.expected, " needs");
  }

  void push(const PickleValue& value) {
    count(1);
    stack_.push_back(value);
  }

  PickleValue pop() {
    require(!stack_.empty() && stack_.back().kind != PickleKind::mark, name_,
            ": is damaged: a value is missing");
    const PickleValue value = stack_.back();
    stack_.pop_back();
    return value;
  }

  PickleValue pop(PickleKind kind) {
    const PickleValue value = pop();
    require(value.kind == kind, name_, ": is damaged: a value has the wrong type");
    return value;
  }

  // Moves the topmost values into a new container.
  void push_container(PickleKind kind, std::size_t size) {
    require_values(size);
    count(1);
    const auto begin = stack_.end() - static_cast<Index>(size);
    pickle_.containers_.emplace_back(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    push({kind, 0, std::ssize(pickle_.containers_) - 1});
  }

  // Moves the topmost values into the container before them.
  void add_items(PickleKind kind, std::size_t size) {
    require_values(size);
    const auto begin = stack_.end() - static_cast<Index>(size);
    const bool fits = begin != stack_.begin() && std::prev(begin)->kind == kind &&
                      (kind != PickleKind::dictionary || size % 2 == 0);
    require(fits, name_, ": is damaged: expected ",
            kind == PickleKind::dictionary ? "a dictionary and pairs" : "a list and values",
            " for it");
    auto& items = pickle_.containers_[static_cast<std::size_t>(std::prev(begin)->value)];
    items.insert(items.end(), begin, stack_.end());
    stack_.erase(begin, stack_.end());
  }

  // Throws Error unless there are so many values above the topmost mark.
  void require_values(std::size_t size) const {
    const bool enough = size <= stack_.size();
    const auto begin = enough ? stack_.end() - static_cast<Index>(size) : stack_.end();
    const auto is_mark = [](const PickleValue& value) { return value.kind == PickleKind::mark; };
    require(enough && std::none_of(begin, stack_.end(), is_mark), name_,
            ": is damaged: a value is missing");
  }

  // A call with its arguments; of collections.OrderedDict without arguments, a dictionary.
  void push_call() {
    const PickleValue arguments = pop(PickleKind::tuple);
    const PickleValue function = pop(PickleKind::global);
    const auto given = pickle_.items(arguments);
    if (pickle_.items(arguments).empty() && global_name(function) == "collections.OrderedDict") {
      return push_container(PickleKind::dictionary, 0);
    }
    count(given.size());
    std::vector<PickleValue> parts{function};
    parts.insert(parts.end(), given.begin(), given.end());
    pickle_.containers_.push_back(std::move(parts));
    push({PickleKind::call, 0, std::ssize(pickle_.containers_) - 1});
  }

  std::string_view global_name(const PickleValue& global) const {
    return rules_.globals[static_cast<std::size_t>(global.value)];
  }

  void push_global(std::string_view module, std::string_view name) {
    const std::string whole = concat_text(module, ".", name);
    const auto found = std::find(rules_.globals.begin(), rules_.globals.end(), whole);
    require(found != rules_.globals.end(), name_, " uses ", whole, ": not ", rules_.expected);
    push({PickleKind::global, 0, found - rules_.globals.begin()});
  }

  void memoize(Index number) {
    const bool has_value = !stack_.empty() && stack_.back().kind != PickleKind::mark;
    require(has_value && number == std::ssize(memo_), name_,
            ": is damaged: its references are out of order");
    count(1);
    memo_.push_back(stack_.back());
  }

  void recall(Index number) {
    require(number < std::ssize(memo_), name_, ": is damaged: refers to a missing value");
    push(memo_[static_cast<std::size_t>(number)]);
  }

  // Removes the topmost mark. Returns the number of values above it.
  std::size_t take_mark() {
    const auto is_mark = [](const PickleValue& value) { return value.kind == PickleKind::mark; };
    const auto found = std::find_if(stack_.rbegin(), stack_.rend(), is_mark);
    require(found != stack_.rend(), name_, ": is damaged: a mark is missing");
    const auto after = stack_.erase(std::next(found).base());
    return static_cast<std::size_t>(stack_.end() - after);
  }

  std::size_t offset() const { return pickle_.bytes_.size() - rest_.size(); }

  std::string_view take(Index size) {
    require(size >= 0 && size <= std::ssize(rest_), name_, ": is cut off");
    const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(size));
    rest_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view take_line() {
    const std::string_view line =
        take(static_cast<Index>(std::min(rest_.find('\n'), rest_.size())));
    take(1);
    return line;
  }

  Index take_number(Index bytes) {
    std::uint64_t number = 0;
    int shift = 0;
    for (const char byte : take(bytes)) {
      number |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(byte)) << shift;
      shift += 8;
    }
    return static_cast<Index>(number);
  }

  // Returns an integer of up to 8 bytes in two's complement.
  Index take_long() {
    const Index bytes = take_number(1);
    require(bytes <= 8, name_, ": an integer has more than 64 bits");
    const int unused = static_cast<int>(64 - 8 * bytes);
    return bytes == 0
               ? 0
               : static_cast<Index>(static_cast<std::uint64_t>(take_number(bytes)) << unused) >>
                     unused;
  }

  void push_text(Index length) {
    const auto begin = static_cast<Index>(offset());
    push({PickleKind::text, static_cast<std::uint32_t>(take(length).size()), begin});
  }

  std::string_view rest_;
  std::string_view name_;
  const PickleRules& rules_;
  Pickle& pickle_;
  std::size_t values_ = 0;
  std::vector<PickleValue> stack_;
  std::vector<PickleValue> memo_;
};

Pickle::Pickle(std::string_view bytes, std::string_view name, const PickleRules& rules)
    : bytes_(bytes), root_(PickleReader(name, rules, *this).read()) {}

std::string_view Pickle::text(const PickleValue& text) const {
  return bytes_.substr(static_cast<std::size_t>(text.value), text.length);
}

double Pickle::number(const PickleValue& number) const {
  return number.kind == PickleKind::number ? std::bit_cast<double>(number.value)
                                           : static_cast<double>(number.value);
}

std::span<const PickleValue> Pickle::items(const PickleValue& container) const {
  return containers_[static_cast<std::size_t>(container.value)];
}

const PickleValue* Pickle::find(const PickleValue& dictionary, std::string_view key) const {
  if (dictionary.kind != PickleKind::dictionary) {
    return nullptr;
  }
  const auto entries = items(dictionary);
  for (std::size_t i = entries.size(); i >= 2; i -= 2) {
    if (entries[i - 2].kind == PickleKind::text && text(entries[i - 2]) == key) {
      return &entries[i - 1];
    }
  }
  return nullptr;
}

}  // namespace headlight
