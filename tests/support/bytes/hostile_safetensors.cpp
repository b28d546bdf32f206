#include "support/bytes/hostile_files.h"

#include <cstdint>
#include <utility>

namespace headlight::test {
namespace {

std::string little_endian(std::uint64_t value) {
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[i] = static_cast<char>((value >> (8 * i)) & 0xFF);
  }
  return bytes;
}

std::string file_bytes(const std::string& header, std::size_t data_bytes) {
  return little_endian(header.size()) + header + std::string(data_bytes, '\0');
}

// File with one tensor "t", described by three JSON values.
std::string entry_bytes(const std::string& dtype, const std::string& shape,
                        const std::string& offsets, std::size_t data_bytes) {
  return file_bytes(
      "{\"t\":{\"dtype\":" + dtype + ",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}}",
      data_bytes);
}

// File with U8 tensors named a, b, c ... at these [begin, end) ranges.
std::string layout_bytes(const std::vector<std::pair<int, int>>& parts, std::size_t data_bytes) {
  std::string header = "{";
  char name = 'a';
  for (const auto& [begin, end] : parts) {
    header += header.size() > 1 ? "," : "";
    header += std::string("\"") + name++ + "\":{\"dtype\":\"U8\",\"shape\":[" +
              std::to_string(end - begin) + "],\"data_offsets\":[" + std::to_string(begin) + "," +
              std::to_string(end) + "]}";
  }
  return file_bytes(header + "}", data_bytes);
}

const std::string kEntry = R"({"dtype":"U8","shape":[1],"data_offsets":[0,1]})";

std::vector<HostileFile> bad_lengths() {
  std::vector<HostileFile> files;
  for (std::size_t length = 0; length < 8; ++length) {
    files.push_back({"file of " + std::to_string(length), std::string(length, '\0'), "too few"});
  }
  const std::string rest = "{}      ";
  files.push_back({"length only", std::string(8, '\0'), "does not start with '{'"});
  files.push_back({"length 0", little_endian(0) + rest, "does not start with '{'"});
  files.push_back({"length 1", little_endian(1) + rest, "invalid JSON"});
  files.push_back(
      {"length beyond the file", little_endian(9) + rest, "header of 9 bytes, but the file has"});
  files.push_back(
      {"length 2^63", little_endian(std::uint64_t{1} << 63) + rest, "at most 16777216"});
  files.push_back({"length 2^63-1", little_endian(~std::uint64_t{0} >> 1) + rest, "at most"});
  files.push_back({"length 2^64-1", little_endian(~std::uint64_t{0}) + rest, "at most"});
  files.push_back({"length 2^64-8", little_endian(~std::uint64_t{7}) + rest, "at most"});
  files.push_back({"length 100,000,001", little_endian(100000001) + rest, "at most"});
  files.push_back({"length 16 MiB + 1", little_endian(16777217) + "{" + std::string(16777216, ' '),
                   "header of 16777217 bytes, at most 16777216"});
  return files;
}

std::vector<HostileFile> bad_json() {
  return {
      {"starts with a blank", file_bytes(" {}", 0), "does not start with '{'"},
      {"byte order mark", file_bytes("\xEF\xBB\xBF{}", 0), "does not start with '{'"},
      {"array", file_bytes("[]", 0), "does not start with '{'"},
      {"binary", file_bytes("{\x01\x02\xFF", 0), "header: invalid JSON at byte 1"},
      {"cut", file_bytes("{\"t\":", 0), "invalid JSON"},
      {"invalid UTF-8 in a name", file_bytes("{\"\xC3\x28\":" + kEntry + "}", 1), "invalid JSON"},
      {"overlong UTF-8", file_bytes("{\"\xC0\xAE\":" + kEntry + "}", 1), "invalid JSON"},
      {"lone surrogate", file_bytes("{\"\\ud800\":" + kEntry + "}", 1), "invalid JSON"},
      {"garbage behind the object", file_bytes("{} x", 0), "invalid JSON"},
      {"zero padding", file_bytes(std::string("{}\0\0", 4), 0), "zero byte"},
      {"second object", file_bytes("{}{}", 0), "invalid JSON"},
      {"deep arrays", file_bytes("{\"t\":" + std::string(100000, '['), 0), "nested deeper than 64"},
      {"deep objects",
       [] {
         std::string text;
         for (int i = 0; i < 100000; ++i) {
           text += "{\"t\":";
         }
         return file_bytes(text, 0);
       }(),
       "nested deeper than 64"},
      {"duplicate name", file_bytes("{\"t\":" + kEntry + ",\"t\":" + kEntry + "}", 1),
       "duplicate key 't'"},
      {"duplicate name, escaped",
       file_bytes("{\"t\":" + kEntry + ",\"\\u0074\":" + kEntry + "}", 1), "duplicate key 't'"},
      {"duplicate metadata", file_bytes(R"({"__metadata__":{},"__metadata__":{}})", 0),
       "duplicate key '__metadata__'"},
      {"duplicate metadata key", file_bytes(R"({"__metadata__":{"a":"1","a":"2"}})", 0),
       "duplicate key 'a' in '__metadata__'"},
      {"duplicate dtype",
       file_bytes(R"({"t":{"dtype":"U8","dtype":"F32","shape":[1],"data_offsets":[0,1]}})", 1),
       "duplicate key 'dtype' in 't'"},
      {"duplicate shape",
       file_bytes(R"({"t":{"dtype":"U8","shape":[1],"shape":[1],"data_offsets":[0,1]}})", 1),
       "duplicate key 'shape' in 't'"},
      {"metadata is a list", file_bytes(R"({"__metadata__":[]})", 0), "is not an object"},
      {"metadata holds a number", file_bytes(R"({"__metadata__":{"a":1}})", 0),
       "__metadata__ 'a' is not a string"},
      {"metadata holds an object", file_bytes(R"({"__metadata__":{"a":{}}})", 0),
       "is not a string"},
      {"entry is a number", file_bytes(R"({"t":1})", 0), "expected exactly dtype, shape"},
      {"entry is empty", file_bytes(R"({"t":{}})", 0), "expected exactly dtype, shape"},
      {"no offsets", file_bytes(R"({"t":{"dtype":"U8","shape":[1]}})", 1), "expected exactly"},
      {"unknown key",
       file_bytes(R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"strides":[1]}})", 1),
       "expected exactly"},
  };
}

std::vector<HostileFile> bad_entries() {
  const std::string many_axes = "[1" + [] {
    std::string text;
    for (int i = 1; i < 60000; ++i) {
      text += ",1";
    }
    return text;
  }() + "]";
  const std::string u8 = "\"U8\"";
  return {
      {"unknown dtype", entry_bytes("\"F31\"", "[1]", "[0,4]", 4), "dtype 'F31' is not supported"},
      {"lower case dtype", entry_bytes("\"f32\"", "[1]", "[0,4]", 4), "is not supported"},
      {"8-bit float", entry_bytes("\"F8_E4M3\"", "[1]", "[0,1]", 1), "is not supported"},
      {"4-bit float", entry_bytes("\"F4\"", "[2]", "[0,1]", 1), "is not supported"},
      {"complex", entry_bytes("\"C64\"", "[1]", "[0,8]", 8), "is not supported"},
      {"numeric dtype", entry_bytes("1", "[1]", "[0,1]", 1), "dtype is not a string"},
      {"null dtype", entry_bytes("null", "[1]", "[0,1]", 1), "dtype is not a string"},
      {"long dtype", entry_bytes("\"" + std::string(1000000, 'F') + "\"", "[1]", "[0,1]", 1),
       "is not supported"},
      {"shape is a number", entry_bytes(u8, "1", "[0,1]", 1), "shape is not an array"},
      {"shape is an object", entry_bytes(u8, "{\"0\":1}", "[0,1]", 1), "shape is not an array"},
      {"negative size", entry_bytes(u8, "[-1]", "[0,1]", 1), "integer from 0"},
      {"negative zero", entry_bytes(u8, "[-0]", "[0,0]", 0), "integer from 0"},
      {"float size", entry_bytes(u8, "[1.0]", "[0,1]", 1), "integer from 0"},
      {"string size", entry_bytes(u8, "[\"1\"]", "[0,1]", 1), "integer from 0"},
      {"boolean size", entry_bytes(u8, "[true]", "[0,1]", 1), "integer from 0"},
      {"nested shape", entry_bytes(u8, "[[1]]", "[0,1]", 1), "integer from 0"},
      {"size 1e30", entry_bytes(u8, "[1e30]", "[0,1]", 1), "integer from 0"},
      {"size 1e400", entry_bytes(u8, "[1e400]", "[0,1]", 1), "invalid JSON"},
      {"size 2^64", entry_bytes(u8, "[18446744073709551616]", "[0,1]", 1), "integer from 0"},
      {"size 2^64-1", entry_bytes(u8, "[18446744073709551615]", "[0,1]", 1), "integer from 0"},
      {"size 2^63", entry_bytes(u8, "[9223372036854775808]", "[0,1]", 1), "integer from 0"},
      {"size 2^40+1", entry_bytes(u8, "[1099511627777]", "[0,1]", 1), "integer from 0"},
      {"2^32 x 2^32", entry_bytes(u8, "[4294967296,4294967296]", "[0,0]", 0), "overflows"},
      {"2^32 x 2^31 doubles", entry_bytes("\"F64\"", "[4294967296,2147483648]", "[0,0]", 0),
       "overflows"},
      {"zero before huge sizes", entry_bytes(u8, "[0,1099511627776,1099511627776]", "[0,0]", 0),
       "overflows"},
      {"zero behind huge sizes", entry_bytes(u8, "[1099511627776,1099511627776,0]", "[0,0]", 0),
       "overflows"},
      {"9 axes", entry_bytes(u8, "[1,1,1,1,1,1,1,1,1]", "[0,1]", 1), "9 axes, at most 8"},
      {"60000 axes", entry_bytes(u8, many_axes, "[0,1]", 1), "60000 axes, at most 8"},
      {"100000 axes", entry_bytes(u8, "[1" + many_axes.substr(1) + many_axes, "[0,1]", 1), "t"},
      {"offsets missing one", entry_bytes(u8, "[1]", "[0]", 1), "not an array of two"},
      {"three offsets", entry_bytes(u8, "[1]", "[0,1,1]", 1), "not an array of two"},
      {"offsets are an object", entry_bytes(u8, "[1]", R"({"0":0,"1":1})", 1),
       "not an array of two"},
      {"float offsets", entry_bytes(u8, "[1]", "[0.0,1.0]", 1), "data_offsets contains something"},
      {"string offsets", entry_bytes(u8, "[1]", "[\"0\",\"1\"]", 1),
       "data_offsets contains something"},
      {"negative offset", entry_bytes(u8, "[1]", "[-1,0]", 1), "data_offsets contains something"},
      {"offset 2^64-1", entry_bytes(u8, "[1]", "[0,18446744073709551615]", 1),
       "data_offsets contains something"},
      {"offsets near 2^62", entry_bytes(u8, "[1]", "[4611686018427387903,4611686018427387904]", 1),
       "data starts at byte 4611686018427387903, expected 0"},
      {"reversed offsets", entry_bytes(u8, "[1]", "[1,0]", 1), "[1, 0] are reversed"},
      {"too few bytes", entry_bytes("\"F32\"", "[2]", "[0,4]", 4),
       "tensor 't': F32 [2] takes 8 bytes, data_offsets [0, 4] hold 4"},
      {"too many bytes", entry_bytes("\"F32\"", "[2]", "[0,12]", 12), "takes 8 bytes"},
      {"scalar without bytes", entry_bytes("\"F32\"", "[]", "[0,0]", 0), "takes 4 bytes"},
      {"empty with bytes", entry_bytes("\"F32\"", "[0]", "[0,4]", 4), "takes 0 bytes"},
      {"a terabyte in an empty file", entry_bytes(u8, "[1099511627776]", "[0,1099511627776]", 0),
       "data ends at byte"},
  };
}

std::vector<HostileFile> bad_offsets() {
  std::vector<HostileFile> files{
      {"hole before the first", layout_bytes({{1, 2}}, 2), "tensor 'a': data starts at byte 1"},
      {"hole between", layout_bytes({{0, 2}, {3, 4}}, 4), "tensor 'b': data starts at byte 3"},
      {"overlap", layout_bytes({{0, 3}, {2, 4}}, 4), "tensor 'b': data starts at byte 2"},
      {"shared", layout_bytes({{0, 4}, {0, 4}}, 4), "tensor 'b': data starts at byte 0"},
      {"inside another", layout_bytes({{0, 4}, {1, 2}}, 4), "data starts at byte 1"},
      {"empty inside another", layout_bytes({{0, 4}, {2, 2}}, 4), "data starts at byte 2"},
      {"empty behind a hole", layout_bytes({{0, 4}, {5, 5}}, 5), "data starts at byte 5"},
      {"beyond the file", layout_bytes({{0, 5}}, 4), "data ends at byte"},
      {"no data at all", layout_bytes({{0, 5}}, 0), "data ends at byte"},
      {"one byte left over", layout_bytes({{0, 4}}, 5), "1 unexpected bytes after the last tensor"},
      {"archive appended", layout_bytes({{0, 4}}, 4) + "PK\x05\x06" + std::string(18, '\0'),
       "22 unexpected bytes after the last tensor"},
      {"data without tensors", file_bytes("{}", 8), "8 unexpected bytes after the last tensor"},
  };
  std::string many = "{\"t0\":" + std::string(R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})");
  for (int i = 1; i <= 65536; ++i) {
    many += ",\"t" + std::to_string(i) + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  }
  files.push_back({"65537 tensors", file_bytes(many + "}", 0), "more than 65536 tensors"});
  return files;
}

std::vector<HostileFile> bad_names() {
  const auto named = [](const std::string& name) {
    return file_bytes("{\"" + name + "\":" + kEntry + "}", 1);
  };
  return {
      {"empty name", named(""), "is empty"},
      {"zero byte", named("a\\u0000b"), "tensor name 'a\\x00b' contains a control character"},
      {"line break", named("a\\nb"), "tensor name 'a\\x0ab' contains a control character"},
      {"terminal escape", named("\\u001b[2J"), "'\\x1b[2J' contains a control character"},
      {"parent folder", named("../../etc/passwd"), "is not usable as a file name"},
      {"absolute path", named("/etc/passwd"), "is not usable as a file name"},
      {"10 MB name", named(std::string(10000000, 'n')), "is longer than 65536 bytes"},
      {"long name", named(std::string(1025, 'n')), "is longer than 1024 bytes"},
      {"long name of wide characters", named([] {
         std::string text;
         for (int i = 0; i < 1000; ++i) {
           text += "무";
         }
         return text;
       }()),
       "무...' is longer than 1024 bytes"},
  };
}

std::vector<HostileFile> heavy_json() {
  std::string arrays = "{\"t\":[[]";
  for (int i = 0; i < 1000000; ++i) {
    arrays += ",[]";
  }
  std::string members = "{\"__metadata__\":{\"k\":\"\"";
  for (int i = 0; i < 100000; ++i) {
    members += ",\"" + std::to_string(i) + "\":\"\"";
  }
  return {{"a million empty arrays", file_bytes(arrays + "]}", 0), "too many JSON values"},
          {"100,000 metadata", file_bytes(members + "}}", 0), "too many JSON values"}};
}

}  // namespace

std::vector<HostileFile> hostile_safetensors() {
  std::vector<HostileFile> files;
  for (auto& group :
       {bad_lengths(), bad_json(), bad_entries(), bad_offsets(), bad_names(), heavy_json()}) {
    files.insert(files.end(), group.begin(), group.end());
  }
  return files;
}

}  // namespace headlight::test
