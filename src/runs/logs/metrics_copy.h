#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "base/json.h"
#include "storage/appended_file.h"

namespace headlight {

// Returns the JSON object of a line of metrics.jsonl; null for a damaged or overlong line.
Json metrics_object(const std::string& line);

// A file with the steps and evaluations of metrics.jsonl in another format. It is made again from
// metrics.jsonl whenever that is cut, so that it never has a step twice.
class MetricsCopy {
 public:
  // Returns the bytes for a line of metrics.jsonl; none for a line without numbers.
  using Encode = std::function<std::string(const Json& line)>;

  // `beginning`: the first bytes of the file. See AppendedFile for `on_failure`.
  MetricsCopy(std::filesystem::path path, std::string beginning, Encode encode,
              AppendedFile::OnFailure on_failure);

  // Replaces the file by a copy of `metrics`. Throws Error as AppendedFile::restart() does.
  void restart(const std::filesystem::path& metrics);
  void append(const Json& line) { file_.append(encode_(line)); }

 private:
  std::string beginning_;
  Encode encode_;
  AppendedFile file_;
};

// A table with a header: RUN/metrics.csv.
MetricsCopy metrics_csv(const std::filesystem::path& run, AppendedFile::OnFailure on_failure);

// Scalars for TensorBoard. `begin`: when the run began, in seconds since 1970, without the time
// between its processes.
MetricsCopy metrics_events(const std::filesystem::path& run, double begin,
                           AppendedFile::OnFailure on_failure);

}  // namespace headlight
