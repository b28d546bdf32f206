#pragma once

#include <optional>
#include <string>

// What the terminal behind a stream can show.
namespace headlight::cli {

enum class Stream { output, errors };  // stdout, stderr

bool is_terminal(Stream stream);

// True for a terminal on which a line can be written anew.
bool can_redraw(Stream stream);

// Of a line, where nothing says how wide it is.
inline constexpr int kUsualColumns = 80;

// Characters in a line of the terminal; none when the stream is not one, or it does not say.
std::optional<int> columns_of(Stream stream);

// True when the stream is a terminal and its user did not ask for plain text
// (https://no-color.org).
bool has_colours(Stream stream);

// True when the terminal says, by COLORFGBG, that its ground is light; most say nothing and are
// dark.
bool has_light_ground();

}  // namespace headlight::cli
