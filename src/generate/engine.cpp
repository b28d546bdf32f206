#include "headlight/generate/engine.h"

#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <set>
#include <utility>

#include "generate/prefix_cache.h"
#include "generate/running_text.h"
#include "headlight/base/error.h"
#include "headlight/kernels/parallel.h"

namespace headlight {

// The next token of a text, or the error that prevents one.
struct ChosenToken {
  std::int32_t id = 0;
  std::exception_ptr failure = {};
};

// The prompts of which a step reads tokens.
struct PromptStep {
  struct Part {
    std::shared_ptr<RunningRequest> request;
    Index left = 0;  // tokens to read after the step
  };
  std::vector<Part> parts = {};
  std::vector<DecodeItem> items = {};

  // Returns the number of items that want logits: the last of every prompt that ends.
  Index outputs() const {
    return std::count_if(parts.begin(), parts.end(),
                         [](const Part& part) { return part.left == 0; });
  }
};

namespace {

// Number of tokens in one step for which guesses cost little: the products read each weight once
// for all of them.
constexpr Index kMostItems = 16;

// Maximum EngineOptions::prompt_chunk for which the steps of texts also read the prompts. More
// tokens are read faster as matrix products of their own.
constexpr Index kMostStepTokens = 32;

// Chooses a token for each text from the logits of its item. Runs in parallel: a draw takes much of
// the time that a step needs for one more text.
std::vector<ChosenToken> choose_all(const std::vector<RunningText*>& texts,
                                    const std::vector<Index>& items, const Decoder& decoder) {
  std::vector<ChosenToken> chosen(texts.size());
  parallel_for(std::ssize(texts), 1, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const auto place = static_cast<std::size_t>(i);
      try {
        chosen[place].id = texts[place]->choose(decoder.logits(items[place]));
      } catch (...) {
        chosen[place].failure = std::current_exception();
      }
    }
  });
  return chosen;
}

// Calls `body`; an exception ends the request.
template <class Body>
void guarded(RunningRequest& request, const Body& body) {
  try {
    body();
  } catch (...) {
    request.status = RequestStatus::failed;
    if (!request.request.on_error) {
      throw;
    }
    request.request.on_error(std::current_exception());
  }
}

}  // namespace

struct Engine::State {
  // Returns false with a hook, which must see the whole prompt and may change keys and values, and
  // for longrope, whose keys depend on the length of the text.
  bool keeps_prefixes(const Request& request) const {
    return options.context_tokens > 0 && options.prompt_chunk > 0 && request.hook == nullptr &&
           std::ssize(request.prompt) <= decoder.model().block_size() &&
           !decoder.changes_keys(1, decoder.model().block_size());
  }

  // Sets the tokens that the grammar of a request needs. Builds them for the first grammar.
  void set_tokens(RunningRequest& request) {
    const auto make = [&](std::shared_ptr<const TokenTrie>& trie, TokenTrie::Place place) {
      trie = trie ? trie : std::make_shared<const TokenTrie>(tokenizer, place);
      return trie;
    };
    request.tokens = make(tokens, TokenTrie::Place::inside_text);
    request.first_tokens = has_text(tokenizer, request.request.prompt)
                               ? request.tokens
                               : make(first_tokens, TokenTrie::Place::start_of_text);
  }

  Index reserved() const {
    std::set<const RunningRequest*> requests;
    for (const auto& request : waiting) {
      requests.insert(request.get());
    }
    for (const RunningText& text : texts) {
      requests.insert(&text.request());
    }
    Index sum = 0;
    for (const RunningRequest* request : requests) {
      sum += request->context;
    }
    return sum;
  }

  // Frees the memory that the request may need. admitted() has checked that it is available.
  void begin_prompt(RunningRequest& request) {
    const Request& wanted = request.request;
    if (options.context_tokens > 0) {
      const Index needed = Engine::context_of(wanted, decoder.model().block_size());
      prefixes.shrink(options.context_tokens - reserved() - needed);
      request.context = needed;
    }
    request.prompt.emplace(
        decoder, wanted.prompt,
        ContextWindow::Options{.use_cache = wanted.options.use_cache, .hook = wanted.hook});
    counts.prompt_tokens += std::ssize(wanted.prompt);
  }

  // Reuses keys and values of the same beginning, including those read since the last chunk.
  void share_prompt(RunningRequest& request) {
    const Index read = request.prompt->cache().length();
    KeyValueCache known = prefixes.find(request.request.prompt, read);
    if (known.length() > read) {
      request.reused_tokens += known.length() - read;
      counts.reused_prompt_tokens += known.length() - read;
      request.prompt->adopt(std::move(known));
    }
  }

  bool shares(const RunningRequest& request) const {
    return keeps_prefixes(request.request) && request.prompt->has_cache();
  }

  // Prepares the reading of the next tokens of a prompt.
  void continue_prompt(RunningRequest& request) {
    if (!request.prompt) {
      begin_prompt(request);
    }
    if (shares(request)) {
      share_prompt(request);
    }
    request.is_read = request.request.options.max_new_tokens == 0;
  }

  // Ends the reading of some tokens of a prompt. `logits` of the next token: after the last.
  void end_part(RunningRequest& request, std::optional<std::span<const float>> logits) {
    if (shares(request)) {
      prefixes.keep(request.request.prompt, request.prompt->cache());
      prefixes.shrink(options.context_tokens - reserved());
    }
    if (logits) {
      request.prompt_logits.assign(logits->begin(), logits->end());
      request.is_read = true;
    }
  }

  // Reads the next chunk of a prompt in a pass of its own.
  void read_chunk(RunningRequest& request) {
    const Stopwatch watch;
    const Index chunk = options.prompt_chunk;
    const auto logits =
        request.prompt->read_chunk(chunk > 0 ? chunk : decoder.model().block_size());
    request.prompt_seconds += watch.seconds();
    end_part(request, logits);
  }

  // Returns the free places for texts of a request. Each prompt being read, and each earlier unread
  // request, reserves one place.
  Index free_places(RequestId id) const {
    const auto others = std::count_if(waiting.begin(), waiting.end(), [&](const auto& request) {
      return !request->is_read && (request->prompt || request->id < id);
    });
    return options.max_batch - std::ssize(texts) - others;
  }

  // Returns the requests whose prompts may be read, in order of arrival, as far as places and
  // memory suffice. Stops at the first that does not fit, so that no later one takes its memory.
  std::vector<std::shared_ptr<RunningRequest>> admitted() const {
    std::vector<std::shared_ptr<RunningRequest>> found;
    Index places = free_places(0);
    Index room = options.context_tokens - reserved();
    for (const auto& request : waiting) {
      if (!request->prompt) {
        room -= Engine::context_of(request->request, decoder.model().block_size());
        if (--places < 0 || (options.context_tokens > 0 && room < 0)) {
          break;
        }
      }
      if (!request->is_read) {
        found.push_back(request);
      }
    }
    return found;
  }

  // Returns the requests to read, in order. Alternates between the oldest and the one with the
  // least to read: a short prompt need not wait for a long one, nor a long one for many others.
  std::vector<std::shared_ptr<RunningRequest>> next_to_read() {
    auto found = admitted();
    if (found.empty()) {
      return found;
    }
    is_turn_of_oldest = !is_turn_of_oldest;
    std::stable_sort(
        found.begin() + (is_turn_of_oldest ? 1 : 0), found.end(),
        [](const auto& a, const auto& b) { return a->unread_tokens() < b->unread_tokens(); });
    return found;
  }

  // Returns the number of prompt tokens in a step: few beside many texts, which wait for them. With
  // a chunk of 32, a step beside 16 texts takes about 1.5 times as long as one without a prompt.
  Index prompt_room() const {
    return std::max(options.prompt_chunk / 4, options.prompt_chunk - std::ssize(texts) * 3 / 2);
  }

  // Appends the next tokens of a prompt to those of the next step. A prompt that steps cannot read
  // gets a pass of its own, if it is the first.
  void read_next(const std::shared_ptr<RunningRequest>& request, PromptStep& step) {
    continue_prompt(*request);
    if (request->is_read) {
      return;
    }
    const bool is_short = options.prompt_chunk > 0 && options.prompt_chunk <= kMostStepTokens;
    if (is_short && request->prompt->steps_read()) {
      const Index room = prompt_room() - std::ssize(step.items);
      step.parts.push_back({request, request->prompt->add_prompt_items(room, step.items)});
    } else if (step.parts.empty()) {
      read_chunk(*request);
    }
  }

  // Chooses the prompt tokens of the next step.
  PromptStep read_prompts() {
    PromptStep step;
    for (const auto& request : next_to_read()) {
      guarded(*request, [&] { read_next(request, step); });
      if (step.parts.empty() || std::ssize(step.items) >= prompt_room()) {
        break;
      }
    }
    return step;
  }

  void end_parts(const PromptStep& step, double seconds) {
    Index output = 0;
    for (const auto& [request, left] : step.parts) {
      request->prompt_seconds += seconds;
      end_part(*request, left > 0 ? std::nullopt : std::optional(decoder.logits(output++)));
    }
  }

  void drop_ended() {
    std::erase_if(waiting,
                  [](const auto& request) { return request->status != RequestStatus::running; });
  }

  // Starts texts whose prompts have been read.
  void begin_texts() {
    drop_ended();
    for (const auto& request : waiting) {
      if (request->is_read) {
        guarded(*request, [&] { begin_texts_of(request); });
      }
    }
    std::erase_if(
        waiting, [](const auto& request) { return request->next_sample == request->end_sample(); });
  }

  void begin_texts_of(const std::shared_ptr<RunningRequest>& request) {
    while (request->next_sample < request->end_sample() && free_places(request->id) > 0) {
      const Index sample = request->next_sample++;
      const bool is_last = request->next_sample == request->end_sample();
      texts.emplace_back(request, sample,
                         is_last ? std::move(*request->prompt) : request->prompt->fork());
      if (!texts.back().finished()) {
        texts.back().take(request->prompt_logits);
        ++counts.tokens;
      }
    }
  }

  // Generates one token for every unfinished text, and reads tokens of prompts.
  void advance() {
    const PromptStep none;
    const PromptStep prompts = read_prompts();
    std::map<ForwardHook*, std::vector<RunningText*>>
        groups;                         // each shares passes over the weights
    std::vector<RunningText*> reading;  // texts that must read their window
    for (RunningText& text : texts) {
      if (!text.finished() && text.window().can_step()) {
        groups[text.request().request.hook].push_back(&text);
      } else if (!text.finished()) {
        reading.push_back(&text);
      }
    }
    if (!prompts.parts.empty()) {
      groups[nullptr];
    }
    for (const auto& [hook, group] : groups) {
      step_together(hook, group, hook == nullptr ? prompts : none);
    }
    for (RunningText* text : reading) {
      guarded(text->request(), [&] { text->take(text->window().read()); });
    }
  }

  // Runs a step of texts that share a hook, and of prompts. Returns the next token of every text.
  // `first` gets the place of its logits.
  std::vector<ChosenToken> choose_next(ForwardHook* hook, const std::vector<RunningText*>& group,
                                       const PromptStep& prompts, std::vector<Index>& first) {
    const Stopwatch watch;
    try {
      std::vector<DecodeItem> items = prompts.items;
      const Index without_logits = std::ssize(items) - prompts.outputs();
      for (RunningText* text : group) {
        first.push_back(std::ssize(items) - without_logits);
        text->add_step_items(kMostItems / std::ssize(group) - 1, options.prompt_chunk, items);
      }
      decoder.step(items, hook);
      end_parts(prompts, watch.seconds());
      return choose_all(group, first, decoder);
    } catch (...) {  // from the hook, which all of these texts share
      const std::exception_ptr failure = std::current_exception();
      for (const auto& part : prompts.parts) {
        guarded(*part.request, [&] { std::rethrow_exception(failure); });
      }
      return std::vector<ChosenToken>(group.size(), {.failure = failure});
    }
  }

  void step_together(ForwardHook* hook, const std::vector<RunningText*>& group,
                     const PromptStep& prompts) {
    std::vector<Index> first;
    const std::vector<ChosenToken> chosen = choose_next(hook, group, prompts, first);
    for (std::size_t i = 0; i < group.size(); ++i) {
      RunningText& text = *group[i];
      if (text.finished()) {  // by a callback of an earlier text
        continue;
      }
      guarded(text.request(), [&] {
        if (chosen[i].failure) {
          std::rethrow_exception(chosen[i].failure);
        }
        counts.tokens += text.take_step(decoder, first[i], chosen[i].id);
      });
    }
  }

  void sweep() {
    for (auto text = texts.begin(); text != texts.end();) {
      if (!text->finished()) {
        ++text;
        continue;
      }
      if (text->request().status != RequestStatus::failed) {
        guarded(text->request(), [&] { text->end(decoder.model().block_size()); });
      }
      text = texts.erase(text);
    }
  }

  Decoder& decoder;
  const Tokenizer& tokenizer;
  EngineOptions options;
  RequestId last_id = 0;
  std::deque<std::shared_ptr<RunningRequest>> waiting = {};  // with texts that have not started
  std::list<RunningText> texts = {};
  // All tokens of the vocabulary, if a request had a grammar.
  std::shared_ptr<const TokenTrie> first_tokens = {};
  std::shared_ptr<const TokenTrie> tokens = {};
  PrefixCache prefixes{std::max(options.prompt_chunk, KeyValueCache::kBlock)};
  EngineStatus counts = {};
  bool is_turn_of_oldest = false;  // the last turn read the oldest request
};

Engine::Engine(Decoder& decoder, const Tokenizer& tokenizer, const EngineOptions& options)
    : state_(new State{.decoder = decoder, .tokenizer = tokenizer, .options = options}) {
  const Index known = tokenizer.vocab_size();
  const Index all = decoder.model().vocab_size();
  require(known <= all, "[generate] the tokenizer has ", known, " ids, the model only ", all);
  require_value(options.max_batch >= 1, "max_batch", "expected a number from 1, got ",
                options.max_batch);
  constexpr Index kBlock = KeyValueCache::kBlock;
  const Index chunk = options.prompt_chunk;
  require_value(chunk >= 0 && (chunk % kBlock == 0 || kBlock % chunk == 0), "prompt_chunk",
                "expected a multiple or a divisor of ", kBlock, ", got ", chunk);
  require_value(options.context_tokens >= 0, "context_tokens", "expected a number from 0, got ",
                options.context_tokens);
}

Engine::~Engine() = default;

RequestId Engine::begin(Request request) {
  request.options.validate();
  require_value(request.samples >= 0, "num_samples", "expected a number from 0, got ",
                request.samples);
  if (request.prompt.empty()) {
    request.prompt.push_back(state_->tokenizer.begin_of_text());
  }
  const Index most = state_->options.context_tokens;
  const Index needed = context_of(request, state_->decoder.model().block_size());
  require_value(most == 0 || needed <= most, "max_tokens",
                "expected a request that needs room for at most ", most,
                " tokens of keys and values, got one for ", needed);
  const RequestId id = ++state_->last_id;
  if (request.samples > 0) {
    auto running = std::make_shared<RunningRequest>();
    running->id = id;
    running->tokenizer = &state_->tokenizer;
    running->excluded =
        excluded_tokens(state_->decoder.model(), state_->tokenizer, request.options);
    running->next_sample = request.options.sample;
    running->has_hook = request.hook != nullptr || state_->decoder.model().is_changed();
    running->request = std::move(request);
    if (running->request.options.grammar) {
      state_->set_tokens(*running);
    }
    state_->waiting.push_back(std::move(running));
  }
  return id;
}

void Engine::cancel(RequestId id) {
  const auto end = [&](RunningRequest& request) {
    if (request.id == id && request.status == RequestStatus::running) {
      request.status = RequestStatus::cancelled;
    }
  };
  for (const auto& request : state_->waiting) {
    end(*request);
  }
  for (RunningText& text : state_->texts) {
    end(text.request());
  }
}

// All texts share the blocks that the prompt fills completely.
Index Engine::context_of(const Request& request, Index block_size) {
  constexpr Index kBlock = KeyValueCache::kBlock;
  const Index prompt = std::min(std::ssize(request.prompt), block_size);
  const Index longest =
      std::min(block_size, prompt + std::min(request.options.max_new_tokens, block_size));
  const Index shared = prompt / kBlock * kBlock;
  const Index whole = rounded_up(longest, kBlock);
  return shared + std::max<Index>(request.samples, 1) * (whole - shared);
}

EngineStatus Engine::status() const {
  EngineStatus status = state_->counts;
  status.texts = std::ssize(state_->texts);
  status.waiting = std::ssize(state_->waiting);
  status.reserved_tokens = state_->reserved();
  status.kept_tokens = state_->prefixes.tokens();
  return status;
}

bool Engine::step() {
  state_->drop_ended();
  state_->advance();
  state_->begin_texts();
  state_->sweep();
  return !state_->texts.empty() || !state_->waiting.empty();
}

}  // namespace headlight
