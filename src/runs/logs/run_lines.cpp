#include "runs/logs/run_lines.h"

#include <filesystem>

#include "headlight/runs/checkpoint.h"

namespace headlight {
namespace {

LineLog::Keep times_until(Index last) {
  return [last](const std::string& line) {
    const Index iteration = iteration_of_line(line);
    return iteration >= 0 && iteration <= last;
  };
}

}  // namespace

RunLines::RunLines(const RunPlan& plan, std::string_view file,
                   const std::function<void(const std::string&)>& warn) {
  const bool stops = is_named(plan.config.on_save_error, OnSaveError::stop);
  const auto on_failure = [stops, warn](const Error& error) {
    if (stops) {
      throw SaveError(error.what());
    }
    warn(error.what());
  };
  constexpr Index kNone = -1;
  const Index last = plan.first_iteration > 0 ? plan.first_iteration : kNone;
  const std::filesystem::path run = plan.config.out_dir;
  saving([&] { lines_.emplace(run / file, times_until(last), on_failure); });
}

void RunLines::roll_back(Index iteration) {
  saving([&] { lines_->cut(times_until(iteration)); });
}

void RunLines::forget_killed_run(const RunPlan& plan, std::string_view file) {
  if (plan.first_iteration == 0) {
    std::error_code ignored;
    std::filesystem::remove(std::filesystem::path(plan.config.out_dir) / file, ignored);
  }
}

}  // namespace headlight
