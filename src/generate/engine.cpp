#include "headlight/generate/engine.h"

#include <algorithm>
#include <list>
#include <map>
#include <utility>

#include "generate/prompt_queue.h"
#include "generate/running_text.h"
#include "headlight/base/error.h"
#include "headlight/kernels/threads/parallel.h"

namespace headlight {

// The next token of a text, or the error that prevents one.
struct ChosenToken {
  std::int32_t id = 0;
  std::exception_ptr failure = {};
};

// Whether the grammar of a text is prepared, or the error that prevents it.
struct Readiness {
  bool is_ready = false;
  std::exception_ptr failure = {};
};

namespace {

// Number of tokens in one step for which guesses cost little: the products read each weight once
// for all of them.
constexpr Index kMostItems = 16;

// Work of all grammars in one step, in positions of their automata: some 15 milliseconds. Texts
// whose grammars need more miss steps, so that other texts do not wait for them.
constexpr std::size_t kGrammarWork = std::size_t{1} << 18U;

// Chooses a token for each text from the logits of its item. Runs in parallel: a draw takes much of
// the time that a step needs for one more text.
std::vector<ChosenToken> choose_all(const std::vector<RunningText*>& texts,
                                    const std::vector<Index>& items, const Decoder& decoder) {
  std::vector<ChosenToken> chosen(texts.size());
  parallel_for(std::ssize(texts), 1, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const auto index = static_cast<std::size_t>(i);
      try {
        chosen[index].id = texts[index]->choose(decoder.logits(items[index]));
      } catch (...) {
        chosen[index].failure = std::current_exception();
      }
    }
  });
  return chosen;
}

}  // namespace

struct Engine::State {
  // Sets the tokens that the grammar of a request needs. Builds them for the first grammar.
  void set_tokens(RunningRequest& request) {
    const std::vector<std::int32_t>& shown = request.request.options.shown_tokens;
    const auto make = [&](TokenTrie::Position position) {
      std::shared_ptr<const TokenTrie>& trie = tokens[{position, shown}];
      trie = trie ? trie : std::make_shared<const TokenTrie>(tokenizer, position, shown);
      return trie;
    };
    request.tokens = make(TokenTrie::Position::inside_text);
    request.first_tokens = is_visible(tokenizer, request.request.prompt)
                               ? request.tokens
                               : make(TokenTrie::Position::start_of_text);
  }

  // Starts texts whose prompts have been read.
  void begin_texts() {
    queue.drop_ended();
    started_work = 0;
    for (const auto& request : queue.waiting()) {
      if (request->is_read) {
        guarded(*request, [&] { begin_texts_of(request); });
      }
    }
    queue.drop_started();
  }

  void begin_texts_of(const std::shared_ptr<RunningRequest>& request) {
    while (request->next_sample < request->end_sample() && queue.free_slots(*request) > 0 &&
           started_work < kGrammarWork) {
      const Index sample = request->next_sample++;
      const bool is_last = request->next_sample == request->end_sample();
      const bool has_copy = !is_last && room.make_room(KeyValueCache::kBlock);
      texts.emplace_back(request, sample,
                         has_copy ? request->prompt->fork() : std::move(*request->prompt));
      started_work += texts.back().grammar_work();
      take_first(texts.back(), texts.back().prepare(grammar_share()));
      if (!has_copy && !is_last) {
        request->give_back();
        return;
      }
    }
  }

  // Allocates memory for the next step of every text, the oldest first. Where it does not suffice,
  // the newest texts and prompts give theirs back.
  void make_room() {
    if (!room.is_limited()) {
      return;
    }
    const std::vector<RunningText*> all = texts_by_age();
    for (RunningText* text : all) {
      ContextWindow& window = text->window();
      while (window.has_cache() && !window.is_released() && !text->finished() &&
             !window.reserve(room)) {
        require(release_newest(0), "[Engine] no text has keys and values to give back");
      }
    }
    make_room_for_oldest(all);
  }

  // Makes room for the oldest text if it gave its own back, and for a prompt that has waited long
  // enough and is older than all others: later texts and prompts give theirs back, since else new
  // ones could come first for ever. The oldest text keeps its own. `all`: by age.
  void make_room_for_oldest(const std::vector<RunningText*>& all) {
    const RequestId oldest = all.empty() ? 0 : all.front()->age().first;
    if (!all.empty() && all.front()->window().is_released() &&
        !all.front()->window().holds_room() && !all.front()->finished()) {
      make_room_for(all.front()->window().length(), oldest);
    }
    const RunningRequest* prompt = queue.overdue();
    if (prompt != nullptr && (all.empty() || prompt->id <= oldest)) {
      make_room_for(std::ssize(prompt->request.prompt), std::max(prompt->id, oldest));
    }
  }

  // Makes room for a text or prompt of this length as far as requests after `oldest` have some.
  void make_room_for(Index length, RequestId oldest) {
    const Index positions = std::min(length + 1, decoder.model().block_size());
    while (!room.make_room(positions) && release_newest(oldest)) {
    }
  }

  std::vector<RunningText*> texts_by_age() {
    std::vector<RunningText*> all;
    for (RunningText& text : texts) {
      all.push_back(&text);
    }
    std::ranges::sort(all, {}, [](const RunningText* text) { return text->age(); });
    return all;
  }

  // Frees the keys and values of the newest text or prompt that has some. Returns false if that is
  // none of a request after `oldest`.
  bool release_newest(RequestId oldest) {
    RunningText* text = nullptr;
    for (RunningText* other : texts_by_age()) {
      text = other->window().holds_room() ? other : text;
    }
    RunningRequest* prompt = queue.newest_holder();
    const bool is_prompt =
        prompt != nullptr && (text == nullptr || prompt->id >= text->age().first);
    if ((is_prompt ? prompt->id : text == nullptr ? 0 : text->age().first) <= oldest) {
      return false;
    }
    ++releases;
    if (is_prompt) {
      prompt->give_back();
    } else {
      text->window().release();
    }
    return true;
  }

  // Reads the next part of the oldest text that gave its keys and values back and has room and a
  // slot again. Returns false if there is none.
  bool read_again(std::vector<DecodeItem>& items) {
    const Index running = std::ranges::count_if(
        texts, [](const RunningText& text) { return !text.window().is_released(); });
    for (RunningText* text : texts_by_age()) {
      ContextWindow& window = text->window();
      const bool can_resume = window.is_released() && !text->finished() &&
                              (window.holds_room() || running < options.max_batch);
      if (can_resume && window.resume(room)) {
        const Index most = std::max(queue.prompt_room(), kMostItems);
        announce({text});
        guarded(text->request(), [&] { window.read_again(most, items); });
        return true;
      }
    }
    return false;
  }

  // Chooses the prompt tokens of the next step.
  PromptStep read_prompts() {
    PromptStep step;
    is_turn_of_prompts = !is_turn_of_prompts;
    const bool is_taken = !is_turn_of_prompts && read_again(step.items);
    return is_taken ? step : queue.read_prompts();
  }

  // Chooses the first token of a text if its grammar is ready.
  void take_first(RunningText& text, bool is_ready) {
    if (!text.finished() && is_ready) {
      text.take(text.request().prompt_logits);
      ++generated;
    }
  }

  // Returns the work that the grammar of each text may do in a step.
  std::size_t grammar_share() const {
    const auto count = std::ranges::count_if(
        texts, [](const RunningText& text) { return text.has_grammar() && !text.finished(); });
    return kGrammarWork / static_cast<std::size_t>(std::max<std::ptrdiff_t>(count, 1));
  }

  // Prepares the grammars of texts. Returns which are ready, or their errors.
  std::vector<Readiness> prepare(const std::vector<RunningText*>& all) const {
    std::vector<Readiness> results(all.size());
    const std::size_t share = grammar_share();
    const bool is_plain =
        std::ranges::none_of(texts, [](const RunningText& text) { return text.has_grammar(); });
    parallel_for(std::ssize(all), is_plain ? std::max<Index>(std::ssize(all), 1) : 1,
                 [&](Index begin, Index end) {
                   for (Index i = begin; i < end; ++i) {
                     const auto index = static_cast<std::size_t>(i);
                     try {
                       results[index].is_ready = all[index]->prepare(share);
                     } catch (...) {
                       results[index].failure = std::current_exception();
                     }
                   }
                 });
    return results;
  }

  // Returns the unfinished texts that can take part in a step. New texts whose grammars were not
  // ready before choose their first token instead.
  std::vector<RunningText*> ready_texts() {
    std::vector<RunningText*> all;
    for (RunningText& text : texts) {
      if (!text.finished() && !text.window().is_released()) {
        all.push_back(&text);
      }
    }
    const std::vector<Readiness> results = prepare(all);
    std::vector<RunningText*> ready;
    for (std::size_t i = 0; i < all.size(); ++i) {
      guarded(all[i]->request(), [&] {
        if (results[i].failure) {
          std::rethrow_exception(results[i].failure);
        }
        if (all[i]->is_new()) {
          take_first(*all[i], results[i].is_ready);
        } else if (results[i].is_ready) {
          ready.push_back(all[i]);
        }
      });
    }
    return ready;
  }

  // Reports the texts of the next pass.
  void announce(const std::vector<RunningText*>& group) const {
    if (options.on_pass) {
      std::vector<PassText> names;
      for (const RunningText* text : group) {
        names.push_back(text->pass_text());
      }
      options.on_pass(names);
    }
  }

  // Generates one token for every unfinished text, and reads tokens of prompts.
  void advance() {
    const PromptStep none;
    const std::vector<RunningText*> ready = ready_texts();
    const PromptStep prompts = read_prompts();
    std::map<ForwardHook*, std::vector<RunningText*>>
        groups;                         // each shares passes over the weights
    std::vector<RunningText*> reading;  // texts that must read their window
    for (RunningText* text : ready) {
      if (text->window().can_step()) {
        groups[text->request().request.hook].push_back(text);
      } else {
        reading.push_back(text);
      }
    }
    if (!prompts.items.empty()) {
      groups[nullptr];
    }
    for (const auto& [hook, group] : groups) {
      step_together(hook, group, hook == nullptr ? prompts : none);
    }
    for (RunningText* text : reading) {
      announce({text});
      guarded(text->request(), [&] { text->take(text->window().read()); });
    }
  }

  // Runs a step of texts that share a hook, and of prompts. Returns the next token of every text.
  // `first` gets the index of its logits.
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
      announce(group);
      decoder.step(items, hook);
      queue.end_parts(prompts, watch.seconds());
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
    const std::size_t share = grammar_share();
    for (std::size_t i = 0; i < group.size(); ++i) {
      RunningText& text = *group[i];
      if (text.finished()) {  // by a callback of an earlier text
        continue;
      }
      guarded(text.request(), [&] {
        if (chosen[i].failure) {
          std::rethrow_exception(chosen[i].failure);
        }
        generated += text.take_step(decoder, first[i], chosen[i].id, share);
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
  std::list<RunningText> texts = {};
  ContextRoom room{options.context_tokens, std::max(options.prompt_chunk, KeyValueCache::kBlock)};
  PromptQueue queue{decoder, options, texts, room};
  bool is_turn_of_prompts = false;  // and not of texts that gave their keys and values back
  Index releases = 0;
  Index generated = 0;           // tokens
  std::size_t started_work = 0;  // of the grammars that started in this step
  // All tokens of the vocabulary that a text may have, by the special tokens that are shown.
  std::map<std::pair<TokenTrie::Position, std::vector<std::int32_t>>,
           std::shared_ptr<const TokenTrie>>
      tokens = {};
};

Engine::Engine(Decoder& decoder, const Tokenizer& tokenizer, const EngineOptions& options)
    : state_(new State{.decoder = decoder, .tokenizer = tokenizer, .options = options}) {
  require_value(options.max_batch >= 1, "max_batch", "expected a number from 1, got ",
                options.max_batch);
  constexpr Index kBlock = KeyValueCache::kBlock;
  const Index chunk = options.prompt_chunk;
  require_value(chunk >= 0 && (chunk % kBlock == 0 || kBlock % chunk == 0), "prompt_chunk",
                "expected a multiple or a divisor of ", kBlock, ", got ", chunk);
  require_value(options.step_tokens >= 0, "step_tokens", "expected a number from 0, got ",
                options.step_tokens);
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
  const Index rows = state_->decoder.model().vocab_size();
  for (const std::int32_t id : request.prompt) {
    require_value(id >= 0 && id < rows, "prompt", "expected token ids from 0 to ", rows - 1,
                  ", for which the model has rows, got ", id);
  }
  const Index most = state_->options.context_tokens;
  const Index needed = context_of(request, state_->decoder.model().block_size());
  require_value(most == 0 || needed <= most, "max_tokens",
                "expected a text that needs room for at most ", most,
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
    state_->queue.add(std::move(running));
  }
  return id;
}

void Engine::cancel(RequestId id) {
  const auto end = [&](RunningRequest& request) {
    if (request.id == id && request.status == RequestStatus::running) {
      request.status = RequestStatus::cancelled;
    }
  };
  for (const auto& request : state_->queue.waiting()) {
    end(*request);
  }
  for (RunningText& text : state_->texts) {
    end(text.request());
  }
}

Index Engine::context_of(const Request& request, Index block_size) {
  const Index prompt = std::min(std::ssize(request.prompt), block_size);
  const Index longest =
      std::min(block_size, prompt + std::min(request.options.max_new_tokens, block_size));
  return rounded_up(longest, KeyValueCache::kBlock);
}

EngineStatus Engine::status() const {
  EngineStatus status = state_->queue.status();
  status.texts = std::ssize(state_->texts);
  status.released = std::ranges::count_if(
      state_->texts, [](const RunningText& text) { return text.window().is_released(); });
  status.releases = state_->releases;
  status.tokens = state_->generated;
  return status;
}

bool Engine::step() {
  state_->queue.drop_ended();
  state_->make_room();
  state_->advance();
  state_->begin_texts();
  state_->sweep();
  return !state_->texts.empty() || !state_->queue.waiting().empty();
}

}  // namespace headlight
