#pragma once

#include <string>
#include <vector>

#include "headlight/formats/chat_template/chat_format.h"
#include "headlight/generate/engine.h"
#include "serve/completions/answer_format.h"
#include "serve/completions/tools_request.h"
#include "serve/request/model_changes.h"
#include "serve/request/request_texts.h"

namespace headlight::serve {

// Properties of the model for which a request is read.
struct CompletionModel {
  RequestTexts& texts;
  const ChatFormat& chat;
  Index vocabulary = 0;  // V, tokens of the model
  Index block_size = 0;
  Index default_tokens = 0;  // for a chat without max_tokens
  bool wants_text = false;   // a chat's prompt as text instead of tokens
};

// Parsed body of /v1/completions or /v1/chat/completions.
struct CompletionRequest {
  bool is_chat = false;
  Index most_logprobs = 0;                         // log-probabilities in the answer
  std::vector<std::vector<std::int32_t>> prompts;  // a chat has one
  std::vector<std::string> prompt_texts;           // by prompt, with echo or if they are wanted
  // max_new_tokens is cut to the room after each prompt; see tokens_behind().
  GenerateOptions options;
  Index samples = 1;  // per prompt
  bool stream = false;
  bool include_usage = false;
  bool echo = false;
  bool token_ids = false;                  // report ids with log-probabilities; completions only
  AnswerFormat format = {};                // of the text beside calls
  ToolsRequest tools = {};                 // for a chat
  ModelChanges changes = {};               // for this request alone
  std::vector<std::string> warnings = {};  // lines for the client

  Index choices() const { return samples * std::ssize(prompts); }
  Index prompt_tokens() const { return token_count(prompts); }
  // Returns about the number of bytes that the request takes until its answer is complete.
  std::size_t memory() const;
  // Whether prompt tokens are scored, which takes as long as processing the prompts.
  bool scores_prompts() const { return echo && options.logprobs; }
};

// Limit of choices per request.
inline constexpr Index kMostChoices = 128;

// Read the body of `model.texts`: members of OpenAI's API, and Headlight's own top_k, min_p,
// repetition_penalty, ignore_eos, return_token_ids, special_tokens, intervene and classes. Throw
// Error about an invalid or unknown member, and for a prompt longer than the model's block.
// `fresh_seed` replaces a missing seed.
CompletionRequest read_completion(const CompletionModel& model, std::uint64_t fresh_seed);
CompletionRequest read_chat(const CompletionModel& model, std::uint64_t fresh_seed);

// Returns how many of the `wanted` tokens fit into the block after a prompt of that length.
Index tokens_behind(std::size_t prompt, Index wanted, Index block_size);

}  // namespace headlight::serve
