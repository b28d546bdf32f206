#include "serve/file_page/story.h"

#include <algorithm>
#include <utility>

#include "base/strings/printable.h"
#include "base/strings/split.h"
#include "headlight/base/error.h"
#include "headlight/base/utf8.h"
#include "serve/file_page/story_address.h"
#include "storage/input_file.h"

namespace headlight::serve {
namespace {

constexpr Index kLongestStory = Index{1} << 20;  // bytes
constexpr std::string_view kAddressForm =
    "an address in backticks, such as `?part=heads&text=One+day#grid/0.3`";

// Reads a story line by line.
class StoryReader {
 public:
  explicit StoryReader(const StoryScope& scope) : scope_(scope) {}

  // Takes the next line, without its line end.
  void add_line(std::string_view line) {
    ++read_;
    line_ = read_;
    const std::string_view text = trimmed(line);
    if (text.starts_with("## ")) {
      begin_step(text.substr(3));
    } else if (text.starts_with("# ")) {
      require(story_.title.empty(), "expected one title; the heading of a step begins with ##");
      story_.title = trimmed(text.substr(2));
    } else if (text.starts_with("`?") || text.starts_with("`#")) {
      add_address(text);
    } else if (!text.empty()) {
      add_text(text);
    }
  }

  // Returns the line at fault after an Error, counted from 1.
  Index line() const { return std::max<Index>(line_, 1); }

  // Returns the story. Call after the last line.
  Story finish() && {
    end_step();
    require(!story_.steps.empty(), "expected steps: ## and a heading, ", kAddressForm,
            ", and a sentence");
    return std::move(story_);
  }

 private:
  void begin_step(std::string_view title) {
    require(!story_.title.empty(),
            "expected the title of the story (# and a title) before its steps");
    end_step();
    has_address_ = false;
    step_line_ = line_ = read_;
    story_.steps.push_back({.title = std::string(trimmed(title)), .address = {}, .text = {}});
  }

  void end_step() {
    if (!story_.steps.empty()) {
      line_ = step_line_;
      const StoryStep& step = story_.steps.back();
      require(has_address_, "step ", in_quotes(step.title), " has no address: expected ",
              kAddressForm);
      require(!step.text.empty(), "step ", in_quotes(step.title),
              " has no text: expected a sentence");
    }
  }

  void add_address(std::string_view text) {
    require(text.size() > 2 && text.ends_with('`'), "expected ", kAddressForm);
    text = text.substr(1, text.size() - 2);
    // A fragment alone is an address without a query.
    StoryAddress address = read_story_address(
        text.starts_with('#') ? concat_text("?", text) : std::string(text), scope_);
    if (story_.steps.empty()) {
      add_common(std::move(address));
      return;
    }
    require(!has_address_, "step ", in_quotes(story_.steps.back().title), " has two addresses");
    require(!address.entries.contains("lang"),
            "lang: expected it before the first step, because it holds for all steps");
    has_address_ = true;
    address.entries.insert(common_.entries.begin(), common_.entries.end());
    const auto part = address.entries.find("part");
    require(part == address.entries.end() || part->second != "pair" ||
                (address.entries.contains("clean") && address.entries.contains("corrupt")),
            "part=pair: expected the texts clean and corrupt, too");
    story_.steps.back().address = address_text(address);
  }

  // Takes the address before the first step, whose entries hold for all steps.
  void add_common(StoryAddress address) {
    require(!story_.title.empty(), "expected the title of the story (# and a title) first");
    require(address.fragment.empty(),
            "expected an address without a fragment before the first step");
    if (const auto language = address.entries.extract("lang")) {
      story_.language = language.mapped();
    }
    common_ = std::move(address);
  }

  void add_text(std::string_view text) {
    require(!story_.steps.empty(), "expected a title (#), an address or a step (##), got ",
            in_quotes(text));
    std::string& all = story_.steps.back().text;
    all += concat_text(all.empty() ? "" : " ", text);
  }

  const StoryScope& scope_;
  Story story_;
  StoryAddress common_;
  bool has_address_ = false;  // of the last step
  Index read_ = 0;            // lines
  Index step_line_ = 0;       // heading of the last step
  Index line_ = 0;            // under examination
};

}  // namespace

Story read_story(const std::filesystem::path& path, const StoryScope& scope) {
  const std::string text = read_whole_file(path, kLongestStory);
  require_utf8(text, shown(path));
  StoryReader reader(scope);
  try {
    for (std::string_view rest = text; !rest.empty();) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      reader.add_line(line);
    }
    return std::move(reader).finish();
  } catch (Error& error) {
    error.add_location(concat_text(shown(path), ": line ", reader.line(), ": "));
    throw;
  }
}

}  // namespace headlight::serve
