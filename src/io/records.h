#pragma once

#include <functional>
#include <string>

#include "base/json.h"
#include "headlight/io/text_files.h"

namespace headlight {

// A record, and its place for messages: "NAME: line 3".
using UseRecord = std::function<void(const Json& record, const std::string& where)>;

// Calls `use` for each record of a file: the JSON value of each line, or each row of a table
// (is_table_name) as an object of strings. Throws Error as read_lines() does, and "NAME: line 3:
// ..." for a line that is not JSON.
//
// The first row of a table names the columns. Values are separated by commas, or by tabs in a file
// named .tsv (RFC 4180). Values in double quotes may contain separators, line ends and doubled
// quotes. Blank lines are skipped. Throws Error for a column without a unique name, a row with
// another number of values, text around quotes and rows above 128 MiB.
void read_records(const TextFile& file, const UseRecord& use);

}  // namespace headlight
