#include "runs/logs/metrics_copy.h"

#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "headlight/formats/run_layout.h"
#include "runs/logs/tensorboard_events.h"
#include "storage/file_lines.h"

namespace headlight {
namespace {

constexpr std::array kColumns{"iteration",
                              "loss",
                              "learning_rate",
                              "gradient_norm",
                              "tokens",
                              "seconds",
                              "elapsed_seconds",
                              "skipped",
                              "validation_loss",
                              "validation_perplexity",
                              "validation_bits_per_byte",
                              "validation_tokens",
                              "best",
                              "validation_accuracy",
                              "validation_margin"};

bool has_numbers(const Json& line) {
  const Json* iteration = line.find("iteration");
  return iteration != nullptr && iteration->is_integer() && iteration->integer() >= 0 &&
         (line.contains("loss") || line.contains("validation_loss"));
}

// Losses may be NaN, which JSON does not have.
bool is_finite(const Json* value) {
  return value != nullptr && value->is_number() && std::isfinite(value->number());
}

std::string csv_row(const Json& line) {
  std::string row;
  for (const char* column : kColumns) {
    const Json* cell = line.find(column);
    const bool is_shown = is_finite(cell) || (cell != nullptr && cell->is_boolean());
    const bool is_reason = cell != nullptr && cell->is_string();  // of a skipped step
    row += (row.empty() ? "" : ",") + (is_shown ? cell->dump() : is_reason ? "true" : "");
  }
  return row + "\n";
}

// Keys of metrics.jsonl by their tags in TensorBoard.
constexpr std::array<std::pair<std::string_view, const char*>, 9> kTags{
    {{"train/loss", "loss"},
     {"train/learning_rate", "learning_rate"},
     {"train/gradient_norm", "gradient_norm"},
     {"train/seconds", "seconds"},
     {"validation/loss", "validation_loss"},
     {"validation/perplexity", "validation_perplexity"},
     {"validation/bits_per_byte", "validation_bits_per_byte"},
     {"validation/accuracy", "validation_accuracy"},
     {"validation/margin", "validation_margin"}}};

std::string events_of(const Json& line, double begin) {
  const bool is_step = line.contains("loss");
  std::vector<NamedScalar> scalars;
  for (const auto& [tag, key] : kTags) {
    const Json* value = line.find(key);
    if (is_finite(value) && tag.starts_with("train") == is_step) {
      scalars.emplace_back(tag, value->number());
    }
  }
  const Json* elapsed = line.find("elapsed_seconds");
  const double seconds = elapsed != nullptr && elapsed->is_number() ? elapsed->number() : 0;
  return tensorboard_scalars(begin + seconds, line["iteration"].integer(), scalars);
}

}  // namespace

Json metrics_object(const std::string& line) {
  constexpr std::size_t kLongest = 1 << 16;  // bytes; nested lists would use 1000 times the memory
  Json object = line.size() <= kLongest ? try_parse_json(line).value_or(Json()) : Json();
  return object.is_object() ? object : Json();
}

MetricsCopy::MetricsCopy(std::filesystem::path path, std::string beginning, Encode encode,
                         AppendedFile::OnFailure on_failure)
    : beginning_(std::move(beginning)),
      encode_([encode = std::move(encode)](const Json& line) {
        return has_numbers(line) ? encode(line) : std::string();
      }),
      file_(std::move(path), std::move(on_failure)) {}

void MetricsCopy::restart(const std::filesystem::path& metrics) {
  constexpr std::size_t kWrittenAtOnce = std::size_t{1} << 20;  // bytes per write
  file_.restart([&](FileWriter& writer) {
    std::string bytes = beginning_;
    for_each_line(InputFile(metrics), [&](const std::string& line) {
      const Json object = metrics_object(line);
      bytes += object.is_object() ? encode_(object) : "";
      if (bytes.size() >= kWrittenAtOnce) {
        writer.write(bytes);
        bytes.clear();
      }
    });
    writer.write(bytes);
  });
}

MetricsCopy metrics_csv(const std::filesystem::path& run, AppendedFile::OnFailure on_failure) {
  std::string header;
  for (const char* column : kColumns) {
    header += (header.empty() ? "" : ",") + std::string(column);
  }
  return {run / kRunTable, header + "\n", csv_row, std::move(on_failure)};
}

MetricsCopy metrics_events(const std::filesystem::path& run, double begin,
                           AppendedFile::OnFailure on_failure) {
  return {run / kRunEvents, tensorboard_version(begin),
          [begin](const Json& line) { return events_of(line, begin); }, std::move(on_failure)};
}

}  // namespace headlight
