#include "headlight/datasets/text_source.h"

#include <algorithm>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>

#include "base/all_errors.h"
#include "base/json.h"
#include "datasets/input_format_check.h"
#include "datasets/other_encodings.h"
#include "datasets/records.h"
#include "headlight/base/error.h"
#include "headlight/base/utf8.h"
#include "headlight/kernels/machine/memory.h"
#include "headlight/tokenizers/bpe_pattern.h"
#include "storage/byte_source.h"
#include "storage/compressed/decompression.h"

namespace headlight {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

constexpr std::size_t kReadAtOnce = std::size_t{4} << 20;     // bytes
constexpr std::size_t kSearchedEnd = std::size_t{64} << 10;   // bytes at the end searched for a cut
constexpr std::size_t kLongestPart = std::size_t{128} << 20;  // bytes

std::unique_ptr<ByteSource> open_source(const TextFile& file, bool any_bytes) {
  std::unique_ptr<ByteSource> source = file.held != nullptr       ? held_bytes(file.held)
                                       : file.is_standard_input() ? standard_input()
                                                                  : open_bytes(file.path);
  if (file.on_read) {
    source = reported_bytes(std::move(source), file.on_read);
  }
  Compression compression = compression_of_name(file.path);
  if (compression == Compression::none && (!any_bytes || file.is_standard_input())) {
    std::string beginning(kMagicBytes, '\0');
    beginning.resize(read_fully(*source, beginning));
    compression = compression_of_bytes(beginning);
    source = joined_bytes(std::move(beginning), std::move(source));
  }
  return decompressed(std::move(source), compression, file.name());
}

void unify_line_ends(std::string& text) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') {
      text[kept++] = text[i];
    }
  }
  text.resize(kept);
}

// Reads a file as text, some megabytes at a time. Holds back half a character or a carriage return
// at the end until the next bytes decide about it.
class TextBytes {
 public:
  TextBytes(const TextFile& file, bool as_it_is, bool any_bytes)
      : file_(file),
        source_(open_source(file, any_bytes)),
        as_it_is_(as_it_is),
        any_bytes_(any_bytes) {}

  bool append_to(std::string& text) {
    std::string bytes = std::exchange(waiting_, {});
    const std::size_t count = read_fully(*source_, {room_.get(), kReadAtOnce});
    bytes.append(room_.get(), count);
    const bool at_end = count < kReadAtOnce;
    if (offset_ == 0 && !any_bytes_) {
      require_text(file_, bytes);
      require_no_wide_encoding(file_, bytes);
    }
    std::size_t decided = any_bytes_ ? bytes.size() : valid_length(bytes, at_end);
    if (!as_it_is_ && !at_end && decided > 0 && bytes[decided - 1] == '\r') {
      --decided;
    }
    waiting_ = bytes.substr(decided);
    bytes.resize(decided);
    const bool is_first = std::exchange(offset_, offset_ + decided) == 0;
    if (!as_it_is_) {
      if (is_first && bytes.starts_with(kByteOrderMark)) {
        bytes.erase(0, kByteOrderMark.size());
      }
      unify_line_ends(bytes);
    }
    text += bytes;
    return !at_end;
  }

 private:
  std::size_t valid_length(std::string_view bytes, bool at_end) const {
    const std::size_t valid = valid_utf8_prefix(bytes);
    const bool is_cut = !at_end && valid < bytes.size() && first_character(bytes.substr(valid)).cut;
    require(valid == bytes.size() || is_cut, file_.name(), ": invalid UTF-8 at byte ",
            offset_ + valid,
            valid < bytes.size() && !is_cut ? conversion_hint(file_, bytes, valid) : "");
    return valid;
  }

  const TextFile& file_;
  std::unique_ptr<ByteSource> source_;
  bool as_it_is_;
  bool any_bytes_;
  // Not zeroed, because zeroing would dominate the time for a small file.
  std::unique_ptr<char[]> room_ = std::make_unique_for_overwrite<char[]>(kReadAtOnce);
  std::string waiting_;
  std::size_t offset_ = 0;  // file position of waiting_
};

std::size_t length_of_lines(std::string_view text) { return text.rfind('\n') + 1; }

std::size_t length_before_document(std::string_view text) {
  for (std::size_t end = text.rfind('\n'); end != std::string_view::npos;) {
    const std::size_t before = end == 0 ? std::string_view::npos : text.rfind('\n', end - 1);
    const std::size_t begin = before + 1;
    if (text.substr(begin, end - begin).find_first_not_of(" \t\r") == std::string_view::npos) {
      return end + 1;
    }
    end = before;
  }
  return 0;
}

// Returns the length up to and including the last separator. Searches from the beginning, because
// separators may overlap.
std::size_t length_of_separated(std::string_view text, std::string_view separator) {
  std::size_t length = 0;
  for (std::size_t next = text.find(separator); next != std::string_view::npos;
       next = text.find(separator, length)) {
    length = next + separator.size();
  }
  return length;
}

std::size_t length_of_pieces(std::string_view text) {
  const std::size_t searched = text.size() - std::min(text.size(), kSearchedEnd);
  const auto parts = split_between_pieces(text, std::max<std::size_t>(1, searched));
  return parts.size() < 2 ? 0 : text.size() - parts.back().size();
}

std::size_t length_of_stream(std::string_view text, StreamCut cut) {
  switch (cut) {
    case StreamCut::character:
      return text.size();  // append_to() never ends within a character
    case StreamCut::piece:
      return length_of_pieces(text);
    case StreamCut::line:
      return text.find('\n') == std::string_view::npos ? length_of_pieces(text)
                                                       : length_of_lines(text);
    case StreamCut::end:
      break;
  }
  return 0;
}

// Returns the length of the beginning of `text` that following text cannot change; 0 if unknown.
std::size_t complete_length(std::string_view text, const TextFormat& format) {
  switch (format.split.mode) {
    case DocumentSplit::line:
      return length_of_lines(text);
    case DocumentSplit::blank_line:
      return length_before_document(text);
    case DocumentSplit::token:
      return length_of_separated(text, format.split.separator);
    case DocumentSplit::none:
      break;
  }
  return length_of_stream(text, format.cut);
}

// Returns the mark that ends a document, for errors.
std::string end_of_document(const DocumentSplitOptions& split) {
  return split.mode == DocumentSplit::line         ? "end of line"
         : split.mode == DocumentSplit::blank_line ? "blank line"
                                                   : "separator " + quoted_text(split.separator);
}

// Checks the `length` bytes read since the last cut. Throws Error above 128 MiB. A stream that is
// cut only at its end may be longer, if the stream fits in memory.
void require_room(const std::string& name, const TextFormat& format, std::size_t used,
                  std::size_t length) {
  if (length <= kLongestPart) {
    return;
  }
  const bool documents = format.split.mode != DocumentSplit::none;
  require(documents || format.cut == StreamCut::end, name, ": no word ends within ", kLongestPart,
          " bytes after byte ", used, ", so the text cannot be read in parts");
  require(!documents, name, ": no ", end_of_document(format.split), " within ", kLongestPart,
          " bytes after byte ", used,
          "; choose another value of documents, or none for one stream");
  const std::string missing = missing_memory(2.0 * static_cast<double>(length));
  require(missing.empty(), name, ": cannot be read in parts and does not fit in memory: ", length,
          " bytes are read, the rest needs ", missing);
}

void read_plain(const TextFile& file, const TextFormat& format, const UseText& use) {
  format.split.validate();
  TextBytes bytes(file, format.as_it_is, format.any_bytes);
  const std::string name = file.name();
  std::string text;
  std::size_t used = 0;
  Index number = 0;
  for (bool more = true; more;) {
    more = bytes.append_to(text);
    const std::size_t complete = more ? complete_length(text, format) : text.size();
    const std::string_view part = std::string_view(text).substr(0, complete);
    if (format.split.mode != DocumentSplit::none) {
      for (const std::string_view document : find_documents(part, format.split)) {
        use({document, number++});
      }
    } else if (!part.empty()) {
      use({part, number++});
    }
    text.erase(0, complete);
    used += complete;
    require_room(name, format, used, text.size());
  }
}

// Returns "; choose another ..." for a record without the key of its text: with the keys that have
// a text or a conversation; "" if it has none.
std::string other_keys(const Json& object) {
  constexpr std::size_t kMostKeys = 8;
  std::string keys;
  std::size_t count = 0;
  for (const auto& [key, value] : object.members()) {
    const bool has_turns =
        value.is_array() && !value.empty() && value.front().find("role") != nullptr;
    if ((value.is_string() || has_turns) && count++ < kMostKeys) {
      keys += (keys.empty() ? "" : ", ") + quoted_text(key);
    }
  }
  const char* pair =
      count < 2 ? "" : "; the names of a question and its answer are \"prompt\" and \"completion\"";
  return keys.empty() ? "" : "; choose another with --jsonl: " + keys + pair;
}

std::string text_of(const Json& value, const std::string& key, const std::string& where) {
  if (value.is_object()) {
    const Json* found = value.find(key);
    if (found == nullptr) {
      fail(where, ": key ", quoted_text(key), " is missing", other_keys(value));
    }
    require(found->is_string(), where, ": ", quoted_text(key), " must be a string, got ",
            found->type_name());
    return found->text();
  }
  require(value.is_string(), where, ": expected a JSON object or string, got ", value.type_name());
  return value.text();
}

bool is_blank_line(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

void read_texts_of_records(const TextFile& file, const TextFormat& format, const UseText& use) {
  const std::string key = format.jsonl.empty() ? "text" : format.jsonl;
  Index number = 0;
  const std::string example = concat_text("{\"", key, "\": \"One day\"}");
  read_records(file, example, [&](const Json& record, const std::string& where) {
    use({text_of(record, key, where), number++});
  });
}

}  // namespace

void read_lines(const TextFile& file, const UseLine& use) {
  TextBytes bytes(file, false, false);
  std::string text;
  Index line_number = 0;
  for (bool more = true; more;) {
    more = bytes.append_to(text);
    std::size_t begin = 0;
    while (begin < text.size()) {
      const std::size_t end = text.find('\n', begin);
      if (end == std::string::npos && more) {
        break;
      }
      const std::string_view line = std::string_view(text).substr(begin, end - begin);
      ++line_number;
      if (!is_blank_line(line)) {
        use(line, line_number);
      }
      begin = end == std::string::npos ? text.size() : end + 1;
    }
    text.erase(0, begin);
    require(text.size() <= kLongestPart, file.name(), ": line ", line_number + 1, ": longer than ",
            kLongestPart, " bytes");
  }
}

void read_characters(const TextFile& file, const UseText& use) {
  read_plain(file, {.cut = StreamCut::character}, use);
}

bool TextFormat::is_json_lines(const TextFile& file) const {
  return !jsonl.empty() || is_json_lines_name(file.path) || is_json_of_texts(file);
}

bool TextFormat::gives_documents(const TextFile& file) const {
  return split.mode != DocumentSplit::none || is_json_lines(file);
}

void read_text(const TextFile& file, const TextFormat& format, const UseText& use) {
  require(!is_token_file(file.path), file.name(), ": contains token ids, expected text");
  format.is_json_lines(file) ? read_texts_of_records(file, format, use)
                             : read_plain(file, format, use);
}

std::vector<std::string> read_documents(const std::vector<TextFile>& files, TextFormat format,
                                        std::vector<std::string>* warnings) {
  format.cut = StreamCut::character;
  std::vector<std::string> documents;
  use_each(files, "files", [&](const TextFile& file) {
    const bool is_stream = !format.gives_documents(file);
    InputFormatCheck look(file, format);
    read_text(file, format, [&](const TextPart& part) {
      look.add(part.text);
      if (is_stream && part.number > 0) {
        documents.back() += part.text;
      } else if (!part.text.empty()) {
        documents.emplace_back(part.text);
      }
    });
    if (warnings != nullptr) {
      look.add_to(*warnings);
    }
  });
  require(!documents.empty(), names_of(files), ": expected a text, got none");
  return documents;
}

std::string read_text_file(const std::filesystem::path& path) {
  const TextFile file{.path = path.string()};
  std::string text;
  try {
    require_fits(file);
    // Ignores the file's name: a prompt in JSON stays JSON.
    read_plain(file, {.cut = StreamCut::character}, [&](const TextPart& part) {
      if (text.size() + part.text.size() > text.capacity()) {
        const std::string missing =
            missing_memory(2.0 * static_cast<double>(text.size() + part.text.size()));
        require(missing.empty(), file.name(), ": does not fit in memory: ", missing);
      }
      text += part.text;
    });
  } catch (const std::bad_alloc&) {
    fail(file.name(), ": does not fit in memory");
  } catch (const std::length_error&) {
    fail(file.name(), ": does not fit in memory");
  }
  require(!text.empty(), file.name(), ": is empty");
  return text;
}

}  // namespace headlight
