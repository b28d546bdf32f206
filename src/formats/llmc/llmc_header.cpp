#include "formats/llmc/llmc_header.h"

#include <span>

#include "headlight/base/error.h"

namespace headlight {

LlmcHeader read_llmc_header(const InputFile& file) {
  require(file.size() >= kLlmcHeaderBytes, "expected a header of ", kLlmcHeaderBytes,
          " bytes, got a file of ", file.size());
  LlmcHeader header{};
  file.read(0, std::as_writable_bytes(std::span(header)));
  return header;
}

bool is_llmc_kind(const std::filesystem::path& path, std::int32_t kind) {
  std::error_code ignored;
  if (path.extension() != ".bin" || !std::filesystem::is_regular_file(path, ignored)) {
    return false;
  }
  const InputFile file(path);
  return file.size() >= kLlmcHeaderBytes && read_llmc_header(file)[0] == kind;
}

}  // namespace headlight
