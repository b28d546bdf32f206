#include "formats/sentencepiece/sentencepiece_tokenizer.h"

#include <map>

#include "formats/sentencepiece/sentencepiece_file.h"
#include "formats/tokenizers/pipeline_steps.h"
#include "formats/tokenizers/tokenizer_json.h"
#include "headlight/base/error.h"
#include "storage/lfs_pointer.h"

namespace headlight {
namespace {

// Returns added_tokens: the tokens of the file, with the flags of the settings, and those behind.
Json all_added(const PieceTable& pieces, const Json& more, const std::string& name) {
  std::map<std::uint64_t, Json> by_id;
  for (const Json& list : {more, added_pieces_json(pieces)}) {
    for (const Json& entry : list) {
      by_id.emplace(entry["id"].natural(), entry);
    }
  }
  Json result = Json::array();
  std::uint64_t next = pieces.names.size();
  for (const auto& [id, entry] : by_id) {
    const std::string& content = entry["content"].text();
    const bool known = id < pieces.names.size();
    require(!known || pieces.names[id] == content, name, ": token ", id, " is ",
            quoted_text(known ? pieces.names[id] : ""), ", but tokenizer_config.json calls it ",
            quoted_text(content));
    require(known || id == next, name, ": added token ", quoted_text(content), ": expected id ",
            next, ", got ", id);
    next += known ? 0 : 1;
    result.push_back(entry);
  }
  return result;
}

// Returns the names of the tokens of a type.
Json names_of_type(const PieceTable& pieces, std::int32_t type) {
  Json names = Json::array();
  for (std::size_t id = 0; id < pieces.names.size(); ++id) {
    if (pieces.types[id] == type) {
      names.push_back(pieces.names[id]);
    }
  }
  return names;
}

Json scored_pieces(const SentencePieceFile& file) {
  Json result = Json::array();
  for (std::size_t id = 0; id < file.scores.size(); ++id) {
    result.push_back(Json::array({file.pieces.names[id], file.scores[id]}));
  }
  return result;
}

Json model_json(const SentencePieceFile& file, const std::string& name) {
  const PieceTable& pieces = file.pieces;
  if (file.unigram) {
    return {{"type", "Unigram"},
            {"unk_id", pieces.unknown},
            {"byte_fallback", file.byte_fallback},
            {"vocab", scored_pieces(file)}};
  }
  return {{"type", "BPE"},
          {"unk_token", pieces.name_of(pieces.unknown)},
          {"fuse_unk", true},
          {"byte_fallback", file.byte_fallback},
          {"vocab", piece_ids_json(pieces)},
          {"merges", piece_merges_json(pieces, file.scores, name)}};
}

}  // namespace

std::unique_ptr<Tokenizer> sentencepiece_tokenizer(std::string_view bytes, const std::string& name,
                                                   const SentencePieceSettings& settings) {
  refuse_lfs_pointer(bytes, name);
  const SentencePieceFile file = read_sentencepiece_file(bytes, name);
  const PieceTable& pieces = file.pieces;
  Json root = {{"version", "1.0"}, {"added_tokens", all_added(pieces, settings.added, name)}};
  root["normalizer"] = sentencepiece_normalizer_json({
      .charsmap = file.charsmap,
      .prefix = file.prefix,
      .single_blanks = file.single_blanks,
      .user_defined = names_of_type(pieces, kUserDefined),
      .unused = names_of_type(pieces, kUnused),
  });
  root["pre_tokenizer"] = nullptr;
  const bool prepends = settings.prepends.value_or(!file.unigram) && pieces.begin >= 0;
  root["post_processor"] =
      prepends ? template_json({pieces.name_of(pieces.begin), pieces.begin}) : Json();
  root["decoder"] = mark_decoder_json(file.prefix || file.single_blanks);
  root["model"] = model_json(file, name);
  const std::string end =
      settings.end_name.empty() ? pieces.name_of(pieces.end) : settings.end_name;
  auto tokenizer = read_pipeline_tokenizer(root, root.dump(-1, Json::BadUtf8::refused), end, name);
  if (settings.appends_end.value_or(false)) {
    tokenizer->set_warning(name + ": add_eos_token is not supported: no token ends texts");
  }
  return tokenizer;
}

}  // namespace headlight
