#pragma once

#include "headlight/formats/gguf/gguf.h"
#include "support/test.h"

// Metadata of GGUF files in tables of tests.
namespace headlight::test {

// Returns a value of GGUF's metadata: a whole number is unsigned if it stands alone, a list of them
// has the type int32.
inline GgufValue gguf_value(const nlohmann::json& value) {
  if (value.is_boolean()) {
    return value.get<bool>();
  }
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    return number >> 32U == 0 ? GgufValue(static_cast<std::uint32_t>(number)) : GgufValue(number);
  }
  if (value.is_number_float()) {
    return value.get<float>();
  }
  if (value.is_string()) {
    return value.get<std::string>();
  }
  if (!value.empty() && value[0].is_number_integer()) {
    return GgufArray(value.get<std::vector<std::int32_t>>());
  }
  return !value.empty() && value[0].is_number() ? GgufArray(value.get<std::vector<float>>())
                                                : GgufArray(value.get<std::vector<std::string>>());
}

inline void set_key(GgufMetadata& metadata, const std::string& key, GgufValue value) {
  const auto found = std::ranges::find(metadata, key, &GgufMetadata::value_type::first);
  if (found == metadata.end()) {
    metadata.emplace_back(key, std::move(value));
  } else {
    found->second = std::move(value);
  }
}

inline void drop_key(GgufMetadata& metadata, const std::string& key) {
  std::erase_if(metadata, [&](const auto& entry) { return entry.first == key; });
}

// Returns metadata after a change: "KEY VALUE", or "- KEY" to remove it. `prefix` precedes each
// key.
inline GgufMetadata changed_metadata(GgufMetadata metadata, const std::string& prefix,
                                     const std::string& change) {
  const std::size_t blank = change.find(' ');
  if (change[0] == '-') {
    drop_key(metadata, prefix + change.substr(2));
  } else {
    set_key(metadata, prefix + change.substr(0, blank),
            gguf_value(nlohmann::json::parse(change.substr(blank + 1))));
  }
  return metadata;
}

}  // namespace headlight::test
