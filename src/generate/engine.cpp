#include "headlight/generate/engine.h"

#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <utility>

#include "base/stopwatch.h"
#include "generate/context_window.h"
#include "generate/stop_filter.h"
#include "headlight/base/error.h"
#include "headlight/text/streaming_decoder.h"

namespace headlight {
namespace {

// Tokens that no text of a request may have. A model may have more ids than its tokenizer, when V
// was rounded up for speed.
std::vector<std::int32_t> excluded_tokens(const LanguageModel& model, const Tokenizer& tokenizer,
                                          const GenerateOptions& options) {
  std::vector<std::int32_t> excluded;
  if (tokenizer.unknown().has_value()) {
    excluded.push_back(*tokenizer.unknown());
  }
  if (options.ignore_end_of_text) {
    excluded.push_back(tokenizer.end_of_text());
  }
  for (Index id = tokenizer.vocab_size(); id < model.vocab_size(); ++id) {
    excluded.push_back(static_cast<std::int32_t>(id));
  }
  return excluded;
}

enum class Status { running, cancelled, failed };

// A request that has begun, for its texts.
struct RunningRequest {
  RequestId id = 0;
  Request request;
  const Tokenizer* tokenizer = nullptr;
  std::vector<std::int32_t> excluded = {};
  Status status = Status::running;
  // Once the prompt has been read, until the last text is begun.
  std::optional<ContextWindow> prompt = {};
  std::vector<float> prompt_logits = {};  // [V]
  double prompt_seconds = 0;
  Index next_sample = 0;

  Index end_sample() const { return request.options.sample + request.samples; }
};

bool has_text(const Tokenizer& tokenizer, std::span<const std::int32_t> ids) {
  return std::any_of(ids.begin(), ids.end(),
                     [&](std::int32_t id) { return tokenizer.special_name(id).empty(); });
}

// Turns tokens into text up to the first stop text.
class TextOutput {
 public:
  // Behind the tokens of a prompt.
  TextOutput(const Tokenizer& tokenizer, std::span<const std::int32_t> prompt,
             const std::vector<std::string>& stops)
      : decoder_(tokenizer, has_text(tokenizer, prompt)), filter_(stops) {}

  std::string push(std::int32_t id) { return kept(filter_.push(decoder_.push(id))); }
  std::string finish() {
    const std::string rest = filter_.push(decoder_.finish());
    return kept(rest + filter_.finish());
  }
  bool stopped() const { return filter_.found(); }
  const std::string& text() const { return text_; }

 private:
  std::string kept(std::string piece) {
    text_ += piece;
    return piece;
  }

  StreamingDecoder decoder_;
  StopFilter filter_;
  std::string text_;
};

// One text in the making.
class Text {
 public:
  // `window` has read the prompt.
  Text(std::shared_ptr<RunningRequest> request, Index sample, ContextWindow window)
      : request_(std::move(request)),
        sample_(sample),
        sampler_(options().sampling, sample, request_->excluded),
        history_(request_->request.prompt),
        window_(std::move(window)),
        output_(*request_->tokenizer, history_, options().stop) {
    result_.prompt_tokens = std::ssize(history_);
    finished_ = options().max_new_tokens == 0;
  }

  RunningRequest& request() { return *request_; }
  ContextWindow& window() { return window_; }
  bool finished() const { return finished_ || request_->status != Status::running; }

  // Chooses the next token from logits [V].
  void take(std::span<const float> logits) {
    const std::int32_t id = sampler_.next(logits, history_);
    tell_choice(logits, id);
    result_.seconds = request_->prompt_seconds + watch_.seconds();
    if (result_.tokens.empty()) {
      result_.seconds_to_first_token = result_.seconds;
    }
    result_.tokens.push_back(id);
    finished_ = must_end(id);
  }

  void end(Index block_size) {
    tell_text(output_.finish());
    if (!finished_) {
      result_.finish_reason = FinishReason::cancelled;
    } else if (output_.stopped()) {
      result_.finish_reason = FinishReason::stop;
    }
    result_.text = output_.text();
    result_.prompt_was_cut = result_.prompt_tokens > block_size;
    if (request_->request.on_end) {
      request_->request.on_end(sample_, std::move(result_));
    }
  }

 private:
  const GenerateOptions& options() const { return request_->request.options; }

  void tell_text(const std::string& piece) {
    if (request_->request.on_text && !piece.empty()) {
      request_->request.on_text(sample_, piece);
    }
  }

  void tell_choice(std::span<const float> logits, std::int32_t id) {
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

  bool must_end(std::int32_t id) {
    if (id == request_->tokenizer->end_of_text()) {
      result_.finish_reason = FinishReason::end_of_text;
      return true;
    }
    history_.push_back(id);
    window_.append(id);
    tell_text(output_.push(id));
    return output_.stopped() || std::ssize(result_.tokens) == options().max_new_tokens;
  }

  std::shared_ptr<RunningRequest> request_;
  Index sample_;
  Sampler sampler_;
  std::vector<std::int32_t> history_;  // prompt and output
  ContextWindow window_;
  TextOutput output_;
  Stopwatch watch_;
  GenerateResult result_;
  bool finished_ = false;
};

// Calls body; an exception ends the request.
template <class Body>
void guarded(RunningRequest& request, const Body& body) {
  try {
    body();
  } catch (...) {
    request.status = Status::failed;
    if (!request.request.on_error) {
      throw;
    }
    request.request.on_error(std::current_exception());
  }
}

}  // namespace

struct Engine::State {
  State(Decoder& decoder_given, const Tokenizer& tokenizer_given,
        const EngineOptions& options_given)
      : decoder(decoder_given), tokenizer(tokenizer_given), options(options_given) {}

  void begin_texts();
  void read_prompt(RunningRequest& request);
  void advance();
  void step_together(ForwardHook* hook, const std::vector<Text*>& group);
  void sweep();

  Decoder& decoder;
  const Tokenizer& tokenizer;
  EngineOptions options;
  RequestId last_id = 0;
  std::deque<std::shared_ptr<RunningRequest>> waiting;  // that have texts to begin
  std::list<Text> texts;
};

void Engine::State::read_prompt(RunningRequest& request) {
  const Stopwatch watch;
  request.prompt.emplace(decoder, request.request.prompt,
                         ContextWindow::Options{.use_cache = request.request.options.use_cache,
                                                .hook = request.request.hook});
  if (request.request.options.max_new_tokens > 0) {
    const std::span<const float> logits = request.prompt->read();
    request.prompt_logits.assign(logits.begin(), logits.end());
  }
  request.prompt_seconds = watch.seconds();
}

// Of the first request that waits, as many as there are places for.
void Engine::State::begin_texts() {
  std::erase_if(waiting, [](const auto& request) { return request->status != Status::running; });
  if (waiting.empty() || std::ssize(texts) >= options.together) {
    return;
  }
  const std::shared_ptr<RunningRequest> request = waiting.front();
  guarded(*request, [&] {
    if (!request->prompt) {
      read_prompt(*request);
    }
    while (request->next_sample < request->end_sample() && std::ssize(texts) < options.together) {
      const Index sample = request->next_sample++;
      const bool is_last = request->next_sample == request->end_sample();
      texts.emplace_back(request, sample,
                         is_last ? std::move(*request->prompt) : request->prompt->fork());
      if (!texts.back().finished()) {
        texts.back().take(request->prompt_logits);
      }
    }
  });
  if (request->next_sample == request->end_sample()) {
    waiting.pop_front();
  }
}

// One more token for every text that goes on.
void Engine::State::advance() {
  std::map<ForwardHook*, std::vector<Text*>> groups;  // that share passes over the weights
  std::vector<Text*> reading;                         // that must read their window
  for (Text& text : texts) {
    if (!text.finished() && text.window().can_step()) {
      groups[text.request().request.hook].push_back(&text);
    } else if (!text.finished()) {
      reading.push_back(&text);
    }
  }
  for (const auto& [hook, group] : groups) {
    step_together(hook, group);
  }
  for (Text* text : reading) {
    guarded(text->request(), [&] { text->take(text->window().read()); });
  }
}

void Engine::State::step_together(ForwardHook* hook, const std::vector<Text*>& group) {
  std::vector<DecodeItem> items;
  for (Text* text : group) {
    items.push_back(text->window().step_item());
  }
  std::exception_ptr failure;  // of the hook, which all of these texts have
  try {
    decoder.step(items, hook);
  } catch (...) {
    failure = std::current_exception();
  }
  for (std::size_t i = 0; i < group.size(); ++i) {
    Text& text = *group[i];
    if (text.finished()) {  // by what was called meanwhile
      continue;
    }
    guarded(text.request(), [&] {
      if (failure) {
        std::rethrow_exception(failure);
      }
      text.take(decoder.logits(static_cast<Index>(i)));
    });
  }
}

void Engine::State::sweep() {
  for (auto text = texts.begin(); text != texts.end();) {
    if (!text->finished()) {
      ++text;
      continue;
    }
    if (text->request().status != Status::failed) {
      guarded(text->request(), [&] { text->end(decoder.model().block_size()); });
    }
    text = texts.erase(text);
  }
}

Engine::Engine(Decoder& decoder, const Tokenizer& tokenizer, const EngineOptions& options)
    : state_(std::make_unique<State>(decoder, tokenizer, options)) {
  const Index known = tokenizer.vocab_size();
  const Index all = decoder.model().vocab_size();
  require(known <= all, "[generate] the tokenizer has ", known, " ids, the model only ", all);
  require_value(options.together >= 1, "together", "expected a number from 1, got ",
                options.together);
}

Engine::~Engine() = default;

RequestId Engine::begin(Request request) {
  request.options.validate();
  require_value(request.samples >= 0, "num_samples", "expected a number from 0, got ",
                request.samples);
  if (request.prompt.empty()) {
    request.prompt.push_back(state_->tokenizer.begin_of_text());
  }
  const RequestId id = ++state_->last_id;
  if (request.samples > 0) {
    auto running = std::make_shared<RunningRequest>();
    running->id = id;
    running->tokenizer = &state_->tokenizer;
    running->excluded =
        excluded_tokens(state_->decoder.model(), state_->tokenizer, request.options);
    running->next_sample = request.options.sample;
    running->request = std::move(request);
    state_->waiting.push_back(std::move(running));
  }
  return id;
}

void Engine::cancel(RequestId id) {
  const auto end = [&](RunningRequest& request) {
    if (request.id == id && request.status == Status::running) {
      request.status = Status::cancelled;
    }
  };
  for (const auto& request : state_->waiting) {
    end(*request);
  }
  for (Text& text : state_->texts) {
    end(text.request());
  }
}

bool Engine::step() {
  state_->advance();
  state_->begin_texts();
  state_->sweep();
  return !state_->texts.empty() || !state_->waiting.empty();
}

}  // namespace headlight
