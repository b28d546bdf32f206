#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headlight {

// A text, or a text that steps have made from another one, with the offset in the first text of
// each byte.
struct AlignedText {
  std::string_view text;
  const std::size_t* offsets = nullptr;  // [bytes + 1]; null: the offsets are consecutive
  std::size_t begin = 0;                 // offset of the first byte, if they are

  std::size_t size() const { return text.size(); }
  // `byte`: 0 to size().
  std::size_t offset(std::size_t byte) const {
    return offsets == nullptr ? begin + byte : offsets[byte];
  }
  AlignedText part(std::size_t from, std::size_t bytes = std::string_view::npos) const {
    return {text.substr(from, bytes), offsets == nullptr ? nullptr : offsets + from, begin + from};
  }
  // Returns the part that `within` is a view of.
  AlignedText part(std::string_view within) const {
    return part(static_cast<std::size_t>(within.data() - text.data()), within.size());
  }
};

// A text that a step makes from another one. Keeps the offsets of its bytes if it `tracks` them.
class MadeText {
 public:
  // `step(source, made)` calls made.append() for the parts of the new text.
  template <class Step>
  MadeText(const AlignedText& source, bool tracks, const Step& step) : tracks_(tracks) {
    text_.reserve(source.size());
    step(source, *this);
    if (tracks_) {
      offsets_.push_back(source.offset(source.size()));
    }
  }

  // Makes the next text from this one.
  template <class Step>
  void rewrite(const Step& step) {
    *this = MadeText(aligned(), tracks_, step);
  }

  // Appends text that replaces a part of the source. An empty part: the text is inserted there.
  void append(std::string_view text, const AlignedText& replaced) {
    text_ += text;
    for (std::size_t i = 0; tracks_ && i < text.size(); ++i) {
      offsets_.push_back(replaced.offset(std::min(i, replaced.size())));
    }
  }
  void append(const AlignedText& unchanged) { append(unchanged.text, unchanged); }
  // Removes the last bytes.
  void shorten(std::size_t bytes) {
    text_.resize(text_.size() - bytes);
    offsets_.resize(tracks_ ? text_.size() : 0);
  }

  const std::string& text() const { return text_; }
  AlignedText aligned() const { return {text_, tracks_ ? offsets_.data() : nullptr}; }
  std::string take() { return std::move(text_); }

 private:
  bool tracks_;
  std::string text_;
  std::vector<std::size_t> offsets_;  // [bytes + 1] if they are tracked
};

}  // namespace headlight
