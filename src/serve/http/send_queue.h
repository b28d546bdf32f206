#pragma once

#include <deque>
#include <string>
#include <string_view>

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
  void push(std::string piece);
  // Returns the next bytes to send, at most `most`, valid until pop() or clear(). The queue must
  // not be empty.
  std::string_view front(std::size_t most) const;
  // Removes `count` bytes of front().
  void pop(std::size_t count);
  void clear();

 private:
  void count(Index change);

  Index& all_;
  Index bytes_ = 0;
  std::deque<std::string> pieces_;  // never holds an empty piece
  std::size_t offset_ = 0;          // bytes of the first piece already sent
};

}  // namespace headlight::serve
