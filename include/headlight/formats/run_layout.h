#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "headlight/base/index.h"

// Files in a run directory:
//   RUN/config.toml           the settings of the run
//   RUN/metrics.jsonl         one line for each step and each evaluation
//   RUN/metrics.csv           the same as a table, if asked for
//   RUN/events.out.tfevents.headlight   the same for TensorBoard, if asked for
//   RUN/heads.jsonl           one line for each scoring of the heads, if they are tracked
//   RUN/reference.safetensors the reference of pairs of answers, if the run learns preferences
//   RUN/samples.jsonl         one line for each text that the model writes during training
//   RUN/step_XXXXXXXX         a checkpoint: a model directory with moments and state
//   RUN/latest, RUN/best      links to two of the checkpoints
namespace headlight {

inline constexpr std::string_view kRunConfig = "config.toml";
inline constexpr std::string_view kRunMetrics = "metrics.jsonl";
inline constexpr std::string_view kRunTable = "metrics.csv";
inline constexpr std::string_view kRunEvents = "events.out.tfevents.headlight";
inline constexpr std::string_view kRunHeads = "heads.jsonl";
inline constexpr std::string_view kRunSamples = "samples.jsonl";
inline constexpr std::string_view kRunReference = "reference.safetensors";
inline constexpr std::string_view kLatestLink = "latest";
inline constexpr std::string_view kBestLink = "best";

// Files of a checkpoint besides those in every model directory.
inline constexpr std::string_view kCheckpointState = "state.json";
inline constexpr std::string_view kCheckpointMoments = "optimizer.safetensors";

// Files that a manifest must list: kModelFiles for a model, kCheckpointFiles to continue a run.
inline constexpr std::array<std::string_view, 3> kModelFiles{"config.json", "model.safetensors",
                                                             "tokenizer.json"};
inline constexpr std::array<std::string_view, 5> kCheckpointFiles{
    kModelFiles[0], kModelFiles[1], kModelFiles[2], kCheckpointMoments, kCheckpointState};

// Files of a LoRA adapter, which the checkpoints of its run hold instead of a model.
inline constexpr std::string_view kAdapterConfig = "adapter_config.json";
inline constexpr std::string_view kAdapterWeights = "adapter_model.safetensors";
inline constexpr std::array<std::string_view, 3> kAdapterFiles{kAdapterConfig, kAdapterWeights,
                                                               "tokenizer.json"};
inline constexpr std::array<std::string_view, 5> kAdapterCheckpointFiles{
    kAdapterFiles[0], kAdapterFiles[1], kAdapterFiles[2], kCheckpointMoments, kCheckpointState};

// Returns the name of the checkpoint after step `iteration`.
std::string checkpoint_name(Index iteration);
// Returns the step in a checkpoint's name; nothing for any other name.
std::optional<Index> iteration_of_checkpoint(std::string_view name);

// Returns the first of `path`, its best and its latest checkpoint that holds a model; nothing if
// none does.
std::optional<std::filesystem::path> model_in(const std::filesystem::path& path);

// As model_in(), for a tokenizer.
std::optional<std::filesystem::path> tokenizer_in(const std::filesystem::path& path);

}  // namespace headlight
