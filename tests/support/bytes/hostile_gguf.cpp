#include "support/bytes/hostile_files.h"

#include <initializer_list>
#include <limits>

#include "support/bytes/gguf_bytes.h"

namespace headlight::test {
namespace {

constexpr std::uint32_t kUint8 = 0;
constexpr std::uint32_t kUint32 = 4;
constexpr std::uint32_t kBool = 7;
constexpr std::uint32_t kText = 8;
constexpr std::uint32_t kList = 9;
constexpr std::uint32_t kFloat64 = 12;
constexpr std::uint32_t kF32 = 0;
constexpr std::uint32_t kQ4_0 = 2;
constexpr std::uint32_t kQ6_K = 14;
constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

std::string uint32_entry(std::string_view key, std::uint32_t value) {
  return gguf_entry(key, kUint32, gguf_number(value));
}

std::string list_entry(std::uint32_t type, std::uint64_t count, std::string_view elements = "") {
  return gguf_entry("k", kList, gguf_number(type) + gguf_number(count) + std::string(elements));
}

// File with these tensors and without metadata.
std::string table(std::initializer_list<std::string> tensors, std::size_t data_bytes) {
  std::string header = gguf_start(tensors.size(), 0);
  for (const std::string& tensor : tensors) {
    header += tensor;
  }
  return gguf_file(header, data_bytes);
}

std::string one_entry(const std::string& entry) { return gguf_file(gguf_start(0, 1) + entry, 64); }

std::vector<HostileFile> bad_starts() {
  std::vector<HostileFile> files;
  const std::string good = gguf_start(0, 0);
  for (std::size_t length = 0; length < good.size(); ++length) {
    files.push_back({"file of " + std::to_string(length), good.substr(0, length), "too few"});
  }
  const std::string counts(16, '\0');
  files.push_back({"zeros", std::string(64, '\0'), "expected a GGUF file"});
  files.push_back({"the format before", "ggjt" + good.substr(4), "one that begins with 'ggjt'"});
  files.push_back({"an escape", "\x1b[2J" + good.substr(4), "begins with '\\x1b[2J'"});
  files.push_back({"version 0", gguf_start(0, 0, 0), "version 0 of GGUF"});
  files.push_back({"version 1", gguf_start(0, 0, 1), "version 1 of GGUF"});
  files.push_back({"version 4", gguf_start(0, 0, 4), "expected 2 or 3"});
  files.push_back({"big endian", gguf_start(0, 0, 3U << 24), "big endian"});
  for (const std::uint64_t count : {std::uint64_t{65537}, std::uint64_t{1} << 32,
                                    std::uint64_t{1} << 58, std::uint64_t{1} << 63, kMost}) {
    const std::string text = std::to_string(count);
    files.push_back({text + " tensors", gguf_start(count, 0) + counts, text + " tensors, at most"});
    files.push_back({text + " keys", gguf_start(0, count) + counts, text + " keys of metadata"});
  }
  files.push_back({"tensors that are not there", gguf_start(65536, 0),
                   "tensor 0: is damaged or cut off: expected 8 x 1"});
  files.push_back({"keys that are not there", gguf_start(0, 65536),
                   "metadata 0: is damaged or cut off: expected 8 x 1"});
  return files;
}

std::vector<HostileFile> bad_keys() {
  const auto named = [](const std::string& key) { return one_entry(uint32_entry(key, 1)); };
  std::vector<HostileFile> files{
      {"no key", named(""), "key of 0 bytes"},
      {"a long key", named(std::string(65536, 'k')), "a key of 65536 bytes"},
      {"a line break", named("a\nb"), "'a\\x0ab' contains a control character"},
      {"a zero byte", named(std::string("a\0b", 3)), "'a\\x00b' contains a control character"},
      {"no UTF-8", named("a\xFF"), "invalid UTF-8 at byte 1"},
      {"a key twice", gguf_start(0, 2) + uint32_entry("a", 1) + uint32_entry("a", 2),
       "metadata 'a': the key appears twice"},
      {"keys without values", gguf_start(0, 1) + gguf_text("a"),
       "metadata 'a': is damaged or cut off: expected 4 x 1"},
  };
  for (const std::uint64_t length : {kMost, kMost - 1, kMost - 7, std::uint64_t{1} << 63}) {
    const std::string text = std::to_string(length);
    files.push_back({"key of " + text, gguf_start(0, 1) + gguf_number(length) + "key",
                     "a key of " + text + " bytes"});
    files.push_back({"name of " + text, gguf_start(1, 0) + gguf_number(length) + "name",
                     "a name of " + text + " bytes"});
    files.push_back({"text of " + text, one_entry(gguf_entry("k", kText, gguf_number(length))),
                     "metadata 'k': a text of " + text + " bytes"});
  }
  return files;
}

std::vector<HostileFile> bad_values() {
  std::vector<HostileFile> files{
      {"type 13", one_entry(gguf_entry("k", 13, "")), "metadata 'k': unknown metadata type 13"},
      {"type 2^32-1", one_entry(gguf_entry("k", 0xFFFFFFFFU, "")),
       "unknown metadata type 4294967295"},
      {"a bool of 2", one_entry(gguf_entry("k", kBool, "\x02")),
       "expected a bool of 0 or 1, got 2"},
      {"a list with a bool of 255", one_entry(list_entry(kBool, 2, "\x01\xFF")),
       "expected a bool of 0 or 1, got 255"},
      {"a cut number", gguf_start(0, 1) + gguf_entry("k", kFloat64, "1234567"), "8 x 1 bytes"},
      {"a cut text",
       gguf_start(0, 1) + gguf_entry("k", kText, gguf_number(std::uint64_t{4}) + "abc"),
       "4 x 1 bytes from byte"},
      {"a list of type 13", one_entry(list_entry(13, 0)), "unknown metadata type 13"},
      {"a list of lists", one_entry(list_entry(kList, 1)), "lists of lists"},
      {"no lists in a list", one_entry(list_entry(kList, 0)), "lists of lists"},
      {"a deep list",
       one_entry(gguf_entry("k", kList,
                            [] {
                              std::string lists;
                              for (int i = 0; i < 100000; ++i) {
                                lists += gguf_number(kList) + gguf_number(std::uint64_t{1});
                              }
                              return lists;
                            }())),
       "lists of lists"},
      {"a list of texts with a long one",
       one_entry(list_entry(kText, 2, gguf_text("a") + gguf_number(kMost))), "a text of"},
      {"a list one too long", gguf_start(0, 1) + list_entry(kUint8, 5, "1234"), "5 x 1 bytes"},
  };
  // Sizes in bytes that overflow: 2^61 numbers of 8 bytes, 2^62 of 4.
  for (const std::uint32_t type : {kUint8, kUint32, kText, kFloat64}) {
    for (const std::uint64_t count :
         {std::uint64_t{1} << 32, std::uint64_t{1} << 61, (std::uint64_t{1} << 61) + 1,
          std::uint64_t{1} << 62, std::uint64_t{1} << 63, kMost}) {
      const std::string text = std::to_string(count);
      files.push_back({text + " of type " + std::to_string(type),
                       one_entry(list_entry(type, count)), "expected " + text + " x "});
    }
  }
  return files;
}

std::vector<HostileFile> bad_alignments() {
  std::vector<HostileFile> files;
  for (const std::uint32_t alignment : {0U, 3U, 24U, 33U, 1U << 21, 1U << 31, 0xFFFFFFFFU}) {
    files.push_back({"alignment " + std::to_string(alignment),
                     one_entry(uint32_entry("general.alignment", alignment)),
                     "general.alignment: expected a power of two up to 1048576, got " +
                         std::to_string(alignment)});
  }
  files.push_back({"alignment as a text",
                   one_entry(gguf_entry("general.alignment", kText, gguf_text("32"))),
                   "expected a uint32, got a text"});
  files.push_back({"alignment as a list",
                   one_entry(gguf_entry("general.alignment", kList,
                                        gguf_number(kUint32) + gguf_number(std::uint64_t{0}))),
                   "expected a uint32, got a list"});
  return files;
}

std::vector<HostileFile> bad_tables() {
  const auto shaped = [](std::initializer_list<std::uint64_t> sizes, std::uint32_t type = kF32) {
    return table({gguf_tensor("t", sizes, type, 0)}, 64);
  };
  constexpr std::uint64_t kLarge = std::uint64_t{1} << 40;
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 32;
  std::vector<HostileFile> files{
      {"no name", table({gguf_tensor("", {1}, kF32, 0)}, 64), "is empty"},
      {"name of 1025", table({gguf_tensor(std::string(1025, 'n'), {1}, kF32, 0)}, 64),
       "a name of 1025 bytes"},
      {"name that escapes", table({gguf_tensor("\x1b[2J", {1}, kF32, 0)}, 64),
       "'\\x1b[2J' contains a control character"},
      {"name that leaves", table({gguf_tensor("../a", {1}, kF32, 0)}, 64), "not usable as a file"},
      {"name that is no UTF-8", table({gguf_tensor("\xC3\x28", {1}, kF32, 0)}, 64), "UTF-8"},
      {"a name twice", table({gguf_tensor("t", {1}, kF32, 0), gguf_tensor("t", {1}, kF32, 32)}, 64),
       "tensor 't': the name appears twice"},
      {"5 axes", shaped({1, 1, 1, 1, 1}), "5 axes, at most 4"},
      {"2^32-1 axes", gguf_file(gguf_start(1, 0) + gguf_text("t") + gguf_number(0xFFFFFFFFU), 4096),
       "4294967295 axes"},
      {"an axis of 0", shaped({0}), "has an axis of 0"},
      {"an axis of 0 and large ones", shaped({kLarge, 0, kLarge, kLarge}), "has an axis of 0"},
      {"an axis of 2^40+1", shaped({kLarge + 1}), "an axis has size 1099511627777"},
      {"an axis of 2^63", shaped({std::uint64_t{1} << 63}), "an axis has size 9223372036854775808"},
      {"an axis of 2^64-1", shaped({kMost, 2}), "an axis has size 18446744073709551615"},
      {"2^32 x 2^32", shaped({kHalf, kHalf}), "overflows"},
      {"2^60 floats", shaped({kHalf, kHalf >> 4}), "overflows"},
      {"2^160 blocks", shaped({kLarge, kLarge, kLarge, kLarge}, kQ4_0), "overflows"},
      {"2^59 floats", shaped({kHalf, kHalf >> 5}), "2305843009213693952 bytes at offset 0"},
      {"2^40 floats", shaped({kLarge}), "bytes at offset 0 end beyond the file"},
      {"half a block", shaped({16}, kQ4_0),
       "rows of 16 elements are not a whole number of blocks of 32"},
      {"rows of half a block", shaped({128, 2}, kQ6_K), "not a whole number of blocks of 256"},
      {"a single value in blocks", shaped({}, kQ4_0), "not a whole number of blocks"},
      {"no data", gguf_start(1, 0) + gguf_tensor("t", {1}, kF32, 0),
       "tensor 't': 4 bytes at offset 0"},
      {"cut before the offset", gguf_start(1, 0) + gguf_tensor("t", {1}, kF32, 0).substr(0, 25),
       "tensor 't': is damaged or cut off: expected 8 x 1"},
  };
  for (const std::uint32_t type : {4U, 5U, 31U, 41U, 1000U, 0x7FFFFFFFU, 0xFFFFFFFFU}) {
    files.push_back({"type " + std::to_string(type), shaped({32}, type),
                     "type " + std::to_string(type) + " (unknown)"});
  }
  files.push_back({"type IQ3_S", shaped({32}, 21), "type 21 (IQ3_S) are not supported"});
  return files;
}

std::vector<HostileFile> bad_layouts() {
  const auto pair = [](std::uint64_t first, std::uint64_t second) {
    return table({gguf_tensor("a", {16}, kF32, first), gguf_tensor("b", {16}, kF32, second)}, 128);
  };
  std::vector<HostileFile> files{
      {"the same place", pair(0, 0), "tensors 'a' and 'b' overlap"},
      {"half over another", pair(0, 32), "tensors 'a' and 'b' overlap"},
      {"half over another, reversed", pair(64, 32), "tensors 'b' and 'a' overlap"},
      {"past the end", pair(0, 96), "tensor 'b': 64 bytes at offset 96"},
      {"at the end", pair(0, 128), "tensor 'b': 64 bytes at offset 128"},
      {"between alignments", pair(0, 65), "offset 65 is not a multiple of the alignment, 32"},
  };
  for (const std::uint64_t offset : {kMost - 31, std::uint64_t{1} << 63,
                                     (std::uint64_t{1} << 63) - 32, std::uint64_t{1} << 62}) {
    files.push_back({"offset " + std::to_string(offset), pair(0, offset),
                     "64 bytes at offset " + std::to_string(offset)});
  }
  return files;
}

}  // namespace

std::vector<HostileFile> hostile_gguf() {
  std::vector<HostileFile> files;
  for (auto& group :
       {bad_starts(), bad_keys(), bad_values(), bad_alignments(), bad_tables(), bad_layouts()}) {
    files.insert(files.end(), group.begin(), group.end());
  }
  return files;
}

}  // namespace headlight::test
