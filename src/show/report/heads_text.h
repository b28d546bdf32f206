#pragma once

#include <string>
#include <vector>

#include "show/report/heads_columns.h"
#include "show/report/heads_files.h"

namespace headlight {

struct HeadsTextOptions {
  std::vector<HeadColumn> columns;
  int width = 0;        // terminal width; columns that do not fit are omitted; 0: no limit
  bool colour = false;  // ANSI colours
  bool legend = false;  // explain the units of the default columns
};

// Returns the report as text: a table of `heads`, a sentence for each, means of the layers, and
// clusters of redundant heads.
std::string heads_text(const HeadsReport& report, const std::vector<ScoredHead>& heads,
                       const HeadsTextOptions& options);

// Returns "duplicated patterns: 0.1 0.3 look at the same places ..." for each cluster.
std::vector<std::string> cluster_warnings(const HeadsReport& report);

}  // namespace headlight
