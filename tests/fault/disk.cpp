#include "fault/disk.h"

#include <algorithm>
#include <stdexcept>

namespace headlight::fault {

using std::filesystem::file_type;

// Chooses the pending changes that survive a power failure.
class Disk::Survivors {
 public:
  explicit Survivors(const PowerLoss& loss) : loss_(loss), random_(loss.seed) {}

  void collect(const Node& folder, const std::string& prefix, Snapshot& found) {
    for (const auto& [name, node] : entries_of(folder)) {
      const bool is_file = node->type == file_type::regular;
      found[prefix + name] = {node->type, is_file ? content_of(*node) : node->safe_content};
      if (node->type == file_type::directory) {
        collect(*node, prefix + name + "/", found);
      }
    }
  }

 private:
  std::map<std::string, NodePointer> entries_of(const Node& folder) {
    std::map<std::string, NodePointer> entries = folder.safe_entries;
    for (const NameChange& change : folder.name_changes) {
      if (!name_survives(change.transaction)) {
        continue;
      }
      if (change.node == nullptr) {
        entries.erase(change.name);
      } else {
        entries[change.name] = change.node;
      }
    }
    return entries;
  }

  // Both changes of a rename have one transaction number, so both survive or neither.
  bool name_survives(int transaction) {
    if (loss_.names != PowerLoss::Share::random) {
      return loss_.names == PowerLoss::Share::all;
    }
    if (tossed_.count(transaction) == 0) {
      tossed_[transaction] = toss();
    }
    return tossed_.at(transaction);
  }

  std::string content_of(const Node& file) {
    std::string content = file.safe_content;
    for (const DataChange& change : file.data_changes) {
      const bool last = &change == &file.data_changes.back();
      DataChange survivor = change;
      if (loss_.data == PowerLoss::Share::none ||
          (loss_.data == PowerLoss::Share::random && toss())) {
        continue;
      }
      if (loss_.data == PowerLoss::Share::cut && last) {
        survivor.bytes.resize(survivor.bytes.size() / 2);
      } else if (loss_.data == PowerLoss::Share::zeros) {
        survivor.bytes.assign(survivor.bytes.size(), '\0');
      }
      Disk::change(content, survivor);
    }
    return content;
  }

  bool toss() { return (random_() & 1U) != 0; }

  const PowerLoss& loss_;
  std::mt19937 random_;
  std::map<int, bool> tossed_;
};

Disk::Disk(std::string root, const Snapshot& safe)
    : root_path_(std::move(root)), root_(make_node(file_type::directory)) {
  for (const auto& [name, entry] : safe) {
    const auto [folder, last] = place(root_path_ + "/" + name);
    folder->entries[last] = make_node(entry.type, entry.content);
    folder->safe_entries = folder->entries;
  }
}

Disk::NodePointer Disk::make_node(file_type type, std::string content) const {
  auto node = std::make_shared<Node>();
  node->type = type;
  node->safe_content = std::move(content);
  return node;
}

std::string Disk::relative(const std::string& path) const {
  return path.size() > root_path_.size() ? path.substr(root_path_.size() + 1) : "";
}

Disk::NodePointer Disk::find(const std::string& path) const {
  NodePointer node = root_;
  for (const auto& part : std::filesystem::path(relative(path))) {
    const auto next = node->entries.find(part.string());
    if (next == node->entries.end()) {
      throw std::runtime_error("a record names " + path + ", which does not exist");
    }
    node = next->second;
  }
  return node;
}

std::pair<Disk::NodePointer, std::string> Disk::place(const std::string& path) const {
  const std::filesystem::path whole(path);
  return {find(whole.parent_path().string()), whole.filename().string()};
}

void Disk::set_name(const std::string& path, NodePointer node) {
  const auto [folder, name] = place(path);
  if (node == nullptr) {
    folder->entries.erase(name);
  } else {
    folder->entries[name] = node;
  }
  folder->name_changes.push_back({name, std::move(node), ++transactions_});
}

void Disk::move_name(const CallRecord& record) {
  const auto [from, old_name] = place(record.path);
  const NodePointer node = from->entries.at(old_name);
  set_name(record.path, nullptr);
  set_name(record.other, node);
  place(record.other).first->name_changes.back().transaction = transactions_ - 1;
}

void Disk::change(std::string& content, const DataChange& change) {
  if (change.truncates) {
    content.resize(static_cast<std::size_t>(change.offset), '\0');
    return;
  }
  const auto begin = static_cast<std::size_t>(change.offset);
  content.resize(std::max(content.size(), begin + change.bytes.size()), '\0');
  std::copy(change.bytes.begin(), change.bytes.end(),
            content.begin() + static_cast<std::ptrdiff_t>(begin));
}

void Disk::flush(Node& node) {
  for (const DataChange& pending : node.data_changes) {
    change(node.safe_content, pending);
  }
  node.data_changes.clear();
  node.safe_entries = node.entries;
  node.name_changes.clear();
}

void Disk::apply(const CallRecord& record) {
  switch (record.operation) {
    case Operation::create:
      set_name(record.path, make_node(file_type::regular));
      open_[record.file] = find(record.path);
      break;
    case Operation::open:
      open_[record.file] = find(record.path);
      break;
    case Operation::write:
      open_.at(record.file)->data_changes.push_back({record.offset, record.data, false});
      break;
    case Operation::truncate:
      open_.at(record.file)->data_changes.push_back({record.offset, "", true});
      break;
    case Operation::sync:
      flush(*open_.at(record.file));
      break;
    case Operation::rename:
      move_name(record);
      break;
    case Operation::unlink:
    case Operation::drop_folder:
      set_name(record.path, nullptr);
      break;
    case Operation::make_folder:
      set_name(record.path, make_node(file_type::directory));
      break;
    case Operation::link:
      set_name(record.path, make_node(file_type::symlink, record.other));
      break;
    case Operation::read:
    case Operation::close:
    case Operation::lock:
      break;
  }
}

Snapshot Disk::after(const PowerLoss& loss) const {
  Snapshot found;
  Survivors(loss).collect(*root_, "", found);
  return found;
}

std::string Disk::link_target(const std::string& path) const {
  NodePointer node = root_;
  for (const auto& part : std::filesystem::path(path)) {
    const auto next = node->entries.find(part.string());
    if (next == node->entries.end()) {
      return "";
    }
    node = next->second;
  }
  return node->type == file_type::symlink ? node->safe_content : "";
}

}  // namespace headlight::fault
