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

namespace {

// Number of tokens in one step for which guesses cost little: the products read each weight once
// for all of them.
constexpr Index kMostItems = 16;

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

  // Reads the next chunk of the prompt. Returns true when the whole prompt has been read.
  bool read_prompt(RunningRequest& request) {
    const Request& wanted = request.request;
    const Stopwatch watch;
    if (!request.prompt) {
      begin_prompt(request);
    }
    const bool shares = keeps_prefixes(wanted) && request.prompt->has_cache();
    if (shares) {
      share_prompt(request);
    }
    if (wanted.options.max_new_tokens == 0) {
      return true;
    }
    const Index chunk = options.prompt_chunk;
    const auto logits =
        request.prompt->read_chunk(chunk > 0 ? chunk : decoder.model().block_size());
    request.prompt_seconds += watch.seconds();
    if (shares) {
      prefixes.keep(wanted.prompt, request.prompt->cache());
      prefixes.shrink(options.context_tokens - reserved());
    }
    if (logits) {
      request.prompt_logits.assign(logits->begin(), logits->end());
    }
    return logits.has_value();
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

  // Returns the next request to read, or null. Alternates between the oldest and the one with the
  // least to read: a short prompt need not wait for a long one, nor a long one for many others.
  std::shared_ptr<RunningRequest> next_to_read() {
    const auto found = admitted();
    if (found.empty()) {
      return nullptr;
    }
    is_turn_of_oldest = !is_turn_of_oldest;
    return is_turn_of_oldest
               ? found.front()
               : *std::min_element(found.begin(), found.end(), [](const auto& a, const auto& b) {
                   return a->unread_tokens() < b->unread_tokens();
                 });
  }

  // Starts texts whose prompts have been read, and reads one chunk of another prompt.
  void begin_texts() {
    std::erase_if(waiting,
                  [](const auto& request) { return request->status != RequestStatus::running; });
    for (const auto& request : waiting) {
      if (request->is_read) {
        guarded(*request, [&] { begin_texts_of(request); });
      }
    }
    if (const auto request = next_to_read()) {
      guarded(*request, [&] {
        request->is_read = read_prompt(*request);
        if (request->is_read) {
          begin_texts_of(request);
        }
      });
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

  // Generates one token for every unfinished text.
  void advance() {
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
    for (const auto& [hook, group] : groups) {
      step_together(hook, group);
    }
    for (RunningText* text : reading) {
      guarded(text->request(), [&] { text->take(text->window().read()); });
    }
  }

  void step_together(ForwardHook* hook, const std::vector<RunningText*>& group) {
    std::vector<ChosenToken> chosen(group.size());
    std::vector<Index> first;  // item of each text
    try {
      std::vector<DecodeItem> items;
      for (RunningText* text : group) {
        first.push_back(std::ssize(items));
        text->add_step_items(kMostItems / std::ssize(group) - 1, options.prompt_chunk, items);
      }
      decoder.step(items, hook);
      chosen = choose_all(group, first, decoder);
    } catch (...) {  // from the hook, which all of these texts share
      chosen.assign(group.size(), {.failure = std::current_exception()});
    }
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
  state_->advance();
  state_->begin_texts();
  state_->sweep();
  return !state_->texts.empty() || !state_->waiting.empty();
}

}  // namespace headlight
