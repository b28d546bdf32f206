#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "headlight/runs/run.h"
#include "storage/line_log.h"

namespace headlight {

// A file in the run directory to which an observer appends JSON objects, one a line. Each has the
// "iteration" after which it was written. Lines of repeated steps are removed.
class RunLines {
 public:
  // Reports to `warn` when the file cannot be written and on_save_error is continue. Throws
  // SaveError when it cannot be opened. append() throws SaveError if on_save_error is stop.
  RunLines(const RunPlan& plan, std::string_view file,
           const std::function<void(const std::string&)>& warn);

  // `line` has no line end.
  void append(const std::string& line) { lines_->append(line); }
  // Drops the lines written after step `iteration`, which the run repeats. Throws SaveError.
  void roll_back(Index iteration);
  void flush() const { lines_->flush(); }

  // Removes the old file of a run that starts over because it was killed before its first
  // checkpoint. For runs in which no observer writes this file.
  static void forget_killed_run(const RunPlan& plan, std::string_view file);

 private:
  std::optional<LineLog> lines_;
};

}  // namespace headlight
