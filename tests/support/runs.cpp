#include "support/runs.h"
#include "support/test.h"

namespace headlight::test {

using Json = nlohmann::json;

std::string weights_of(const std::filesystem::path& run, const std::string& checkpoint) {
  return file_contents(run / checkpoint / "model.safetensors");
}

std::vector<Json> json_lines(const std::filesystem::path& path) {
  std::vector<Json> result;
  for (const std::string& line : lines_of(file_contents(path))) {
    result.push_back(Json::parse(line));
  }
  return result;
}

std::vector<Json> metrics_of(const std::filesystem::path& run) {
  std::vector<Json> lines = json_lines(run / "metrics.jsonl");
  for (Json& line : lines) {
    line.erase("seconds");
    line.erase("elapsed_seconds");
  }
  return lines;
}

}  // namespace headlight::test
