#include "headlight/base/error.h"
#include "headlight/formats/model_directory.h"
#include "headlight/formats/tokenizer_directory.h"

// A page trains models that start from random weights, with a tokenizer of their own.
namespace headlight {
namespace {

[[noreturn]] void refuse_models() {
  fail("a page cannot read model directories; use the program headlight");
}

}  // namespace

bool is_model_file(const std::filesystem::path&) { return false; }

std::filesystem::path find_model_directory(const std::filesystem::path&) { refuse_models(); }

LoadedModel load_model(const std::filesystem::path&, const LoadOptions&) { refuse_models(); }

std::unique_ptr<Gpt> load_weights(const std::filesystem::path&, const LoadOptions&) {
  refuse_models();
}

GptConfig read_effective_config(const std::filesystem::path&, const WarningSink&) {
  refuse_models();
}

std::unique_ptr<Tokenizer> open_tokenizer(const std::filesystem::path&) { refuse_models(); }

}  // namespace headlight
