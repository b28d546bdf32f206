#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "base/keyed_hash.h"
#include "formats/tokenizers/pipeline_steps.h"
#include "formats/tokenizers/tokenizer_json.h"
#include "formats/tokenizers/word_level.h"
#include "headlight/base/error.h"
#include "headlight/base/utf8.h"
#include "tokenizers/byte_characters.h"
#include "tokenizers/pipeline/pipeline_tokenizer.h"
#include "tokenizers/pipeline/unigram.h"
#include "tokenizers/pipeline/word_piece.h"

namespace headlight {
namespace {

constexpr std::array<std::string_view, 8> kEndNames{kEndOfTextName, "</s>",       "<|end_of_text|>",
                                                    "<eos>",        "<|im_end|>", "<|eot_id|>",
                                                    "[EOS]",        "<|end|>"};

constexpr double kLargestScore = 1e20;  // sums of scores stay finite in float32

constexpr std::uint64_t kLongestWord = 1000;  // characters; the time grows with the square

// Builds the PipelineParts of a tokenizer.json, key by key.
class PipelineReader {
 public:
  PipelineReader(const Json& root, std::string_view name)
      : root_(root), name_(name), model_(json_member(root, "model", name)) {}

  PipelineParts read(std::string_view file, std::string_view end_name) {
    read_vocabulary();
    const PreTokenizerSteps steps =
        read_pre_tokenizer(root_.value("pre_tokenizer", Json()), at("pre_tokenizer"));
    parts_.pre_tokenizer = PreTokenizer(steps.steps);
    const Json normalizer = root_.value("normalizer", Json());
    sentencepiece_ = read_sentencepiece(normalizer, at("normalizer"));
    parts_.normalizer =
        sentencepiece_ ? sentencepiece_->normalizer : read_normalizer(normalizer, at("normalizer"));
    const DecoderSteps decoder = read_decoder(json_member(root_, "decoder", name_), at("decoder"));
    require(decoder.byte_level == steps.byte_level, at("decoder"), ": expected ",
            steps.byte_level ? "ByteLevel, because pre_tokenizer has it"
                             : "no ByteLevel, because pre_tokenizer has none");
    fill_texts(steps.byte_level);
    if (is_step(model_, "WordPiece")) {
      read_word_piece();
    } else if (is_step(model_, "Unigram")) {
      read_unigram();
    } else if (is_step(model_, "WordLevel")) {
      read_word_level();
    } else {
      read_model(steps.byte_level);
    }
    fill_bytes(decoder);
    read_ends(end_name);
    parts_.file = file;
    parts_.splits_special = root_.contains(kSplitSpecial);
    return std::move(parts_);
  }

  const std::string& warning() const { return warning_; }

 private:
  std::string at(std::string_view key) const { return concat_text(name_, ": ", key); }

  bool model_flag(std::string_view key) const {
    return json_flag(model_, key, false, at("model."));
  }

  std::int32_t id_of(const Json& id, std::string_view token, std::string_view key) const {
    if (!id.is_natural() || id.natural() >= parts_.names.size()) {
      fail(at(key), ": id of ", quoted_text(token), ": expected 0 ... ", parts_.names.size() - 1,
           ", got ", quoted_text(id.dump()));
    }
    return static_cast<std::int32_t>(id.natural());
  }

  void assign(std::string_view token, std::int32_t id, std::string_view key) {
    require(!token.empty(), at(key), ": a token is empty");
    std::string& name = parts_.names[static_cast<std::size_t>(id)];
    if (!name.empty()) {
      fail(at(key), ": ", quoted_text(token), " and ", quoted_text(name), " have the same id ", id);
    }
    name = token;
  }

  AddedToken added_token(const Json& entry) const {
    const std::string key = at("added_tokens");
    AddedToken token{.content = json_string(entry, "content", key)};
    require(token.content.size() <= AddedTokenMatcher::kLongest, key,
            ": expected tokens of at most ", AddedTokenMatcher::kLongest, " bytes, got one of ",
            token.content.size());
    const auto flag = [&](std::string_view name) {
      return json_flag(entry, name, false, key + ": ");
    };
    token.special = flag("special");
    token.single_word = flag("single_word");
    token.lstrip = flag("lstrip");
    token.rstrip = flag("rstrip");
    token.normalized = flag("normalized");
    return token;
  }

  // Returns the number of ids of `count` tokens, of which some are not in the vocabulary. In a
  // vocabulary with gaps, ids without a token have an empty name and decode to no text. There may
  // be as many gaps as tokens: more would let one wrong id take gigabytes.
  static std::size_t id_count(const Json::Object& vocab, std::size_t count) {
    std::size_t end = vocab.size();
    for (const auto& [token, id] : vocab) {
      if (id.is_natural() && id.natural() < 2 * count) {
        end = std::max(end, static_cast<std::size_t>(id.natural()) + 1);
      }
    }
    return end + count - vocab.size();
  }

  // Returns the ids by token of a list of [TOKEN, SCORE] in the order of ids.
  const Json& ids_in(const Json& list) {
    listed_ids_ = Json::object();
    for (const Json& entry : list) {
      const bool good = entry.is_array() && entry.size() == 2 && entry[0].is_string() &&
                        entry[1].is_number() && std::abs(entry[1].number()) <= kLargestScore;
      require(good, at("model.vocab"), ": expected [TOKEN, SCORE] for id ", listed_ids_.size());
      listed_ids_.add(entry[0].text(), listed_ids_.size());
    }
    return listed_ids_;
  }

  // Added tokens may be in the vocabulary, too, with the same id.
  void read_vocabulary() {
    const Json& listed = json_member(model_, "vocab", at("model"));
    const Json& vocab = listed.is_array() ? ids_in(listed) : listed;
    const Json& added = json_member(root_, "added_tokens", name_);
    require(vocab.is_object(), at("model.vocab"), ": expected an object, got ", vocab.type_name());
    require(added.is_array(), at("added_tokens"), ": expected an array, got ", added.type_name());
    const Json::Object& tokens = vocab.members();
    ids_.reserve(tokens.size());
    for (const auto& [token, id] : tokens) {
      const bool is_new = ids_.emplace(token, -1).second;
      require(is_new, at("model.vocab"), ": a token is listed twice");
    }
    std::size_t count = tokens.size();
    for (const Json& entry : added) {
      count += ids_.contains(json_string(entry, "content", at("added_tokens"))) ? 0 : 1;
    }
    parts_.names.resize(id_count(tokens, count));
    parts_.special.resize(parts_.names.size());
    for (const auto& [token, id] : tokens) {
      const std::int32_t number = id_of(id, token, "model.vocab");
      assign(token, number, "model.vocab");
      ids_[token] = number;
    }
    // Added tokens follow in the order of the file, from the number of tokens on even if there are
    // gaps, as in Hugging Face tokenizers. Ids behind the last token do not exist.
    next_added_ = static_cast<std::int32_t>(tokens.size());
    for (const Json& entry : added) {
      read_added(entry);
    }
    while (!parts_.names.empty() && parts_.names.back().empty()) {
      parts_.names.pop_back();
    }
    parts_.special.resize(parts_.names.size());
  }

  void read_added(const Json& entry) {
    AddedToken token = added_token(entry);
    const auto in_vocab = ids_.find(token.content);
    const Json& stated = json_member(entry, "id", at("added_tokens"));
    require(stated.is_natural(), at("added_tokens"), ": id of ", quoted_text(token.content),
            ": expected a whole number from 0, got ", quoted_text(stated.dump()));
    if (in_vocab != ids_.end()) {
      token.id = in_vocab->second;
    } else {
      token.id = next_added_;
      assign(token.content, token.id, "added_tokens");
    }
    next_added_ = std::max(next_added_, token.id + 1);
    if (stated != Json(token.id) && warning_.empty()) {
      warning_ = concat_text(at("added_tokens"), ": ", quoted_text(token.content), " has id ",
                             stated.natural(), " in the file, but is used with id ", token.id,
                             ", as in Hugging Face tokenizers");
    }
    parts_.special[static_cast<std::size_t>(token.id)] = token.special;
    parts_.added.push_back(std::move(token));
  }

  // Fills the text that a piece must equal to be each token. Byte-level names with other characters
  // can never match, so their text is empty.
  void fill_texts(bool byte_level) {
    parts_.texts.resize(parts_.names.size());
    for (const auto& [token, id] : ids_) {
      parts_.texts[static_cast<std::size_t>(id)] =
          byte_level ? bytes_of_name(token).value_or("") : std::string(token);
    }
  }

  void read_model(bool byte_level) {
    const Json& merges = json_member(model_, "merges", at("model"));
    require(merges.is_array(), at("model.merges"), ": expected an array, got ", merges.type_name());
    parts_.merges = merges.size();
    parts_.model = BpeModel(merges.size());
    parts_.model.characters = !byte_level;
    parts_.model.whole_pieces = model_flag("ignore_merges");
    read_merges(merges);
    if (sentencepiece_) {
      assign_user_defined(false);
    }
    fill_ids();
    read_fallback(byte_level);
    // If no merge joins two words, words are encoded one by one.
    const bool has_mark = !byte_level && ids_.contains(kMark);
    if (has_mark && !merges_cross_marks_ && !parts_.model.whole_pieces) {
      parts_.mark = kMark;
    }
  }

  std::int32_t unknown_id() const {
    const std::string token = json_string(model_, "unk_token", at("model"));
    const auto found = ids_.find(token);
    require(found != ids_.end(), at("model.unk_token"), ": ", quoted_text(token),
            " is not in the vocabulary");
    return found->second;
  }

  // Words before and after a blank are separate, so the pre-tokenizer must cut at blanks.
  void read_word_piece() {
    require(!parts_.pre_tokenizer.empty(), at("pre_tokenizer"),
            ": expected BertPreTokenizer, because the model is WordPiece");
    const std::int32_t unknown = unknown_id();
    parts_.model.unknown = unknown;
    const Json& longest = json_member(model_, "max_input_chars_per_word", at("model"));
    require(longest.is_natural() && longest.natural() <= kLongestWord,
            at("model.max_input_chars_per_word"), ": expected 0 to ", kLongestWord, ", got ",
            quoted_text(longest.dump()));
    parts_.continuation = json_string(model_, "continuing_subword_prefix", at("model"));
    parts_.piece_model = std::make_unique<WordPiece>(
        parts_.names,
        WordPiece::Options{.mark = parts_.continuation,
                           .longest_word = static_cast<std::size_t>(longest.natural()),
                           .unknown = unknown});
  }

  void read_word_level() {
    require(!parts_.pre_tokenizer.empty(), at("pre_tokenizer"),
            ": expected a step that cuts words, because the model is WordLevel");
    const auto found = ids_.find(json_string(model_, "unk_token", at("model")));
    parts_.model.unknown = found == ids_.end() ? -1 : found->second;
    parts_.piece_model = std::make_unique<WordLevel>(parts_.names, parts_.model.unknown);
  }

  // SentencePiece finds user-defined tokens of BPE models first; a unigram model weighs them with
  // the others.
  void assign_user_defined(bool in_model) {
    const auto is_user_defined = [&](const AddedToken& token) {
      return sentencepiece_->user_defined.contains(token.content);
    };
    for (AddedToken& token : parts_.added) {
      token.normalized = token.normalized || is_user_defined(token);
    }
    if (in_model) {
      std::erase_if(parts_.added, is_user_defined);
    }
  }

  void read_unigram() {
    read_fallback(false);
    const Json& vocab = model_["vocab"];
    require(vocab.is_array(), at("model.vocab"), ": expected an array");
    const bool has_bytes = model_flag("byte_fallback");
    std::int32_t unknown = -1;
    if (!has_bytes || !is_null(model_, "unk_id")) {
      unknown = id_of(json_member(model_, "unk_id", at("model")), "unk_id", "model");
    }
    if (!has_bytes) {
      parts_.model.unknown = unknown;
    }
    std::vector<Unigram::Piece> pieces;
    for (std::size_t id = 0; id < vocab.size(); ++id) {
      const std::string& text = parts_.names[id];
      if (!sentencepiece_ || (!parts_.special[id] && !sentencepiece_->unused.contains(text) &&
                              !(has_bytes && is_byte_token(text)))) {
        pieces.push_back({text, static_cast<std::int32_t>(id), vocab[id][1].number(),
                          sentencepiece_ && sentencepiece_->user_defined.contains(text)});
        merges_cross_marks_ = merges_cross_marks_ || crosses_mark(text);
      }
    }
    parts_.mark = merges_cross_marks_ ? "" : kMark;
    parts_.piece_model = std::make_unique<Unigram>(
        pieces,
        Unigram::Fallback{
            .unknown = unknown, .bytes = parts_.model.byte_ids, .has_bytes = has_bytes},
        !sentencepiece_);
    if (sentencepiece_) {
      assign_user_defined(true);
    }
  }

  void read_merges(const Json& merges) {
    const std::string key = at("model.merges");
    std::int32_t rank = 0;
    std::int32_t index = 0;
    std::int32_t last_result = -1;
    const auto find = [&](std::string_view token) {
      const auto found = ids_.find(token);
      if (found == ids_.end()) {
        fail(key, ": merge ", index, ": ", quoted_text(token), " is not in the vocabulary");
      }
      return found->second;
    };
    std::string joined;
    for (const Json& merge : merges) {
      const auto [left, right] = merge_pair(merge, key);
      joined = left;
      joined += right;
      const std::int32_t left_id = find(left);
      const std::int32_t right_id = find(right);
      const std::int32_t result = find(joined);
      // SentencePiece orders merges of the same result by their positions in a text.
      rank += index > 0 && !(sentencepiece_ && result == last_result) ? 1 : 0;
      last_result = result;
      // A repeated merge gets its last rank, as in Hugging Face tokenizers.
      parts_.model.merges.at({left_id, right_id}) = {rank, result};
      merges_cross_marks_ = merges_cross_marks_ || crosses_mark(joined);
      ++index;
    }
  }

  // True if a mark follows another character.
  static bool crosses_mark(std::string_view token) {
    while (token.starts_with(kMark)) {
      token.remove_prefix(kMark.size());
    }
    return token.find(kMark) != token.npos;
  }

  // Fills the ids by text: single characters, or all tokens if whole pieces are looked up.
  void fill_ids() {
    const bool whole = parts_.model.whole_pieces;
    if (!whole && !parts_.model.characters) {
      return;
    }
    for (std::size_t id = 0; id < parts_.texts.size(); ++id) {
      const std::string_view text = parts_.texts[id];
      if (!text.empty() &&
          (whole || first_character(text).length == static_cast<Index>(text.size()))) {
        parts_.model.ids.emplace(text, static_cast<std::int32_t>(id));
      }
    }
  }

  // Reads from tokenizer.json the tokens that replace characters without a token: one token per
  // byte, or unk_token.
  void read_fallback(bool byte_level) {
    BpeModel& model = parts_.model;
    const bool fallback = model_flag("byte_fallback");
    require(!fallback || !byte_level, at("model.byte_fallback"), ": expected false with ByteLevel");
    const auto characters = byte_characters();
    for (std::size_t byte = 0; byte < model.byte_ids.size(); ++byte) {
      std::string token;
      if (byte_level) {
        append_utf8(characters[byte], token);
      } else {
        token = byte_token(byte);
      }
      const auto found = ids_.find(token);
      require(!fallback || found != ids_.end(), at("model.vocab"), ": ", token,
              " is missing, but byte_fallback needs it");
      if ((byte_level || fallback) && found != ids_.end()) {
        model.byte_ids[byte] = found->second;
      }
    }
    model.every_byte = std::none_of(model.byte_ids.begin(), model.byte_ids.end(),
                                    [](std::int32_t id) { return id < 0; });
    const Json unknown = model_.value("unk_token", Json());
    if (!unknown.is_null() && !model.every_byte) {
      model.unknown = unknown_id();
    }
    model.fuse_unknown = model_flag("fuse_unk");
  }

  void fill_bytes(const DecoderSteps& decoder) {
    parts_.text_start = decoder.text_start;
    parts_.start_mark = decoder.start_mark;
    for (std::size_t id = 0; id < parts_.names.size(); ++id) {
      parts_.bytes.push_back(parts_.special[id] ? "" : decoder.bytes_of(parts_.names[id]));
    }
    if (parts_.model.unknown >= 0) {
      parts_.bytes[static_cast<std::size_t>(parts_.model.unknown)] = kReplacementCharacter;
    }
  }

  std::optional<std::int32_t> special_id(std::string_view token) const {
    const auto found = std::find_if(
        parts_.added.begin(), parts_.added.end(),
        [&](const AddedToken& added) { return added.special && added.content == token; });
    return found == parts_.added.end() ? std::nullopt : std::optional(found->id);
  }

  void read_ends(std::string_view end_name) {
    const std::string key = at("post_processor");
    const TextEnds ends = read_text_ends(root_.value("post_processor", Json()), key);
    const auto special = [&](const std::optional<TextEnd>& end) {
      const auto id = end ? special_id(end->name) : std::nullopt;
      if (end) {
        require(id.has_value(), key, ": ", quoted_text(end->name), " is not a special token");
        require(end->ids == Json::array({*id}), key, ": expected the id [", *id, "] of ",
                quoted_text(end->name), ", got ", quoted_text(end->ids.dump()));
      }
      return id;
    };
    parts_.first = special(ends.first);
    parts_.last = special(ends.last);
    parts_.end_of_text = special_id(end_name);
    for (std::size_t i = 0; !parts_.end_of_text && i < kEndNames.size(); ++i) {
      parts_.end_of_text = special_id(kEndNames[i]);
    }
    parts_.end_of_text = parts_.end_of_text ? parts_.end_of_text : parts_.last;
  }

  const Json& root_;
  std::string_view name_;
  const Json& model_;
  Json listed_ids_;
  PipelineParts parts_;
  std::optional<SentencePieceSteps> sentencepiece_;
  // Without tokens that are only in added_tokens.
  TextMap<std::int32_t> ids_;
  bool merges_cross_marks_ = false;
  std::int32_t next_added_ = 0;  // id of the next added token that is not in the vocabulary
  std::string warning_;          // about the first token whose id differs from the file
};

}  // namespace

std::unique_ptr<Tokenizer> read_pipeline_tokenizer(const Json& root, std::string_view file,
                                                   std::string_view end_name,
                                                   std::string_view name) {
  PipelineReader reader(root, name);
  auto tokenizer = std::make_unique<PipelineTokenizer>(reader.read(file, end_name));
  tokenizer->set_warning(reader.warning());
  return tokenizer;
}

}  // namespace headlight
