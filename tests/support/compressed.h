#pragma once

#include <string>

// What gzip and zstd write.
namespace headlight::test {

std::string gzip(const std::string& text);
std::string zstandard(const std::string& text);

}  // namespace headlight::test
