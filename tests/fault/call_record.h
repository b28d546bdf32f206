#pragma once

#include <cstdint>
#include <string>
#include <vector>

// What the injector writes down about the calls of a program, and the drivers read.
namespace headlight::fault {

enum class Operation : std::uint8_t {
  open,         // an existing file or folder
  create,       // a new file
  read,         // read, pread
  write,        // write, writev, pwrite
  truncate,     // to `offset` bytes
  sync,         // fsync, fdatasync of a file or folder
  close,        //
  rename,       // path to other
  unlink,       // unlink, remove of a file
  make_folder,  // mkdir
  drop_folder,  // rmdir
  link,         // symlink: path leads to other
  lock,         // flock, lockf, fcntl
};
constexpr int kOperations = 13;

const char* operation_name(Operation operation);

// One call that has succeeded.
struct CallRecord {
  Operation operation = Operation::open;
  std::int32_t file = 0;    // number of the open() that gave the descriptor; 0: none
  std::int64_t offset = 0;  // bytes; write, truncate
  std::string path = {};    // absolute
  std::string other = {};
  std::string data = {};  // write: what arrived
};

std::string to_bytes(const CallRecord& record);

// All records of a file of them. A record at the end that was cut off is left out.
std::vector<CallRecord> parse_records(const std::string& bytes);

}  // namespace headlight::fault
