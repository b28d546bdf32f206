#include "formats/tokenizers/piece_table.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "formats/tokenizers/tokenizer_json.h"
#include "headlight/base/error.h"
#include "headlight/base/utf8.h"

namespace headlight {
namespace {

constexpr std::size_t kMostPieces = std::size_t{1} << 19;
constexpr std::size_t kMostPieceBytes = std::size_t{1} << 25;
constexpr std::size_t kMostPairs = std::size_t{1} << 20;
constexpr std::size_t kLongestPiece = 256;  // bytes; every split of a piece is looked up

struct ScoredMerge {
  std::string_view left;
  std::string_view right;
  std::tuple<float, Index, Index> rank;  // score, characters on the left, characters on the right
};

// All pairs of tokens that make a token, in the order of piece_merges_json().
class MergesByScore {
 public:
  MergesByScore(const PieceTable& tokens, const std::vector<float>& scores,
                const std::string& where)
      : tokens_(tokens), scores_(scores), where_(where) {
    for (std::size_t id = 0; id < tokens.names.size(); ++id) {
      if (is_piece(id)) {
        add_pairs(id);
      }
    }
    std::stable_sort(merges_.begin(), merges_.end(),
                     [](const auto& a, const auto& b) { return a.rank > b.rank; });
  }

  Json json() const {
    Json result = Json::array();
    for (const ScoredMerge& merge : merges_) {
      result.push_back(Json::array({merge.left, merge.right}));
    }
    return result;
  }

 private:
  bool is_piece(std::size_t id) const {
    return tokens_.types[id] == kNormal || tokens_.types[id] == kUserDefined;
  }

  std::int32_t piece_of(std::string_view text) const {
    const auto found = tokens_.ids.find(text);
    const bool known =
        found != tokens_.ids.end() && is_piece(static_cast<std::size_t>(found->second));
    return known ? found->second : -1;
  }

  void add_pairs(std::size_t id) {
    const std::string_view name = tokens_.names[id];
    require(name.size() <= kLongestPiece, where_, ": token ", id, ": expected at most ",
            kLongestPiece, " bytes, got ", name.size());
    std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
    for (std::size_t i = static_cast<std::size_t>(first_character(name).length); i < name.size();
         i += static_cast<std::size_t>(first_character(name.substr(i)).length)) {
      const std::int32_t left = piece_of(name.substr(0, i));
      const std::int32_t right = left < 0 ? -1 : piece_of(name.substr(i));
      if (right >= 0) {
        pairs.emplace_back(left, right);
      }
    }
    std::sort(pairs.begin(), pairs.end());
    for (const auto& [left, right] : pairs) {
      const std::string_view first = tokens_.names[static_cast<std::size_t>(left)];
      const std::string_view second = tokens_.names[static_cast<std::size_t>(right)];
      merges_.push_back(
          {first, second, {scores_[id], character_count(first), character_count(second)}});
    }
    require(merges_.size() <= kMostPairs, where_, ": expected at most ", kMostPairs,
            " pairs of tokens that form another token, got more");
  }

  const PieceTable& tokens_;
  const std::vector<float>& scores_;
  const std::string& where_;
  std::vector<ScoredMerge> merges_;
};

}  // namespace

std::string PieceTable::name_of(std::int32_t id) const {
  return std::string(id < 0 ? "" : names[static_cast<std::size_t>(id)]);
}

void set_names(std::vector<std::string_view> names, const std::string& where, PieceTable& table) {
  require(!names.empty() && names.size() <= kMostPieces, where, ": expected 1 to ", kMostPieces,
          " tokens, got ", names.size());
  table.ids.reserve(names.size());
  std::size_t bytes = 0;
  for (std::size_t id = 0; id < names.size(); ++id) {
    const std::string_view name = names[id];
    require(!name.empty(), where, ": token ", id, " is empty");
    require(valid_utf8_prefix(name) == name.size(), where, ": token ", id, " is not UTF-8");
    bytes += name.size();
    require(bytes <= kMostPieceBytes, where, ": more than ", kMostPieceBytes, " bytes");
    const auto [other, is_new] = table.ids.emplace(name, static_cast<std::int32_t>(id));
    if (!is_new) {
      fail(where, ": ", quoted_text(name), " is token ", other->second, " and token ", id);
    }
  }
  table.names = std::move(names);
}

Json added_pieces_json(const PieceTable& table) {
  Json result = Json::array();
  for (std::size_t id = 0; id < table.names.size(); ++id) {
    const std::int32_t type = table.types[id];
    const auto number = static_cast<std::int32_t>(id);
    const bool special =
        type == kControl || type == kUnknown || number == table.begin || number == table.end;
    if (special || type == kUserDefined) {
      result.push_back(added_token_json(number, table.names[id], special));
    }
  }
  return result;
}

Json piece_ids_json(const PieceTable& table) {
  Json result = Json::object();
  for (std::size_t id = 0; id < table.names.size(); ++id) {
    result.add(std::string(table.names[id]), id);
  }
  return result;
}

Json piece_merges_json(const PieceTable& table, const std::vector<float>& scores,
                       const std::string& where) {
  return MergesByScore(table, scores, where).json();
}

Json replace_json(std::string_view from, std::string_view to) {
  return {{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
}

Json sequence_json(const char* list, Json steps) {
  Json result = {{"type", "Sequence"}};
  result[list] = std::move(steps);
  return result;
}

Json mark_decoder_json(bool prefix) {
  Json blanks =
      Json::array({replace_json(kMark, " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}});
  if (prefix) {
    blanks.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  }
  return sequence_json("decoders", std::move(blanks));
}

}  // namespace headlight
