#include "cli/text_data.h"

#include "cli/log.h"
#include "headlight/io/token_file.h"
#include "headlight/tensor/error.h"
#include "headlight/text/text_file.h"

namespace headlight::cli {
namespace {

TokenDataset read_ids(const std::string& path, const Tokenizer& tokenizer, TokenDtype dtype) {
  std::vector<std::string> notes;
  TokenDataset data = token_file_dataset(path, tokenizer, dtype, notes);
  for (const std::string& note : notes) {
    log_info(note);
  }
  return data;
}

TokenDataset read_dataset(const std::string& path, const DocumentSplitOptions& split,
                          const Tokenizer& tokenizer, TokenDtype dtype) {
  if (is_token_file(path)) {
    require(split.mode == DocumentSplit::none, "--documents: ", path,
            " holds one stream of token ids, expected none");
    return read_ids(path, tokenizer, dtype);
  }
  const std::string text = read_text_file(path);
  try {
    return encode_dataset(
        text, split, [&](std::string_view part) { return tokenizer.encode(part); },
        tokenizer.end_of_text());
  } catch (const Error& error) {
    fail(path, ": ", error.what());
  }
}

}  // namespace

void add_text_data_options(Options& options) {
  options.value("data", "UTF-8 text file to run the model over, or token ids: FILE.bin")
      .value("documents", "How the text is cut: none, line, blank_line or token", "none")
      .value("token_dtype", kTokenDtypeHelp, "auto")
      .value("separator", "Text between documents, for --documents token", "<|endoftext|>")
      .value("batch_size", "Sequences computed at once", "12");
}

DocumentSplitOptions document_split(const Options& options) {
  const DocumentSplitOptions split{
      .mode = about_option([&] { return parse_document_split(options.text("documents")); }),
      .separator = options.text("separator")};
  require(split.mode == DocumentSplit::token || !options.given("separator"),
          "--separator: expected --documents token beside it");
  require(!split.separator.empty(), "--separator: expected a text, got none");
  return split;
}

TokenDtype token_dtype_option(const Options& options) {
  return about_option([&] { return parse_token_dtype(options.text("token_dtype")); });
}

TokenDataset read_text_data(const Options& options, const Tokenizer& tokenizer,
                            const std::string& name) {
  require(options.given(name), "--", name, ": expected a text file");
  const DocumentSplitOptions split = document_split(options);
  const std::string path = options.text(name);
  TokenDataset data = read_dataset(path, split, tokenizer, token_dtype_option(options));
  require(has_targets(data), path, ": expected two tokens in a row or more, got ",
          data.token_count);
  if (const Index unknown = count_token(data, tokenizer.unknown()); unknown > 0) {
    log_warning(concat_text(path, ": ", unknown, " of ", data.token_count,
                            " tokens are characters that the tokenizer does not know"));
  }
  return data;
}

}  // namespace headlight::cli
