#include "generate/running_text.h"

#include <algorithm>
#include <utility>

#include "headlight/base/error.h"

namespace headlight {
std::vector<std::int32_t> ending_tokens(const Tokenizer& tokenizer,
                                        const GenerateOptions& options) {
  std::vector<std::int32_t> ends = tokenizer.stop_tokens();
  ends.insert(ends.end(), options.end_tokens.begin(), options.end_tokens.end());
  return ends;
}

std::vector<std::int32_t> excluded_tokens(const LanguageModel& model, const Tokenizer& tokenizer,
                                          const GenerateOptions& options) {
  std::vector<std::int32_t> excluded;
  if (tokenizer.unknown().has_value()) {
    excluded.push_back(*tokenizer.unknown());
  }
  if (options.ignore_end_of_text) {
    const std::vector<std::int32_t> ends = ending_tokens(tokenizer, options);
    excluded.insert(excluded.end(), ends.begin(), ends.end());
  }
  for (Index id = tokenizer.vocab_size(); id < model.vocab_size(); ++id) {
    excluded.push_back(static_cast<std::int32_t>(id));
  }
  return excluded;
}

bool is_visible(const Tokenizer& tokenizer, std::span<const std::int32_t> ids) {
  return std::any_of(ids.begin(), ids.end(),
                     [&](std::int32_t id) { return tokenizer.special_name(id).empty(); });
}

RunningText::RunningText(std::shared_ptr<RunningRequest> request, Index sample,
                         ContextWindow window)
    : request_(std::move(request)),
      sample_(sample),
      sampler_(options().sampling, sample, request_->excluded),
      history_(request_->request.prompt),
      window_(std::move(window)),
      decoder_(*request_->tokenizer, is_visible(*request_->tokenizer, history_),
               options().shown_tokens),
      filter_(options().stop.values()) {
  result_.prompt_tokens = std::ssize(history_);
  result_.prompt_tokens_reused = request_->reused_tokens;
  if (options().grammar) {
    grammar_.emplace(*options().grammar, options().ignore_end_of_text
                                             ? std::vector<std::int32_t>()
                                             : ending_tokens(*request_->tokenizer, options()));
  }
  if (options().make_drafter && !request_->has_hook && window_.has_cache()) {
    drafter_ = options().make_drafter();
  }
  finished_ = options().max_new_tokens == 0 || grammar_is_complete();
  if (grammar_is_complete()) {
    result_.finish_reason = FinishReason::end_of_text;
  }
}

// Guesses at most as many tokens as the text may still get after the one that is chosen anyway.
std::vector<std::int32_t> RunningText::guess(Index most, Index chunk) {
  const Index wanted = options().max_new_tokens - std::ssize(result_.tokens) - 1;
  most = std::min(most, wanted);
  if (!drafter_ || most < 1 || window_.model().is_changed()) {
    return {};
  }
  most = window_.step_room(window_.spare_room(std::min(most, draft_length_.next())));
  if (most < 1) {
    return {};
  }
  try {
    return drafter_->read(history_, chunk) ? drafter_->draft(history_, most, sampler_)
                                           : std::vector<std::int32_t>();
  } catch (const Error&) {  // of a smaller model; the text does not depend on it
    drafter_.reset();
    return {};
  }
}

void RunningText::add_step_items(Index most, Index chunk, std::vector<DecodeItem>& items) {
  guesses_ = guess(most, chunk);
  const Index rows = window_.model().vocab_size();  // a smaller model may have more
  const auto above = std::ranges::find_if(guesses_, [=](std::int32_t id) { return id >= rows; });
  guesses_.erase(above, guesses_.end());
  window_.add_step_items(guesses_, items);
}

Index RunningText::take_step(const Decoder& decoder, Index first, std::int32_t id,
                             std::size_t share) {
  take(decoder.logits(first), id);
  Index taken = 0;
  while (!finished() && taken < std::ssize(guesses_) &&
         guesses_[static_cast<std::size_t>(taken)] == id && prepare(share)) {
    const auto logits = decoder.logits(first + ++taken);
    id = choose(logits);
    take(logits, id);
  }
  window_.drop_guesses();
  if (!guesses_.empty()) {
    draft_length_.learn(std::ssize(guesses_), taken);
    result_.guessed_tokens += std::ssize(guesses_);
    result_.guesses_taken += taken;
  }
  return taken + 1;
}

std::int32_t RunningText::choose(std::span<const float> logits) {
  if (request_->has_hook) {
    require_finite_logits(
        logits,
        "an intervention may make values too large; try smaller factors, or no intervention");
  }
  std::span<const char> allowed;  // all
  if (grammar_) {
    allowed = grammar_->allowed(next_tokens());
  }
  const bool may_end = std::ssize(result_.tokens) >= options().min_new_tokens;
  return sampler_.next(logits, history_, may_end ? allowed : without_ends(allowed));
}

// Returns the allowed tokens that do not end the text; the same if there are no others.
std::span<const char> RunningText::without_ends(std::span<const char> allowed) {
  before_minimum_.assign(allowed.begin(), allowed.end());
  before_minimum_.resize(static_cast<std::size_t>(window_.model().vocab_size()),
                         allowed.empty() ? 1 : 0);
  for (const std::int32_t id : ending_tokens(*request_->tokenizer, options())) {
    before_minimum_[static_cast<std::size_t>(id)] = 0;
  }
  const bool has_others = std::ranges::find(before_minimum_, 1) != before_minimum_.end();
  return has_others ? before_minimum_ : allowed;
}

bool RunningText::prepare(std::size_t share) {
  return !grammar_ || grammar_->prepare(next_tokens(), share);
}

void RunningText::take(std::span<const float> logits, std::int32_t id) {
  emit_choice(logits, id);
  result_.seconds = request_->prompt_seconds + watch_.seconds();
  if (result_.tokens.empty()) {
    result_.seconds_to_first_token = result_.seconds;
  }
  result_.tokens.push_back(id);
  finished_ = must_end(id);
}

// A text that is cut off within a character ends before it.
void RunningText::end(Index block_size) {
  const bool is_cut = !finished_ || result_.finish_reason == FinishReason::length;
  const std::string rest = is_cut ? "" : filter_.push(decoder_.finish());
  add_text(rest + filter_.finish());
  if (!finished_) {
    result_.finish_reason = FinishReason::cancelled;
  } else if (filter_.found()) {
    result_.finish_reason = FinishReason::stop;
    result_.stop_text = filter_.found_text();
  }
  result_.prompt_was_cut = result_.prompt_tokens > block_size;
  if (request_->request.on_end) {
    request_->request.on_end(sample_, std::move(result_));
  }
}

void RunningText::add_text(const std::string& piece) {
  result_.text += piece;
  if (request_->request.on_text && !piece.empty()) {
    request_->request.on_text(sample_, piece);
  }
}

void RunningText::emit_choice(std::span<const float> logits, std::int32_t id) {
  TokenChoice choice{.token = id};
  if (options().logprobs.has_value()) {
    const TokenDistribution expected(logits);
    choice = {.token = id,
              .log_probability = expected.log_probability(id),
              .rank = expected.rank(id),
              .likeliest = expected.likeliest(*options().logprobs)};
    result_.choices.push_back(choice);
  }
  if (request_->request.on_token) {
    request_->request.on_token(sample_, choice);
  }
}

bool RunningText::is_end(std::int32_t id) const {
  const auto is_in = [&](const std::vector<std::int32_t>& ends) {
    return std::find(ends.begin(), ends.end(), id) != ends.end();
  };
  return is_in(request_->tokenizer->stop_tokens()) || is_in(options().end_tokens);
}

void RunningText::advance_grammar(std::int32_t id) {
  if (grammar_) {
    const Tokenizer& tokenizer = *request_->tokenizer;
    const bool starts_text =
        result_.tokens.size() == 1 && request_->first_tokens != request_->tokens;
    const auto& shown = options().shown_tokens;
    grammar_->advance(std::ranges::find(shown, id) != shown.end() ? tokenizer.special_name(id)
                      : starts_text                               ? tokenizer.first_token_bytes(id)
                                                                  : tokenizer.token_bytes(id));
  }
}

bool RunningText::must_end(std::int32_t id) {
  if (is_end(id)) {
    result_.finish_reason = FinishReason::end_of_text;
    return true;
  }
  history_.push_back(id);
  window_.append(id);
  add_text(filter_.push(decoder_.push(id)));
  advance_grammar(id);
  if (grammar_is_complete()) {
    result_.finish_reason = FinishReason::end_of_text;
    return true;
  }
  return filter_.found() || std::ssize(result_.tokens) == options().max_new_tokens;
}

}  // namespace headlight
