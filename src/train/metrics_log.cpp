#include "train/metrics_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "headlight/io/file_writer.h"
#include "io/input_file.h"
#include "io/posix_file.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr Index kLargestLog = Index{1} << 32;  // bytes; 20 million updates

// The iteration that a line tells about, or -1 for a line that was cut off.
Index iteration_of(const std::string& line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  return json.is_object() && json.contains("iteration") && json["iteration"].is_number_integer()
             ? json["iteration"].get<Index>()
             : -1;
}

bool is_evaluation(const std::string& line) {
  return line.find("\"validation_loss\"") != std::string::npos;
}

// An update is numbered from 0; an evaluation by the updates before it, so that one at the state's
// own number may have been made or not.
bool is_before(const TrainingState& state, const std::string& line) {
  const Index iteration = iteration_of(line);
  const bool evaluated = is_evaluation(line) && state.evaluated == state.iteration;
  return iteration >= 0 && iteration < state.iteration + (evaluated ? 1 : 0);
}

}  // namespace

MetricsLog::MetricsLog(std::filesystem::path path, const TrainingState& begin, OnFailure on_failure)
    : path_(std::move(path)), on_failure_(std::move(on_failure)) {
  cut(begin);
}

MetricsLog::~MetricsLog() { ::close(descriptor_); }

void MetricsLog::cut(const TrainingState& state) {
  try {
    // One that cannot be read must not be taken for an empty one and replaced.
    std::error_code ignored;
    std::istringstream old(fs::exists(path_, ignored) ? read_text_file(path_, kLargestLog) : "");
    std::string kept;
    for (std::string line; std::getline(old, line);) {
      if (is_before(state, line)) {
        kept += line + "\n";
      }
    }
    write_file(path_, kept);
    open();
  } catch (const Error& error) {
    throw SaveError(error.what());
  }
  waiting_.clear();
}

void MetricsLog::open() {
  const int old = std::exchange(
      descriptor_, open_descriptor(path_, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW));
  const int code = errno;
  if (old >= 0) {
    ::close(old);
  }
  if (descriptor_ < 0) {
    fail_system("open", path_, code);
  }
}

void MetricsLog::flush() const {
  if (sync_descriptor(descriptor_) != 0) {
    fail_system("flush", path_, errno);
  }
}

void MetricsLog::append(const std::string& line) {
  waiting_ += line + "\n";
  try {
    write_waiting();
  } catch (const Error& error) {
    on_failure_(error);
  }
}

void MetricsLog::write_waiting() {
  while (!waiting_.empty()) {
    const ssize_t written = ::write(descriptor_, waiting_.data(), waiting_.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      fail_system("write", path_, written < 0 ? errno : EIO);
    }
    waiting_.erase(0, static_cast<std::size_t>(written));
  }
}

void MetricsLog::on_step(const StepMetrics& metrics) {
  nlohmann::ordered_json line{{"iteration", metrics.iteration},
                              {"loss", metrics.loss},
                              {"learning_rate", metrics.learning_rate},
                              {"gradient_norm", metrics.gradient_norm},
                              {"tokens", metrics.tokens},
                              {"seconds", metrics.seconds}};
  if (metrics.outcome != StepOutcome::updated) {
    line["skipped"] = metrics.reason;
  }
  append(line.dump());
}

void MetricsLog::on_evaluation(const EvaluationMetrics& metrics) {
  append(nlohmann::ordered_json{{"iteration", metrics.iteration},
                                {"validation_loss", metrics.validation.loss},
                                {"validation_perplexity", metrics.validation.perplexity},
                                {"validation_bits_per_byte", metrics.validation.bits_per_byte},
                                {"validation_tokens", metrics.validation.tokens},
                                {"best", metrics.best},
                                {"seconds", metrics.seconds}}
             .dump());
}

void MetricsLog::on_rollback(const RollbackMetrics& metrics) {
  append(nlohmann::ordered_json{
      {"iteration", metrics.iteration}, {"rollback_from", metrics.from}, {"reason", metrics.reason}}
             .dump());
}

}  // namespace headlight
