#include "serve/completions/completion_request.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/strings/printable.h"
#include "generate/grammar/program.h"
#include "generate/sampling_parameters.h"
#include "headlight/base/error.h"
#include "headlight/generate/grammar.h"
#include "serve/api_error.h"
#include "serve/completions/api_body.h"
#include "serve/completions/call_grammar.h"
#include "serve/completions/chat_messages.h"

namespace headlight::serve {
namespace {

constexpr Index kMany = 1'000'000'000;
constexpr std::size_t kMostStops = 16;
constexpr std::size_t kMostStopBytes = 4096;
// Limit per answer, and the size of each until the answer is sent.
constexpr std::size_t kBytesOfLogprob = 100;
constexpr Index kMostLogprobs = 500'000;

SamplingOptions read_sampling(Fields& fields, Index vocabulary, std::uint64_t fresh_seed) {
  SamplingOptions sampling;
  for (const SamplingParameter& parameter : sampling_parameters()) {
    const std::string name(parameter.name);
    if (parameter.is_count()) {
      parameter.set(sampling, std::max<Index>(fields.integer(name, 0, -1, kMany), 0));  // -1: all
    } else {
      parameter.set(sampling, fields.number(name, parameter.value(sampling), parameter.least,
                                            parameter.most));
    }
  }
  if (const Json* biases = fields.find("logit_bias", &Json::is_object, "an object")) {
    sampling.logit_bias = read_logit_bias(*biases, vocabulary);
  }
  const Index most = std::numeric_limits<Index>::max();
  constexpr Index kFresh = -1;  // as in other servers
  const Index seed = fields.integer("seed", kFresh, -most, most);
  sampling.seed = seed == kFresh ? fresh_seed : static_cast<std::uint64_t>(seed);
  return sampling;
}

// Throws Error about the names of other servers, with the name here.
void refuse_other_names(Fields& fields) {
  constexpr std::pair<const char*, const char*> kNames[] = {
      {"repeat_penalty", "repetition_penalty"}, {"n_predict", "max_tokens"},
      {"guided_json", "structured_outputs"},    {"guided_choice", "structured_outputs"},
      {"guided_regex", "structured_outputs"},   {"guided_grammar", "structured_outputs"}};
  for (const auto& [name, here] : kNames) {
    require_value(fields.find(name) == nullptr, name, "is called ", here, " here");
  }
}

// Reads when a text may end: vLLM's members, and the stop texts of OpenAI.
void read_ends(const CompletionModel& model, GenerateOptions& options) {
  Fields& fields = model.texts.fields();
  options.stop = fields.texts("stop", kMostStops);
  for (const std::string& stop : options.stop) {
    require_value(!stop.empty() && stop.size() <= kMostStopBytes, "stop", "expected texts of 1 to ",
                  kMostStopBytes, " bytes, got ", stop.size());
  }
  options.ignore_end_of_text = fields.boolean("ignore_eos", false);
  options.min_new_tokens = fields.integer("min_tokens", 0, 0, kMany);
  if (const Json* ids = fields.find("stop_token_ids")) {
    options.end_tokens = token_list(*ids, "stop_token_ids", model.vocabulary);
  }
}

void read_common(const CompletionModel& model, std::uint64_t fresh_seed,
                 CompletionRequest& request) {
  Fields& fields = model.texts.fields();
  fields.ignore({"model", "user", "store", "metadata", "service_tier", "safety_identifier",
                 "prompt_cache_key", "cache_prompt"});
  request.options.sampling = read_sampling(fields, model.vocabulary, fresh_seed);
  refuse_other_names(fields);
  read_ends(model, request.options);
  request.format = read_format(fields);
  request.options.grammar = grammar_of(request.format, fields.budget());
  request.changes = read_model_changes(model.texts);
  request.samples = fields.integer("n", 1, 1, kMostChoices);
  request.stream = fields.boolean("stream", false);
  if (const Json* options = fields.find("stream_options")) {
    require_value(request.stream && options->is_object(), "stream_options",
                  "expected an object, and \"stream\": true");
    const Json* usage = options->find("include_usage");
    require_value(usage == nullptr || usage->is_boolean(), "stream_options",
                  "expected include_usage true or false");
    request.include_usage = usage != nullptr && usage->boolean();
  }
}

void check_prompt(const std::vector<std::int32_t>& prompt, const std::string& name,
                  Index block_size) {
  if (std::ssize(prompt) > block_size) {
    throw ApiError(400, kContextExceeded,
                   concat_text("this model's maximum context length is ", block_size,
                               " tokens, and the prompt has ", prompt.size()),
                   name);
  }
}

// Reads a maximum number of tokens. A client gives -1 for all that the context has room for; the
// result is kMany then.
Index read_length(Fields& fields, const std::string& name, Index fallback, Index least) {
  const Index length = fields.integer(name, fallback, -1, kMany);
  require_value(length == -1 || length >= least, name, "expected a whole number from ", least,
                ", or -1 (until the context is full), got ", length);
  return length == -1 ? kMany : length;
}

using MiddleNames = std::array<std::string_view, 3>;

// Returns the names of the special tokens for filling in the middle: before the prefix, the suffix
// and the text between. Throws Error about "suffix" for a model without them.
MiddleNames middle_names(const Tokenizer& tokenizer) {
  constexpr MiddleNames kNames[] = {
      {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"},     // Qwen 2.5, Granite 4
      {"<fim_prefix>", "<fim_suffix>", "<fim_middle>"},           // StarCoder 2, Granite 3
      {"<fim-prefix>", "<fim-suffix>", "<fim-middle>"},           // SantaCoder
      {"<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"},     // DeepSeek
      {"<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"},  // GLM 4
      {"<|prefix|>", "<|suffix|>", "<|middle|>"}};                // Falcon-H1 Coder
  for (const MiddleNames& names : kNames) {
    if (std::ranges::all_of(names,
                            [&](auto name) { return tokenizer.special_id(name).has_value(); })) {
      return names;
    }
  }
  fail_value("suffix", "this model has no special tokens for a text between prompt and suffix");
}

// Returns a prompt that the model continues with the text before `suffix`. Bavarian et al., arXiv
// 2207.14255. The special tokens and the texts are encoded as one text, as in transformers.
std::vector<std::int32_t> middle_prompt(const Json& prompt, const std::string& suffix,
                                        const CompletionModel& model) {
  RequestTexts& texts = model.texts;
  const auto [prefix_name, suffix_name, middle_name] = middle_names(texts.tokenizer());
  const std::vector<RequestTexts::Part> end{{suffix_name}, {suffix, "suffix"}, {middle_name}};
  if (prompt.is_string()) {
    std::vector<RequestTexts::Part> parts{{prefix_name}, {prompt.text(), "prompt"}};
    parts.insert(parts.end(), end.begin(), end.end());
    return texts.tokenizer().with_prompt_ends(texts.encode(parts));
  }
  const Tokenizer& tokenizer = texts.tokenizer();
  std::vector<std::int32_t> ids = token_list(prompt, "prompt", tokenizer.vocab_size());
  const bool has_begin =
      tokenizer.prepends_begin_token() && !ids.empty() && ids.front() == tokenizer.begin_of_text();
  ids.insert(ids.begin() + (has_begin ? 1 : 0), *tokenizer.special_id(prefix_name));
  const std::vector<std::int32_t> more = texts.encode(end);
  ids.insert(ids.end(), more.begin(), more.end());
  return ids;
}

// `prompt`: a text or a list of token ids.
void add_prompt(const Json& prompt, const CompletionModel& model, CompletionRequest& request) {
  const Tokenizer& tokenizer = model.texts.tokenizer();
  const std::string suffix = model.texts.fields().text("suffix", "");
  require_value(suffix.empty() || !request.echo, "suffix", "expected no echo beside it");
  std::vector<std::int32_t> ids = !suffix.empty() ? middle_prompt(prompt, suffix, model)
                                  : prompt.is_string()
                                      ? model.texts.encode_prompt(prompt.text(), "prompt")
                                      : token_list(prompt, "prompt", tokenizer.vocab_size());
  if (request.echo) {
    request.prompt_texts.push_back(prompt.is_string() ? prompt.text() : tokenizer.decode(ids));
  }
  if (ids.empty()) {
    ids.push_back(tokenizer.begin_of_text());
  }
  check_prompt(ids, suffix.empty() ? "prompt" : "suffix", model.block_size);
  request.prompts.push_back(std::move(ids));
}

// Reads `prompt`: a text, a list of texts, a list of ids, or a list of lists of ids.
void read_prompts(const CompletionModel& model, CompletionRequest& request) {
  const Json& prompt = model.texts.fields().get("prompt");
  require_value(prompt.is_string() || prompt.is_array(), "prompt",
                "expected a text or a list, got ", prompt.type_name());
  if (prompt.is_string() || prompt.empty() || prompt.front().is_number()) {
    add_prompt(prompt, model, request);
    return;
  }
  require_value(static_cast<Index>(prompt.size()) <= kMostChoices, "prompt", "expected at most ",
                kMostChoices, " prompts, got ", prompt.size());
  for (const Json& one : prompt) {
    require_value(one.is_string() || one.is_array(), "prompt",
                  "expected texts or lists of token ids, got ", one.type_name());
    add_prompt(one, model, request);
  }
}

// Names of the members as in vLLM and transformers.
ChatPrompt read_prompt_end(Fields& fields) {
  const bool continues = fields.boolean("continue_final_message", false);
  const bool begins = fields.boolean("add_generation_prompt", !continues);
  require_value(begins != continues, "add_generation_prompt",
                "expected the opposite of continue_final_message");
  return continues ? ChatPrompt::last_answer : ChatPrompt::new_answer;
}

// Reads the variables that a client gives to the chat template. Returns a JSON object; "": none.
std::string read_variables(Fields& fields, std::string_view source) {
  Json variables = Json::object();
  const auto add = [&](const std::string& name, const Json& value, const std::string& about) {
    const bool is_known = source.find(name) != std::string_view::npos;
    require_value(is_known || value == Json(false), about, "this model's chat template has no ",
                  in_quotes(name));
    if (is_known) {
      variables.add(name, value);
    }
  };
  if (const Json* given = fields.find("chat_template_kwargs", &Json::is_object, "an object")) {
    for (const auto& [name, value] : given->members()) {
      for (const char* own : {"messages", "tools", "add_generation_prompt"}) {
        require_value(name != own, "chat_template_kwargs", "expected other variables than ", own);
      }
      add(name, value, "chat_template_kwargs");
    }
  }
  if (const Json* effort = fields.find("reasoning_effort"); effort != nullptr) {
    add("reasoning_effort", *effort, "reasoning_effort");
  }
  return variables.empty() ? "" : variables.dump();
}

// Makes the prompt of a chat and the limits of its answer.
void read_chat_prompt(const CompletionModel& model, CompletionRequest& request) {
  Fields& fields = model.texts.fields();
  const Tokenizer& tokenizer = model.texts.tokenizer();
  request.tools = read_tools(fields, model.chat);
  const Json& tools = request.tools.tools;
  const bool has_tools = !tools.is_null();
  const std::vector<ChatMessage> messages = read_messages(fields, model.chat, has_tools);
  require_value(model.chat.problem(has_tools).empty(), "messages", model.chat.problem(has_tools),
                ": use /v1/completions");
  const auto prompt = [&](auto make) {
    return (model.chat.*make)(messages, read_prompt_end(fields), has_tools ? tools.dump() : "",
                              request.tools.must_call ? begin_of_call(*request.tools.style) : "",
                              read_variables(fields, model.chat.source(has_tools)));
  };
  if (request.tools.style != nullptr) {
    require_value(request.format.gbnf.empty(), "tools",
                  "cannot be combined with grammar, unless tool_choice is none");
    request.options.shown_tokens = tool_marks(*request.tools.style, tokenizer);
    if (request.tools.must_call || !request.format.is_any()) {
      request.options.grammar = call_grammar(request.tools, request.format.schema, fields.budget());
    }
  }
  if (model.wants_text) {
    request.prompt_texts.push_back(prompt(&ChatFormat::prompt_text));
  } else {
    request.prompts.push_back(prompt(&ChatFormat::encode));
    check_prompt(request.prompts.back(), "messages", model.block_size);
  }
  std::vector<std::int32_t>& ends = request.options.end_tokens;
  ends.insert(ends.end(), model.chat.end_tokens().begin(), model.chat.end_tokens().end());
}

void check_logprobs(CompletionRequest& request, Index block_size) {
  if (!request.options.logprobs) {
    return;
  }
  Index tokens = request.echo ? request.prompt_tokens() : 0;
  for (const auto& prompt : request.prompts) {
    tokens += tokens_behind(prompt.size(), request.options.max_new_tokens, block_size);
  }
  const Index all = tokens * request.samples * (*request.options.logprobs + 1);
  request.most_logprobs = all;
  require_value(all <= kMostLogprobs, "logprobs", "expected at most ", kMostLogprobs,
                " log-probabilities in an answer, got a request for ", all);
}

}  // namespace

Index tokens_behind(std::size_t prompt, Index wanted, Index block_size) {
  return std::min(wanted, block_size - static_cast<Index>(prompt) + 1);
}

std::size_t CompletionRequest::memory() const {
  // The engine copies the prompts.
  std::size_t bytes = static_cast<std::size_t>(prompt_tokens()) * 2 * sizeof(std::int32_t) +
                      options.sampling.logit_bias.size() * sizeof(TokenBias) +
                      tools.tools.memory() + tools.functions.memory();
  bytes += static_cast<std::size_t>(most_logprobs) * kBytesOfLogprob;
  for (const std::string& text : prompt_texts) {
    bytes += text.size();
  }
  for (const std::string& text : options.stop) {
    bytes += text.size();
  }
  if (options.grammar != nullptr) {
    bytes += options.grammar->program().nodes.size() * (sizeof(GrammarNode) + 1);
  }
  return bytes;
}

CompletionRequest read_completion(const CompletionModel& model, std::uint64_t fresh_seed) {
  Fields& fields = model.texts.fields();
  CompletionRequest request;
  read_common(model, fresh_seed, request);
  request.echo = fields.boolean("echo", false);
  read_prompts(model, request);
  request.options.max_new_tokens = read_length(fields, "max_tokens", 16, 0);
  if (fields.find("logprobs") != nullptr) {
    request.options.logprobs = fields.integer("logprobs", 0, 0, 20);
  }
  request.token_ids = fields.boolean("return_token_ids", false);
  const Index best_of = fields.integer("best_of", request.samples, 1, kMostChoices);
  require_value(best_of == request.samples, "best_of", "expected as many as n, ", request.samples,
                ", because all are returned, got ", best_of);
  request.warnings = model.texts.warnings();
  require_value(request.choices() <= kMostChoices, "n", "expected at most ", kMostChoices,
                " choices of all prompts together, got ", request.choices());
  check_logprobs(request, model.block_size);
  fields.refuse_others();
  return request;
}

CompletionRequest read_chat(const CompletionModel& model, std::uint64_t fresh_seed) {
  Fields& fields = model.texts.fields();
  CompletionRequest request;
  request.is_chat = true;
  require_value(!model.texts.reads_special(), "special_tokens",
                "expected false: the messages of a chat are plain text");
  read_common(model, fresh_seed, request);
  for (const char* name : {"functions", "function_call"}) {
    refuse_feature(fields, name, {}, "is not supported: use tools");
  }
  for (const char* name : {"audio", "prediction", "web_search_options"}) {
    refuse_feature(fields, name);
  }
  refuse_feature(fields, "modalities", Json::array({"text"}));
  fields.ignore({"verbosity"});
  read_chat_prompt(model, request);
  const Index older_name = read_length(fields, "max_tokens", model.default_tokens, 1);
  request.options.max_new_tokens = read_length(fields, "max_completion_tokens", older_name, 1);
  const bool logprobs = fields.boolean("logprobs", false);
  const Index top = fields.integer("top_logprobs", 0, 0, 20);
  require_value(logprobs || top == 0, "top_logprobs", "needs \"logprobs\": true");
  if (logprobs) {
    request.options.logprobs = top;
  }
  check_logprobs(request, model.block_size);
  fields.refuse_others();
  return request;
}

}  // namespace headlight::serve
