#include "cli/terminal/result_files.h"

#include <utility>

#include "cli/terminal/log.h"
#include "cli/terminal/progress.h"
#include "headlight/formats/arrays/npz.h"
#include "headlight/storage/file_writer.h"
#include "headlight/storage/staged_files.h"
#include "show/png/png.h"

namespace headlight::cli {
namespace {

// Options and the endings of their files.
constexpr std::pair<const char*, const char*> kResultFiles[] = {
    {"svg", ".svg"},   {"png", ".png"},   {"npz", ".npz"},
    {"html", ".html"}, {"curve", ".svg"}, {"scatter", ".svg"}};

}  // namespace

std::string written_text(const std::vector<std::string>& files) {
  std::string text;
  for (const std::string& file : files) {
    text += "wrote " + escaped(file) + "\n";
  }
  return text;
}

void warn_about_fonts(const std::string& text) {
  if (const std::string line = missing_font(text); !line.empty()) {
    log_warning(line);
  }
}

void add_result_options(Options& options) {
  options.value("svg", "Also draw the result to this .svg file")
      .value("png", "Also draw the result to this .png file")
      .value("npz", "Also write the numbers to this .npz file, for numpy.load")
      .value("html", "Also write the result to this .html page, which shows values at the pointer");
  options.paths({"svg", "png", "npz", "html"}).basic({"svg"});
}

ResultFiles::ResultFiles(const Options& options) {
  for (const auto& [name, ending] : kResultFiles) {
    if (options.given(name)) {
      paths_[name] = output_file(options, name, ending);
    }
  }
}

void ResultFiles::write(const ResultViews& views) const {
  StagedFiles staged;
  for (const auto& [name, target] : paths_) {
    const std::filesystem::path path = staged.path_for(target);
    if (name == "svg") {
      write_file(path, views.svg());
    } else if (name == "png") {
      const std::string figure = views.svg();
      warn_about_fonts(figure);
      write_file(path, svg_to_png(figure));
    } else if (name == "npz") {
      const ResultArrays arrays = views.arrays();
      write_npz(path, arrays.tensors, arrays.texts, progress_bar("writing"));
    } else {
      write_file(path, name == "html" ? result_html(views.page()) : views.chart());
    }
  }
  staged.commit();
}

}  // namespace headlight::cli
