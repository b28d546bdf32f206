#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headlight {

// A text, or a text that steps have made from another one, with the place in the first text of each
// byte.
struct PlacedText {
  std::string_view text;
  const std::size_t* places = nullptr;  // [bytes + 1]; null: the places are consecutive
  std::size_t begin = 0;                // place of the first byte, if they are

  std::size_t size() const { return text.size(); }
  // `byte`: 0 to size().
  std::size_t place(std::size_t byte) const {
    return places == nullptr ? begin + byte : places[byte];
  }
  PlacedText part(std::size_t from, std::size_t bytes = std::string_view::npos) const {
    return {text.substr(from, bytes), places == nullptr ? nullptr : places + from, begin + from};
  }
  // Returns the part that `within` is a view of.
  PlacedText part(std::string_view within) const {
    return part(static_cast<std::size_t>(within.data() - text.data()), within.size());
  }
};

// A text that a step makes from another one. Keeps the places of its bytes if it `tracks` them.
class MadeText {
 public:
  // `step(source, made)` calls made.append() for the parts of the new text.
  template <class Step>
  MadeText(const PlacedText& source, bool tracks, const Step& step) : tracks_(tracks) {
    text_.reserve(source.size());
    step(source, *this);
    if (tracks_) {
      places_.push_back(source.place(source.size()));
    }
  }

  // Makes the next text from this one.
  template <class Step>
  void rewrite(const Step& step) {
    *this = MadeText(placed(), tracks_, step);
  }

  // Appends text that replaces a part of the source. An empty part: the text is inserted there.
  void append(std::string_view text, const PlacedText& replaced) {
    text_ += text;
    for (std::size_t i = 0; tracks_ && i < text.size(); ++i) {
      places_.push_back(replaced.place(std::min(i, replaced.size())));
    }
  }
  void append(const PlacedText& unchanged) { append(unchanged.text, unchanged); }
  // Removes the last bytes.
  void shorten(std::size_t bytes) {
    text_.resize(text_.size() - bytes);
    places_.resize(tracks_ ? text_.size() : 0);
  }

  const std::string& text() const { return text_; }
  PlacedText placed() const { return {text_, tracks_ ? places_.data() : nullptr}; }
  std::string take() { return std::move(text_); }

 private:
  bool tracks_;
  std::string text_;
  std::vector<std::size_t> places_;  // [bytes + 1] if they are tracked
};

}  // namespace headlight
