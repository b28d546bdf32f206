#include "fault/training_case.h"

#include <chrono>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "support/programs/launcher.h"

namespace headlight::fault {
namespace {

namespace fs = std::filesystem;
using test::launched;
using test::launcher_environment;

std::string small_text() {
  return test::joined(30, [](int i) {
    return "The cat " + std::to_string(i) + " sat on the mat. Mina has a red kite.\n";
  });
}

// Number after "step_" behind the last `words`, or -1.
long number_after(const std::string& text, const std::string& words) {
  const std::size_t line = text.rfind(words);
  const std::size_t step = line == std::string::npos ? line : text.find("step_", line);
  return step == std::string::npos ? -1 : std::atol(text.c_str() + step + 5);
}
}  // namespace

long last_saved(const std::string& messages) { return number_after(messages, "\nsaved "); }

std::string bad_manners(const Ending& ending) {
  constexpr int kHighestCode = 4;  // 1 memory, 2 input, 3 saving, 4 lock
  const bool known = !ending.hung && ending.code >= 0 && ending.code <= kHighestCode;
  const std::size_t lines = ending.code == 0 ? 0 : 1;
  return known && ending.errors().size() == lines ? "" : ending.summary();
}

TrainingCase::TrainingCase(const CaseOptions& options)
    : options_(options), root_(folder_.path() / "disk") {
  fs::create_directory(root_);
  folder_.write("disk/data.txt", small_text());
  const auto begin = std::chrono::steady_clock::now();
  const Ending ending = train(false);
  control_seconds_ =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (ending.code != 0 || last_saved(ending.err) != options.updates) {
    throw std::runtime_error("the undisturbed run fails: " + ending.err);
  }
  control_ = without_times(take_snapshot(run()));
  reset();
}

std::vector<std::string> TrainingCase::command(bool resume) const {
  const std::string updates = std::to_string(options_.updates);
  std::istringstream words(
      "train --threads 1 --n_layer 1 --n_head 1 --n_embd 8 --block_size 8 "
      "--batch_size 2 --dropout 0.1 --warmup_iters 2 --save_interval 1 "
      "--eval_interval 2 --eval_iters 1 --track_heads 2 --learning_rate 0.01 --max_iters " +
      updates + " --lr_decay_iters " + updates);
  std::vector<std::string> all{std::istream_iterator<std::string>(words), {}};
  all.insert(all.end(), {"--data", (root_ / "data.txt").string(), "--out_dir", run().string()});
  all.insert(all.end(), options_.more.begin(), options_.more.end());
  if (resume) {
    all.emplace_back("--resume");
  }
  const std::vector<std::string> program = launched(HEADLIGHT_PROGRAM, processes_);
  all.insert(all.begin(), program.begin(), program.end());
  return all;
}

void TrainingCase::reset() const {
  fs::remove_all(run());
  if (!base_.empty()) {
    restore_snapshot(run(), base_);
  }
}

Process TrainingCase::start(bool resume, const Environment& environment,
                            const fs::path& output) const {
  Environment all{{"OMP_NUM_THREADS", "1"}};
  all.insert(launcher_environment().begin(), launcher_environment().end());
  all.insert(environment.begin(), environment.end());
  return {command(resume), all, output.empty() ? folder_.path() : output};
}

Ending TrainingCase::train(bool resume, const Environment& environment) const {
  return start(resume, environment).wait();
}

std::string TrainingCase::difference() const {
  std::string text;
  for (const std::string& line : differences(control_, without_times(take_snapshot(run())))) {
    text += (text.empty() ? "" : ", ") + line;
  }
  return text;
}

std::string TrainingCase::recover(long saved) {
  Ending ending = train(true);
  resumed_from_ = number_after(ending.err, "resuming from ");
  if (ending.code == 2 && bad_manners(ending).empty() && saved < 0) {
    ending = train(false);
  }
  if (ending.code != 0 || ending.hung) {
    return "it cannot go on: " + ending.summary();
  }
  if (resumed_from_ < saved) {
    return "update " + std::to_string(saved) + " was saved, it resumed from " +
           std::to_string(resumed_from_);
  }
  const std::string different = difference();
  return different.empty() ? "" : "it ends differently: " + different;
}
}  // namespace headlight::fault
