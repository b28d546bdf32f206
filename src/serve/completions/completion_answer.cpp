#include "serve/completions/completion_answer.h"

#include <limits>
#include <utility>

#include "base/stopwatch.h"
#include "generate/running_text.h"
#include "headlight/base/utf8.h"
#include "serve/text_scores.h"

namespace headlight::serve {

CompletionAnswer::CompletionAnswer(const CompletionApi& api, CompletionRequest request, Json body,
                                   std::string id, const ServedModel& served,
                                   std::shared_ptr<HttpExchange> exchange)
    : request_(std::move(request)),
      id_(std::move(id)),
      served_(served),
      tokenizer_(*served.loaded.tokenizer),
      answer_(std::move(exchange)),
      form_(api.make_form({.request = request_,
                           .body = std::move(body),
                           .id = id_,
                           .model = served.name,
                           .created = seconds_since_1970(),
                           .tokenizer = tokenizer_},
                          answer_)),
      usage_{.prompt_tokens = request_.prompt_tokens()} {
  if (request_.stream) {
    answer_.await_events();
  }
}

std::vector<headlight::Request> CompletionAnswer::requests() {
  std::vector<headlight::Request> requests;
  for (std::size_t i = 0; i < request_.prompts.size(); ++i) {
    requests.push_back(request_for(i));
  }
  return requests;
}

void CompletionAnswer::prepare(const std::function<void()>& pause) {
  hook_ = request_.changes.hook_for(served_.loaded);
  if (!request_.scores_prompts()) {
    return;
  }
  const TextScoreOptions options{
      .likeliest = *request_.options.logprobs, .hook = hook_.get(), .pause = pause};
  for (const auto& prompt : request_.prompts) {
    prompt_choices_.push_back(score_text(*served_.loaded.model, prompt, options).tokens);
  }
}

headlight::Request CompletionAnswer::request_for(std::size_t prompt) {
  const auto self = shared_from_this();
  headlight::Request request;
  request.prompt = request_.prompts[prompt];
  request.options = request_.options;
  request.options.max_new_tokens = tokens_behind(
      request.prompt.size(), request.options.max_new_tokens, served_.loaded.model->block_size());
  request.samples = request_.samples;
  request.hook = hook_.get();
  if (request.options.logprobs) {
    request.on_token = [self, prompt](Index sample, const TokenChoice& choice) {
      self->choice_of(prompt, sample).log.push(choice);
    };
  }
  request.on_text = [self, prompt](Index sample, std::string_view piece) {
    self->on_text(prompt, sample, piece);
  };
  request.on_end = [self, prompt](Index sample, const GenerateResult& result) {
    self->on_end(prompt, sample, result);
  };
  request.on_error = [self](const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (...) {
      self->fail();
    }
  };
  return request;
}

// On first use a stream sends its opening: the role in a chat, the prompt with echo.
CompletionAnswer::Choice& CompletionAnswer::choice_of(std::size_t prompt, Index sample) {
  const Index number = static_cast<Index>(prompt) * request_.samples + sample;
  const auto found = choices_.find(number);
  if (found != choices_.end()) {
    return found->second;
  }
  const Index before = request_.echo ? character_count(request_.prompt_texts[prompt]) : 0;
  const bool continues = is_visible(tokenizer_, request_.prompts[prompt]);
  TokenLog log(tokenizer_, continues, before, request_.options.shown_tokens);
  Choice& choice =
      choices_.emplace(number, Choice{{.number = number, .prompt = prompt}, std::move(log)})
          .first->second;
  if (request_.tools.style != nullptr) {
    choice.tools.emplace(request_.tools.parser(request_.stream));
  }
  if (request_.stream) {
    form_->open(choice.shown, prompt_entries(prompt));
  }
  return choice;
}

void CompletionAnswer::on_text(std::size_t prompt, Index sample, std::string_view piece) {
  Choice& choice = choice_of(prompt, sample);
  choice.bytes += piece.size();
  std::vector<AnswerPart> parts;
  if (choice.tools) {
    parts = choice.tools->push(piece);
  } else {
    parts.push_back({.text = std::string(piece)});
  }
  take_parts(choice, std::move(parts));
}

void CompletionAnswer::take_parts(Choice& choice, std::vector<AnswerPart> parts) {
  AnswerChoice& shown = choice.shown;
  const auto entries = [&] { return choice.log.take(choice.bytes); };
  for (AnswerPart& part : parts) {
    if (!part.call) {
      shown.text += part.text;
      if (request_.stream) {
        form_->add_text(shown, part.text, entries());
      }
      continue;
    }
    if (!part.call->name.empty()) {
      shown.calls.push_back({call_id(shown.number, shown.calls.size()), part.call->name});
      if (request_.stream) {
        form_->add_call(shown, entries());
      }
    }
    shown.calls.back().arguments += part.call->arguments;
    if (request_.stream) {
      form_->add_arguments(shown, part.call->arguments, entries());
    }
  }
}

// Returns nine letters and digits: the templates of Mistral take no other ids. Calls of one
// conversation differ.
std::string CompletionAnswer::call_id(Index number, std::size_t call) const {
  const std::string source = concat_text(id_, '-', number, '-', call);
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char byte : source) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  constexpr std::string_view kCharacters =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::string id;
  for (int i = 0; i < 9; ++i, hash /= kCharacters.size()) {
    id += kCharacters[hash % kCharacters.size()];
  }
  return id;
}

void CompletionAnswer::on_end(std::size_t prompt, Index sample, const GenerateResult& result) {
  Choice& choice = choice_of(prompt, sample);
  usage_.new_tokens += std::ssize(result.tokens);
  usage_.reused_tokens += sample == 0 ? result.prompt_tokens_reused : 0;
  if (choice.tools) {
    take_parts(choice, choice.tools->finish());
  }
  choice.shown.reason = result.finish_reason;
  choice.shown.stop_text = result.stop_text;
  TokenEntries entries = request_.stream ? TokenEntries() : prompt_entries(prompt);
  for (TokenLog::Entry& entry : choice.log.take(last_byte(choice, result.finish_reason))) {
    entries.push_back(std::move(entry));
  }
  if (request_.stream) {
    form_->close(choice.shown, entries);
  } else {
    form_->keep(choice.shown, entries);
    choice.shown.text.clear();
  }
  if (++ended_ == request_.choices()) {
    finish();
  }
}

// Returns the byte up to which tokens are reported, which excludes stop texts. Completions
// include the end token, which has no bytes: programs that score answers rely on it. A text that
// was cut off has no end token, but perhaps tokens of a character that it leaves out.
std::size_t CompletionAnswer::last_byte(const Choice& choice, FinishReason reason) const {
  const bool has_end = request_.is_chat && reason == FinishReason::end_of_text;
  return has_end || reason == FinishReason::stop ? choice.bytes
                                                 : std::numeric_limits<std::size_t>::max();
}

TokenEntries CompletionAnswer::prompt_entries(std::size_t prompt) const {
  if (prompt_choices_.empty()) {
    return {};
  }
  TokenLog log(tokenizer_, false, 0);
  bool is_first = true;
  for (const TokenChoice& choice : prompt_choices_[prompt]) {
    log.push(choice, std::exchange(is_first, false));
  }
  return log.take(std::numeric_limits<std::size_t>::max());
}

void CompletionAnswer::finish() {
  if (std::exchange(is_over_, true)) {
    return;
  }
  if (request_.stream) {
    form_->end(usage_);
    return;
  }
  answer_.send(form_->whole(usage_));
}

void CompletionAnswer::fail() {
  if (!std::exchange(is_over_, true)) {
    answer_.fail(
        [this](int status, const Json& error) { return form_->error_event(status, error); });
  }
}

}  // namespace headlight::serve
