#include "support/bytes/gguf_bytes.h"
#include "support/bytes/hostile_files.h"
#include "support/programs/session.h"
#include "support/rows.h"
#include "support/test.h"

namespace headlight::test {
namespace {

std::string file_bytes(const std::string& header, std::size_t data_bytes) {
  return gguf_number(std::uint64_t{header.size()}) + header + std::string(data_bytes, '\0');
}

const std::string kEntry = R"({"dtype":"U8","shape":[1],"data_offsets":[0,1]})";

std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return "{\"dtype\":" + dtype + ",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}";
}

std::string named(const std::string& name, const std::string& value) {
  return "{\"" + name + "\":" + value + "}";
}

// Header with U8 tensors a, b, c ... at the ranges "BEGIN-END" before the last word.
std::string layout(const Arguments& words) {
  std::string header;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::size_t dash = words[i].find('-');
    const int begin = std::stoi(words[i]);
    const int end = std::stoi(words[i].substr(dash + 1));
    header += std::string(i > 0 ? ",\"" : "{\"") + static_cast<char>('a' + i) + "\":" +
              entry("\"U8\"", "[" + std::to_string(end - begin) + "]",
                    "[" + std::to_string(begin) + "," + std::to_string(end) + "]");
  }
  return header + "}";
}

// The files of hostile_safetensors.txt.
std::vector<HostileFile> listed_files() {
  std::vector<HostileFile> files;
  for (const Row& row : rows_of("support/bytes/hostile_safetensors.txt")) {
    if (row.group == "length") {
      files.push_back({row.given, gguf_number(std::uint64_t{std::stoull(row.given)}) + "{}      ",
                       row.expected});
      continue;
    }
    const std::string given = unescaped(replaced_all(row.given, {{"{entry}", kEntry}}));
    const Arguments words = split_words(given);
    const std::string first = given.substr(given.find(' ') + 1);
    const bool has_first = row.group == "header";
    const std::string header = has_first ? first
                               : row.group == "entry"
                                   ? named("t", entry(words[0], words[1], words[2]))
                               : row.group == "layout" ? layout(words)
                                                       : named(given, kEntry);
    const std::string bytes = has_first ? words.front() : row.group == "name" ? "1" : words.back();
    files.push_back({row.given, file_bytes(header, std::stoul(bytes)), row.expected});
  }
  return files;
}

std::vector<HostileFile> bad_lengths() {
  auto files = counted<HostileFile>(std::size_t{8}, [&](std::size_t length) {
    return HostileFile{"file of " + std::to_string(length), std::string(length, '\0'), "too few"};
  });
  files.push_back({"length only", std::string(8, '\0'), "does not start with '{'"});
  files.push_back({"length 16 MiB + 1",
                   gguf_number(std::uint64_t{16777217}) + "{" + repeated(" ", 16777216),
                   "header of 16777217 bytes, at most 16777216"});
  return files;
}

std::vector<HostileFile> large_values() {
  const std::string axes = "[1" + repeated(",1", 59999) + "]";
  const std::string u8 = "\"U8\"";
  const auto one = [&](const std::string& dtype, const std::string& shape) {
    return file_bytes(named("t", entry(dtype, shape, "[0,1]")), 1);
  };
  const auto with_name = [](const std::string& name) { return file_bytes(named(name, kEntry), 1); };
  const std::string empty = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  std::string many = "{\"t0\":" + empty;
  for (int i = 1; i <= 65536; ++i) {
    many += ",\"t" + std::to_string(i) + "\":" + empty;
  }
  return {
      {"deep arrays", file_bytes("{\"t\":" + std::string(100000, '['), 0), "nested deeper than 64"},
      {"deep objects", file_bytes(repeated("{\"t\":", 100000), 0), "nested deeper than 64"},
      {"long dtype", one("\"" + std::string(1000000, 'F') + "\"", "[1]"), "is not supported"},
      {"60000 axes", one(u8, axes), "60000 axes, at most 8"},
      {"120000 axes in two lists", one(u8, "[1" + axes.substr(1) + axes), "t"},
      {"65537 tensors", file_bytes(many + "}", 0), "more than 65536 tensors"},
      {"archive appended",
       file_bytes(layout({"0-4", "4"}), 4) + "PK\x05\x06" + std::string(18, '\0'),
       "22 unexpected bytes after the last tensor"},
      {"empty name", with_name(""), "is empty"},
      {"10 MB name", with_name(repeated("n", 10000000)), "is longer than 65536 bytes"},
      {"long name", with_name(std::string(1025, 'n')), "is longer than 1024 bytes"},
      {"long name of wide characters", with_name(repeated("무", 1000)),
       "무...' is longer than 1024 bytes"},
  };
}

std::vector<HostileFile> heavy_json() {
  const std::string arrays = "{\"t\":[[]" + repeated(",[]", 1000000);
  const std::string members = "{\"__metadata__\":{\"k\":\"\"" + joined(100000, [&](int i) {
                                return ",\"" + std::to_string(i) + "\":\"\"";
                              });
  return {{"a million empty arrays", file_bytes(arrays + "]}", 0), "too many JSON values"},
          {"100,000 metadata", file_bytes(members + "}}", 0), "too many JSON values"}};
}

}  // namespace

std::vector<HostileFile> hostile_safetensors() {
  std::vector<HostileFile> files;
  for (auto& group : {bad_lengths(), listed_files(), large_values(), heavy_json()}) {
    files.insert(files.end(), group.begin(), group.end());
  }
  return files;
}

}  // namespace headlight::test
