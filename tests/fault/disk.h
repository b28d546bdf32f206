#pragma once

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "fault/call_record.h"
#include "fault/snapshot.h"

namespace headlight::fault {

// Share of the unflushed changes that reach the disk before the power fails.
struct PowerLoss {
  enum class Share {
    none,
    all,
    cut,     // data: all writes to each file, half of the last one
    zeros,   // data: all sizes, with zeros for the bytes
    random,  // each change with a probability of 1/2
  };
  Share names = Share::none;  // entries of folders: none, all or random
  Share data = Share::none;   // contents of files
  unsigned seed = 0;
};

// Model of a file system with the guarantees of POSIX only. The content of a file is safe after
// fsync of the file, a name after fsync of its folder. Other changes arrive in any order or never.
// A rename is atomic.
class Disk {
 public:
  // `safe`: initial safe content. `root`: absolute path above all paths of records.
  Disk(std::string root, const Snapshot& safe);

  void apply(const CallRecord& record);
  // Content of the disk after a power failure now.
  Snapshot after(const PowerLoss& loss) const;
  // Target of a symlink as programs see it now; "" without one. `path` is relative to the root.
  std::string link_target(const std::string& path) const;

 private:
  struct Node;
  using NodePointer = std::shared_ptr<Node>;
  struct NameChange {
    std::string name;
    NodePointer node;  // null: removed
    int transaction = 0;
  };
  struct DataChange {
    std::int64_t offset = 0;
    std::string bytes;
    bool truncates = false;
  };
  struct Node {
    std::filesystem::file_type type = std::filesystem::file_type::regular;
    std::string safe_content;  // content of a file, target of a symlink
    std::vector<DataChange> data_changes;
    std::map<std::string, NodePointer> safe_entries;
    std::map<std::string, NodePointer> entries;  // as seen by programs
    std::vector<NameChange> name_changes;
  };
  class Survivors;

  NodePointer make_node(std::filesystem::file_type type, std::string content = {}) const;
  NodePointer find(const std::string& path) const;
  // Folder of a path, and the name in it.
  std::pair<NodePointer, std::string> place(const std::string& path) const;
  void set_name(const std::string& path, NodePointer node);
  void move_name(const CallRecord& record);
  void flush(Node& node);
  static void change(std::string& content, const DataChange& change);
  std::string relative(const std::string& path) const;

  std::string root_path_;
  NodePointer root_;
  std::map<std::int32_t, NodePointer> open_;
  int transactions_ = 0;
};

}  // namespace headlight::fault
