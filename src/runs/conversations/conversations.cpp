#include "runs/conversations/conversations.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "datasets/records.h"
#include "headlight/base/error.h"
#include "headlight/datasets/token_file.h"
#include "runs/conversations/record_keys.h"
#include "runs/conversations/record_warnings.h"
#include "runs/conversations/template_use.h"
#include "tokenizers/special_names.h"

namespace headlight {
namespace {

using Ids = std::vector<std::int32_t>;

std::vector<ChatMessage> joined_messages(std::vector<ChatMessage> first,
                                         const std::vector<ChatMessage>& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

bool all_learned(const std::vector<ChatMessage>& messages) {
  return std::ranges::all_of(messages, &ChatMessage::is_learned);
}

// True if everything after the prompt is learned.
bool learns_all_of(const ChatRecord::Answer& answer) {
  const auto is_answer = [](const ChatMessage& message) { return message.role == "assistant"; };
  return all_learned(answer.messages) && std::ranges::any_of(answer.messages, is_answer);
}

// Makes context of the tokens that both answers of a pair begin with: they cancel in the margin.
// Leaves the last token of the shorter one. With `all_after`, all tokens from the first that
// differs are learned.
void ignore_shared(Ids& chosen, Ids& rejected, bool all_after) {
  const std::size_t shorter = std::min(chosen.size(), rejected.size());
  std::size_t shared = 0;
  for (; shared + 1 < shorter && id_of(chosen[shared]) == id_of(rejected[shared]); ++shared) {
    chosen[shared] = rejected[shared] = as_context(id_of(chosen[shared]));
  }
  for (Ids* tokens : {&chosen, &rejected}) {
    const auto begin = tokens->begin() + static_cast<std::ptrdiff_t>(shared);
    if (all_after) {
      std::transform(begin, tokens->end(), begin, id_of);
    }
  }
}

// Turns records into token sequences of one file.
class ConversationReader {
 public:
  ConversationReader(const ConversationOptions& options, const ChatFormat& format,
                     const Tokenizer& tokenizer)
      : options_(options),
        format_(format),
        tokenizer_(tokenizer),
        ends_(document_ends(tokenizer, options.begin)),
        warnings_(tokenizer),
        use_(format) {}

  void add(const Json& record, const std::string& where) {
    const ChatRecord chat = read_chat_record(record, options_.key, where, warnings_.ignored());
    const bool is_pair = chat.kind == ConversationKind::pairs;
    require(count_ == 0 || is_pair == dataset_.pairs, where, ": expected a ",
            dataset_.pairs ? "pair of answers (\"chosen\" with \"rejected\")" : "conversation",
            ", as in the records before");
    dataset_.pairs = is_pair;
    in_place(where + ": ", [&] { is_pair ? add_pair(chat) : add_one(chat); });
  }

  TokenDataset finish(const std::string& name, std::vector<std::string>& notes,
                      std::vector<std::string>& warnings) {
    require(!dataset_.sequences.empty(), name,
            ": expected conversations with something to learn, got ", count_, " without",
            reasons());
    const auto share =
        100 * static_cast<double>(learned_) / static_cast<double>(dataset_.token_count);
    notes.push_back(concat_text(name, ": ", count_, kind(), dataset_.pairs ? "" : ", ",
                                dataset_.pairs ? "" : std::to_string(answers_) + " answers", "; ",
                                std::lround(share), " % of ", dataset_.token_count,
                                " tokens are learned", has_texts_ ? ends_note() : ""));
    add_warnings(name, warnings);
    dataset_.documents = true;
    return std::move(dataset_);
  }

 private:
  const char* kind() const { return dataset_.pairs ? " pairs of answers" : " conversations"; }

  void add_warnings(const std::string& name, std::vector<std::string>& warnings) const {
    if (cut_ > 0) {
      warnings.push_back(concat_text(name, ": ", cut_, " of ", count_, kind(), " are longer than ",
                                     options_.block_size, " tokens (block_size): cut at the end"));
    }
    if (empty_ > 0) {
      warnings.push_back(concat_text(name, ": ", empty_, " of ", count_, kind(),
                                     " have nothing to learn: left out", reasons()));
    }
    warnings_.add_to(warnings, name, use_.unread());
  }

  // Returns the reasons why conversations have nothing to learn.
  std::string reasons() const {
    std::string text;
    if (long_prompts_ > 0) {
      text += concat_text(" (", long_prompts_, " have a prompt that fills the ",
                          options_.block_size, " tokens of block_size; raise --block_size)");
    }
    if (!roles_.empty()) {
      text +=
          concat_text("; answers have the role \"assistant\", messages here also have ", roles_);
    }
    return text;
  }

  // Returns the tokens around prompts and completions in text.
  std::string ends_note() const {
    const auto name = [&](std::optional<std::int32_t> id) {
      return id && *id >= 0 ? std::string(tokenizer_.special_name(*id)) : "no special token";
    };
    return concat_text("; each text begins with ", name(ends_.begin), " and ends with ",
                       name(ends_.end));
  }

  // Cuts a sequence at the longest length, and returns the number of its learned tokens.
  Index fit(Ids& tokens, bool& was_cut) const {
    const auto longest = static_cast<std::size_t>(options_.block_size) + 1;
    if (options_.block_size > 0 && tokens.size() > longest) {
      tokens.resize(longest);
      was_cut = true;
    }
    return tokens.empty() ? 0 : std::count_if(tokens.begin() + 1, tokens.end(), is_learned);
  }

  // Adds a sequence unless `is_empty`, and counts it.
  void add_sequence(Ids tokens, Index learned, bool was_cut, bool is_empty) {
    ++count_;
    cut_ += was_cut ? 1 : 0;
    if (is_empty) {
      ++empty_;
      long_prompts_ += was_cut ? 1 : 0;
      return;
    }
    learned_ += learned;
    dataset_.token_count += std::ssize(tokens);
    dataset_.sequences.push_back(std::move(tokens));
  }

  void add_one(const ChatRecord& chat) {
    bool was_cut = false;
    Ids tokens = chat.answers.empty() ? encode_conversation(chat)
                                      : encode_answer(chat, chat.answers.front());
    const Index learned = fit(tokens, was_cut);
    add_sequence(std::move(tokens), learned, was_cut, learned == 0);
  }

  void add_pair(const ChatRecord& chat) {
    bool was_cut = false;
    Ids both = encode_answer(chat, chat.answers[0]);
    Ids rejected = encode_answer(chat, chat.answers[1]);
    const bool differ = both != rejected;
    ignore_shared(both, rejected, chat.is_text || std::ranges::all_of(chat.answers, learns_all_of));
    const Index of_chosen = fit(both, was_cut);
    const Index of_rejected = fit(rejected, was_cut);
    both.push_back(kPairBreak);
    both.insert(both.end(), rejected.begin(), rejected.end());
    add_sequence(std::move(both), of_chosen + of_rejected, was_cut,
                 !differ || of_chosen == 0 || of_rejected == 0);
  }

  Ids encode_conversation(const ChatRecord& chat) {
    const Learn learn =
        chat.only_last && options_.learn == Learn::assistant ? Learn::last : options_.learn;
    return encode_messages(chat.messages, chat.tools, [&] {
      return format_.encode_for_training(chat.messages, learn, chat.tools);
    });
  }

  // Returns the tokens of a prompt with an answer, which is learned.
  Ids encode_answer(const ChatRecord& chat, const ChatRecord::Answer& answer) {
    if (chat.is_text) {
      return encode_texts(chat.prompt, answer.text);
    }
    std::vector<ChatMessage> all = joined_messages(chat.messages, answer.messages);
    const bool is_whole = learns_all_of(answer);
    if (!is_whole) {
      for (std::size_t i = 0; i < chat.messages.size(); ++i) {
        all[i].is_learned = false;
      }
    }
    return encode_messages(all, chat.tools, [&] {
      return options_.learn != Learn::assistant || !is_whole
                 ? format_.encode_for_training(all, options_.learn, chat.tools)
                 : format_.encode_completion(all, chat.messages.size(), chat.tools);
    });
  }

  template <class Encode>
  Ids encode_messages(const std::vector<ChatMessage>& messages, const std::string& tools,
                      const Encode& encode) {
    answers_ += std::ranges::count(messages, "assistant", &ChatMessage::role);
    for (const ChatMessage& message : messages) {
      warnings_.look(message.content);
    }
    require(options_.learn != Learn::all || all_learned(messages),
            "a message says that it is not learned (weight or train), which --learn all cannot "
            "obey; choose assistant");
    const std::string roles = nonstandard_roles(messages);
    roles_ = roles.empty() ? roles_ : roles;
    try {
      const Ids tokens = encode();
      use_.look(messages, tools);
      return tokens;
    } catch (const Error& error) {
      require(roles.empty(), error.what(), "; the messages have the role ", roles,
              ", which this template may not know");
      throw;
    }
  }

  // Returns the tokens of both texts, encoded together, with those that begin and end texts, each
  // once. The completion begins with the first token that the prompt alone does not have.
  Ids encode_texts(const std::string& prompt, const std::string& answer) {
    ++answers_;
    has_texts_ = true;
    const std::string completion(without_end_name(tokenizer_, answer));
    warnings_.look(prompt);
    warnings_.look(completion);
    const Ids before = tokenizer_.encode(prompt);
    Ids tokens = tokenizer_.encode(prompt + completion);
    const bool has_end = tokens.size() > before.size() && tokens.back() == ends_.end;
    if (ends_.end >= 0 && !has_end) {
      tokens.push_back(ends_.end);
    }
    if (options_.learn != Learn::all) {
      const auto shared = std::ranges::mismatch(before, tokens).in2 - tokens.begin();
      std::transform(tokens.begin(), tokens.begin() + shared, tokens.begin(), as_context);
    }
    if (ends_.begin && (tokens.empty() || id_of(tokens.front()) != *ends_.begin)) {
      const std::int32_t begin = *ends_.begin;
      tokens.insert(tokens.begin(), options_.learn == Learn::all ? begin : as_context(begin));
    }
    return tokens;
  }

  const ConversationOptions& options_;
  const ChatFormat& format_;
  const Tokenizer& tokenizer_;
  DocumentEnds ends_;
  RecordWarnings warnings_;
  TemplateUse use_;
  std::string roles_;       // unusual ones
  bool has_texts_ = false;  // prompts without a chat template
  TokenDataset dataset_;
  Index count_ = 0;         // conversations
  Index answers_ = 0;       // of the assistant
  Index learned_ = 0;       // tokens
  Index cut_ = 0;           // conversations that are too long
  Index empty_ = 0;         // conversations without learned tokens
  Index long_prompts_ = 0;  // of these, with a prompt that is too long
};

}  // namespace

ConversationKind kind_of_conversations(const TextFile& file, const std::string& key) {
  if (file.is_standard_input() || !has_records_name(file.path)) {
    return ConversationKind::none;
  }
  const auto [record, where] = first_record(file);
  const ConversationKind kind = kind_of_record(record, key, where);
  if (kind == ConversationKind::none && key.empty()) {
    refuse_other_formats(record, where);
  }
  return kind;
}

std::string warning_of_texts(const TextFile& file) {
  if (file.is_standard_input() || !has_records_name(file.path)) {
    return {};
  }
  const auto [record, where] = first_record(file);
  Json rest = Json::object();
  for (const JsonMember& member : record.is_object() ? record.members() : Json::Object()) {
    if (member.key != "text") {
      rest.add(member.key, member.value);
    }
  }
  const bool has_both =
      record.contains("text") && kind_of_record(rest, "", where) != ConversationKind::none;
  return has_both ? concat_text(file.name(),
                                ": reads the texts under \"text\" and ignores the conversations "
                                "beside them; leave out \"text\" to learn their answers")
                  : std::string();
}

TokenDataset read_conversations(const TextFile& file, const ConversationOptions& options,
                                const ChatFormat& format, const Tokenizer& tokenizer,
                                std::vector<std::string>& notes,
                                std::vector<std::string>& warnings) {
  ConversationReader reader(options, format, tokenizer);
  read_records(file,
               "{\"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}, {\"role\": "
               "\"assistant\", \"content\": \"Hi.\"}]}",
               [&](const Json& record, const std::string& where) { reader.add(record, where); });
  return reader.finish(file.name(), notes, warnings);
}

}  // namespace headlight
