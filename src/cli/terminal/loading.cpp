#include "cli/terminal/loading.h"

#include "cli/terminal/log.h"
#include "headlight/formats/tokenizer_directory.h"

namespace headlight::cli {
namespace {

void warn_about(const Tokenizer& tokenizer) {
  if (!tokenizer.warning().empty()) {
    log_warning(tokenizer.warning());
  }
}

}  // namespace

LoadedModel load_model_with_warnings(const std::filesystem::path& path,
                                     const LoadOptions& options) {
  LoadOptions aloud = options;
  aloud.warn = log_warning;
  LoadedModel loaded = load_model(path, aloud);
  warn_about(*loaded.tokenizer);
  return loaded;
}

std::unique_ptr<Tokenizer> open_tokenizer_aloud(const std::filesystem::path& path) {
  std::unique_ptr<Tokenizer> tokenizer = open_tokenizer(path);
  warn_about(*tokenizer);
  return tokenizer;
}

}  // namespace headlight::cli
