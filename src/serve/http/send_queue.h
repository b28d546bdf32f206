#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "headlight/base/index.h"

namespace headlight::serve {

// Bytes that wait for a client, in the pieces that they came in.
class SendQueue {
 public:
  // Counts its bytes in `all` as well, which must outlive it.
  explicit SendQueue(Index& all) : all_(all) {}
  ~SendQueue() { clear(); }
  SendQueue(const SendQueue&) = delete;
  SendQueue& operator=(const SendQueue&) = delete;

  bool empty() const { return pieces_.empty(); }
  Index bytes() const { return bytes_; }
  void push(std::string piece);
  // What is sent next, up to so many bytes; they stay where they are until pop() or clear(). The
  // queue must not be empty.
  std::string_view front(std::size_t most) const;
  // Forgets so many bytes of front().
  void pop(std::size_t count);
  void clear();

 private:
  void count(Index change);

  Index& all_;
  Index bytes_ = 0;
  std::deque<std::string> pieces_;  // none is empty
  std::size_t offset_ = 0;          // in the first one
};

}  // namespace headlight::serve
