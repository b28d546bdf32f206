#include "headlight/formats/chat_template/chat_session.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "headlight/base/error.h"
#include "headlight/generate/engine.h"
#include "headlight/nn/key_value_cache.h"

namespace headlight {
namespace {

// Tokens that are read at once. Prompts are reused in these chunks: smaller ones leave less to read
// again, larger ones are read faster.
constexpr Index kPromptChunk = 128;

}  // namespace

struct ChatSession::State {
  State(Decoder& wanted_decoder, const Tokenizer& tokenizer, const ChatTemplates& templates)
      : format(templates, tokenizer),
        block_size(wanted_decoder.model().block_size()),
        engine(wanted_decoder, tokenizer,
               {.prompt_chunk = kPromptChunk,
                .context_tokens = rounded_up(block_size, KeyValueCache::kBlock)}) {}

  ChatFormat format;
  Index block_size;
  Engine engine;
};

struct ChatSession::Prompt {
  std::vector<std::int32_t> ids;
  Index left_out = 0;
};

ChatSession::ChatSession(Decoder& decoder, const Tokenizer& tokenizer,
                         const ChatTemplates& templates)
    : state_(std::make_unique<State>(decoder, tokenizer, templates)) {
  require(state_->format.problem().empty(), state_->format.problem());
}

ChatSession::~ChatSession() = default;

// Leaves out whole turns: the messages up to the next one of the user.
ChatSession::Prompt ChatSession::prompt(Index max_new_tokens) const {
  const Index room = std::min(max_new_tokens, std::max<Index>(1, state_->block_size / 4));
  const auto is_user = [](const ChatMessage& message) { return message.role == "user"; };
  std::vector<ChatMessage> rest = messages_;
  Prompt result{.ids = state_->format.encode(rest)};
  while (static_cast<Index>(result.ids.size()) + room > state_->block_size) {
    const auto first = std::find_if(rest.begin(), rest.end(), is_user);
    const auto next = first == rest.end() ? first : std::find_if(first + 1, rest.end(), is_user);
    require_value(next != rest.end(), "messages", "the prompt with the last message alone takes ",
                  result.ids.size(), " tokens, but the context holds ", state_->block_size,
                  ", of which ", room, " are for the answer: shorten it");
    result.left_out += next - first;
    rest.erase(first, next);
    result.ids = state_->format.encode(rest);
  }
  return result;
}

ChatReply ChatSession::reply(GenerateOptions options, const Sinks& sinks, ForwardHook* hook) {
  Prompt next = prompt(options.max_new_tokens);
  const auto prompt_tokens = static_cast<Index>(next.ids.size());
  options.max_new_tokens = std::min(options.max_new_tokens, state_->block_size - prompt_tokens);
  const std::vector<std::int32_t>& ends = state_->format.end_tokens();
  options.end_tokens.insert(options.end_tokens.end(), ends.begin(), ends.end());
  ChatReply reply;
  reply.left_out = next.left_out;
  std::exception_ptr failure;
  const RequestId id = state_->engine.begin(
      {.prompt = std::move(next.ids),
       .options = std::move(options),
       .hook = hook,
       .on_text =
           [&](Index, std::string_view piece) {
             if (sinks.on_text) {
               sinks.on_text(piece);
             }
           },
       .on_end = [&](Index, GenerateResult result) { reply.result = std::move(result); },
       .on_error = [&](std::exception_ptr error) { failure = std::move(error); }});
  bool stopped = false;
  do {
    if (!stopped && sinks.should_stop && sinks.should_stop()) {
      state_->engine.cancel(id);
      stopped = true;
    }
  } while (state_->engine.step());
  if (failure) {
    std::rethrow_exception(failure);
  }
  if (stopped) {
    reply.result.finish_reason = FinishReason::cancelled;
  }
  reply.context = prompt_tokens + static_cast<Index>(reply.result.tokens.size());
  if (!stopped || !reply.result.tokens.empty()) {
    messages_.push_back({"assistant", reply.result.text});
  }
  return reply;
}

}  // namespace headlight
