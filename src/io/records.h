#pragma once

#include <functional>
#include <string>

#include "base/json.h"
#include "headlight/io/text_files.h"

namespace headlight {

// A row as an object of strings, and its place for messages: "NAME: line 3".
using UseTableRecord = std::function<void(const Json& record, const std::string& where)>;

// Reads a table of values separated by commas, or by tabs in a file named .tsv (RFC 4180), and
// calls `use` for each row after the first one, which names the columns. Values in double quotes
// may contain separators, line ends and doubled quotes. Skips blank lines. Throws Error "NAME: line
// 3: ..." for a column without a unique name, a row with another number of values, text around
// quotes and rows above 128 MiB; otherwise as read_text() does.
void read_table(const TextFile& file, const UseTableRecord& use);

}  // namespace headlight
