#pragma once

#include "cli/terminal/options.h"

namespace headlight::cli {

// headlight heads RUN --over_time: when heads came to do what they do, from heads.jsonl, as a
// picture in the terminal and as heads_over_time.svg.
void show_heads_over_time(const Options& options);

}  // namespace headlight::cli
