#include <cctype>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/json_output.h"
#include "cli/options.h"
#include "cli/tokenizer.h"
#include "headlight/io/open_tokenizer.h"
#include "headlight/tensor/error.h"
#include "headlight/text/utf8.h"
#include "io/input_file.h"

namespace headlight::cli {
namespace {

constexpr Index kLargestText = Index{1} << 28;  // bytes of ids in writing
constexpr Index kIdsAtOnce = Index{1} << 20;

using Ids = std::vector<std::int32_t>;

Options make_options() {
  Options options(
      {.name = "tokenizer decode",
       .summary = "Turn token ids into text.",
       .positional = "TOKENIZER",
       .details =
           "Writes exactly the bytes that the tokens stand for, without a line end after them.\n"
           "Special tokens are written by name, so that what encode read comes back;\n"
           "--skip_special leaves them out.\n"
           "JSON keys: text (bytes that are no character become U+FFFD).",
       .examples = {"headlight tokenizer decode runs/bpe --ids 464,2068,7586",
                    "headlight tokenizer decode runs/bpe --file train.bin > book.txt"}});
  options.value("ids", "Ids separated by commas")
      .value("file", "File of ids: 16-bit numbers (NAME.bin), or text with any separators")
      .flag("skip_special", "Leave special tokens out");
  return options;
}

std::int32_t checked_id(Index id, const Tokenizer& tokenizer, const std::string& where) {
  require(id >= 0 && id < tokenizer.vocab_size(), where, ": expected ids of 0 to ",
          tokenizer.vocab_size() - 1, ", got ", id);
  return static_cast<std::int32_t>(id);
}

std::string bytes_of(const Ids& ids, const Tokenizer& tokenizer, bool skip_special) {
  std::string bytes;
  for (const std::int32_t id : ids) {
    const std::string_view name = tokenizer.special_name(id);
    if (name.empty()) {
      bytes += tokenizer.token_bytes(id);
    } else if (!skip_special) {
      bytes += name;
    }
  }
  return bytes;
}

// Numbers between characters that are not digits.
Ids ids_in_text(const std::string& path, const Tokenizer& tokenizer) {
  const std::string text = read_whole_file(path, kLargestText);
  Ids ids;
  for (std::size_t i = 0; i < text.size();) {
    Index id = 0;
    const std::size_t begin = i;
    for (; i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) != 0; ++i) {
      id = std::min<Index>(10 * id + (text[i] - '0'), tokenizer.vocab_size());
    }
    if (i > begin) {
      ids.push_back(checked_id(id, tokenizer, path));
    } else {
      require(std::string_view(" \t\r\n,[]").find(text[i]) != std::string_view::npos, path,
              ": expected ids between blanks or commas at byte ", i);
      ++i;
    }
  }
  return ids;
}

// Hands on what a file of 16-bit numbers stands for, part by part.
template <class Use>
void decode_uint16(const std::string& path, const Tokenizer& tokenizer, const Use& use) {
  const InputFile file(path);
  require(file.size() % 2 == 0, path, ": expected 16-bit numbers, got ", file.size(), " bytes");
  for (Index begin = 0; begin < file.size(); begin += 2 * kIdsAtOnce) {
    std::vector<std::byte> bytes(
        static_cast<std::size_t>(std::min(2 * kIdsAtOnce, file.size() - begin)));
    file.read(begin, bytes);
    Ids ids;
    for (std::size_t i = 0; i < bytes.size(); i += 2) {
      const auto id = std::to_integer<Index>(bytes[i]) + 256 * std::to_integer<Index>(bytes[i + 1]);
      ids.push_back(checked_id(id, tokenizer, path));
    }
    use(ids);
  }
}

template <class Use>
void decode_source(const Options& options, const Tokenizer& tokenizer, const Use& use) {
  const std::string path = options.text("file");
  if (options.given("ids")) {
    Ids ids;
    for (const Index id : options.integers("ids")) {
      ids.push_back(checked_id(id, tokenizer, "--ids"));
    }
    use(ids);
  } else if (path.ends_with(".bin")) {
    decode_uint16(path, tokenizer, use);
  } else {
    use(ids_in_text(path, tokenizer));
  }
}

}  // namespace

int run_tokenizer_decode(const std::vector<std::string>& arguments) {
  Options options = make_options();
  if (!options.parse(arguments)) {
    return 0;
  }
  require(options.given("ids") != options.given("file"), "expected either --ids or --file");
  const auto tokenizer = open_tokenizer(options.positional());
  const bool skip_special = options.is_set("skip_special");
  std::string whole;
  decode_source(options, *tokenizer, [&](const Ids& ids) {
    const std::string bytes = bytes_of(ids, *tokenizer, skip_special);
    options.json() ? void(whole += bytes) : void(std::cout << bytes);
  });
  if (options.json()) {
    print_json({{"text", replace_invalid_utf8(whole)}});
  }
  std::cout.flush();
  return 0;
}

}  // namespace headlight::cli
