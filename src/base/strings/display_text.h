#pragma once

#include <string>
#include <string_view>

// Untrusted text for display: terminals, XML and HTML show it, and it cannot control them.
namespace headlight {

// Decodes a text; invalid bytes become U+FFFD.
std::u32string code_points(std::string_view text);

// Returns UTF-8 that HTML and XML allow. Invalid bytes and noncharacters become U+FFFD; control
// characters except '\n' and '\t' become their pictures.
std::string printable_text(std::string_view text);

// Returns a token as part of a text: printable_text(), with names ("U+202E") for invisible
// characters that could reorder or hide the text around them. Joiners between characters stay.
std::string token_text(std::string_view token);

// Returns a token or text as one visible line: token_text() with · for blanks, ⏎ for line ends, ⇥
// for tabs and ∅ for an empty text.
std::string display_label(std::string_view token);

}  // namespace headlight
