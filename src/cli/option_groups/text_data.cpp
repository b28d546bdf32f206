#include "cli/option_groups/text_data.h"

#include <array>

#include "base/all_errors.h"
#include "cli/option_groups/prompt_tokens.h"
#include "cli/terminal/log.h"
#include "cli/terminal/progress.h"
#include "datasets/input_format_check.h"
#include "headlight/base/error.h"
#include "headlight/base/utf8.h"
#include "headlight/datasets/dataset_parts.h"
#include "headlight/datasets/documents.h"
#include "headlight/datasets/text_dataset.h"
#include "headlight/datasets/token_file.h"
#include "headlight/formats/tokenizer_directory.h"

namespace headlight::cli {
namespace {

constexpr std::array<std::string_view, 2> kOnOff{"on", "off"};

void warn_about(const Tokenizer& tokenizer) {
  if (!tokenizer.warning().empty()) {
    log_warning(tokenizer.warning());
  }
}

}  // namespace

void add_format_options(Options& options) {
  options
      .choice("documents", "Where plain text is split into documents", kChoiceNames<DocumentSplit>,
              "none")
      .value("separator", "Text between documents, with --documents token", "<|endoftext|>")
      .value("jsonl", kJsonlHelp);
  options.basic({"documents"});
}

void add_text_data_options(Options& options) {
  options.values("data", kTextsOrIdsHelp);
  add_format_options(options);
  options.choice("token_dtype", kTokenDtypeHelp, kChoiceNames<TokenDtype>, "auto")
      .value("batch_size", "Compute this number of sequences at once", "12");
  add_special_tokens_option(options);
  options.paths({"data"}).basic({"data"});
}

LoadedModel load_model_with_warnings(const std::filesystem::path& path,
                                     const LoadOptions& options) {
  LoadOptions aloud = options;
  aloud.warn = log_warning;
  aloud.inform = log_info;
  aloud.progress = loading_bar();
  LoadedModel loaded = load_model(path, aloud);
  warn_about(*loaded.tokenizer);
  return loaded;
}

std::unique_ptr<Tokenizer> open_tokenizer_aloud(const std::filesystem::path& path,
                                                const Options& options) {
  std::unique_ptr<Tokenizer> tokenizer = open_tokenizer(path, base_option(options, path));
  warn_about(*tokenizer);
  return tokenizer;
}

void add_special_tokens_option(Options& options, const std::string& fallback) {
  options.choice("special_tokens",
                 "Read names of special tokens in a text, such as <|im_start|>, as those tokens; "
                 "the default for bidirectional models is on",
                 kOnOff, fallback);
}

bool special_tokens_option(const Options& options) {
  return options.has("special_tokens") && options.text("special_tokens") == "on";
}

LoadedModel load_text_model(const std::filesystem::path& path, const Options& options,
                            const LoadOptions& loading) {
  const bool reads_special = special_tokens_option(options);
  LoadOptions with_base = loading;
  with_base.base = base_option(options, path);
  LoadedModel loaded = load_model_with_warnings(path, with_base);
  const bool is_open = !loaded.model->config().causal && !options.given("special_tokens");
  loaded.tokenizer->set_reads_special(reads_special || is_open);
  return loaded;
}

void add_window_option(Options& options) {
  options
      .value("window", "Limit the context to this number of tokens; 0: the model's context length",
             "1024")
      .choice("bos",
              "Begin texts, documents and windows with the model's begin token (auto: if its "
              "prompts do)",
              kChoiceNames<BeginToken>, "auto");
}

LoadedModel load_windowed_model(const std::filesystem::path& path, const Options& options,
                                Attention attention, bool keeps_blocks) {
  const Index window = options.integer("window");
  require_value(window >= 0, "window", "expected at least 0, got ", window);
  const BeginToken begin = begin_option(options);
  LoadedModel loaded = load_text_model(path, options,
                                       {.adjust =
                                            [&](GptConfig& config) {
                                              config.block_size =
                                                  window == 0 ? config.block_size
                                                              : std::min(config.block_size, window);
                                            },
                                        .bidirectional = attention == Attention::any,
                                        .keeps_integers = keeps_blocks});
  if (begin != BeginToken::automatic) {
    loaded.tokenizer->set_prepends_begin_token(begin == BeginToken::on);
  }
  return loaded;
}

std::optional<Masking> masking_for(const LoadedModel& loaded) {
  return loaded.model->config().causal ? std::nullopt
                                       : std::optional(masking_of(*loaded.tokenizer));
}

BeginToken begin_option(const Options& options) {
  return options.has("bos") ? options.chosen<BeginToken>("bos") : BeginToken::automatic;
}

TextFormat text_format(const Options& options) {
  const TextFormat format{.split = {.mode = options.chosen<DocumentSplit>("documents"),
                                    .separator = options.text("separator")},
                          .jsonl = options.text("jsonl")};
  require(format.split.mode == DocumentSplit::token || !options.given("separator"),
          "--separator: needs --documents token");
  format.split.validate();
  require(!format.jsonl.empty() || !options.given("jsonl"), "--jsonl: expected a key, got none");
  return format;
}

std::vector<std::string> text_documents(const Options& options) {
  const std::string text = options.text("text");
  require(!text.empty(), "--text: expected a text, got an empty one");
  require_utf8(text, "--text");
  warn_about_decomposed(text, "--text");
  return split_documents(text, text_format(options).split);
}

std::vector<TextFile> find_texts(const std::vector<std::string>& names,
                                 std::string_view token_file) {
  std::vector<std::string> warnings;
  std::vector<TextFile> files = find_text_files(names, token_file, &warnings);
  log_warnings(warnings);
  report_reading(files, progress_bar("reading texts"));
  return files;
}

std::size_t read_texts(const std::vector<TextFile>& files, const TextFormat& format,
                       const std::function<void(const TextFile&, const TextPart&)>& use) {
  std::size_t bytes = 0;
  std::vector<std::string> warnings;
  use_each(files, "files", [&](const TextFile& file) {
    InputFormatCheck check(file, format);
    read_text(file, format, [&](const TextPart& part) {
      check.add(part.text);
      use(file, part);
      bytes += part.text.size();
    });
    check.add_to(warnings);
  });
  log_warnings(warnings);
  return bytes;
}

TokenDataset read_text_data(const Options& options, const Tokenizer& tokenizer,
                            const std::string& name) {
  require(options.given(name), "--", name, ": expected a text file");
  text_format(options);  // rejects invalid options before it looks for files
  return read_text_data(options, find_texts(options.texts(name)), tokenizer);
}

TokenDataset read_model_data(const Options& options, const LoadedModel& loaded,
                             const std::string& name) {
  return whole_sequences(read_text_data(options, *loaded.tokenizer, name), loaded.model->config(),
                         *loaded.tokenizer);
}

TokenDataset read_text_data(const Options& options, const std::vector<TextFile>& files,
                            const Tokenizer& tokenizer) {
  TextFormat format = text_format(options);
  format.token_dtype = options.chosen<TokenDtype>("token_dtype");
  format.begin = begin_option(options);
  std::vector<std::string> warnings;
  TokenDataset data = join_datasets(read_datasets(files, format, tokenizer, warnings),
                                    document_ends(tokenizer, format.begin));
  log_warnings(warnings);
  if (tokenizer.begin_token() != tokenizer.end_token()) {
    log_info(concat_text(
        "documents and windows begin with ",
        data.window_begin < 0 ? "no special token" : tokenizer.special_name(data.window_begin),
        options.has("bos") ? "; see --bos" : ""));
  }
  require(has_targets(data), names_of(files), ": expected at least two tokens in a row, got ",
          data.token_count);
  if (const Index unknown = count_token(data, tokenizer.unknown()); unknown > 0) {
    log_warning(concat_text(names_of(files), ": ", unknown, " of ", data.token_count,
                            " tokens are characters that are not in the vocabulary"));
  }
  return data;
}

}  // namespace headlight::cli
