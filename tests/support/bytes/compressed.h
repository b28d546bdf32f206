#pragma once

#include <string>

// Text as compressed by gzip and zstd.
namespace headlight::test {

std::string gzip(const std::string& text);
std::string zstandard(const std::string& text);

}  // namespace headlight::test
