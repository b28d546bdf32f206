#include "headlight/interpret/scores/head_annotations.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "base/json.h"
#include "datasets/records.h"
#include "headlight/base/error.h"
#include "headlight/base/nearest_name.h"
#include "headlight/base/utf8.h"
#include "headlight/datasets/text_source.h"
#include "tokenizers/special_names.h"

namespace headlight {
namespace {

constexpr std::string_view kPhrase = "phrase";
constexpr std::size_t kLongestName = 64;  // bytes of a relation's name

// Throws Error for keys outside `known`, which a reader would otherwise ignore.
void require_known(const Json& object, const std::vector<std::string>& known,
                   const std::string& where) {
  for (const auto& [key, value] : object.members()) {
    require(std::find(known.begin(), known.end(), key) != known.end(), where, ": unknown key ",
            quoted_text(key), did_you_mean(key, known),
            "; relations belong into the objects \"char\" and \"byte\"");
  }
}

// Throws Error for a name that could not be a column, a condition of a filter and an array's name.
void require_name(const std::string& name, const std::string& where) {
  const bool fits =
      !name.empty() && name.size() <= kLongestName &&
      std::none_of(name.begin(), name.end(), [](char c) {
        return static_cast<unsigned char>(c) <= ' ' ||
               std::string_view(",.:<>=!/\\\"'\x7F").find(c) != std::string_view::npos;
      });
  require(fits, where, ": expected a relation's name of 1 to ", kLongestName,
          " bytes without blanks and , . : < > = ! / \\ \" ', got ", quoted_text(name));
}

// Start of each token of a text, in characters or bytes, and the end of the text.
class TokenBounds {
 public:
  TokenBounds(std::string_view text, const Tokenizer& tokenizer) {
    const bool characters = tokenizer.kind() == "char";
    for (const std::int32_t id : tokenizer.encode(text)) {
      begins_.push_back(length_);
      const std::string bytes =
          length_ == 0 ? tokenizer.first_token_bytes(id) : tokenizer.token_bytes(id);
      length_ += characters ? 1 : static_cast<Index>(bytes.size());
    }
    begins_.push_back(length_);
  }

  Index length() const { return length_; }
  // End of a token.
  Index end_of(Index token) const { return begins_[static_cast<std::size_t>(token) + 1]; }
  // Token that contains a character or byte position.
  Index holding(Index position) const {
    return std::upper_bound(begins_.begin(), begins_.end(), position) - begins_.begin() - 1;
  }
  // One past the token that contains position `end` - 1.
  Index behind(Index end) const { return holding(end - 1) + 1; }

 private:
  std::vector<Index> begins_;  // [tokens + 1]
  Index length_ = 0;
};

// [earlier begin, earlier end, later begin, later end] of one pair.
std::array<Index, 4> read_pair(const Json& entry, Index length, const std::string& where) {
  const bool is_pair =
      entry.is_array() && entry.size() == 4 &&
      std::all_of(entry.begin(), entry.end(), [](const Json& end) { return end.is_integer(); });
  require(is_pair, where, ": expected pairs of four numbers, got ", quoted_text(entry.dump()));
  std::array<Index, 4> ends{};
  for (std::size_t i = 0; i < 4; ++i) {
    ends[i] = entry[i].integer();
  }
  require(0 <= ends[0] && ends[0] < ends[1] && ends[1] <= ends[2] && ends[2] < ends[3] &&
              ends[3] <= length,
          where, ": expected two spans one after the other within ", length, " positions, got ",
          quoted_text(entry.dump()));
  return ends;
}

// The two occurrences of a phrase may be tokenized differently, at least at their ends: " key" and
// "key". The next token is determined only after tokens with the same end in the phrase. The pairs
// are runs of these tokens, plus the next token.
void add_phrase(const std::array<Index, 4>& ends, const TokenBounds& bounds, Index leading,
                std::vector<TokenPair>& pairs) {
  Index earlier = bounds.holding(ends[0]);
  Index later = bounds.holding(ends[2]);
  const Index earlier_last = bounds.behind(ends[1]) - 1;
  const Index later_last = bounds.behind(ends[3]) - 1;
  TokenPair run;
  const auto close_run = [&] {
    if (run.earlier_end <= run.later_begin && run.later_end > 0) {  // else they share a token
      pairs.push_back(run);
    }
    run = {};
  };
  while (earlier < earlier_last && later < later_last) {
    const Index ahead = (bounds.end_of(earlier) - ends[0]) - (bounds.end_of(later) - ends[2]);
    if (ahead == 0) {
      if (run.later_end == 0) {
        run = {leading + earlier, 0, leading + later, 0};
      }
      run.earlier_end = leading + earlier + 2;
      run.later_end = leading + later + 2;
    } else {
      close_run();
    }
    earlier += ahead <= 0 ? 1 : 0;
    later += ahead >= 0 ? 1 : 0;
  }
  close_run();
}

SequencePairs read_pairs(const Json& counted, const TokenBounds& bounds, Index leading,
                         const std::string& where) {
  SequencePairs pairs;
  for (const auto& [name, list] : counted.members()) {
    if (name == "start" || name == "length") {
      continue;
    }
    require_name(name, where);
    const std::string about = concat_text(where, ": ", name);
    require(list.is_array(), about, ": expected a list");
    std::vector<TokenPair>& own = pairs[name];
    for (const Json& entry : list) {
      const std::array<Index, 4> ends = read_pair(entry, bounds.length(), about);
      if (name == kPhrase) {
        add_phrase(ends, bounds, leading, own);
        continue;
      }
      const TokenPair pair{leading + bounds.holding(ends[0]), leading + bounds.behind(ends[1]),
                           leading + bounds.holding(ends[2]), leading + bounds.behind(ends[3])};
      if (pair.earlier_end <= pair.later_begin) {  // else both are in one token
        own.push_back(pair);
      }
    }
  }
  return pairs;
}

}  // namespace

const std::vector<TokenPair>& pairs_of(const SequencePairs& pairs, std::string_view relation) {
  static const std::vector<TokenPair> kNoPairs;
  const auto found = pairs.find(relation);
  return found == pairs.end() ? kNoPairs : found->second;
}

std::vector<SequencePairs> read_annotations(const std::filesystem::path& path,
                                            const std::vector<std::string>& texts,
                                            const Tokenizer& tokenizer, Index leading,
                                            bool of_documents) {
  std::istringstream contents(read_text_file(path));
  std::vector<std::string> lines;
  for (std::string line; std::getline(contents, line);) {
    lines.push_back(line);
  }
  require(lines.size() == texts.size(), path.string(), ": expected a line for each of ",
          texts.size(), " documents, got ", lines.size(), " lines");
  const std::string unit = tokenizer.kind() == "char" ? "char" : "byte";
  std::vector<SequencePairs> all;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string where = concat_text(path.string(), ":", i + 1);
    const Json object = parse_record(
        lines[i], where, "{\"" + unit + "\": {\"length\": 40, \"phrase\": [[0, 4, 20, 24]]}}");
    const Json& counted = json_member(object, unit, where);
    require_known(object, {"id", "lang", "plot", "char", "byte"}, where);
    const Json& length = json_member(counted, "length", where);
    const std::string_view text =
        of_documents ? without_end_name(tokenizer, texts[i]) : std::string_view(texts[i]);
    const std::string_view name = std::string_view(texts[i]).substr(text.size());
    const TokenBounds bounds(text, tokenizer);
    const Index whole = bounds.length() +
                        (unit == "char" ? character_count(name) : static_cast<Index>(name.size()));
    require(length.is_integer() && length.integer() == whole, where,
            ": expected the length of document ", i + 1, ", ", whole, ", got ",
            quoted_text(length.dump()), "; split the text as in the annotations");
    all.push_back(read_pairs(counted, bounds, leading, where));
  }
  return all;
}

}  // namespace headlight
