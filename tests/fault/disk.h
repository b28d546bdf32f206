#pragma once

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "fault/call_record.h"
#include "fault/snapshot.h"

namespace headlight::fault {

// Which of the changes that nobody flushed have reached the disk when the power fails.
struct PowerLoss {
  enum class Share {
    none,
    all,
    cut,     // data: of every file all but the last write, of that one half
    zeros,   // data: the sizes, but zeros in place of the bytes
    random,  // each change by the toss of a coin
  };
  Share names = Share::none;  // entries of folders: none, all or random
  Share data = Share::none;   // contents of files
  unsigned seed = 0;
};

// A file system that promises no more than POSIX: the content of a file is safe after fsync of the
// file, a name after fsync of its folder, and changes that are not yet safe may arrive in any
// order or not at all. A rename happens as a whole or not.
class Disk {
 public:
  // What is safe at the beginning. Paths of records are below `root`, an absolute path.
  Disk(std::string root, const Snapshot& safe);

  void apply(const CallRecord& record);
  // What is found after the power failed now.
  Snapshot after(const PowerLoss& loss) const;
  // Where a symlink leads as programs see it now; empty: there is none. `path` relative to the
  // root.
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
    std::string safe_content;  // of a file; where a symlink leads
    std::vector<DataChange> data_changes;
    std::map<std::string, NodePointer> safe_entries;
    std::map<std::string, NodePointer> entries;  // as programs see them
    std::vector<NameChange> name_changes;
  };
  class Survivors;

  NodePointer make_node(std::filesystem::file_type type, std::string content = {}) const;
  NodePointer find(const std::string& path) const;
  // The folder of a path and the name in it.
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
