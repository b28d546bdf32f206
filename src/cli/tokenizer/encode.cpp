#include <spdlog/fmt/fmt.h>

#include <functional>
#include <iostream>
#include <optional>
#include <utility>

#include "base/strings/printable.h"
#include "cli/commands.h"
#include "cli/option_groups/text_data.h"
#include "cli/terminal/log.h"
#include "cli/terminal/options.h"
#include "headlight/base/utf8.h"
#include "headlight/datasets/text_source.h"
#include "headlight/formats/shards/shards.h"
#include "headlight/storage/file_writer.h"
#include "show/report/parts/json_output.h"
#include "show/report/parts/numbers.h"
#include "tokenizers/text_encoder.h"

namespace headlight::cli {
namespace {

using Ids = std::vector<std::int32_t>;
// `begins` is true for the first ids of a document.
using UseIds = std::function<void(const Ids& ids, bool begins)>;

Options tokenizer_encode_options() {
  Options options(
      {.name = "tokenizer encode",
       .summary = "Turn text into token ids.",
       .positional = "TOKENIZER [FILE ...]",
       .details =
           "Prints the ids of a text on one line, or one line for each of several files or "
           "JSON Lines. Names of special tokens in the text are read as those tokens, as in "
           "Hugging Face tokenizers. With --special_tokens off they are plain text, as in "
           "other commands. Files of any length are read in parts, without changes. Byte-level "
           "tokenizers accept any bytes.\n\n"
           "--out writes the ids as nanoGPT's train.bin: little-endian numbers of 16 bits, or "
           "32 if the vocabulary is above 65,536. It prints the number of tokens. "
           "<|endoftext|> follows each of several files or JSON Lines, as in nanoGPT's "
           "prepare.py.\n\n"
           "--shard_tokens writes a folder --out of such files, shard_000000.bin ..., with at "
           "most this number of tokens each. It encodes on all threads, and <|endoftext|> "
           "follows every document. Each file has an index of its documents (.idx, as for "
           "Megatron-LM). The folder also gets tokenizer.json and shards.json, which records "
           "texts, tokenizer and progress: the same command continues an interrupted encoding. "
           "headlight train --data FOLDER reads it with every batching.\n\n"
           "JSON keys: ids (a list; a list for each of several files or JSON Lines). With "
           "--out: tokens, bytes, file, token_dtype. With --shard_tokens: folder, shards, "
           "found (before), documents, tokens, token_dtype.",
       .examples = {"headlight tokenizer encode runs/bpe --text \"Once upon a time\"",
                    "headlight tokenizer encode runs/bpe book.txt --out train.bin",
                    "headlight tokenizer encode runs/bpe stories.jsonl.gz --out train.bin",
                    "headlight tokenizer encode runs/bpe 'crawl/*.jsonl.zst' --out tokens "
                    "--shard_tokens 100000000",
                    "headlight tokenizer encode runs/bpe texts.jsonl --jsonl content --json"}});
  options.value("text", "Encode this text").values("file", kTextsHelp);
  add_format_options(options);
  options.value("out", "Write the ids to this file or folder instead of printing them")
      .value("shard_tokens", "Write a folder of files with at most this number of tokens each")
      .choice("token_dtype",
              "Data type of the ids in that file (auto: the smallest for the vocabulary)",
              kChoiceNames<TokenDtype>, "auto");
  add_special_tokens_option(options, "on");
  options.alias("data", "file").alias("shard_size", "shard_tokens");
  options.paths({"file", "out"});
  return options;
}

struct Source {
  std::vector<TextFile> files;  // none: --text
  TextFormat format;
  bool several = false;  // gives several documents
};

Source source_of(const Options& options, const Tokenizer& tokenizer, const TextEncoder& encoder) {
  std::vector<std::string> names(options.positionals().begin() + 1, options.positionals().end());
  const std::vector<std::string> more = options.texts("file");
  names.insert(names.end(), more.begin(), more.end());
  require(names.empty() == options.given("text"), "expected either --text or files");
  if (names.empty()) {
    refuse_options(options, {"jsonl", "documents", "shard_tokens"}, "needs a file");
  }
  Source source{.files = find_texts(names), .format = text_format(options)};
  source.format.cut = encoder.encodes_in_parts() ? StreamCut::piece : StreamCut::end;
  source.format.as_it_is = true;
  source.format.any_bytes = tokenizer.kind() != "char";
  source.several = source.files.size() > 1 ||
                   (!source.files.empty() && source.format.gives_documents(source.files.front()));
  return source;
}

// Passes the ids of --text or of the files to `use`, part by part. Returns the size of the text in
// bytes.
std::size_t encode_source(const Options& options, const Source& source, const TextEncoder& encoder,
                          const UseIds& use) {
  if (source.files.empty()) {
    const std::string text = options.text("text");
    if (!source.format.any_bytes) {
      require_utf8(text, "--text");
    }
    use(encoder.encode(text), true);
    return text.size();
  }
  return read_texts(source.files, source.format, [&](const TextFile& file, const TextPart& part) {
    use(encoder.encode(part.text), source.format.gives_documents(file) || part.number == 0);
  });
}

TokenDtype output_dtype(const Options& options, const Tokenizer& tokenizer) {
  const TokenDtype needed = token_dtype_for(tokenizer.vocab_size());
  const TokenDtype wanted = options.chosen<TokenDtype>("token_dtype");
  require(wanted != TokenDtype::uint16 || needed == wanted,
          "--token_dtype: uint16 holds 65536 ids, the tokenizer has ", tokenizer.vocab_size());
  return wanted == TokenDtype::automatic ? needed : wanted;
}

void write_file_of_ids(const Options& options, const Tokenizer& tokenizer, const Source& source,
                       const TextEncoder& encoder) {
  const std::string path = output_file(options, "out", ".bin");
  const TokenDtype dtype = output_dtype(options, tokenizer);
  std::size_t tokens = 0;
  std::size_t bytes = 0;
  replace_file(path, [&](FileWriter& writer) {
    std::optional<std::int32_t> open;  // last id of the current document
    const auto write = [&](const Ids& ids) {
      writer.write(token_file_bytes(ids, dtype));
      tokens += ids.size();
    };
    const auto close_document = [&] {
      if (const auto last = std::exchange(open, {});
          source.several && last && last != tokenizer.end_of_text()) {
        write({tokenizer.end_of_text()});
      }
    };
    bytes = encode_source(options, source, encoder, [&](const Ids& ids, bool begins) {
      if (begins) {
        close_document();
      }
      write(ids);
      open = ids.empty() ? open : ids.back();
    });
    close_document();
  });
  if (options.json()) {
    print_json(
        {{"tokens", tokens}, {"bytes", bytes}, {"file", path}, {"token_dtype", name_of(dtype)}});
    return;
  }
  std::cout << "wrote " << escaped(path) << ": " << grouped(static_cast<Index>(tokens)) << " tokens"
            << (dtype == TokenDtype::uint32 ? " of 32 bits" : "") << ", from "
            << grouped(static_cast<Index>(bytes)) << " bytes\n";
}

void write_shards(const Options& options, const Tokenizer& tokenizer, const Source& source) {
  const std::string folder = options.text("out");
  require(!folder.empty(), "--out: expected the name of a folder, got none");
  ShardOptions sharding{.shard_tokens = options.integer("shard_tokens"),
                        .format = source.format,
                        .special = special_tokens_option(options)};
  sharding.format.token_dtype = output_dtype(options, tokenizer);
  sharding.on_shard = [&](const Shard& shard) {
    log_info(concat_text("wrote ", shown(std::filesystem::path(folder) / shard.name), ": ",
                         grouped(shard.tokens), " tokens, ", grouped(shard.documents),
                         " documents"));
  };
  const ShardResult result = encode_shards(folder, source.files, tokenizer, sharding);
  log_warnings(result.warnings);
  if (options.json()) {
    print_json({{"folder", folder},
                {"shards", result.shards.size()},
                {"found", result.found},
                {"documents", result.documents},
                {"tokens", result.tokens},
                {"token_dtype", name_of(sharding.format.token_dtype)}});
    return;
  }
  std::cout << escaped(folder) << ": " << grouped(result.tokens) << " tokens of "
            << grouped(result.documents) << " documents in " << grouped(std::ssize(result.shards))
            << " files"
            << (result.found > 0 ? concat_text(", ", grouped(result.found), " already existed")
                                 : "")
            << "\n";
}

// Prints ids as they arrive, several documents as a list of lists. Prints nothing before the first
// ids, because the text may still be rejected.
class IdPrinter {
 public:
  IdPrinter(bool json, bool several) : json_(json), multi_text_(several) {}

  void print(const Ids& ids, bool begins) {
    if (multi_text_ && begins) {
      std::cout << (is_first_ ? opening() : json_ ? "], " : "\n") << (json_ ? "[" : "");
      has_ids_ = false;
    } else {
      std::cout << (is_first_ ? opening() : "");
    }
    is_first_ = false;
    const std::string_view separator = json_ ? ", " : " ";
    std::cout << (has_ids_ && !ids.empty() ? separator : "")
              << fmt::format("{}", fmt::join(ids, separator));
    has_ids_ = has_ids_ || !ids.empty();
  }
  void close() const {
    std::cout << (is_first_ ? opening() : "") << (json_ && multi_text_ && !is_first_ ? "]" : "")
              << (json_ ? "]}\n" : "\n");
  }

 private:
  std::string_view opening() const { return json_ ? R"({"ids": [)" : ""; }

  bool json_;
  bool multi_text_;
  bool is_first_ = true;
  bool has_ids_ = false;  // in the current document
};

void tokenizer_encode_command(const Options& options) {
  require(!options.positionals().empty(),
          "expected TOKENIZER; see headlight tokenizer encode --help");
  const auto tokenizer = open_tokenizer_aloud(options.positionals().front(), options);
  const TextEncoder encoder(*tokenizer, special_tokens_option(options));
  const Source source = source_of(options, *tokenizer, encoder);
  if (options.given("shard_tokens")) {
    require(options.given("out"), "--shard_tokens: needs --out FOLDER");
    write_shards(options, *tokenizer, source);
    return;
  }
  if (options.given("out")) {
    write_file_of_ids(options, *tokenizer, source, encoder);
    return;
  }
  IdPrinter printer(options.json(), source.several);
  encode_source(options, source, encoder,
                [&](const Ids& ids, bool begins) { printer.print(ids, begins); });
  printer.close();
}

}  // namespace

int run_tokenizer_encode(const Words& words) {
  return run(tokenizer_encode_options(), words, tokenizer_encode_command);
}

}  // namespace headlight::cli
