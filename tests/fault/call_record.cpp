#include "fault/call_record.h"

#include <array>
#include <cstring>
#include <optional>

namespace headlight::fault {
namespace {

template <class Number>
void append_number(std::string& bytes, Number number) {
  std::array<char, sizeof(Number)> raw{};
  std::memcpy(raw.data(), &number, sizeof number);
  bytes.append(raw.data(), raw.size());
}

void append_text(std::string& bytes, const std::string& text) {
  append_number(bytes, static_cast<std::uint64_t>(text.size()));
  bytes += text;
}

class Reader {
 public:
  explicit Reader(const std::string& bytes) : bytes_(bytes) {}

  // Reads a number. Returns false at the end of the bytes.
  template <class Number>
  bool number(Number& result) {
    if (bytes_.size() - at_ < sizeof result) {
      return false;
    }
    std::memcpy(&result, bytes_.data() + at_, sizeof result);
    at_ += sizeof result;
    return true;
  }

  bool text(std::string& result) {
    std::uint64_t size = 0;
    if (!number(size) || bytes_.size() - at_ < size) {
      return false;
    }
    result = bytes_.substr(at_, size);
    at_ += size;
    return true;
  }

 private:
  const std::string& bytes_;
  std::size_t at_ = 0;
};

}  // namespace

const char* operation_name(Operation operation) {
  constexpr std::array<const char*, kOperations> kNames{
      "open",   "create", "read",        "write",       "truncate", "sync", "close",
      "rename", "unlink", "make folder", "drop folder", "link",     "lock"};
  return kNames[static_cast<std::size_t>(operation)];
}

std::string to_bytes(const CallRecord& record) {
  std::string bytes;
  append_number(bytes, record.operation);
  append_number(bytes, record.file);
  append_number(bytes, record.offset);
  append_text(bytes, record.path);
  append_text(bytes, record.other);
  append_text(bytes, record.data);
  return bytes;
}

std::vector<CallRecord> parse_records(const std::string& bytes) {
  std::vector<CallRecord> records;
  Reader reader(bytes);
  CallRecord record;
  while (reader.number(record.operation) && reader.number(record.file) &&
         reader.number(record.offset) && reader.text(record.path) && reader.text(record.other) &&
         reader.text(record.data)) {
    records.push_back(record);
  }
  return records;
}

}  // namespace headlight::fault
