#include "runs/conversations.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "base/json.h"
#include "base/lower_case.h"
#include "headlight/base/error.h"
#include "headlight/io/text_source.h"
#include "io/input_format_check.h"
#include "io/table_records.h"
#include "text/special_names.h"

namespace headlight {
namespace {

using UseRecord = std::function<void(const Json& record, const std::string& where)>;

bool is_json_list_name(const TextFile& file) { return lower_case(file.path).ends_with(".json"); }

// Calls `use` for each record: each line, row of a table, or element of a list.
void read_records(const TextFile& file, const UseRecord& use) {
  if (is_table_name(file.path)) {
    read_table(file, use);
    return;
  }
  if (!is_json_list_name(file)) {
    read_lines(file, [&](std::string_view line, Index number) {
      const std::string where = concat_text(file.name(), ": line ", number);
      use(parse_json(line, where), where);
    });
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

bool is_conversation(const Json& record, const std::string& key) {
  return record.is_object() && (messages_of(record, key) != nullptr ||
                                (key.empty() && !record.contains("text") &&
                                 ((record.contains("prompt") && record.contains("completion")) ||
                                  (record.contains("instruction") && record.contains("output")))));
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

std::vector<ChatMessage> read_messages(const Json& list, const std::string& where) {
  std::vector<ChatMessage> messages;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string place = concat_text(where, ": message ", i + 1);
    const Json& message = list[i];
    require(message.is_object(), place, ": expected an object, got ", message.type_name());
    messages.push_back({.role = usual_role(text_under(message, {"role", "from"}, place)),
                        .content = text_under(message, {"content", "value"}, place)});
  }
  return messages;
}

// Turns records into token sequences of one file.
class ConversationReader {
 public:
  ConversationReader(const ConversationOptions& options, const ChatFormat& format,
                     const Tokenizer& tokenizer)
      : options_(options), format_(format), tokenizer_(tokenizer), names_(tokenizer) {}

  void add(const Json& record, const std::string& where) {
    require(is_conversation(record, options_.key), where,
            ": expected \"messages\", \"conversations\", \"prompt\" with \"completion\", or "
            "\"instruction\" with \"output\"",
            options_.key.empty() ? "" : ", and a list under " + quoted_text(options_.key));
    std::vector<std::int32_t> tokens =
        in_place(where + ": ", [&] { return encode(record, where); });
    ++count_;
    const auto longest = static_cast<std::size_t>(options_.block_size) + 1;
    if (options_.block_size > 0 && tokens.size() > longest) {
      tokens.resize(longest);
      ++cut_;
    }
    const Index learned =
        tokens.empty() ? 0 : std::count_if(tokens.begin() + 1, tokens.end(), is_learned);
    if (learned == 0) {
      ++empty_;
      return;
    }
    learned_ += learned;
    dataset_.token_count += std::ssize(tokens);
    dataset_.sequences.push_back(std::move(tokens));
  }

  TokenDataset finish(const std::string& name, std::vector<std::string>& notes,
                      std::vector<std::string>& warnings) {
    require(!dataset_.sequences.empty(), name,
            ": expected conversations with something to learn, got ", count_, " without");
    const auto share =
        100 * static_cast<double>(learned_) / static_cast<double>(dataset_.token_count);
    notes.push_back(concat_text(name, ": ", count_, " conversations, ", answers_, " answers; ",
                                std::lround(share), " % of ", dataset_.token_count,
                                " tokens are learned"));
    if (cut_ > 0) {
      warnings.push_back(concat_text(name, ": ", cut_, " of ", count_,
                                     " conversations are longer than ", options_.block_size,
                                     " tokens (block_size): cut at the end"));
    }
    if (empty_ > 0) {
      warnings.push_back(concat_text(name, ": ", empty_, " of ", count_,
                                     " conversations have nothing to learn: left out"));
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
  std::vector<std::int32_t> encode(const Json& record, const std::string& where) {
    if (const Json* list = messages_of(record, options_.key)) {
      return encode_messages(read_messages(*list, where), options_.learn);
    }
    if (record.contains("instruction")) {
      const std::string input =
          record.contains("input") ? text_under(record, {"input"}, where) : "";
      const std::string request = text_under(record, {"instruction"}, where);
      return encode_messages({{"user", input.empty() ? request : request + "\n\n" + input},
                              {"assistant", text_under(record, {"output"}, where)}},
                             options_.learn);
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
    return encode_messages(messages, options_.learn == Learn::all ? Learn::all : Learn::last);
  }

  std::vector<std::int32_t> encode_messages(const std::vector<ChatMessage>& messages, Learn learn) {
    answers_ += std::ranges::count(messages, "assistant", &ChatMessage::role);
    for (const ChatMessage& message : messages) {
      check_text(message.content);
    }
    return format_.encode_for_training(messages, learn);
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

bool is_conversation_file(const TextFile& file, const std::string& key) {
  if (file.is_standard_input() ||
      (!is_json_lines_name(file.path) && !is_json_list_name(file) && !is_table_name(file.path))) {
    return false;
  }
  struct Found {};  // ends the reading
  bool is_one = false;
  try {
    read_records(file, [&](const Json& record, const std::string&) {
      is_one = is_conversation(record, key);
      throw Found();
    });
  } catch (const Found&) {
  } catch (const Error&) {  // the reader of texts says what is wrong
    return false;
  }
  return is_one;
}

TokenDataset read_conversations(const TextFile& file, const ConversationOptions& options,
                                const ChatFormat& format, const Tokenizer& tokenizer,
                                std::vector<std::string>& notes,
                                std::vector<std::string>& warnings) {
  ConversationReader reader(options, format, tokenizer);
  read_records(file,
               [&](const Json& record, const std::string& where) { reader.add(record, where); });
  return reader.finish(file.name(), notes, warnings);
}

}  // namespace headlight
