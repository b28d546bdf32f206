#pragma once

#include <functional>
#include <map>
#include <string>

#include "cli/terminal/options.h"
#include "views/result/result.h"

namespace headlight::cli {

// Logs a warning if a PNG with this text lacks a font.
void warn_about_fonts(const std::string& text);

// --svg, --png, --npz and --html.
void add_result_options(Options& options);

// What a result looks like in each; called for the files that are asked for.
struct ResultViews {
  std::function<std::string()> svg;
  std::function<ResultArrays()> arrays;
  std::function<ResultPage()> page;
};

// The files of those options. Made before the work, so that what is wrong with a name is said then.
class ResultFiles {
 public:
  // Throws Error about the option.
  explicit ResultFiles(const Options& options);
  void write(const ResultViews& views) const;

 private:
  std::map<std::string, std::string> paths_;  // by option
};

}  // namespace headlight::cli
