#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

// Files that a training run leaves in its directory.
namespace headlight::test {

// Bytes of model.safetensors of a checkpoint.
std::string weights_of(const std::filesystem::path& run, const std::string& checkpoint = "latest");

// Parsed lines of a .jsonl file.
std::vector<nlohmann::json> json_lines(const std::filesystem::path& path);

// Lines of metrics.jsonl without the times, which differ between equal runs.
std::vector<nlohmann::json> metrics_of(const std::filesystem::path& run);

}  // namespace headlight::test
