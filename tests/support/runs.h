#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

// What a training run has left in its directory.
namespace headlight::test {

// The bytes of model.safetensors of a checkpoint.
std::string weights_of(const std::filesystem::path& run, const std::string& checkpoint = "latest");

// The lines of a .jsonl file.
std::vector<nlohmann::json> json_lines(const std::filesystem::path& path);

// metrics.jsonl without the times, in which two equal runs differ.
std::vector<nlohmann::json> metrics_of(const std::filesystem::path& run);

}  // namespace headlight::test
