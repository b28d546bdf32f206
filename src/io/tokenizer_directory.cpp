#include "headlight/io/tokenizer_directory.h"

#include "base/printable.h"
#include "files/input_file.h"
#include "headlight/text/tokenizer_file.h"

namespace headlight {
namespace {

constexpr Index kLargestFile = Index{1} << 28;  // bytes

}  // namespace

std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& directory) {
  const auto whole = directory / "tokenizer.json";
  const auto vocabulary = directory / "vocab.json";
  if (std::filesystem::exists(whole) || !std::filesystem::exists(vocabulary)) {
    return parse_tokenizer_json(read_whole_file(whole, kLargestFile), shown(whole));
  }
  return parse_gpt2_vocabulary(read_whole_file(vocabulary, kLargestFile),
                               read_whole_file(directory / "merges.txt", kLargestFile),
                               shown(directory));
}

}  // namespace headlight
