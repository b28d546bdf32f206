#include "page/page_training.h"

#include "base/json.h"
#include "base/stopwatch.h"
#include "headlight/runs/config_source.h"

namespace headlight::wasm {
namespace {

TrainConfig config_of(const std::string& settings) {
  const Json json = parse_json(settings, "settings");
  TrainConfig config;
  for (const auto& [key, value] : json.members()) {
    set_config_value(config, key, value.text());
  }
  return config;
}

// Failures to write stop a run, so nothing is left to warn about.
void ignore(const std::string&) {}

}  // namespace

PageTraining::PageTraining(const std::string& settings)
    : config_(config_of(settings)),
      heads_(config_.track_heads, ignore),
      samples_(ignore),
      run_(config_, {.observers = {&heads_, &samples_}, .saves_in_background = false}) {}

bool PageTraining::advance(double seconds) {
  const Stopwatch watch;
  bool continues = true;
  do {
    continues = run_.step();
  } while (continues && watch.seconds() < seconds);
  return continues;
}

LoadedModel PageTraining::finish() {
  run_.finish();
  return run_.take_model();
}

}  // namespace headlight::wasm
