#pragma once

#include <string>
#include <string_view>

// Text from outside, written so that terminals, XML and HTML show it and are not steered by it.
namespace headlight {

// The characters of a text; bytes that are not UTF-8 become U+FFFD.
std::u32string code_points(std::string_view text);

// Valid UTF-8 that HTML and XML may hold: bytes that are not UTF-8 and noncharacters become U+FFFD,
// control characters except '\n' and '\t' become their pictures.
std::string printable_text(std::string_view text);

// A token as part of a text: printable_text(), with the names ("U+202E") of characters that show
// nothing themselves but could reorder or hide the text around them. Joiners stay where they join.
std::string token_text(std::string_view token);

// A token, or any text, on one visible line, wherever it is shown: token_text() with blanks as ·,
// line ends as ⏎, tabs as ⇥ and no text as ∅.
std::string display_label(std::string_view token);

}  // namespace headlight
