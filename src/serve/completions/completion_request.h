#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/generate/engine.h"
#include "serve/completions/chat_format.h"
#include "serve/model_changes.h"
#include "serve/request_texts.h"

namespace headlight::serve {

// What a completion is made with, of one model.
struct CompletionModel {
  RequestTexts& texts;
  const ChatFormat& chat;
  Index vocabulary = 0;  // V of the model
  Index block_size = 0;
  Index default_tokens = 0;  // of a chat that does not say how many
};

// What a body of /v1/completions or /v1/chat/completions asks for.
struct CompletionRequest {
  bool is_chat = false;
  std::vector<std::vector<std::int32_t>> prompts;  // one of a chat
  std::vector<std::string> prompt_texts;           // of each, for echo
  // Of the first prompt; those of others have fewer tokens if their prompts are longer.
  GenerateOptions options;
  Index samples = 1;  // of every prompt
  bool stream = false;
  bool include_usage = false;
  bool echo = false;
  bool token_ids = false;                  // of completions, among log-probabilities
  ModelChanges changes = {};               // of these texts alone
  std::vector<std::string> warnings = {};  // for the client

  Index choices() const { return samples * std::ssize(prompts); }
};

// Most choices that one request may ask for.
inline constexpr Index kMostChoices = 128;

// Reads what the API's documents call by these names, and Headlight's own top_k, min_p,
// repetition_penalty, ignore_eos, return_token_ids, special_tokens, intervene and classes, in the
// body of `model.texts`. Throws Error about the member that does not fit, also for one that is not
// known, and for a prompt that the model's block has no room for. `fresh_seed` is the seed when
// none is given.
CompletionRequest read_completion(const CompletionModel& model, std::uint64_t fresh_seed);
CompletionRequest read_chat(const CompletionModel& model, std::uint64_t fresh_seed);

// Tokens that a text behind such a prompt may have: at most what the block has room for.
Index tokens_behind(std::size_t prompt, Index wanted, Index block_size);

}  // namespace headlight::serve
