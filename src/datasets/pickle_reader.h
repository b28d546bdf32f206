#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "headlight/base/index.h"

namespace headlight {

enum class PickleKind : std::uint8_t {
  mark,  // only during reading
  none,
  boolean,
  integer,
  number,
  text,
  global,      // a name of a module, such as collections.OrderedDict
  tuple,       // and lists
  dictionary,  // and ordered dictionaries
  call,        // of a global, which is never made: the global, then its arguments
  stored,      // a persistent identifier: its parts
};

// A value of a pickle. Texts and the items of containers are in the Pickle.
struct PickleValue {
  PickleKind kind = PickleKind::mark;
  std::uint32_t length = 0;  // of a text, in bytes
  // The value of a boolean or integer, the bits of a number, the offset of a text, the index of a
  // global in PickleRules::globals, or the index of a container.
  Index value = 0;

  friend bool operator==(const PickleValue&, const PickleValue&) = default;
};

// Names and limits for one kind of pickle.
struct PickleRules {
  std::string_view expected;                       // for messages: "nanoGPT's meta.pkl"
  std::size_t most_values = 0;                     // including references and containers
  std::span<const std::string_view> globals = {};  // accepted names: "torch.FloatStorage"
};

// The values in a Python pickle of protocol 2 to 5
// (https://docs.python.org/3/library/pickletools.html). Reading calls and loads nothing: calls and
// names become values. Containers may contain themselves, so walks over them need a limit.
class Pickle {
 public:
  // `bytes` and the globals must outlive this object. `name` begins error messages. Throws Error
  // for damaged bytes, operations that plain data does not need, other globals, and more values
  // than the rules allow.
  Pickle(std::string_view bytes, std::string_view name, const PickleRules& rules);

  const PickleValue& root() const { return root_; }
  std::string_view text(const PickleValue& text) const;
  double number(const PickleValue& number) const;
  // Returns the items of a tuple, list, call or persistent identifier; of a dictionary, the keys
  // and values in turn.
  std::span<const PickleValue> items(const PickleValue& container) const;
  // Returns the value of a key; of repeated keys, the last. Null if it is missing or `dictionary`
  // is no dictionary.
  const PickleValue* find(const PickleValue& dictionary, std::string_view key) const;

 private:
  friend class PickleReader;

  std::string_view bytes_;
  std::vector<std::vector<PickleValue>> containers_;
  PickleValue root_;
};

}  // namespace headlight
