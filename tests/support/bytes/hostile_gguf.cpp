#include "support/bytes/gguf_bytes.h"
#include "support/bytes/hostile_files.h"
#include "support/programs/session.h"
#include "support/rows.h"
#include "support/test.h"

namespace headlight::test {
namespace {

bool is_number(const std::string& word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
}

// Returns the bytes that the words of a row describe; hostile_gguf.txt says how.
std::string assembled(const Arguments& words) {
  std::size_t at = 0;
  const auto text = [&] { return unescaped(words.at(at++)); };
  const auto u64 = [&] { return std::uint64_t{std::stoull(words.at(at++))}; };
  const auto u32 = [&] { return static_cast<std::uint32_t>(u64()); };
  const auto tensor = [&] {
    const std::string name = text();
    const std::uint32_t type = u32();
    const std::uint64_t offset = u64();
    std::vector<std::uint64_t> sizes;
    while (at < words.size() && is_number(words[at])) {
      sizes.push_back(u64());
    }
    return gguf_tensor(name, sizes, type, offset);
  };
  const auto start = [&] {
    const std::uint64_t tensors = u64();
    return gguf_start(tensors, u64());
  };
  const auto key = [&] {
    const std::string name = gguf_text(text());
    return name + gguf_number(u32());
  };
  const auto repeated = [&] {
    const std::uint64_t times = u64();
    const std::string once =
        assembled({words.begin() + static_cast<std::ptrdiff_t>(at), words.end()});
    at = words.size();
    std::string all;
    for (std::uint64_t i = 0; i < times; ++i) {
      all += once;
    }
    return all;
  };
  const std::map<std::string, std::function<std::string()>> kinds{
      {"start", start},
      {"u8", [&] { return std::string(1, static_cast<char>(u64())); }},
      {"u32", [&] { return gguf_number(u32()); }},
      {"u64", [&] { return gguf_number(u64()); }},
      {"text", [&] { return gguf_text(text()); }},
      {"bytes", text},
      {"key", key},
      {"tensor", tensor},
      {"times", repeated}};
  std::string bytes;
  while (at < words.size()) {
    const std::string& kind = words[at++];
    bytes = kind == "pad" ? gguf_file(bytes, u64()) : bytes + kinds.at(kind)();
  }
  return bytes;
}

}  // namespace

std::vector<HostileFile> hostile_gguf() {
  std::vector<HostileFile> files;
  const std::string good = gguf_start(0, 0);
  for (std::size_t length = 0; length < good.size(); ++length) {
    files.push_back({"file of " + std::to_string(length), good.substr(0, length), "too few"});
  }
  for (const Row& row : rows_of("support/bytes/hostile_gguf.txt")) {
    const std::string given = replaced_all(row.given, {{"{max}", "18446744073709551615"}});
    const std::size_t end = given.starts_with("each N ") ? given.find(": ") : 0;
    const std::string rest = end == 0 ? given : given.substr(end + 2);
    for (const std::string& value :
         end == 0 ? Arguments{""} : split_words(given.substr(7, end - 7))) {
      const std::map<std::string, std::string> names{{"{N}", value}};
      files.push_back({replaced_all(rest, names), assembled(split_words(replaced_all(rest, names))),
                       replaced_all(row.expected, names)});
    }
  }
  return files;
}

}  // namespace headlight::test
