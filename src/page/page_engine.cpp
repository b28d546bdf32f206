#include <emscripten.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headlight/base/error.h"
#include "page/page_model.h"
#include "page/page_training.h"
#include "serve/api_error.h"
#include "serve/questions.h"

// The functions that a page's worker calls (src/show/page/live/file/worker.js). Texts are UTF-8.

// Module.answer(question, status, text, is_last): a piece of an answer; status 0: a further piece.
EM_JS(void, headlight_answer, (int question, int status, const char* text, int bytes, int is_last),
      { Module["answer"](question, status, UTF8ToString(text, bytes), Boolean(is_last)); });

namespace headlight::wasm {
namespace {

// Question of the page that waits for its answer.
class PageExchange final : public serve::HttpExchange {
 public:
  explicit PageExchange(int question) : question_(question) {}
  ~PageExchange() override {
    if (!is_over_) {
      // A failed step drops its questions, also those whose answer has begun.
      send(serve::error_response(500, "the answer broke off, most likely for want of memory"));
    }
  }

  void send(serve::HttpResponse response) override { post(response.status, response.body, true); }
  void begin(serve::HttpResponse head) override { post(head.status, head.body, false); }
  void write(std::string piece) override { post(0, piece, false); }
  void end() override { post(0, "", true); }
  bool disconnected() const override { return disconnected_; }
  void on_disconnect(std::function<void()> call) override {
    if (disconnected_) {
      call();
    } else {
      calls_.push_back(std::move(call));
    }
  }

  // The page does not wait for the answer any more.
  void leave() {
    disconnected_ = true;
    for (const std::function<void()>& call : std::exchange(calls_, {})) {
      call();
    }
  }

 private:
  void post(int status, const std::string& text, bool is_last) {
    if (is_over_) {
      return;
    }
    is_over_ = is_last;
    if (!disconnected_) {
      headlight_answer(question_, status, text.data(), static_cast<int>(text.size()),
                       is_last ? 1 : 0);
    }
  }

  int question_;
  bool is_over_ = false;
  bool disconnected_ = false;
  std::vector<std::function<void()>> calls_;
};

// The model of the page and its questions. A page has one, which lives as long as its worker.
struct PageEngine {
  serve::Questions& questions() { return *all; }

  ServeOptions options;
  std::vector<ServedModel> models;
  std::unique_ptr<serve::Questions> all;
  std::map<int, std::weak_ptr<PageExchange>> waiting;
  std::optional<PageTraining> training;
};

PageEngine& engine() {
  static PageEngine engine;
  return engine;
}

// Makes `loaded` the model that answers.
void use(LoadedModel loaded, const char* name, const char* source) {
  PageEngine& page = engine();
  const ChatTemplates chat_template = loaded.tokenizer->chat_template();
  const Index block = rounded_up(loaded.model->block_size(), KeyValueCache::kBlock);
  page.options = {.slots = 4, .context_tokens = std::max(block, std::min<Index>(4 * block, 4096))};
  page.models.push_back({.name = name,
                         .loaded = std::move(loaded),
                         .chat_template = chat_template,
                         .source = source});
  page.all = std::make_unique<serve::Questions>(page.models, page.options);
}

// Returns the result of `work`, or the reason why it fails. The text is valid until the next call.
template <class Work>
const char* error_text(const Work& work) {
  static std::string text;
  try {
    text = work();
  } catch (const std::bad_alloc&) {
    text = "out of memory";
  } catch (const std::exception& error) {
    text = error.what();
  }
  return text.c_str();
}

}  // namespace
}  // namespace headlight::wasm

using namespace headlight;
using namespace headlight::wasm;

extern "C" {

// Loads a model file of the virtual file system. Returns "", or the reason why not; the text is
// valid until the next call.
EMSCRIPTEN_KEEPALIVE const char* headlight_load(const char* path, const char* name,
                                                const char* source) {
  return error_text([&] {
    use(load_page_model(path), name, source);
    return "";
  });
}

// Begins a run with the settings of PageTraining. Returns "", or the reason why not.
EMSCRIPTEN_KEEPALIVE const char* headlight_train(const char* settings) {
  return error_text([&] {
    engine().training.emplace(settings);
    return "";
  });
}

// Makes steps for a moment. Returns "more", "over" at the end of the run, or the reason why not.
EMSCRIPTEN_KEEPALIVE const char* headlight_train_steps() {
  constexpr double kMoment = 0.1;  // seconds
  return error_text([] { return engine().training->advance(kMoment) ? "more" : "over"; });
}

// Saves the run, whose model answers from now on. Returns "", or the reason why not.
EMSCRIPTEN_KEEPALIVE const char* headlight_train_end(const char* name, const char* source) {
  return error_text([&] {
    use(engine().training->finish(), name, source);
    engine().training.reset();
    return "";
  });
}

// Asks a question; `question` is its number. Answers come from here or from headlight_step().
EMSCRIPTEN_KEEPALIVE void headlight_ask(int question, const char* method, const char* path,
                                        const char* body) {
  const auto exchange = std::make_shared<PageExchange>(question);
  engine().waiting[question] = exchange;
  try {
    engine().questions().answer({.method = method, .path = path, .body = body}, exchange);
  } catch (...) {
    exchange->send(serve::current_error_response());
  }
}

// Computes for a while. Returns 0 when no question is left.
EMSCRIPTEN_KEEPALIVE int headlight_step() {
  std::erase_if(engine().waiting, [](const auto& entry) { return entry.second.expired(); });
  return engine().questions().compute().step() ? 1 : 0;
}

// Drops a question that the page does not wait for any more.
EMSCRIPTEN_KEEPALIVE void headlight_leave(int question) {
  if (const std::shared_ptr<PageExchange> exchange = engine().waiting[question].lock()) {
    exchange->leave();
  }
}

}  // extern "C"
