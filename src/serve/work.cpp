#include "serve/work.h"

#include <utility>

#include "headlight/base/error.h"

namespace headlight::serve {

void require_work(Index tokens, Index most) {
  require_value(tokens <= most, "max_work", "expected a request for at most ", most,
                " tokens times passes, got one for ", tokens,
                ": ask for less at once, or start the server with a larger --max_work");
}

Work::Work(Gpt& model, Options options) : model_(model), options_(std::move(options)) {
  attach(true);
}

Work::~Work() {
  attach(false);
  options_.on_end(static_cast<double>(rows_) / static_cast<double>(model_.config().n_layer));
}

void Work::attach(bool mine) {
  model_.attach(mine ? hook_ : nullptr);
  model_.call_after_layers(mine ? [this](Index rows) { count(rows); }
                                : std::function<void(Index rows)>());
}

void Work::change(std::shared_ptr<ForwardHook> hook) {
  hook_ = std::move(hook);
  attach(true);
}

void Work::count(Index rows) {
  rows_ += rows;
  slice_rows_ += rows;
  if (slice_rows_ >= kSliceRows) {
    give_way();
  }
}

void Work::give_way() {
  slice_rows_ = 0;
  attach(false);
  options_.give_way();
  attach(true);
}

}  // namespace headlight::serve
