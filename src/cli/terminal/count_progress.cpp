#include "cli/terminal/count_progress.h"

#include <algorithm>
#include <cstdio>

#include "cli/terminal/terminal.h"
#include "views/report/display.h"
#include "views/report/numbers.h"
#include "views/report/table.h"

namespace headlight::cli {
namespace {

constexpr double kRedrawSeconds = 0.1;
constexpr int kBarWidth = 24;

}  // namespace

CountProgress::CountProgress(std::string label)
    : label_(std::move(label)), terminal_(can_redraw(Stream::errors)) {}

CountProgress::~CountProgress() { clear(); }

void CountProgress::show(double share) {
  const double seconds = watch_.seconds();
  if (!terminal_ || seconds - drawn_at_ < kRedrawSeconds) {
    return;
  }
  const auto eighths = static_cast<int>(std::clamp(share, 0.0, 1.0) * kBarWidth * 8);
  const std::string bar = block_bar(eighths, kBarWidth);
  const double left = share > 0 ? seconds / share - seconds : 0;
  std::fprintf(stderr, "\r\033[K%s │%s│ %s%%  ETA %s", label_.c_str(), bar.c_str(),
               fixed_number(100 * share, 0).c_str(), duration_text(left).c_str());
  std::fflush(stderr);
  shown_ = true;
  drawn_at_ = seconds;
}

void CountProgress::clear() {
  if (shown_) {
    std::fprintf(stderr, "\r\033[K");
    std::fflush(stderr);
    shown_ = false;
  }
}

}  // namespace headlight::cli
