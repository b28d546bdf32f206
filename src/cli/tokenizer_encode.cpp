#include <array>
#include <fstream>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/file_pieces.h"
#include "cli/json_output.h"
#include "cli/log.h"
#include "cli/numbers.h"
#include "cli/options.h"
#include "cli/text_data.h"
#include "cli/text_encoder.h"
#include "cli/tokenizer.h"
#include "headlight/io/file_writer.h"
#include "headlight/io/open_tokenizer.h"
#include "headlight/tensor/error.h"
#include "headlight/text/utf8.h"
#include "text/checked_json.h"

namespace headlight::cli {
namespace {

using Ids = std::vector<std::int32_t>;
using UseIds = std::function<void(const Ids& ids)>;

constexpr std::size_t kLongestLine = std::size_t{128} << 20;  // bytes

Options make_options() {
  Options options(
      {.name = "tokenizer encode",
       .summary = "Turn text into token ids.",
       .positional = "TOKENIZER",
       .details =
           "Prints the ids on one line. The names of special tokens in the text become those\n"
           "tokens, as in Hugging Face tokenizers; --no_special keeps them plain text, as "
           "training\n"
           "does. Files are read as they are, a part at a time, whatever their length; byte-level\n"
           "tokenizers take any bytes. --out writes the ids as nanoGPT's train.bin, raw\n"
           "little-endian numbers of 16 bits, or 32 when the vocabulary is above 65,536, and "
           "prints\n"
           "how many there are.\n"
           "JSON keys: ids (a list; with --jsonl a list for each line); with --out: tokens, "
           "bytes,\n"
           "file, token_dtype.",
       .examples = {"headlight tokenizer encode runs/bpe --text \"Once upon a time\"",
                    "headlight tokenizer encode runs/bpe --file book.txt --out train.bin",
                    "headlight tokenizer encode runs/bpe --jsonl texts.jsonl --json"}});
  options.value("text", "Text to encode")
      .value("file", "File to encode")
      .value("jsonl", "File with a JSON string on each line; -: standard input")
      .value("out", "Write the ids into this file instead of printing them")
      .value("token_dtype", "Numbers of that file: uint16, uint32 or auto, the vocabulary's need",
             "auto")
      .flag("no_special", "Names of special tokens are plain text");
  return options;
}

void require_one_source(const Options& options) {
  int given = 0;
  for (const char* name : {"text", "file", "jsonl"}) {
    given += options.given(name) ? 1 : 0;
  }
  require(given == 1, "--text, --file, --jsonl: expected one of them, got ", given);
  require(!options.given("out") || !options.given("jsonl"), "--out: does not go with --jsonl");
}

// Hands on the ids of --text or --file, those of a file part by part. Returns the bytes of the
// text.
std::size_t encode_source(const Options& options, const Tokenizer& tokenizer,
                          const TextEncoder& encoder, const UseIds& use) {
  const bool any_bytes = tokenizer.kind() != "char";
  std::size_t bytes = 0;
  const auto encode = [&](const std::string& name, std::string_view part, std::size_t offset) {
    const std::size_t valid = any_bytes ? part.size() : valid_utf8_prefix(part);
    require(valid == part.size(), name, ": invalid UTF-8 at byte ", offset + valid);
    use(encoder.encode(part));
    bytes = offset + part.size();
  };
  if (options.given("text")) {
    encode("--text", options.text("text"), 0);
    return bytes;
  }
  const std::string path = options.text("file");
  const CutAt cut = encoder.encodes_in_parts() ? CutAt::piece : CutAt::end;
  read_in_parts(path, cut,
                [&](std::string_view part, std::size_t offset) { encode(path, part, offset); });
  return bytes;
}

TokenDtype output_dtype(const Options& options, const Tokenizer& tokenizer) {
  const TokenDtype needed = token_dtype_for(tokenizer.vocab_size());
  const TokenDtype wanted = token_dtype_option(options);
  require(wanted != TokenDtype::uint16 || needed == wanted,
          "--token_dtype: uint16 holds 65536 ids, the tokenizer has ", tokenizer.vocab_size());
  return wanted == TokenDtype::automatic ? needed : wanted;
}

void write_file_of_ids(const Options& options, const Tokenizer& tokenizer,
                       const TextEncoder& encoder) {
  const std::string path = output_file(options, "out", ".bin");
  const TokenDtype dtype = output_dtype(options, tokenizer);
  std::size_t tokens = 0;
  std::size_t bytes = 0;
  replace_file(path, [&](FileWriter& writer) {
    bytes = encode_source(options, tokenizer, encoder, [&](const Ids& ids) {
      writer.write(token_file_bytes(ids, dtype));
      tokens += ids.size();
    });
  });
  const bool wide = dtype == TokenDtype::uint32;
  if (options.json()) {
    const char* name = wide ? "uint32" : "uint16";
    print_json({{"tokens", tokens}, {"bytes", bytes}, {"file", path}, {"token_dtype", name}});
    return;
  }
  std::cout << "wrote " << path << ": " << grouped(static_cast<Index>(tokens)) << " tokens"
            << (wide ? " of 32 bits" : "") << ", from " << grouped(static_cast<Index>(bytes))
            << " bytes\n";
}

// Prints a list as its parts come. Nothing is printed before the first, which may be refused.
class ListPrinter {
 public:
  ListPrinter(std::string_view opening, std::string_view separator, std::string_view closing)
      : next_(opening), separator_(separator), closing_(closing) {}

  void print(std::string_view item) {
    std::cout << next_ << item;
    next_ = separator_;
    empty_ = false;
  }
  void close() { std::cout << (empty_ ? next_ : "") << closing_; }

 private:
  std::string_view next_;  // before the next item
  std::string_view separator_;
  std::string_view closing_;
  bool empty_ = true;
};

std::string joined(const Ids& ids, std::string_view separator) {
  std::string text;
  for (const std::int32_t id : ids) {
    text += text.empty() ? "" : separator;
    text += std::to_string(id);
  }
  return text;
}

void print_ids(const Options& options, const Tokenizer& tokenizer, const TextEncoder& encoder) {
  const std::string_view separator = options.json() ? ", " : " ";
  ListPrinter printer(options.json() ? R"({"ids": [)" : "", separator,
                      options.json() ? "]}\n" : "\n");
  encode_source(options, tokenizer, encoder, [&](const Ids& ids) {
    if (!ids.empty()) {
      printer.print(joined(ids, separator));
    }
  });
  printer.close();
}

std::string text_of_line(const std::string& line, const std::string& where) {
  const Json value = parse_json(line, where);
  require(value.is_string(), where, ": expected a JSON string");
  return value.get<std::string>();
}

// The next line without its end; false behind the last.
bool read_line(std::istream& in, std::string& line, const std::string& where) {
  line.clear();
  for (int next = in.get(); next != std::istream::traits_type::eof() && next != '\n';
       next = in.get()) {
    require(line.size() < kLongestLine, where, ": longer than ", kLongestLine, " bytes");
    line += static_cast<char>(next);
  }
  return in.good() || !line.empty();
}

void print_lines(const Options& options, const TextEncoder& encoder) {
  const std::string path = options.text("jsonl");
  const std::string name = path == "-" ? "standard input" : path;
  std::ifstream file;
  if (path != "-") {
    require(!std::filesystem::is_directory(path), name, ": is a directory, expected a file");
    file.open(path, std::ios::binary);
    require(file.is_open(), name, ": cannot be opened for reading");
  }
  std::istream& in = path == "-" ? std::cin : file;
  ListPrinter printer(options.json() ? R"({"ids": [)" : "", options.json() ? ", " : "\n",
                      options.json() ? "]}\n" : "\n");
  Index number = 1;
  const auto where = [&] { return concat_text(name, ": line ", number); };
  for (std::string line; read_line(in, line, where()); ++number) {
    const Ids ids = encoder.encode(text_of_line(line, where()));
    printer.print(options.json() ? "[" + joined(ids, ", ") + "]" : joined(ids, " "));
  }
  require(!in.bad(), name, ": reading failed at line ", number);
  printer.close();
}

}  // namespace

int run_tokenizer_encode(const std::vector<std::string>& arguments) {
  Options options = make_options();
  if (!options.parse(arguments)) {
    return 0;
  }
  require_one_source(options);
  const auto tokenizer = open_tokenizer(options.positional());
  const TextEncoder encoder(*tokenizer, !options.is_set("no_special"));
  if (options.given("jsonl")) {
    print_lines(options, encoder);
  } else if (options.given("out")) {
    write_file_of_ids(options, *tokenizer, encoder);
  } else {
    print_ids(options, *tokenizer, encoder);
  }
  return 0;
}

}  // namespace headlight::cli
