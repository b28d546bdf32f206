#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "files/line_log.h"
#include "headlight/train/run.h"

namespace headlight {

// A file of a run's own directory that an observer of the run appends to: JSON objects, one a line,
// each with the "iteration" after which it was written. Lines of updates that are made again go.
class RunLines {
 public:
  // `warn` gets a line when the file cannot be written and on_save_error lets training go on.
  // Throws SaveError when it cannot be opened; so does append(), if on_save_error is stop.
  RunLines(const RunPlan& plan, std::string_view file,
           const std::function<void(const std::string&)>& warn);

  // Without the end of the line.
  void append(const std::string& line) { lines_->append(line); }
  // Drops what was written after so many updates. Throws SaveError.
  void roll_back(Index iteration);
  void flush() const { lines_->flush(); }

  // Removes the file of a run that was killed before its first checkpoint and is begun again,
  // when nobody writes one now.
  static void forget_killed_run(const RunPlan& plan, std::string_view file);

 private:
  std::optional<LineLog> lines_;
};

}  // namespace headlight
