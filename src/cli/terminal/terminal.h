#pragma once

#include <string_view>

// Capabilities of the terminal behind a stream.
namespace headlight::cli {

enum class Stream { input, output, errors };

bool is_terminal(Stream stream);

// Prints a text of a model, user or file on standard output. A terminal gets printable_text(),
// which cannot control it; other readers get the bytes as they are. Characters must be complete.
void print_untrusted(std::string_view text);

// True for a terminal that can redraw a line.
bool can_redraw(Stream stream);

// Line width if no terminal gives one.
inline constexpr int kDefaultColumns = 80;

// Columns of the terminal; `fallback` if the stream is no terminal or does not report them.
int columns_of(Stream stream, int fallback = kDefaultColumns);

// True for a terminal whose user did not ask for plain text (https://no-color.org).
bool has_colours(Stream stream);

// True if COLORFGBG names a light background. Most terminals do not set it and are dark.
bool has_light_background();

}  // namespace headlight::cli
