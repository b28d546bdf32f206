#include "train/run_saver.h"

#include <utility>

#include "base/printable.h"

namespace headlight {

namespace fs = std::filesystem;

void RunSaver::save(const CheckpointParts& parts, bool best) {
  wait();
  bytes_ = checkpoint_bytes(parts.model, parts.optimizer);
  begun_ = parts.state.iteration;
  std::erase(options_.prune.passed_over, begun_);  // now it is a good one
  const bool is_saved = options_.last_saved == begun_;
  attempt([&] {
    writer_.begin(parts, {.checkpoint = {.best = best, .replace = is_saved},
                          .prune = options_.prune,
                          .first = options_.flush});
  });
}

void RunSaver::look() {
  attempt([&] { tell(writer_.collect_finished()); });
}

void RunSaver::wait() {
  attempt([&] { tell(writer_.wait()); });
}

void RunSaver::tell(const std::optional<WrittenCheckpoint>& written) {
  if (!written) {
    return;
  }
  options_.last_saved = std::exchange(begun_, -1);
  options_.saved(written->path);
  if (!written->complaint.empty()) {
    options_.warn(written->complaint);
  }
}

void RunSaver::on_failure(const Error& error) const {
  if (options_.stops_on_error) {
    throw SaveError(error.what());
  }
  options_.warn(error.what());
}

template <class Work>
void RunSaver::attempt(const Work& work) {
  const Index begun = begun_;
  try {
    work();
  } catch (const Error& error) {
    begun_ = -1;
    const fs::path path = options_.run / checkpoint_name(begun);
    const std::string last = options_.last_saved < 0
                                 ? "; there is no complete checkpoint yet"
                                 : "; the last complete one is " +
                                       shown(options_.run / checkpoint_name(options_.last_saved));
    on_failure(Error(concat_text("cannot save ", shown(path), ", which takes ", bytes_,
                                 " bytes: ", error.what(), last)));
  }
}

}  // namespace headlight
