#pragma once

#include <cstdint>
#include <string>
#include <vector>

// Records of the calls of a program. The injector writes them and the drivers read them.
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
  link,         // symlink: path points to other
  lock,         // flock, lockf, fcntl
};
constexpr int kOperations = 13;

const char* operation_name(Operation operation);

// Record of a successful call.
struct CallRecord {
  Operation operation = Operation::open;
  std::int32_t file = 0;    // number of the open() of the descriptor; 0: none
  std::int64_t offset = 0;  // bytes; write, truncate
  std::string path = {};    // absolute
  std::string other = {};
  std::string data = {};  // write: the bytes written
};

std::string to_bytes(const CallRecord& record);

// Records of a file. Leaves out a truncated record at its end.
std::vector<CallRecord> parse_records(const std::string& bytes);

}  // namespace headlight::fault
