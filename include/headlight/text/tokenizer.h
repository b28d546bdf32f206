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

namespace headlight {

// Names of the special tokens, as they stand in tokenizer files and on labels.
inline constexpr std::string_view kEndOfTextName = "<|endoftext|>";
inline constexpr std::string_view kUnknownName = "<|unk|>";

// Whether texts begin with the token that begins a text.
enum class BeginToken {
  automatic,  // as the model's prompts do
  on,
  off,
};

template <>
inline constexpr auto kChoices<BeginToken> = std::to_array<Choice<BeginToken>>(
    {{"auto", BeginToken::automatic}, {"on", BeginToken::on}, {"off", BeginToken::off}});

// Turns text into token ids 0 ... V - 1 and back. Every tokenizer has the special token
// <|endoftext|>, which stands between documents, or another that ends a text; special tokens are
// read out of a text only where reads_special().
// Encoding and decoding change nothing, so one tokenizer may serve several threads.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // "char", "byte" or "bpe".
  virtual std::string_view kind() const = 0;
  // V: number of ids, special tokens included.
  virtual Index vocab_size() const = 0;
  // The ids of UTF-8 text. Throws Error naming the first byte that is not UTF-8.
  virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;
  // The bytes that one token stands for, not always whole characters: U+FFFD for <|unk|>, "" for
  // other special tokens. Throws Error when the id is out of range.
  virtual std::string token_bytes(std::int32_t id) const = 0;
  // The same for the first token of a text that is not special: where blanks belong to the words
  // behind them, the first word's is none of the text's.
  virtual std::string first_token_bytes(std::int32_t id) const { return token_bytes(id); }
  // The id of characters that the vocabulary lacks, if there can be any.
  virtual std::optional<std::int32_t> unknown() const { return std::nullopt; }
  // The name of a special token, "" for every other id.
  virtual std::string_view special_name(std::int32_t id) const;
  // The special token of that name, if there is one.
  std::optional<std::int32_t> special_id(std::string_view name) const;

  // True when a text may be cut where split_between_pieces() cuts, and its parts encoded alone.
  virtual bool encodes_in_parts() const { return true; }

  // The bytes of `ids`, joined, as of a whole text. Throws Error when an id is out of range.
  std::string decode_bytes(std::span<const std::int32_t> ids) const;
  // The text of `ids`. Bytes that are no character become U+FFFD. Throws Error when an id is out of
  // range.
  std::string decode(std::span<const std::int32_t> ids) const;
  // One token for display: the special tokens by name, other tokens as their text, and bytes that
  // are not whole characters as <0xEA>. Throws Error when the id is out of range.
  std::string token_label(std::int32_t id) const;

  // The separator of documents. Throws Error if the tokenizer has none; see end_token().
  std::int32_t end_of_text() const;
  // end_of_text(), or null for a tokenizer without special tokens.
  std::optional<std::int32_t> end_token() const;
  // All ids that end a generated text, end_of_text() first: turns of a chat often end otherwise.
  const std::vector<std::int32_t>& ends() const { return ends_; }
  // Ids that come twice count once, and none is allowed. Throws Error unless all are in range and
  // the first is special.
  void set_ends(const std::vector<std::int32_t>& ids);
  // What a text begins with for models that want it to; see prepends_end_of_text(). Without a
  // token of its own, end_of_text(). Throws Error if the tokenizer has neither; see begin_token().
  std::int32_t begin_of_text() const;
  // begin_of_text(), or null for a tokenizer without special tokens.
  std::optional<std::int32_t> begin_token() const;
  // Throws Error unless the id is special.
  void set_begin_of_text(std::int32_t id);
  // Sets begin_of_text() unless the tokenizer's file says what texts begin with. Null: no change.
  void suggest_begin_of_text(std::optional<std::int32_t> id);
  // The padding token of other programs. Headlight only keeps it in files.
  std::optional<std::int32_t> padding() const { return padding_; }
  void set_padding(std::optional<std::int32_t> id) { padding_ = id; }

  // True when the model was trained on documents that each begin with begin_of_text(), mostly
  // <|endoftext|>, so that a prompt must, too. Kept in the tokenizer file.
  bool prepends_end_of_text() const { return prepends_end_of_text_; }
  void set_prepends_end_of_text(bool value) { prepends_end_of_text_ = value; }
  // How the model was taught to read chats, as a template in Jinja; "": there is none.
  const std::string& chat_template() const { return chat_template_; }
  void set_chat_template(std::string text) { chat_template_ = std::move(text); }
  // One line where ids may differ from those that its model was trained on; "": they do not.
  const std::string& warning() const { return warning_; }
  void set_warning(std::string text) { warning_ = std::move(text); }
  // True when the name of a special token in a text becomes that token, of names that overlap the
  // leftmost, of names that begin at one place the longest; else it is plain text, since people
  // type names without meaning the tokens. No file keeps this.
  bool reads_special() const { return reads_special_; }
  void set_reads_special(bool value) { reads_special_ = value; }
  // encode(text), after begin_of_text() when prepends_end_of_text().
  std::vector<std::int32_t> encode_prompt(std::string_view text) const;
  // The ids of a text as a prompt begins, see encode_prompt().
  std::vector<std::int32_t> begun(std::vector<std::int32_t> ids) const;

 protected:
  explicit Tokenizer(std::optional<std::int32_t> end_of_text) {
    if (end_of_text) {
      ends_.push_back(*end_of_text);
    }
  }
  Tokenizer(const Tokenizer&) = default;
  Tokenizer(Tokenizer&&) = default;
  Tokenizer& operator=(const Tokenizer&) = default;
  Tokenizer& operator=(Tokenizer&&) = default;

  void require_id(std::int32_t id) const;

 private:
  std::vector<std::int32_t> ends_;
  std::optional<std::int32_t> begin_of_text_ = {};
  std::optional<std::int32_t> padding_ = {};
  bool prepends_end_of_text_ = false;
  bool reads_special_ = false;
  std::string chat_template_;
  std::string warning_;
};

}  // namespace headlight
