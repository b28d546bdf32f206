#include "runs/preference_reference.h"

#include <algorithm>

#include "base/strings/printable.h"
#include "formats/adapter/adapter.h"
#include "headlight/formats/arrays/safetensors.h"
#include "headlight/formats/model_directory.h"
#include "headlight/formats/run_layout.h"
#include "headlight/runs/config_source.h"
#include "headlight/runs/starting_model.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

struct PairSet {
  const char* name;  // in the file
  const TokenDataset& pairs;
  const std::string& content;  // fingerprint
};

// Keys of the file's metadata: the folder or file of the model that the run started from, and the
// fingerprint of its weights.
constexpr const char* kStartKey = "start";
constexpr const char* kWeightsKey = "start_weights";

// Returns the fingerprint of a model's weights; "" for an adapter, which has that of its base.
std::string fingerprint_of_start(const fs::path& model) {
  return is_adapter(model) ? "" : weights_fingerprint(model);
}

// The sets of pairs of a run; without validation data only the first.
std::vector<PairSet> pair_sets_of(const RunStart& start) {
  std::vector<PairSet> sets{{"train", start.data.train, start.content}};
  if (!start.data.validation.sequences.empty()) {
    sets.push_back({"validation", start.data.validation, start.validation_content});
  }
  return sets;
}

NamedTensors read_reference(const RunStart& start) {
  const fs::path path = fs::path(start.config.out_dir) / kRunReference;
  require(fs::exists(path), shown(path),
          ": no such file, which has the reference of the run's pairs; start a new run");
  const NamedTensors known = read_safetensors(path);
  NamedTensors reference;
  const std::map<std::string, std::string> contents = read_safetensors_metadata(path);
  for (const PairSet& set : pair_sets_of(start)) {
    const auto found = contents.find(set.name);
    require(found != contents.end() && found->second == set.content, shown(path),
            ": has the reference of other pairs (", set.name,
            "); the pairs of a run cannot change, so start a new one");
    const auto values = std::ranges::find(known, set.name, &NamedTensors::value_type::first);
    const Index pairs = std::ssize(set.pairs.sequences);
    require(values != known.end() && values->second.dtype() == DType::float64 &&
                values->second.shape() == Shape({pairs, 2}),
            shown(path), ": ", set.name, ": expected log-probabilities of ", pairs, " pairs");
    reference.push_back(*values);
  }
  return reference;
}

}  // namespace

void prepare_preferences(RunStart& start) {
  const TrainingData& data = start.data;
  const bool pairs = data.train.pairs;
  require(data.validation.sequences.empty() || data.validation.pairs == pairs,
          "validation_data: expected ", pairs ? "" : "no ", "pairs of answers, as in data");
  if (!pairs) {
    if (start.config.dpo_beta != TrainConfig().dpo_beta) {
      start.warnings.push_back("dpo_beta has no effect: the data has no pairs of answers");
    }
    return;
  }
  start.preferences = std::make_unique<PreferenceTuning>(
      *start.model, start.config.dpo_beta, parse_name<Precision>("dtype", start.config.dtype));
  if (start.checkpoint.empty()) {
    start.notes.push_back("preference tuning: computing the log-probabilities of the pairs first");
  } else {
    start.reference = read_reference(start);
  }
}

bool complete_reference(RunStart& start, Processes& processes) {
  if (start.preferences == nullptr || !start.reference.empty()) {
    return false;
  }
  for (const PairSet& set : pair_sets_of(start)) {
    start.reference.emplace_back(
        set.name, start.preferences->log_probabilities(
                      set.pairs, {.batch_size = start.config.batch_size, .processes = &processes}));
  }
  return true;
}

void write_reference(const RunStart& start) {
  std::map<std::string, std::string> contents;
  for (const PairSet& set : pair_sets_of(start)) {
    contents[set.name] = set.content;
  }
  if (starts_from_model(start.config)) {
    const fs::path model = fs::canonical(find_model_directory(start.config.init_from));
    contents[kStartKey] = model.string();
    contents[kWeightsKey] = fingerprint_of_start(model);
  }
  write_safetensors(fs::path(start.config.out_dir) / kRunReference, start.reference, contents);
}

fs::path start_of_run(const fs::path& run) {
  const auto contents = read_safetensors_metadata(run / kRunReference);
  if (!contents.contains(kStartKey)) {
    return read_run_config(run).init_from;
  }
  const fs::path start = contents.at(kStartKey);
  std::error_code error;
  const bool is_here = fs::exists(start, error);
  require(is_here && contents.at(kWeightsKey) == fingerprint_of_start(start), shown(run),
          ": the model that it started from, ", shown(start),
          is_here ? ", has other weights than then" : ", is not here",
          "; name the model before the training with --reference");
  return start;
}

}  // namespace headlight
