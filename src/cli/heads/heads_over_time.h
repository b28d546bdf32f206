#pragma once

#include "cli/terminal/options.h"

namespace headlight::cli {

// Shows when heads acquired their roles (headlight heads RUN --over_time). Reads heads.jsonl, draws
// in the terminal and writes heads_over_time.svg.
void show_heads_over_time(const Options& options);

}  // namespace headlight::cli
