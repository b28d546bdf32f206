#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace headlight {

// A list that does not change and that its copies share. Convert from a vector or write it in
// braces.
template <class T>
class SharedList {
 public:
  SharedList() = default;
  SharedList(std::vector<T> values)
      : values_(std::make_shared<const std::vector<T>>(std::move(values))) {}
  SharedList(std::initializer_list<T> values) : SharedList(std::vector<T>(values)) {}

  const std::vector<T>& values() const {
    static const std::vector<T> none;
    return values_ == nullptr ? none : *values_;
  }
  auto begin() const { return values().begin(); }
  auto end() const { return values().end(); }
  std::size_t size() const { return values().size(); }
  bool empty() const { return values().empty(); }
  const T& operator[](std::size_t index) const { return values()[index]; }

 private:
  std::shared_ptr<const std::vector<T>> values_ = nullptr;  // null: empty
};

}  // namespace headlight
