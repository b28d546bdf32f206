#pragma once

// std::bit_cast, std::make_unique_for_overwrite and the algorithms of std::ranges that Headlight
// uses and libc++ 13, the library of Debian's Emscripten, lacks. Included before every source of
// the WebAssembly build.
#ifdef __cplusplus
#include <algorithm>
#include <bit>
#include <functional>
#include <iterator>
#include <memory>
#include <ranges>

#if _LIBCPP_VERSION < 15000
namespace std {

template <class To, class From>
constexpr To bit_cast(const From& from) {
  return __builtin_bit_cast(To, from);
}

template <class Array>
unique_ptr<Array> make_unique_for_overwrite(size_t count) {
  return unique_ptr<Array>(new remove_extent_t<Array>[count]);
}

}  // namespace std

namespace std::ranges {

template <class Range, class Predicate, class Projection = identity>
constexpr auto find_if(Range&& range, Predicate predicate, Projection projection = {}) {
  auto place = begin(range);
  for (; place != end(range) && !std::invoke(predicate, std::invoke(projection, *place)); ++place) {
  }
  return place;
}

template <class Range, class T, class Projection = identity>
constexpr auto find(Range&& range, const T& value, Projection projection = {}) {
  return ranges::find_if(
      range, [&](const auto& other) { return other == value; }, projection);
}

template <class Range, class Predicate, class Projection = identity>
constexpr bool any_of(Range&& range, Predicate predicate, Projection projection = {}) {
  return ranges::find_if(range, predicate, projection) != end(range);
}

template <class Range, class Predicate, class Projection = identity>
constexpr bool all_of(Range&& range, Predicate predicate, Projection projection = {}) {
  return !ranges::any_of(
      range, [&](const auto& value) { return !std::invoke(predicate, value); }, projection);
}

template <class Range, class Predicate, class Projection = identity>
constexpr bool none_of(Range&& range, Predicate predicate, Projection projection = {}) {
  return !ranges::any_of(range, predicate, projection);
}

template <class Range, class Predicate, class Projection = identity>
constexpr ptrdiff_t count_if(Range&& range, Predicate predicate, Projection projection = {}) {
  ptrdiff_t count = 0;
  for (auto&& value : range) {
    count += std::invoke(predicate, std::invoke(projection, value)) ? 1 : 0;
  }
  return count;
}

template <class Range, class T, class Projection = identity>
constexpr ptrdiff_t count(Range&& range, const T& value, Projection projection = {}) {
  return ranges::count_if(
      range, [&](const auto& other) { return other == value; }, projection);
}

template <class Range, class Function, class Projection = identity>
constexpr void for_each(Range&& range, Function function, Projection projection = {}) {
  for (auto&& value : range) {
    std::invoke(function, std::invoke(projection, value));
  }
}

template <class First, class Second, class Predicate = std::equal_to<>>
constexpr bool equal(First&& first, Second&& second, Predicate predicate = {}) {
  return std::equal(begin(first), end(first), begin(second), end(second), predicate);
}

template <class Range>
constexpr bool is_sorted(Range&& range) {
  return std::is_sorted(begin(range), end(range));
}

template <class Range>
constexpr void reverse(Range&& range) {
  std::reverse(begin(range), end(range));
}

template <class Range, class Out>
constexpr void move(Range&& range, Out out) {
  std::move(begin(range), end(range), out);
}

template <class Range, class T>
constexpr void fill(Range&& range, const T& value) {
  std::fill(begin(range), end(range), value);
}

template <class Range, class Out>
constexpr void copy(Range&& range, Out out) {
  std::copy(begin(range), end(range), out);
}

template <class Range, class Out, class Predicate>
constexpr void copy_if(Range&& range, Out out, Predicate predicate) {
  std::copy_if(begin(range), end(range), out,
               [&](const auto& value) { return std::invoke(predicate, value); });
}

template <class Range, class Out, class Function>
constexpr void transform(Range&& range, Out out, Function function) {
  for (auto&& value : range) {
    *out++ = std::invoke(function, value);
  }
}

template <class Range, class T>
constexpr void replace(Range&& range, const T& from, const T& to) {
  std::replace(begin(range), end(range), from, to);
}

template <class Compare, class Projection>
struct projected_compare {
  template <class A, class B>
  constexpr bool operator()(const A& a, const B& b) const {
    return std::invoke(compare, std::invoke(projection, a), std::invoke(projection, b));
  }
  Compare compare;
  Projection projection;
};

template <class Range, class Compare = less, class Projection = identity>
constexpr void sort(Range&& range, Compare compare = {}, Projection projection = {}) {
  std::sort(begin(range), end(range), projected_compare<Compare, Projection>{compare, projection});
}

template <class Range, class Compare = less, class Projection = identity>
constexpr void stable_sort(Range&& range, Compare compare = {}, Projection projection = {}) {
  std::stable_sort(begin(range), end(range),
                   projected_compare<Compare, Projection>{compare, projection});
}

template <class Range, class Compare = less, class Projection = identity>
constexpr auto max_element(Range&& range, Compare compare = {}, Projection projection = {}) {
  return std::max_element(begin(range), end(range),
                          projected_compare<Compare, Projection>{compare, projection});
}

template <class Range, class Compare = less, class Projection = identity>
constexpr auto min_element(Range&& range, Compare compare = {}, Projection projection = {}) {
  return std::min_element(begin(range), end(range),
                          projected_compare<Compare, Projection>{compare, projection});
}

template <class Range>
constexpr auto max(Range&& range) {
  return *std::max_element(begin(range), end(range));
}

template <class Range>
constexpr auto min(Range&& range) {
  return *std::min_element(begin(range), end(range));
}

template <class Range, class T>
constexpr auto lower_bound(Range&& range, const T& value) {
  return std::lower_bound(begin(range), end(range), value);
}

template <class Range, class T, class Compare = less, class Projection = identity>
constexpr auto upper_bound(Range&& range, const T& value, Compare compare = {},
                           Projection projection = {}) {
  return std::upper_bound(begin(range), end(range), value, [&](const T& a, const auto& b) {
    return std::invoke(compare, a, std::invoke(projection, b));
  });
}

template <class Range, class T>
constexpr bool binary_search(Range&& range, const T& value) {
  return std::binary_search(begin(range), end(range), value);
}

template <class First, class Second>
struct in_in {
  First in1;
  Second in2;
};

template <class Range, class Other>
constexpr auto mismatch(Range&& range, Other&& other) {
  auto [a, b] = std::mismatch(begin(range), end(range), begin(other), end(other));
  return in_in<decltype(a), decltype(b)>{a, b};
}

}  // namespace std::ranges
#endif
#endif
