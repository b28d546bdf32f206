#include "course/text_batch.h"

#include <algorithm>
#include <limits>
#include <map>
#include <sstream>

#include "base/json.h"
#include "base/transformed.h"
#include "cli/option_groups/text_data.h"
#include "course/steps.h"
#include "headlight/base/utf8.h"
#include "show/report/parts/json_output.h"
#include "storage/input_file.h"

namespace headlight::cli::lab {
namespace {

constexpr Index kMostSequences = 256;
constexpr Index kMostBytes = 1 << 20;  // of a file

std::vector<std::vector<std::int32_t>> classroom_sequences() {
  return {{62, 13, 47, 39, 78, 33, 56, 13, 39, 29, 44, 86, 71, 36, 18, 75},
          {60, 96, 51, 32, 90},
          {35, 45, 48, 65, 91, 99, 92, 10, 3, 21, 54},
          {75, 51},
          {66, 88, 98, 47},
          {21, 39, 10, 64, 21},
          {98},
          {77, 65, 51, 77, 19, 15, 35, 19, 23, 97, 50, 46, 53, 42, 45, 91, 66, 3, 43, 10},
          {70, 64, 98, 25, 99, 53, 4, 13, 69, 62, 66, 76, 15, 75, 45, 34},
          {20, 64, 81, 35, 76, 85, 1, 62, 8, 45, 99, 77, 19, 43}};
}

std::vector<std::string> lines_of(const std::string& path) {
  std::istringstream in(read_whole_file(path, kMostBytes));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line.ends_with('\r') ? line.substr(0, line.size() - 1) : line);
  }
  return lines;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) {
    words.push_back(word);
  }
  return words;
}

std::vector<std::string> characters_of(std::string_view text) {
  std::vector<std::string> characters;
  while (!text.empty()) {
    const auto length = static_cast<std::size_t>(first_character(text).length);
    characters.emplace_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return characters;
}

// Splits texts into words or characters. Ids count up in the order of their first appearance, from
// 0 or, to skip the id of <pad>, from 1.
void split_texts(const std::vector<std::string>& texts, bool into_words, std::int32_t pad_id,
                 TextBatch& batch) {
  std::map<std::string, std::int32_t> known;
  std::int32_t next = 0;
  for (const std::string& text : texts) {
    batch.labels.push_back(into_words ? words_of(text) : characters_of(text));
    batch.ids.emplace_back();
    for (const std::string& label : batch.labels.back()) {
      const auto [found, is_new] = known.try_emplace(label, next + (next == pad_id ? 1 : 0));
      next = is_new ? found->second + 1 : next;
      batch.ids.back().push_back(found->second);
    }
  }
}

void encode_texts(const std::vector<std::string>& texts, const Options& options, TextBatch& batch) {
  const auto tokenizer = open_tokenizer_aloud(options.text("tokenizer"), options);
  for (const std::string& text : texts) {
    batch.ids.push_back(tokenizer->encode(text));
    batch.labels.push_back(transformed(
        batch.ids.back(), [&](std::int32_t id) { return label_of_id(id, *tokenizer); }));
  }
}

// Ids of a JSON file, a list of lists. Pads at the end of a list are left out.
std::vector<std::vector<std::int32_t>> read_ids(const std::string& path, std::int32_t pad_id) {
  const Json lists = parse_json(read_whole_file(path, kMostBytes), path);
  require(lists.is_array(), path, ": expected a list of lists of token ids, got a ",
          lists.type_name());
  std::vector<std::vector<std::int32_t>> sequences;
  for (const Json& list : lists) {
    require(list.is_array(), path, ": sequence ", sequences.size(),
            ": expected a list of token ids, got a ", list.type_name());
    std::vector<std::int32_t>& ids = sequences.emplace_back();
    for (const Json& id : list) {
      const bool fits = id.is_integer() && id.integer() >= 0 &&
                        id.integer() <= std::numeric_limits<std::int32_t>::max();
      require(fits, path, ": sequence ", sequences.size() - 1,
              ": expected whole numbers from 0 to 2147483647, got ", id.dump());
      ids.push_back(static_cast<std::int32_t>(id.integer()));
    }
    while (!ids.empty() && ids.back() == pad_id) {
      ids.pop_back();
    }
  }
  return sequences;
}

void check_batch(const TextBatch& batch, std::int32_t pad_id) {
  require(!batch.ids.empty(), batch.source, ": expected at least one sequence, got none");
  require(std::ssize(batch.ids) <= kMostSequences, batch.source, ": expected at most ",
          kMostSequences, " sequences, got ", batch.ids.size());
  for (std::size_t i = 0; i < batch.ids.size(); ++i) {
    require(!batch.ids[i].empty(), batch.source, ": sequence ", i, " has no tokens");
    const auto pad = std::ranges::find(batch.ids[i], pad_id);
    require(pad == batch.ids[i].end(), "--pad_id: ", pad_id, " is the id of a token of sequence ",
            i, "; choose an id that no token has");
  }
}

void add_texts(const std::vector<std::string>& texts, const Options& options, std::int32_t pad_id,
               TextBatch& batch) {
  batch.has_texts = true;
  for (const std::string& text : texts) {
    require_utf8(text, batch.source);
  }
  const std::string tokenizer = options.text("tokenizer");
  if (tokenizer == "word" || tokenizer == "char") {
    split_texts(texts, tokenizer == "word", pad_id, batch);
  } else {
    encode_texts(texts, options, batch);
  }
}

}  // namespace

TextBatch read_text_batch(const Options& options, std::int32_t pad_id) {
  TextBatch batch;
  for (const char* name : {"text", "file", "ids_file"}) {
    if (options.given(name)) {
      require(batch.source.empty(), "--", name, ": cannot be combined with ", batch.source);
      batch.source = std::string("--") + name;
    }
  }
  if (batch.source == "--text" || batch.source == "--file") {
    add_texts(batch.source == "--text" ? options.texts("text") : lines_of(options.text("file")),
              options, pad_id, batch);
  } else {
    require(!options.given("tokenizer"), "--tokenizer: needs sentences, from --text or --file");
    batch.ids =
        batch.source.empty() ? classroom_sequences() : read_ids(options.text("ids_file"), pad_id);
    batch.labels = transformed(batch.ids, [](const std::vector<std::int32_t>& ids) {
      return transformed(ids, [](std::int32_t id) { return std::to_string(id); });
    });
  }
  batch.source = batch.source.empty() ? "--pad_id" : batch.source;
  check_batch(batch, pad_id);
  return batch;
}

}  // namespace headlight::cli::lab
