#include "support/test.h"

constexpr Index kRoom = 1024;
constexpr Index kContext = 512;
constexpr std::uint64_t kMostRequests = 3000;

using TextId = std::pair<RequestId, Index>;

// What is known of a text.
struct Progress {
  Index wanted = 0;
  Index tokens = 0;
  Index last_step = 0;  // in which it got a token
  bool is_cancelled = false;
};

// Sends requests drawn from a seed to an engine and follows their texts step by step: hours of a
// server's load, with a step as the clock.
class Load {
 public:
  Load(Decoder& decoder, const EngineOptions& options, std::uint32_t seed)
      : engine_(decoder, tokenizer_, options), room_(options.context_tokens), draw_(seed) {}

  void run() {
    bool is_busy = true;
    while (begun_ < kMostRequests || is_busy) {
      arrive();
      cancel();
      const std::optional<TextId> oldest = oldest_begun();
      const Index before = oldest ? texts_.at(*oldest).tokens : 0;
      is_busy = engine_.step();
      ++step_;
      look(oldest, before);
      idle_steps += is_busy ? 0 : 1;
    }
    CHECK(texts_.empty());
    CHECK(ended == all_texts_);
  }

  Index longest_wait = 0;  // steps without a token, of the oldest text of those left
  Index ended = 0;
  Index idle_steps = 0;
  EngineStatus status() const { return engine_.status(); }

 private:
  Index below(Index limit) {
    return static_cast<Index>(draw_() % static_cast<std::uint32_t>(limit));
  }

  // Three quiet hours follow a busy one.
  void arrive() {
    const bool is_rush = step_ / 500 % 4 == 1;
    for (Index i = below(100) < (is_rush ? 20 : 2) ? 1 + below(4) : 0;
         i > 0 && begun_ < kMostRequests; --i) {
      begin();
    }
  }

  // Most requests are short; some are long, ask for several texts, or begin like others.
  void begin() {
    const bool is_long = below(20) == 0;
    Request request{
        .options = {.max_new_tokens = 1 + below(is_long ? 400 : 40), .ignore_end_of_text = true},
        .samples = below(12) == 0 ? 3 : 1,
        .group = static_cast<std::uint64_t>(below(6))};
    const auto byte = static_cast<std::int32_t>(below(2));
    request.prompt.assign(static_cast<std::size_t>(1 + below(is_long ? 450 : 100)), byte);
    request.prompt.back() = static_cast<std::int32_t>(below(250));
    request.options.sampling.seed = begun_;
    const RequestId id = ++begun_;
    for (Index sample = 0; sample < request.samples; ++sample) {
      texts_[{id, sample}] = {.wanted = request.options.max_new_tokens};
      ++all_texts_;
    }
    request.on_token = [this, id](Index sample, const TokenChoice&) {
      Progress& text = texts_.at({id, sample});
      ++text.tokens;
      text.last_step = step_;
    };
    request.on_end = [this, id](Index sample, const GenerateResult& result) {
      const Progress& text = texts_.at({id, sample});
      CHECK(std::ssize(result.tokens) == text.tokens);
      CHECK((text.tokens == text.wanted || text.is_cancelled));
      texts_.erase({id, sample});  // a second end would fail
      ++ended;
    };
    const RequestId begun = engine_.begin(std::move(request));
    CHECK(begun == id);
  }

  // Clients go away. Texts that have not begun then end without a word.
  void cancel() {
    if (texts_.empty() || below(60) > 0) {
      return;
    }
    const auto place = std::next(texts_.begin(), below(std::ssize(texts_)));
    const RequestId id = place->first.first;
    engine_.cancel(id);
    for (auto text = texts_.lower_bound({id, 0});
         text != texts_.end() && text->first.first == id;) {
      text->second.is_cancelled = true;
      const bool has_begun = text->second.tokens > 0;
      ended += has_begun ? 0 : 1;
      text = has_begun ? std::next(text) : texts_.erase(text);
    }
  }

  std::optional<TextId> oldest_begun() const {
    const auto found = std::ranges::find_if(texts_, [](const auto& text) {
      return text.second.tokens > 0 && !text.second.is_cancelled;
    });
    return found == texts_.end() ? std::nullopt : std::optional(found->first);
  }

  // `oldest`: the oldest text that had begun before the step, and its tokens then.
  void look(std::optional<TextId> oldest, Index before) {
    const EngineStatus status = engine_.status();
    REQUIRE(status.used_tokens <= room_);
    if (status.texts == 0 && status.waiting == 0) {
      REQUIRE(status.used_tokens <= status.kept_tokens);  // no block is lost
    }
    if (oldest) {
      const auto text = texts_.find(*oldest);
      const bool continues = text == texts_.end() || text->second.tokens == before + 1;
      // A text that became the oldest may first have to be read again.
      REQUIRE((continues || oldest != was_going_));
      was_going_ = continues ? oldest : std::nullopt;
    }
    if (!texts_.empty()) {
      const auto& [id, text] = *texts_.begin();
      first_since_ = std::exchange(first_, id) == id ? first_since_ : step_;
      longest_wait = std::max(longest_wait, step_ - std::max(text.last_step, first_since_));
    }
  }

  ByteTokenizer tokenizer_;
  Engine engine_;
  Index room_;
  std::mt19937 draw_;
  std::map<TextId, Progress> texts_;  // those that have not ended, oldest first
  std::uint64_t begun_ = 0;
  Index all_texts_ = 0;
  Index step_ = 0;
  TextId first_;                     // the oldest text of those left
  Index first_since_ = 0;            // the step from which it is
  std::optional<TextId> was_going_;  // the oldest text got a token in the last step
};

std::unique_ptr<Gpt> tiny_model() {
  GptConfig config{
      .vocab_size = 257, .block_size = kContext, .n_layer = 1, .n_head = 1, .n_embd = 4};
  return std::make_unique<Gpt>(config);
}

TEST_CASE("hours of load lose no room, never stop the oldest text and starve nobody", "[long]") {
  const auto model = tiny_model();
  Decoder decoder(*model);
  for (const Index chunk : {0, 64}) {
    const EngineOptions options{.max_batch = 16,
                                .group_batch = 6,
                                .prompt_chunk = chunk,
                                .step_tokens = 64,
                                .brief_batch = 4,
                                .context_tokens = kRoom};
    Load load(decoder, options, 7);
    load.run();
    const EngineStatus end = load.status();
    INFO("wait " << load.longest_wait << ", idle " << load.idle_steps << ", releases "
                 << end.releases << ", tokens " << end.tokens);
    CHECK(end.releases > 100);
    CHECK(load.idle_steps > 100);
    CHECK(load.longest_wait < 500);
  }
}
