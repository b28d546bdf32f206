#include "cli/text_data.h"

#include "headlight/io/token_file.h"
#include "headlight/tensor/error.h"
#include "headlight/text/text_file.h"

namespace headlight::cli {

void add_text_data_options(Options& options) {
  options.value("data", "UTF-8 text file to run the model over, or token ids: FILE.bin")
      .value("documents", "How the text is cut: none, line, blank_line or token", "none")
      .value("separator", "Text between documents, for --documents token", "<|endoftext|>")
      .value("batch_size", "Sequences computed at once", "12");
}

TokenDataset read_text_data(const Options& options, const Tokenizer& tokenizer,
                            const std::string& name) {
  require(options.given(name), "--", name, ": expected a text file");
  const DocumentSplitOptions split{.mode = parse_document_split(options.text("documents")),
                                   .separator = options.text("separator")};
  const std::string path = options.text(name);
  if (is_token_file(path)) {
    require(split.mode == DocumentSplit::none, "--documents: ", path,
            " holds one stream of token ids, expected none");
    return stream_dataset(read_token_file(path, tokenizer.vocab_size()));
  }
  return encode_dataset(
      read_text_file(path), split, [&](std::string_view part) { return tokenizer.encode(part); },
      tokenizer.end_of_text());
}

Index count_option(const Options& options, const std::string& name, Index least) {
  const Index value = options.integer(name);
  require(value >= least, "--", name, ": expected at least ", least, ", got ", value);
  return value;
}

}  // namespace headlight::cli
