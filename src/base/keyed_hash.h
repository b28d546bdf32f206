#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace headlight {

// Returns a random number that stays the same in a process.
std::uint64_t process_key();

// Hash of texts that depends on process_key(), so that nobody can choose texts of equal hash for a
// file: SipHash-1-3, https://www.aumasson.jp/siphash/siphash.pdf.
struct KeyedHash {
  std::size_t operator()(std::string_view text) const;
};

// Containers of texts that come from outside. Their order differs in each process.
template <class Value>
using TextMap = std::unordered_map<std::string_view, Value, KeyedHash>;
using TextSet = std::unordered_set<std::string_view, KeyedHash>;

}  // namespace headlight
