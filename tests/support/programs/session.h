#pragma once

#include "support/test.h"

// Sessions of a user with the program in text files. Each begins in a new folder, the current one,
// with the lines before the first session.
//
//   # A comment.
//   == what the session shows
//   each NAME A | B          run the session once for each value of {NAME}
//   model NAME KIND          makes a model folder
//   @ NAME CONTENTS          writes a file; "@ NAME 60 * CONTENTS" repeats, {i} counts from 0
//   let NAME CONTENTS        what {NAME} stands for in later lines; "60 * CONTENTS" repeats
//   append NAME CONTENTS, edit NAME OLD -> NEW, cut NAME BYTES
//   folder NAME, enter NAME, remove NAME, move A B, copy A B (with all that is in it)
//   $ COMMAND                must succeed; "$3 COMMAND" must end with exit code 3
//   ! COMMAND                must be refused: exit code 2, one message, no output
//   = COMMAND                the command that later lines of "+ OPTIONS" change; "!+ OPTIONS" is
//                            refused, "+3 OPTIONS" ends with 3
//   file NAME CHECK          CHECK is one of those below, without "out"
//
// Commands may begin with NAME=VALUE for the environment and end with "< FILE" or "<< TEXT" for the
// input. Indented lines check the last command. Below "!" they are parts of the message. Otherwise:
//
//   out has TEXT, out lacks TEXT, out is TEXT, out differs TEXT, and err in place of out
//   out json PATH OP VALUE   PATH is such as rows/-1/loss, rows/*/loss (of all rows), rows# (the
//                            size, of a text its bytes) or . (all); OP is =, != (of a value that
//                            exists), <, >, ~ (to five digits), ~3 (to three), ~4 or ~5 (to four or
//                            five decimals). One value is compared with each element of a list.
//   out at PATH CHECK        checks a text in JSON; "out join PATH CHECK" the texts of all elements
//   out keep NAME [PATH | BEFORE...BEHIND]   what {NAME} stands for in later lines
//
// Of files there are also: exists, missing, same OTHER, unlike OTHER. "same" compares folders with
// all files, and metrics.jsonl without its times. Files of arrays, .npz and .safetensors, are JSON,
// too: NAME/type, NAME/shape and NAME/values of each array.
//
// "..." in a TEXT stands for any text; \n, \t, \\ and \xff are one byte; {dir} is the folder.
namespace headlight::test {

// Writes a model into a new folder.
using ModelMakers = std::map<std::string, std::function<void(const std::filesystem::path&)>>;

// Words that begin lines beside those above. The line's checks read what they return.
using SessionVerbs = std::map<std::string, std::function<ProgramResult(const std::string& rest)>>;

// Runs the sessions of a file in tests, each in a section.
void run_sessions(const std::string& file, const ModelMakers& models = {},
                  const SessionVerbs& verbs = {});

// Replaces the escapes \n, \t, \\ and \xff by their bytes.
std::string unescaped(const std::string& text);

// Replaces names by their values.
std::string replaced_all(std::string text, const std::map<std::string, std::string>& names);

}  // namespace headlight::test
