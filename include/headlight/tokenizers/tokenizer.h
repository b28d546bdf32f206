#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headlight/base/choices.h"
#include "headlight/tensor/shape.h"
#include "headlight/tokenizers/chat_templates.h"

namespace headlight {

// Names of the special tokens in tokenizer files and on labels.
inline constexpr std::string_view kEndOfTextName = "<|endoftext|>";
inline constexpr std::string_view kUnknownName = "<|unk|>";

// Whether texts begin with the tokenizer's begin-of-text token.
enum class BeginToken {
  automatic,  // as prompts of the model do
  on,
  off,
};

template <>
inline constexpr auto kChoices<BeginToken> = std::to_array<Choice<BeginToken>>(
    {{"auto", BeginToken::automatic}, {"on", BeginToken::on}, {"off", BeginToken::off}});

// Bytes of a text, from `begin` to the byte before `end`.
struct ByteRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct EncodeOptions {
  bool read_special = false;  // names of special tokens in the text become those tokens
  bool parallel = false;      // use all threads, if the kind is "bpe"
  // Ranges, in order, in which names of special tokens are plain text despite read_special.
  std::span<const ByteRange> plain = {};
  // Receives the bytes that each token represents, if not null; one thread then encodes. An added
  // token has its name, without the white space that it takes. Tokens for inserted text and for
  // all but one part of a character may have an empty range.
  std::vector<ByteRange>* ranges = nullptr;
};

// Returns bytes as text for display: bytes that are no whole character as <0xEA>.
std::string bytes_label(std::string_view bytes);

// Converts text to token ids 0 ... V - 1 and back. Every tokenizer has an end-of-text token,
// usually <|endoftext|>, which separates documents. Names of special tokens in a text are read as
// tokens only if reads_special(). Encoding and decoding are const, so several threads may share one
// tokenizer.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // "char", "byte", "bpe", "wordpiece", "wordlevel" or "unigram".
  virtual std::string_view kind() const = 0;
  // V: number of ids, special tokens included.
  virtual Index vocab_size() const = 0;
  // Returns the ids of UTF-8 text. Throws Error that names the first byte that is not UTF-8.
  std::vector<std::int32_t> encode(std::string_view text) const;
  // Returns the ids of bytes that need not be UTF-8, whatever reads_special() is. Kinds "byte" and
  // "bpe" accept any bytes; "char" throws Error as encode() does.
  virtual std::vector<std::int32_t> encode_bytes(std::string_view bytes,
                                                 const EncodeOptions& options = {}) const = 0;
  // Returns the bytes of one token, which may be part of a character: U+FFFD for <|unk|>, "" for
  // other special tokens. Throws Error if the id is out of range.
  virtual std::string token_bytes(std::int32_t id) const = 0;
  // Returns the bytes of a token that is the first non-special token of a text. Where blanks belong
  // to the following word, the first word has no blank.
  virtual std::string first_token_bytes(std::int32_t id) const { return token_bytes(id); }
  // Returns the id for characters outside the vocabulary, if there are any.
  virtual std::optional<std::int32_t> unknown() const { return std::nullopt; }
  // Returns the name of a special token, "" for every other id.
  virtual std::string_view special_name(std::int32_t id) const;
  // Returns the special token of that name, if there is one.
  std::optional<std::int32_t> special_id(std::string_view name) const;

  // True if a text may be cut by split_between_pieces() and its parts be encoded alone.
  virtual bool encodes_in_parts() const { return true; }

  // Returns the joined bytes of `ids` as a whole text. Throws Error if an id is out of range.
  std::string decode_bytes(std::span<const std::int32_t> ids) const;
  // Returns the text of `ids`. Invalid bytes become U+FFFD. Throws Error if an id is out of range.
  std::string decode(std::span<const std::int32_t> ids) const;
  // Returns one token for display: special tokens by name, other tokens as text, and bytes that are
  // no whole character as <0xEA>. Throws Error if the id is out of range.
  std::string token_label(std::int32_t id) const;

  // Token that separates documents. Throws Error if the tokenizer has none; see end_token().
  std::int32_t end_of_text() const;
  // Returns end_of_text(), or null if no special token ends texts.
  std::optional<std::int32_t> end_token() const { return end_of_text_; }
  // All ids that end a generated text, end_of_text() first. Chat turns may have their own. A
  // tokenizer without special tokens has no end_of_text(), but plain tokens may end its texts.
  const std::vector<std::int32_t>& stop_tokens() const { return stop_tokens_; }
  // Ignores repeated ids. Throws Error unless all ids are in range and the first is special;
  // without end_token(), all may be plain.
  void set_stop_tokens(const std::vector<std::int32_t>& ids);
  // Token that begins texts if prepends_begin_token(). Equals end_of_text() unless set. Throws
  // Error if the tokenizer has neither; see begin_token().
  std::int32_t begin_of_text() const;
  // Returns begin_of_text(), or null for a tokenizer without special tokens.
  std::optional<std::int32_t> begin_token() const;
  // Sets stop_tokens() as a model's files do: `first`, or end_of_text() if that is null, then
  // `others`. Without any of these tokens nothing changes. Throws Error as set_stop_tokens().
  void suggest_stop_tokens(std::optional<std::int32_t> first, std::vector<std::int32_t> others);
  // Throws Error unless the id is special.
  void set_begin_of_text(std::int32_t id);
  // Sets begin_of_text() unless the tokenizer's file has set it. Null: no change.
  void suggest_begin_of_text(std::optional<std::int32_t> id);
  // Padding token of other programs. Headlight only keeps it in files.
  std::optional<std::int32_t> padding() const { return padding_; }
  void set_padding(std::optional<std::int32_t> id) { padding_ = id; }

  // True if the model was trained on documents that begin with begin_of_text(), usually
  // <|endoftext|>; prompts then must begin with it, too. Kept in the tokenizer file.
  bool prepends_begin_token() const { return prepends_begin_token_; }
  void set_prepends_begin_token(bool value) { prepends_begin_token_ = value; }
  // Token at the end of prompts that begin with begin_of_text(), such as BERT's [SEP]; null: none.
  std::optional<std::int32_t> closing_token() const { return closing_token_; }
  void set_closing_token(std::optional<std::int32_t> id) { closing_token_ = id; }
  // Token that represents a hidden token, such as BERT's [MASK]; null: none.
  std::optional<std::int32_t> mask_token() const { return mask_token_; }
  void set_mask_token(std::optional<std::int32_t> id) { mask_token_ = id; }
  // Chat templates of the model; usually there is at most one.
  const ChatTemplates& chat_template() const { return chat_template_; }
  void set_chat_template(ChatTemplates templates) { chat_template_ = std::move(templates); }
  // One-line warning that ids may differ from the ids of the model's training; "": none.
  const std::string& warning() const { return warning_; }
  void set_warning(std::string text) { warning_ = std::move(text); }
  // True if names of special tokens in a text become those tokens; the leftmost name wins, then the
  // longest. False: they are plain text, since users may type a name without meaning the token. Not
  // kept in any file.
  bool reads_special() const { return reads_special_; }
  void set_reads_special(bool value) { reads_special_ = value; }
  // Returns encode(text); if prepends_begin_token(), after begin_of_text() and before the
  // closing_token(), if there is one.
  std::vector<std::int32_t> encode_prompt(std::string_view text) const;
  // Returns `ids` with the tokens that encode_prompt() adds.
  std::vector<std::int32_t> with_prompt_ends(std::vector<std::int32_t> ids) const;

 protected:
  explicit Tokenizer(std::optional<std::int32_t> end_of_text) : end_of_text_(end_of_text) {
    if (end_of_text) {
      stop_tokens_.push_back(*end_of_text);
    }
  }
  Tokenizer(const Tokenizer&) = default;
  Tokenizer(Tokenizer&&) = default;
  Tokenizer& operator=(const Tokenizer&) = default;
  Tokenizer& operator=(Tokenizer&&) = default;

  void require_id(std::int32_t id) const;

 private:
  std::optional<std::int32_t> end_of_text_;
  std::vector<std::int32_t> stop_tokens_;  // end_of_text_ first
  std::optional<std::int32_t> begin_of_text_ = {};
  std::optional<std::int32_t> padding_ = {};
  std::optional<std::int32_t> closing_token_ = {};
  std::optional<std::int32_t> mask_token_ = {};
  bool prepends_begin_token_ = false;
  bool reads_special_ = false;
  ChatTemplates chat_template_;
  std::string warning_;
};

// Throws Error about `about` for no ids, and for characters of `text`, whose tokens they are, that
// the tokenizer does not know.
void require_known(std::span<const std::int32_t> ids, std::string_view text,
                   const Tokenizer& tokenizer, std::string_view about);
// Returns the only id of a text that names one token. Throws Error as require_known(), and for
// several ids.
std::int32_t only_token(std::span<const std::int32_t> ids, std::string_view text,
                        const Tokenizer& tokenizer, std::string_view about);

}  // namespace headlight
