#include "storage/line_log.h"

#include <utility>

#include "base/json.h"
#include "storage/file_lines.h"
#include "storage/posix_file.h"

namespace headlight {
namespace {

// Copies the lines that `keep` accepts. Text after the last line end counts as a line.
void copy_lines(const InputFile& file, const LineLog::Keep& keep, FileWriter& writer) {
  constexpr std::size_t kWrittenAtOnce = std::size_t{1} << 20;  // bytes per write
  std::string kept;
  for_each_line(file, [&](const std::string& line) {
    kept += keep(line) ? line + "\n" : "";
    if (kept.size() >= kWrittenAtOnce) {
      writer.write(kept);
      kept.clear();
    }
  });
  writer.write(kept);
}

}  // namespace

LineLog::LineLog(std::filesystem::path path, const Keep& keep, OnFailure on_failure)
    : path_(std::move(path)), file_(path_, std::move(on_failure)) {
  cut(keep);
}

void LineLog::cut(const Keep& keep) {
  std::error_code error;
  const bool exists = std::filesystem::exists(path_, error);
  if (error) {  // an unreadable file must not be replaced by an empty one
    fail_system("read", path_, error.value());
  }
  file_.restart([&](FileWriter& writer) {
    if (exists) {
      copy_lines(InputFile(path_), keep, writer);
    }
  });
}

Index iteration_of_line(const std::string& line) {
  const std::optional<Json> json = try_parse_json(line);
  const Json* found = json ? json->find("iteration") : nullptr;
  return found != nullptr && found->is_integer() ? found->integer() : -1;
}

}  // namespace headlight
