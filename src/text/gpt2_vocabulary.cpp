#include <algorithm>

#include "base/json.h"
#include "headlight/base/error.h"
#include "headlight/text/tokenizer_file.h"
#include "text/bpe_reader.h"

namespace headlight {
namespace {

// The text before the next line break, which is removed along with it.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  return line;
}

}  // namespace

std::unique_ptr<Tokenizer> parse_gpt2_vocabulary(std::string_view vocab_json,
                                                 std::string_view merges_txt,
                                                 std::string_view name) {
  const std::string vocab_key = at(name, "vocab.json");
  const Json vocab = parse_json(vocab_json, vocab_key);
  const std::string end(kEndOfTextName);
  // Such files have this special token alone, and list it among the others.
  const Json added = Json::array(
      {{{"content", end}, {"id", json_member(vocab, end, vocab_key)}, {"special", true}}});
  const Vocabulary vocabulary = read_vocabulary(vocab, added, vocab_key, vocab_key);
  BpeVocabularyBuilder builder(vocabulary, vocab_key);
  const std::string merges_key = at(name, "merges.txt");
  if (merges_txt.starts_with("#version")) {
    take_line(merges_txt);
  }
  while (!merges_txt.empty()) {
    builder.add_merge(take_line(merges_txt), merges_key);
  }
  return std::make_unique<BpeTokenizer>(builder.take(), name);
}

}  // namespace headlight
