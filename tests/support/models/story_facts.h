#pragma once

#include "serve/file_page/story.h"
#include "support/test.h"

// Checks of what stories say about a model (data/stories).
namespace headlight::test {

// Size that the stories about the toy model describe, and the views that they use.
const serve::StoryScope& toy_story_scope();

// Checks that the text of each step is true of a model: a run directory or a file.
void check_story_facts(const std::string& model, const std::vector<serve::StoryStep>& steps);

// Numbers below 1 in a text, such as "0.8".
std::vector<std::string> shares_in(const std::string& text);

// Words between "..." in a text.
std::vector<std::string> quotes_in(const std::string& text);

// Returns the probability of a word after a text, with the changes of `intervene`; 0 unless it is
// among the ten most likely tokens.
double probability_of(const std::string& model, const std::string& text, const std::string& word,
                      const std::string& intervene);

}  // namespace headlight::test
