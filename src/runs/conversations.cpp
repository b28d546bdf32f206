#include "runs/conversations.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/json.h"
#include "base/lower_case.h"
#include "headlight/base/error.h"
#include "headlight/io/text_source.h"
#include "io/input_format_check.h"
#include "io/records.h"
#include "text/special_names.h"

namespace headlight {
namespace {

bool is_json_list_name(const TextFile& file) { return lower_case(file.path).ends_with(".json"); }

// Calls `use` for each record of read_records(), or element of a list.
void visit_records(const TextFile& file, const UseRecord& use) {
  if (!is_json_list_name(file)) {
    read_records(file, use);
    return;
  }
  const Json all = parse_json(read_text_file(file.path), file.name());
  require(all.is_array(), file.name(), ": expected a list of records, got ", all.type_name());
  for (std::size_t i = 0; i < all.size(); ++i) {
    use(all[i], concat_text(file.name(), ": record ", i + 1));
  }
}

// Returns the list of messages of a record, or nullptr.
const Json* messages_of(const Json& record, const std::string& key) {
  for (const std::string& name :
       key.empty() ? std::vector<std::string>{"messages", "conversations"} : std::vector{key}) {
    const Json* found = record.find(name);
    if (found != nullptr && found->is_array()) {
      return found;
    }
  }
  return nullptr;
}

ConversationKind kind_of(const Json& record, const std::string& key) {
  using enum ConversationKind;
  const auto has = [&](const char* one, const char* other) {
    return key.empty() && record.contains(one) && record.contains(other);
  };
  if (!record.is_object()) {
    return none;
  }
  if (has("chosen", "rejected")) {
    return pairs;
  }
  const bool is_one =
      messages_of(record, key) != nullptr ||
      (!record.contains("text") && (has("prompt", "completion") || has("instruction", "output")));
  return is_one ? conversations : none;
}

std::string text_under(const Json& object, std::initializer_list<const char*> keys,
                       const std::string& where) {
  for (const char* key : keys) {
    const Json* value = object.find(key);
    if (value != nullptr) {
      require(value->is_string(), where, ": ", quoted_text(key), " must be a string, got ",
              value->type_name());
      return value->text();
    }
  }
  fail(where, ": key ", quoted_text(*keys.begin()), " is missing");
}

// Roles of ShareGPT by their usual names.
std::string usual_role(const std::string& role) {
  if (role == "human") {
    return "user";
  }
  return role == "gpt" || role == "bot" || role == "model" ? "assistant" : role;
}

// Returns the members of a message that only some templates read, such as tool_calls.
Json other_members(const Json& message) {
  Json others = Json::object();
  for (const JsonMember& member : message.members()) {
    if (member.key != "role" && member.key != "from" && member.key != "content" &&
        member.key != "value") {
      others.add(member.key, member.value);
    }
  }
  return others;
}

// Returns true for a message that has calls of tools and no text.
bool calls_alone(const Json& message) {
  const Json* calls = message.find("tool_calls");
  return calls != nullptr && calls->is_array() && message.value("content", Json()).is_null();
}

std::vector<ChatMessage> read_messages(const Json& list, const std::string& where) {
  std::vector<ChatMessage> messages;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string place = concat_text(where, ": message ", i + 1);
    const Json& message = list[i];
    require(message.is_object(), place, ": expected an object, got ", message.type_name());
    messages.push_back(
        {.role = usual_role(text_under(message, {"role", "from"}, place)),
         .content = calls_alone(message) ? "" : text_under(message, {"content", "value"}, place),
         .more = other_members(message).dump()});
  }
  return messages;
}

// Returns the JSON list of functions that a record offers, as a list or its text; "": none.
std::string tools_of(const Json& record, const std::string& where) {
  const Json tools = record.value("tools", Json());
  if (tools.is_null() || tools == Json("")) {
    return {};
  }
  const Json list = tools.is_string() ? parse_json(tools.text(), where + ": \"tools\"") : tools;
  require(list.is_array(), where, ": \"tools\" must be a list of functions, got ",
          list.type_name());
  return list.empty() ? "" : list.dump();
}

// Makes context of the tokens that both answers of a pair begin with: they cancel in the margin.
// Leaves the last token of the shorter one.
void ignore_shared(std::vector<std::int32_t>& chosen, std::vector<std::int32_t>& rejected) {
  const std::size_t shorter = std::min(chosen.size(), rejected.size());
  for (std::size_t i = 0; i + 1 < shorter && id_of(chosen[i]) == id_of(rejected[i]); ++i) {
    chosen[i] = rejected[i] = as_context(id_of(chosen[i]));
  }
}

// Turns records into token sequences of one file.
class ConversationReader {
 public:
  ConversationReader(const ConversationOptions& options, const ChatFormat& format,
                     const Tokenizer& tokenizer)
      : options_(options), format_(format), tokenizer_(tokenizer), names_(tokenizer) {}

  void add(const Json& record, const std::string& where) {
    const ConversationKind kind = kind_of(record, options_.key);
    require(kind != ConversationKind::none, where,
            ": expected \"messages\", \"conversations\", \"prompt\" with \"completion\", "
            "\"instruction\" with \"output\", or \"chosen\" with \"rejected\"",
            options_.key.empty() ? "" : ", and a list under " + quoted_text(options_.key));
    const bool is_pair = kind == ConversationKind::pairs;
    require(count_ == 0 || is_pair == dataset_.pairs, where, ": expected a ",
            dataset_.pairs ? "pair of answers (\"chosen\" with \"rejected\")" : "conversation",
            ", as in the records before");
    dataset_.pairs = is_pair;
    in_place(where + ": ", [&] { is_pair ? add_pair(record, where) : add_one(record, where); });
  }

  TokenDataset finish(const std::string& name, std::vector<std::string>& notes,
                      std::vector<std::string>& warnings) {
    require(!dataset_.sequences.empty(), name,
            ": expected conversations with something to learn, got ", count_, " without");
    const auto share =
        100 * static_cast<double>(learned_) / static_cast<double>(dataset_.token_count);
    const std::string kind = dataset_.pairs ? " pairs of answers" : " conversations";
    notes.push_back(concat_text(name, ": ", count_, kind, dataset_.pairs ? "" : ", ",
                                dataset_.pairs ? "" : std::to_string(answers_) + " answers", "; ",
                                std::lround(share), " % of ", dataset_.token_count,
                                " tokens are learned"));
    if (cut_ > 0) {
      warnings.push_back(concat_text(name, ": ", cut_, " of ", count_, kind, " are longer than ",
                                     options_.block_size, " tokens (block_size): cut at the end"));
    }
    if (empty_ > 0) {
      warnings.push_back(concat_text(name, ": ", empty_, " of ", count_, kind,
                                     " have nothing to learn: left out"));
    }
    if (std::string warning = names_.warning(name); !warning.empty()) {
      warnings.push_back(std::move(warning));
    }
    if (has_decomposed_) {
      warnings.push_back(decomposed_hangul_line(name));
    }
    dataset_.documents = true;
    return std::move(dataset_);
  }

 private:
  // Cuts a sequence at the longest length, and returns the number of its learned tokens.
  Index fit(std::vector<std::int32_t>& tokens, bool& was_cut) const {
    const auto longest = static_cast<std::size_t>(options_.block_size) + 1;
    if (options_.block_size > 0 && tokens.size() > longest) {
      tokens.resize(longest);
      was_cut = true;
    }
    return tokens.empty() ? 0 : std::count_if(tokens.begin() + 1, tokens.end(), is_learned);
  }

  // Adds a sequence unless `is_empty`, and counts it.
  void add_sequence(std::vector<std::int32_t> tokens, Index learned, bool was_cut, bool is_empty) {
    ++count_;
    cut_ += was_cut ? 1 : 0;
    if (is_empty) {
      ++empty_;
      return;
    }
    learned_ += learned;
    dataset_.token_count += std::ssize(tokens);
    dataset_.sequences.push_back(std::move(tokens));
  }

  void add_one(const Json& record, const std::string& where) {
    bool was_cut = false;
    std::vector<std::int32_t> tokens = encode(record, where);
    const Index learned = fit(tokens, was_cut);
    add_sequence(std::move(tokens), learned, was_cut, learned == 0);
  }

  void add_pair(const Json& record, const std::string& where) {
    require(record["chosen"].is_array() == record["rejected"].is_array(), where,
            ": \"chosen\" and \"rejected\" must both be texts or both be lists of messages");
    bool was_cut = false;
    std::vector<std::int32_t> both = encode_answer(record, "chosen", where);
    std::vector<std::int32_t> rejected = encode_answer(record, "rejected", where);
    const bool differ = both != rejected;
    ignore_shared(both, rejected);
    const Index of_chosen = fit(both, was_cut);
    const Index of_rejected = fit(rejected, was_cut);
    both.push_back(kPairBreak);
    both.insert(both.end(), rejected.begin(), rejected.end());
    add_sequence(std::move(both), of_chosen + of_rejected, was_cut,
                 !differ || of_chosen == 0 || of_rejected == 0);
  }

  // Returns the prompt of a pair with the answer under `key`.
  std::vector<std::int32_t> encode_answer(const Json& record, const char* key,
                                          const std::string& where) {
    const Json& answer = record[key];
    const Json* prompt = record.find("prompt");
    if (!answer.is_array()) {
      return encode_texts(prompt == nullptr ? "" : text_under(record, {"prompt"}, where),
                          text_under(record, {key}, where));
    }
    const std::string place = concat_text(where, ": ", quoted_text(key));
    std::vector<ChatMessage> last = read_messages(answer, place);
    if (prompt == nullptr || !prompt->is_array()) {
      require(prompt == nullptr || std::ranges::count(last, text_under(record, {"prompt"}, where),
                                                      &ChatMessage::content) > 0,
              place, " must contain the text of \"prompt\" as a message");
      return encode_messages(last, Learn::assistant, record, where);
    }
    std::vector<ChatMessage> messages = read_messages(*prompt, where + ": \"prompt\"");
    messages.insert(messages.end(), last.begin(), last.end());
    return encode_messages(messages, Learn::assistant, record, where);
  }

  std::vector<std::int32_t> encode(const Json& record, const std::string& where) {
    if (const Json* list = messages_of(record, options_.key)) {
      return encode_messages(read_messages(*list, where), options_.learn, record, where);
    }
    if (record.contains("instruction")) {
      const std::string input =
          record.contains("input") ? text_under(record, {"input"}, where) : "";
      const std::string request = text_under(record, {"instruction"}, where);
      return encode_messages({{"user", input.empty() ? request : request + "\n\n" + input},
                              {"assistant", text_under(record, {"output"}, where)}},
                             options_.learn, record, where);
    }
    const Json& prompt = record["prompt"];
    if (!prompt.is_array()) {
      return encode_texts(text_under(record, {"prompt"}, where),
                          text_under(record, {"completion"}, where));
    }
    require(record["completion"].is_array(), where,
            ": \"completion\" must be a list of messages, as \"prompt\"");
    std::vector<ChatMessage> messages = read_messages(prompt, where);
    const std::vector<ChatMessage> answer = read_messages(record["completion"], where);
    messages.insert(messages.end(), answer.begin(), answer.end());
    return encode_messages(messages, options_.learn == Learn::all ? Learn::all : Learn::last,
                           record, where);
  }

  std::vector<std::int32_t> encode_messages(const std::vector<ChatMessage>& messages, Learn learn,
                                            const Json& record, const std::string& where) {
    answers_ += std::ranges::count(messages, "assistant", &ChatMessage::role);
    for (const ChatMessage& message : messages) {
      check_text(message.content);
    }
    return format_.encode_for_training(messages, learn, tools_of(record, where));
  }

  void check_text(const std::string& text) {
    names_.add(text);
    has_decomposed_ = has_decomposed_ || has_decomposed_hangul(text);
  }

  // Returns the tokens of both texts, encoded together, with those that begin and end texts.
  std::vector<std::int32_t> encode_texts(const std::string& prompt, const std::string& completion) {
    ++answers_;
    check_text(prompt);
    check_text(completion);
    const DocumentEnds ends = document_ends(tokenizer_);
    std::vector<std::int32_t> tokens;
    if (ends.begin) {
      tokens.push_back(*ends.begin);
    }
    const std::vector<std::int32_t> before = tokenizer_.encode(prompt);
    const std::vector<std::int32_t> both = tokenizer_.encode(prompt + completion);
    const std::size_t prompt_end = tokens.size() + before.size();
    tokens.insert(tokens.end(), both.begin(), both.end());
    if (ends.end >= 0) {
      tokens.push_back(ends.end);
    }
    if (options_.learn != Learn::all) {
      const auto end =
          tokens.begin() + static_cast<std::ptrdiff_t>(std::min(prompt_end, tokens.size()));
      std::transform(tokens.begin(), end, tokens.begin(), as_context);
    }
    return tokens;
  }

  const ConversationOptions& options_;
  const ChatFormat& format_;
  const Tokenizer& tokenizer_;
  SpecialNameCount names_;  // in messages
  bool has_decomposed_ = false;
  TokenDataset dataset_;
  Index count_ = 0;    // conversations
  Index answers_ = 0;  // of the assistant
  Index learned_ = 0;  // tokens
  Index cut_ = 0;      // conversations that are too long
  Index empty_ = 0;    // conversations without learned tokens
};

}  // namespace

ConversationKind kind_of_conversations(const TextFile& file, const std::string& key) {
  ConversationKind kind = ConversationKind::none;
  if (file.is_standard_input() ||
      (!is_json_lines_name(file.path) && !is_json_list_name(file) && !is_table_name(file.path))) {
    return kind;
  }
  struct Found {};  // ends the reading
  try {
    visit_records(file, [&](const Json& record, const std::string&) {
      kind = kind_of(record, key);
      throw Found();
    });
  } catch (const Found&) {
  } catch (const Error&) {  // the reader of texts says what is wrong
    return ConversationKind::none;
  }
  return kind;
}

TokenDataset read_conversations(const TextFile& file, const ConversationOptions& options,
                                const ChatFormat& format, const Tokenizer& tokenizer,
                                std::vector<std::string>& notes,
                                std::vector<std::string>& warnings) {
  ConversationReader reader(options, format, tokenizer);
  visit_records(file,
                [&](const Json& record, const std::string& where) { reader.add(record, where); });
  return reader.finish(file.name(), notes, warnings);
}

}  // namespace headlight
