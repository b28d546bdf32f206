#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "generate/context_window.h"
#include "generate/stop_filter.h"
#include "headlight/generate/generator.h"
#include "headlight/text/streaming_decoder.h"

namespace headlight {

using TextSink = std::function<void(std::string_view piece)>;

// Turns tokens into text up to the first stop text.
class TextOutput {
 public:
  TextOutput(const Tokenizer& tokenizer, const std::vector<std::string>& stops, TextSink on_text);

  void push(std::int32_t id) { emit(filter_.push(decoder_.push(id))); }
  void finish();
  bool stopped() const { return filter_.found(); }
  const std::string& text() const { return text_; }

 private:
  void emit(const std::string& piece);

  StreamingDecoder decoder_;
  StopFilter filter_;
  TextSink on_text_;
  std::string text_;
};

// What all texts from one prompt have in common.
struct TextPlan {
  const Tokenizer* tokenizer = nullptr;
  const GenerateOptions* options = nullptr;
  std::vector<std::int32_t> prompt;    // not empty
  std::vector<std::int32_t> excluded;  // never chosen
};

// One text in the making.
class TextSample {
 public:
  // `window` has read the prompt. The plan must outlive the sample.
  TextSample(const TextPlan& plan, Index number, ContextWindow window, TextSink on_text);

  bool finished() const { return finished_; }
  ContextWindow& window() { return window_; }
  // Chooses the next token from logits [V]; `seconds` have passed since the beginning.
  void take(std::span<const float> logits, double seconds);
  GenerateResult result() &&;

 private:
  void judge(std::span<const float> logits, std::int32_t id);
  bool must_end(std::int32_t id);

  const TextPlan* plan_;
  Sampler sampler_;
  std::vector<std::int32_t> history_;  // prompt and output
  ContextWindow window_;
  TextOutput output_;
  GenerateResult result_;
  bool finished_ = false;
};

}  // namespace headlight
