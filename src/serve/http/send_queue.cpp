#include "serve/http/send_queue.h"

#include <utility>

namespace headlight::serve {

void SendQueue::count(Index change) {
  bytes_ += change;
  all_ += change;
}

void SendQueue::push(std::string piece) {
  if (!piece.empty()) {
    count(std::ssize(piece));
    pieces_.push_back(std::move(piece));
  }
}

std::string_view SendQueue::front(std::size_t most) const {
  return std::string_view(pieces_.front()).substr(offset_, most);
}

void SendQueue::pop(std::size_t sent) {
  count(-static_cast<Index>(sent));
  offset_ += sent;
  if (offset_ == pieces_.front().size()) {
    pieces_.pop_front();
    offset_ = 0;
  }
}

void SendQueue::clear() {
  count(-bytes_);
  pieces_.clear();
  offset_ = 0;
}

}  // namespace headlight::serve
