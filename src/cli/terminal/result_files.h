#pragma once

#include <functional>
#include <map>
#include <string>

#include "cli/terminal/options.h"
#include "show/result/result.h"

namespace headlight::cli {

// Lines "wrote FILE".
std::string written_text(const std::vector<std::string>& files);

// Logs a warning if a PNG with this text lacks a font.
void warn_about_fonts(const std::string& text);

// Adds --svg, --png, --npz and --html.
void add_result_options(Options& options);

// Forms of a result, computed only for requested files.
struct ResultViews {
  std::function<std::string()> svg;
  std::function<ResultArrays()> arrays;
  std::function<ResultPage()> page;
  std::function<std::string()> chart = {};  // .svg of --curve or --scatter
};

// Files of those options, and of --curve or --scatter where a command has it. They are written in
// one step. Construct it before the work, to reject invalid names early.
class ResultFiles {
 public:
  // Throws Error about an option with an invalid name.
  explicit ResultFiles(const Options& options);
  void write(const ResultViews& views) const;

 private:
  std::map<std::string, std::string> paths_;  // by option
};

}  // namespace headlight::cli
