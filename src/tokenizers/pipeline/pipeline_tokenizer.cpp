#include "tokenizers/pipeline/pipeline_tokenizer.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "headlight/base/utf8.h"
#include "tokenizers/bpe_encoder.h"
#include "tokenizers/token_ranges.h"

namespace headlight {
namespace {

// An added token, or a part of the normalized text.
struct EncodeItem {
  AlignedText text = {};  // of an added token its name
  bool first = false;     // at the start of the whole text
  std::int32_t id = -1;   // -1: text
};

std::vector<AddedToken> tokens_where(const PipelineParts& parts, bool normalized) {
  std::vector<AddedToken> tokens;
  for (AddedToken token : parts.added) {
    if (token.normalized == normalized) {
      token.content = normalized ? parts.normalizer.apply_to_token(token.content) : token.content;
      tokens.push_back(std::move(token));
    }
  }
  return tokens;
}

// Returns the length of the leading marks and the text up to the next mark.
std::size_t marked_length(std::string_view text, std::string_view mark) {
  std::size_t begin = 0;
  while (text.substr(begin).starts_with(mark)) {
    begin += mark.size();
  }
  return std::min(text.find(mark, begin), text.size());
}

// Cuts normalized text into parts whose joined ids equal the whole text's.
std::vector<std::string_view> cut(const PipelineParts& parts, std::string_view text,
                                  std::size_t size) {
  if (parts.pre_tokenizer.splits_parts_alone()) {
    return split_at_blanks(text, size);
  }
  std::vector<std::string_view> result;
  if (!parts.pre_tokenizer.empty() || parts.mark.empty()) {
    result.push_back(text);
    return result;
  }
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin;
    while (end < text.size() && end - begin < size) {
      end += marked_length(text.substr(end), parts.mark);
    }
    result.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return result;
}

// Appends the ids of a piece.
void add_piece(const PipelineParts& parts, std::string_view piece, BpeEncoder& encoder) {
  if (parts.piece_model) {
    std::vector<std::int32_t> ids;
    parts.piece_model->encode(piece, ids);
    std::ranges::for_each(ids, [&](std::int32_t id) { encoder.add_token(id); });
  } else if (parts.pre_tokenizer.last() != nullptr) {
    encoder.add(piece, parts.pre_tokenizer.last());
  } else if (!parts.mark.empty()) {
    encoder.add(piece, [&](std::string_view text) { return marked_length(text, parts.mark); });
  } else {
    encoder.add_piece(piece);
  }
}

// `ranges`: see EncodeOptions.
void add_items(const PipelineParts& parts, const std::vector<EncodeItem>& items,
               BpeEncoder& encoder, std::vector<ByteRange>* ranges) {
  PieceStorage storage{.tracks = ranges != nullptr};  // the encoder refers to its texts
  const TokenTexts texts{parts.texts, &parts.model.byte_ids, parts.model.unknown,
                         parts.continuation, !parts.model.characters && !parts.piece_model};
  for (const EncodeItem& item : items) {
    if (item.id >= 0) {
      encoder.add_token(item.id);
      if (ranges != nullptr) {
        ranges->push_back(range_of(item.text));
      }
      continue;
    }
    for (const TextPiece& piece : parts.pre_tokenizer.split({item.text, item.first}, storage)) {
      const std::size_t known = encoder.ids().size();
      add_piece(parts, piece.text.text, encoder);
      if (ranges != nullptr) {
        texts.append_ranges(piece.text, encoder.ids().subspan(known), *ranges);
      }
    }
  }
}

}  // namespace

PipelineTokenizer::PipelineTokenizer(PipelineParts parts)
    : Tokenizer(parts.end_of_text),
      parts_(std::move(parts)),
      raw_tokens_(tokens_where(parts_, false)),
      normalized_tokens_(tokens_where(parts_, true)) {
  if (parts_.first) {
    set_prepends_begin_token(true);
    set_begin_of_text(*parts_.first);
    set_closing_token(parts_.last);
  }
  if (kind() == "wordpiece") {
    set_mask_token(special_id("[MASK]"));
  }
}

Index PipelineTokenizer::vocab_size() const { return static_cast<Index>(parts_.names.size()); }

std::vector<std::int32_t> PipelineTokenizer::encode_bytes(std::string_view bytes,
                                                          const EncodeOptions& options) const {
  std::deque<MadeText> normalized;
  EncodeParts<EncodeItem> parts(options);
  EncodeOptions wanted = options;
  wanted.read_special = options.read_special && !parts_.splits_special;
  const AlignedText whole{bytes};
  const bool tracks = options.ranges != nullptr || !options.plain.empty();
  for (const TextSegment& segment : raw_tokens_.split(whole, wanted)) {
    if (segment.id >= 0) {
      parts.add({.text = whole.part(segment.name), .id = segment.id});
      continue;
    }
    AlignedText text = whole.part(segment.text);
    const bool first = segment.text.data() == bytes.data();
    if (!parts_.normalizer.keeps(text.text)) {
      text = normalized.emplace_back(parts_.normalizer.apply(text, tracks)).aligned();
    }
    for (const TextSegment& inner : normalized_tokens_.split(text, wanted)) {
      if (inner.id >= 0) {
        parts.add({.text = text.part(inner.name), .id = inner.id});
        continue;
      }
      for (const std::string_view plain : cut(parts_, inner.text, parts.part_bytes())) {
        parts.add({text.part(plain), first && plain.data() == text.text.data()});
      }
    }
  }
  return parts.encode(parts_.model, [&](const auto& items, BpeEncoder& encoder) {
    add_items(parts_, items, encoder, options.ranges);
  });
}

std::string PipelineTokenizer::token_bytes(std::int32_t id) const {
  require_id(id);
  return parts_.bytes[static_cast<std::size_t>(id)];
}

std::string PipelineTokenizer::first_token_bytes(std::int32_t id) const {
  std::string bytes = token_bytes(id);
  const auto index = static_cast<std::size_t>(id);
  if (parts_.text_start == TextStart::blank_removed && bytes.starts_with(' ')) {
    bytes.erase(0, 1);
  } else if (parts_.text_start == TextStart::marks_removed && !parts_.special[index]) {
    bytes = replaced(parts_.names[index], parts_.start_mark, "");
  }
  return bytes;
}

std::optional<std::int32_t> PipelineTokenizer::unknown() const {
  return parts_.model.unknown < 0 ? std::nullopt : std::optional(parts_.model.unknown);
}

std::string_view PipelineTokenizer::special_name(std::int32_t id) const {
  const bool special = id >= 0 && id < vocab_size() && parts_.special[static_cast<std::size_t>(id)];
  return special ? std::string_view(parts_.names[static_cast<std::size_t>(id)]) : "";
}

}  // namespace headlight
