#include "headlight/storage/unfinished.h"

#include <set>

namespace headlight {
namespace {

// The unfinished files and folders of the process. A signal that ends it reaches no other object.
struct AllUnfinished {
  std::mutex mutex;
  std::set<const Unfinished*> paths;
};

AllUnfinished& all_unfinished() {
  static auto& all = *new AllUnfinished;  // lives until the process ends
  return all;
}

}  // namespace

Unfinished::Unfinished(std::filesystem::path path) : path_(std::move(path)) {
  AllUnfinished& all = all_unfinished();
  const std::lock_guard guard(all.mutex);
  all.paths.insert(this);
}

Unfinished::~Unfinished() {
  remove();
  AllUnfinished& all = all_unfinished();
  const std::lock_guard guard(all.mutex);
  all.paths.erase(this);
}

void Unfinished::remove() const {
  if (!is_kept_) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
}

void remove_unfinished() {
  std::unique_lock<std::mutex> held = hold_interruptions();
  for (const Unfinished* unfinished : all_unfinished().paths) {
    unfinished->remove();
  }
  held.release();
}

std::unique_lock<std::mutex> hold_interruptions() {
  return std::unique_lock(all_unfinished().mutex);
}

}  // namespace headlight
