#include "train/run_saver.h"

#include "text/printable.h"
#include "train/checkpoint_list.h"

namespace headlight {

void RunSaver::save(const CheckpointParts& parts, bool best) {
  wait();
  bytes_ = checkpoint_bytes(parts.model, parts.optimizer);
  options_.checkpoints.replace = options_.last_saved == parts.state.iteration;
  begun_ = parts.state.iteration;
  std::erase(options_.checkpoints.passed_over, begun_);  // now it is a good one
  options_.checkpoints.best = best;
  writer_.begin(parts, options_.checkpoints, options_.flush);
}

void RunSaver::look() {
  collect([&] { return writer_.collect_finished(); });
}

void RunSaver::wait() {
  collect([&] { return writer_.wait(); });
}

void RunSaver::on_failure(const Error& error) const {
  if (options_.stops_on_error) {
    throw SaveError(error.what());
  }
  options_.warn(error.what());
}

template <class Collect>
void RunSaver::collect(const Collect& collect) {
  const Index begun = begun_;
  try {
    const std::optional<std::filesystem::path> path = collect();
    if (path) {
      options_.last_saved = begun;
      begun_ = -1;
      options_.saved(*path);
    }
  } catch (const Error& error) {
    begun_ = -1;
    const std::string last = options_.last_saved < 0
                                 ? "; there is no complete checkpoint yet"
                                 : "; the last complete one is " +
                                       shown(options_.run / checkpoint_name(options_.last_saved));
    on_failure(Error(concat_text("cannot save ", shown(options_.run / checkpoint_name(begun)),
                                 ", which takes ", bytes_, " bytes: ", error.what(), last)));
  }
}

}  // namespace headlight
