#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include "headlight/base/index.h"

namespace headlight::serve {

// Bytes to send to a client, in the pieces pushed.
class SendQueue {
 public:
  // `all`: total of all queues, which this one updates; must outlive this.
  explicit SendQueue(Index& all) : all_(all) {}
  ~SendQueue() { clear(); }
  SendQueue(const SendQueue&) = delete;
  SendQueue& operator=(const SendQueue&) = delete;

  bool empty() const { return pieces_.empty(); }
  Index bytes() const { return bytes_; }
  void push(std::string piece) {
    if (!piece.empty()) {
      count(std::ssize(piece));
      pieces_.push_back(std::move(piece));
    }
  }
  // Returns the next bytes to send, at most `most`, valid until pop() or clear(). The queue must
  // not be empty.
  std::string_view front(std::size_t most) const {
    return std::string_view(pieces_.front()).substr(offset_, most);
  }
  // Removes `sent` bytes of front().
  void pop(std::size_t sent) {
    count(-static_cast<Index>(sent));
    offset_ += sent;
    if (offset_ == pieces_.front().size()) {
      pieces_.pop_front();
      offset_ = 0;
    }
  }
  void clear() {
    count(-bytes_);
    pieces_.clear();
    offset_ = 0;
  }

 private:
  void count(Index change) {
    bytes_ += change;
    all_ += change;
  }

  Index& all_;
  Index bytes_ = 0;
  std::deque<std::string> pieces_;  // never holds an empty piece
  std::size_t offset_ = 0;          // bytes of the first piece already sent
};

}  // namespace headlight::serve
