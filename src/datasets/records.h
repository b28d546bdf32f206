#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "headlight/datasets/text_files.h"

namespace headlight {

// A record, and its location for messages: "NAME: line 3".
using UseRecord = std::function<void(const Json& record, const std::string& where)>;

// Parses a record. Throws Error "WHERE: invalid JSON ...; expected JSON Lines such as EXAMPLE" for
// text that is not JSON.
Json parse_record(std::string_view text, const std::string& where, std::string_view example);

// True for names of files with records: JSON lines, .json and tables, also followed by .gz or .zst.
bool has_records_name(std::string_view name);

// Returns the first record of a file with its location, or null if there is none or it is damaged.
std::pair<Json, std::string> first_record(const TextFile& file);

// True for a file named .json whose first record is a text or has one under "text".
bool is_json_of_texts(const TextFile& file);

// Calls `use` for each record of a file: the JSON value of each line, or each row of a table
// (is_table_name) as an object of strings. A file named .json is a list of records, records one
// after another (JSON lines), or an object with a list under "data", "train", "rows" or
// "examples". Throws Error as read_lines() does, and as parse_record() does, with "NAME: line 3".
//
// The first row of a table names the columns. Values are separated by tabs in a file named .tsv,
// else by commas, semicolons or tabs, whichever the first row has most of (RFC 4180). Values in
// double quotes may contain separators, line ends and doubled quotes. Blank lines are skipped.
// Throws Error for a column without a unique name, a row with another number of values, text
// around quotes, rows and records above 128 MiB, and rows of more than 1,048,576 values.
void read_records(const TextFile& file, std::string_view example, const UseRecord& use);

}  // namespace headlight
