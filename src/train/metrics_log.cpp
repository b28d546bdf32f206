#include "train/metrics_log.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "headlight/io/file_writer.h"
#include "text/printable.h"

namespace headlight {
namespace {

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

}  // namespace

MetricsLog::MetricsLog(const std::filesystem::path& path, Index first_iteration) : path_(path) {
  std::string kept;
  std::ifstream old(path);
  for (std::string line; first_iteration > 0 && std::getline(old, line);) {
    const Index iteration = iteration_of(line);
    // An evaluation is numbered by the updates before it, so one at first_iteration has been made.
    const Index last = is_evaluation(line) ? first_iteration : first_iteration - 1;
    if (iteration >= 0 && iteration <= last) {
      kept += line + "\n";
    }
  }
  write_file(path, kept);
}

void MetricsLog::append(const std::string& line) {
  std::ofstream out(path_, std::ios::app);
  out << line << "\n";
  out.flush();
  require(out.good(), shown(path_), ": cannot write");
}

void MetricsLog::on_step(const StepMetrics& metrics) {
  append(nlohmann::ordered_json{{"iteration", metrics.iteration},
                                {"loss", metrics.loss},
                                {"learning_rate", metrics.learning_rate},
                                {"gradient_norm", metrics.gradient_norm},
                                {"tokens", metrics.tokens},
                                {"seconds", metrics.seconds}}
             .dump());
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

}  // namespace headlight
