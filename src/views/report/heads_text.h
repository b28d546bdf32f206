#pragma once

#include <string>
#include <vector>

#include "views/report/heads_columns.h"
#include "views/report/heads_files.h"

namespace headlight {

struct HeadsTextOptions {
  std::vector<HeadColumn> columns;
  int width = 0;        // of the terminal; columns that do not fit are left out; 0: all fit
  bool colour = false;  // ANSI colours
  bool legend = false;  // what the numbers of the usual columns are
};

// The report for people: a table of these heads, what each does, how layers differ, and which heads
// do the same.
std::string heads_text(const HeadsReport& report, const std::vector<ScoredHead>& heads,
                       const HeadsTextOptions& options);

// "0.1 0.3 look at the same places: ..." for every cluster.
std::vector<std::string> cluster_warnings(const HeadsReport& report);

}  // namespace headlight
