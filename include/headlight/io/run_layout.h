#pragma once

#include <array>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "headlight/base/index.h"

// What things are called in a run directory:
//   RUN/config.toml           the settings of the run
//   RUN/metrics.jsonl         a line for every update and evaluation
//   RUN/heads.jsonl           a line for every look at the heads, where they are tracked
//   RUN/step_XXXXXXXX         a checkpoint: a model directory with moments and state beside
//   RUN/latest, RUN/best      links to two of the checkpoints
namespace headlight {

inline constexpr std::string_view kRunConfig = "config.toml";
inline constexpr std::string_view kRunMetrics = "metrics.jsonl";
inline constexpr std::string_view kRunHeads = "heads.jsonl";
inline constexpr std::string_view kRunSamples = "samples.jsonl";
inline constexpr std::string_view kLatestLink = "latest";
inline constexpr std::string_view kBestLink = "best";

// Of a checkpoint, besides what every model directory holds.
inline constexpr std::string_view kCheckpointState = "state.json";
inline constexpr std::string_view kCheckpointMoments = "optimizer.safetensors";

// Files that a manifest must list: the files of a model, and the files that a checkpoint needs for a
// run to continue.
inline constexpr std::array<std::string_view, 3> kModelFiles{"config.json", "model.safetensors",
                                                             "tokenizer.json"};
inline constexpr std::array<std::string_view, 5> kCheckpointFiles{
    kModelFiles[0], kModelFiles[1], kModelFiles[2], kCheckpointMoments, kCheckpointState};

// The name of the checkpoint that was written after so many updates.
std::string checkpoint_name(Index iteration);
// The updates that the name of a checkpoint tells; none for another name.
std::optional<Index> iteration_of_checkpoint(std::string_view name);

// Where a model directory or a run holds one of these files: `path` itself, or else its best
// checkpoint, or else its latest one.
std::optional<std::filesystem::path> folder_with(const std::filesystem::path& path,
                                                 std::initializer_list<std::string_view> files);

// The folder that a model is read from.
std::optional<std::filesystem::path> model_in(const std::filesystem::path& path);

// The folder that a tokenizer is read from.
std::optional<std::filesystem::path> tokenizer_in(const std::filesystem::path& path);

}  // namespace headlight
