#include "headlight/datasets/text_dataset.h"

#include <algorithm>
#include <utility>

#include "base/all_errors.h"
#include "base/strings/printable.h"
#include "base/transformed.h"
#include "datasets/input_format_check.h"
#include "headlight/base/error.h"
#include "headlight/datasets/token_file.h"
#include "headlight/kernels/machine/memory.h"
#include "tokenizers/bpe_encoder.h"
#include "tokenizers/special_names.h"
#include "tokenizers/text_encoder.h"

namespace headlight {
namespace {

using Ids = std::vector<std::int32_t>;

// Counts ids and checks from time to time whether more fit in memory. The system hands out memory
// that it lacks, and a small file may hold a large text.
class IdCount {
 public:
  explicit IdCount(std::string name) : name_(std::move(name)) {}

  void add(std::size_t count) {
    constexpr std::size_t kAskedEvery = std::size_t{1} << 22;
    count_ += count;
    unasked_ += count;
    if (unasked_ >= kAskedEvery) {
      unasked_ = 0;
      require_room(kAskedEvery);
    }
  }
  // Throws Error unless `more` further ids fit in memory.
  void require_room(std::size_t more) const {
    const std::string missing = missing_memory(static_cast<double>(more) * sizeof(std::int32_t));
    require(missing.empty(), name_, ": its ", std::max(count_, more),
            " tokens do not fit in memory: they take ", missing);
  }
  std::size_t count() const { return count_; }

 private:
  std::string name_;
  std::size_t count_ = 0;
  std::size_t unasked_ = 0;
};

// Finds a text in a stream of parts, also across their borders.
class Finder {
 public:
  explicit Finder(std::string wanted) : wanted_(std::move(wanted)) {}

  void add(std::string_view part) {
    const std::size_t kept = wanted_.size() - 1;
    const std::string border = end_ + std::string(part.substr(0, kept));
    found_ = found_ || border.find(wanted_) != std::string::npos ||
             part.find(wanted_) != std::string_view::npos;
    end_ += part.substr(part.size() - std::min(part.size(), kept));
    end_.erase(0, end_.size() - std::min(end_.size(), kept));
  }
  bool found() const { return found_; }

 private:
  std::string wanted_;
  std::string end_;  // last bytes seen so far
  bool found_ = false;
};

// Returns where a stream may be cut without changing its ids.
StreamCut cut_for(const Tokenizer& tokenizer) {
  const bool reads_special = tokenizer.reads_special();
  if (!TextEncoder(tokenizer, reads_special).encodes_in_parts()) {
    return StreamCut::end;
  }
  return tokenizer.kind() == "bpe" || reads_special ? StreamCut::piece : StreamCut::character;
}

// True if the document separator in the text would be encoded as plain characters.
bool looks_for_separator(const TextFile& file, const TextFormat& format,
                         const Tokenizer& tokenizer) {
  const std::string& separator = format.split.separator;
  if (format.split.mode == DocumentSplit::token || format.is_json_lines(file) ||
      separator.empty()) {
    return false;
  }
  const std::vector<TextSegment> segments =
      special_segments(tokenizer, separator, {.read_special = tokenizer.reads_special()});
  return segments.size() != 1 || segments.front().id < 0;  // else it is read as a token
}

TokenDataset read_text_dataset(const TextFile& file, TextFormat format, const Tokenizer& tokenizer,
                               std::vector<std::string>& warnings) {
  IdCount count(file.name());
  const Index bytes = require_fits(file);
  if (tokenizer.kind() == "byte") {  // other kinds are checked while reading
    count.require_room(static_cast<std::size_t>(bytes));
  }
  format.cut = cut_for(tokenizer);
  constexpr std::size_t kDocument = 16;  // overhead of a document, in ids
  const bool documents = format.gives_documents(file);
  const bool looks = looks_for_separator(file, format, tokenizer);
  Finder separator(format.split.separator);
  SpecialNameCount names(tokenizer, looks ? format.split.separator : "");
  InputFormatCheck look(file, format);
  std::vector<Ids> parts;
  read_text(file, format, [&](const TextPart& part) {
    look.add(part.text);
    if (looks) {
      separator.add(part.text);
    }
    const std::string_view text =
        documents ? without_end_name(tokenizer, part.text) : std::string_view(part.text);
    names.add(text);
    Ids ids = tokenizer.encode(text);
    if (!ids.empty()) {
      count.add(ids.size() + (documents ? kDocument : 0));
      parts.push_back(std::move(ids));
    }
  });
  look.add_to(warnings);
  if (separator.found()) {
    warnings.push_back(
        concat_text(file.name(), ": ", in_quotes(format.split.separator),
                    " in the text is read as plain text; --documents token splits the text there"));
  }
  if (std::string warning = names.warning(file.name()); !warning.empty()) {
    warnings.push_back(std::move(warning));
  }
  if (parts.empty()) {
    return {};
  }
  const DocumentEnds ends = document_ends(tokenizer, format.begin);
  if (documents) {
    return document_dataset(std::move(parts), ends);
  }
  if (parts.size() > 1) {
    count.require_room(count.count());
  }
  return stream_dataset(joined_ids(std::move(parts)), ends);
}

void require_any(bool any, const std::vector<TextFile>& files, const TextFormat& format) {
  const bool documents = !files.empty() && format.gives_documents(files.front());
  require(any, names_of(files),
          documents          ? ": documents: expected at least one document in the text, got none"
          : files.size() > 1 ? ": are empty"
                             : ": is empty");
}

}  // namespace

TokenDataset read_dataset(const TextFile& file, const TextFormat& format,
                          const Tokenizer& tokenizer, std::vector<std::string>& warnings) {
  if (is_token_file(file.path)) {
    const bool is_split = format.split.mode != DocumentSplit::none;
    const bool has_index = has_documents(file.path);
    require_value(!is_split || has_index, "documents", file.name(),
                  " contains one stream of token ids; set documents = none, or add an index of its "
                  "documents (.idx)");
    if (has_index && (is_split || format.token_documents)) {
      return token_file_documents(file.path, tokenizer, format.token_dtype, warnings, format.begin);
    }
    return token_file_dataset(file.path, tokenizer, format.token_dtype, warnings, format.begin);
  }
  return read_text_dataset(file, format, tokenizer, warnings);
}

std::vector<TokenDataset> read_datasets(const std::vector<TextFile>& files,
                                        const TextFormat& format, const Tokenizer& tokenizer,
                                        std::vector<std::string>& warnings) {
  std::vector<TokenDataset> datasets;
  use_each(files, "files", [&](const TextFile& file) {
    TokenDataset dataset = read_dataset(file, format, tokenizer, warnings);
    if (!dataset.sequences.empty()) {
      datasets.push_back(std::move(dataset));
    }
  });
  require_any(!datasets.empty(), files, format);
  return datasets;
}

CharTokenizer learn_characters(const std::vector<TextFile>& files, TextFormat format) {
  format.cut = StreamCut::character;
  CharTokenizerBuilder characters;
  bool any = false;
  use_each(files, "files", [&](const TextFile& file) {
    read_text(file, format, [&](const TextPart& part) {
      characters.feed(part.text);
      any = any || !part.text.empty();
    });
  });
  require_any(any, files, format);
  return characters.finish();
}

Masking masking_of(const Tokenizer& tokenizer) {
  require(tokenizer.mask_token().has_value(),
          "the tokenizer has no mask token, which stands for a hidden token");
  return {.token = *tokenizer.mask_token(),
          .kept = transformed(special_tokens_of(tokenizer), &AddedToken::id)};
}

TokenDataset whole_sequences(TokenDataset data, const GptConfig& model,
                             const Tokenizer& tokenizer) {
  if (model.causal) {
    return data;
  }
  const bool has_ends = tokenizer.prepends_begin_token();
  return closed_windows(std::move(data), has_ends ? tokenizer.begin_token() : std::nullopt,
                        has_ends ? tokenizer.closing_token() : std::nullopt, model.block_size);
}

}  // namespace headlight
