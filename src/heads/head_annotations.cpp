#include "headlight/heads/head_annotations.h"

#include <algorithm>
#include <sstream>

#include "base/json.h"
#include "headlight/base/error.h"
#include "headlight/io/text_source.h"

namespace headlight {
namespace {

constexpr auto& kNames = kChoiceNames<PairKind>;

// Start of each token of a text, in characters or bytes, and the end of the text.
class TokenPlaces {
 public:
  TokenPlaces(const std::string& text, const Tokenizer& tokenizer) {
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
  Index holding(Index place) const {
    return std::upper_bound(begins_.begin(), begins_.end(), place) - begins_.begin() - 1;
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
void add_phrase(const std::array<Index, 4>& ends, const TokenPlaces& places, Index leading,
                std::vector<TokenPair>& pairs) {
  Index earlier = places.holding(ends[0]);
  Index later = places.holding(ends[2]);
  const Index earlier_last = places.behind(ends[1]) - 1;
  const Index later_last = places.behind(ends[3]) - 1;
  TokenPair run;
  const auto close_run = [&] {
    if (run.earlier_end <= run.later_begin && run.later_end > 0) {  // else they share a token
      pairs.push_back(run);
    }
    run = {};
  };
  while (earlier < earlier_last && later < later_last) {
    const Index ahead = (places.end_of(earlier) - ends[0]) - (places.end_of(later) - ends[2]);
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

SequencePairs read_pairs(const Json& counted, const TokenPlaces& places, Index leading,
                         const std::string& where) {
  SequencePairs pairs;
  for (std::size_t kind = 0; kind < kPairKinds; ++kind) {
    const Json* found = counted.find(kNames[kind]);
    if (found == nullptr) {
      continue;
    }
    require(found->is_array(), where, ": ", kNames[kind], ": expected a list");
    for (const Json& entry : *found) {
      const std::array<Index, 4> ends =
          read_pair(entry, places.length(), where + ": " + std::string(kNames[kind]));
      if (static_cast<PairKind>(kind) == PairKind::phrase) {
        add_phrase(ends, places, leading, pairs.kinds[kind]);
        continue;
      }
      const TokenPair pair{leading + places.holding(ends[0]), leading + places.behind(ends[1]),
                           leading + places.holding(ends[2]), leading + places.behind(ends[3])};
      if (pair.earlier_end <= pair.later_begin) {  // else both are in one token
        pairs.kinds[kind].push_back(pair);
      }
    }
  }
  return pairs;
}

}  // namespace

std::vector<SequencePairs> read_annotations(const std::filesystem::path& path,
                                            const std::vector<std::string>& texts,
                                            const Tokenizer& tokenizer, Index leading) {
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
    const Json object = parse_json(lines[i], where);
    const Json& counted = json_member(object, unit, where);
    const Json& length = json_member(counted, "length", where);
    const TokenPlaces places(texts[i], tokenizer);
    require(length.is_integer() && length.integer() == places.length(), where,
            ": expected the length of document ", i + 1, ", ", places.length(), ", got ",
            quoted_text(length.dump()), "; split the text as in the annotations");
    all.push_back(read_pairs(counted, places, leading, where));
  }
  return all;
}

}  // namespace headlight
