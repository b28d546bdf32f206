#include "runs/conversations/prompts.h"

#include <utility>

#include "datasets/records.h"
#include "headlight/base/error.h"
#include "runs/conversations/chat_record.h"
#include "runs/conversations/record_warnings.h"

namespace headlight {
namespace {

Json json_of_messages(const std::vector<ChatMessage>& messages) {
  return json_list(messages, [](const ChatMessage& message) {
    Json json{{"role", message.role}, {"content", message.content}};
    json.update(parse_json(message.more, "messages"));
    return json;
  });
}

class PromptReader {
 public:
  PromptReader(const ChatFormat& format, const Tokenizer& tokenizer)
      : format_(format), tokenizer_(tokenizer), warnings_(tokenizer) {}

  void add(Json record, const std::string& where) {
    FilePrompt prompt{.id = take_id(record)};
    const ChatRecord chat = read_prompt_record(record, where, warnings_.ignored());
    prompt.is_chat = !chat.is_text;
    in_place(where + ": ", [&] {
      if (chat.is_text) {
        warnings_.look(chat.prompt);
        prompt.text = chat.prompt;
        prompt.ids = tokenizer_.encode_prompt(chat.prompt);
        return;
      }
      require(!chat.messages.empty(), "expected messages to answer, got none");
      for (const ChatMessage& message : chat.messages) {
        warnings_.look(message.content);
      }
      prompt.text = json_of_messages(chat.messages);
      prompt.ids = format_.encode(chat.messages, ChatPrompt::new_answer, chat.tools);
    });
    prompts_.push_back(std::move(prompt));
  }

  std::vector<FilePrompt> finish(const std::string& name, std::vector<std::string>& warnings) {
    require(!prompts_.empty(), name, ": expected prompts, got none");
    warnings_.add_to(warnings, name, {});
    return std::move(prompts_);
  }

 private:
  // Returns the id of a record, and removes it from the record.
  static Json take_id(Json& record) {
    if (!record.is_object()) {
      return {};
    }
    Json id;
    Json rest = Json::object();
    for (const JsonMember& member : record.members()) {
      const bool is_id = member.key == "id" || member.key == "custom_id";
      is_id ? void(id = member.value) : void(rest.add(member.key, member.value));
    }
    record = std::move(rest);
    return id;
  }

  const ChatFormat& format_;
  const Tokenizer& tokenizer_;
  RecordWarnings warnings_;
  std::vector<FilePrompt> prompts_;
};

}  // namespace

std::vector<FilePrompt> read_prompts(const TextFile& file, const ChatFormat& format,
                                     const Tokenizer& tokenizer,
                                     std::vector<std::string>& warnings) {
  PromptReader reader(format, tokenizer);
  read_records(file,
               "\"One day\", {\"prompt\": \"One day\"} or {\"messages\": [{\"role\": \"user\", "
               "\"content\": \"Hello\"}]}",
               [&](const Json& record, const std::string& where) { reader.add(record, where); });
  return reader.finish(file.name(), warnings);
}

}  // namespace headlight
