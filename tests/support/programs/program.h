#pragma once

#include <string>
#include <vector>

// Result of the built program, run as a user would.
struct ProgramResult {
  int exit_code = -1;  // 128 + number if a signal ended it
  std::string out;
  std::string err;
  long peak_kilobytes = 0;  // peak resident set

  // Lines of err.
  std::vector<std::string> messages() const;
};

ProgramResult run_headlight(const std::vector<std::string>& arguments);

// Runs the program without a locale but with this environment, as "NAME=VALUE".
ProgramResult run_headlight_with(const std::vector<std::string>& environment,
                                 const std::vector<std::string>& arguments);

// Runs the program with `input` on standard input, which is empty otherwise.
ProgramResult run_headlight_reading(const std::string& input,
                                    const std::vector<std::string>& arguments);

// Runs the program with limited address space, as by `ulimit -v`. Programs with a sanitizer need
// terabytes and run without the limit (see has_sanitizer).
ProgramResult run_headlight_within(long kilobytes, const std::vector<std::string>& arguments);

// Runs the program with stderr on a terminal of `columns` columns. `err` is the terminal's input.
// `more` is added to the environment, as "NAME=VALUE".
ProgramResult run_headlight_on_terminal(int columns, const std::vector<std::string>& arguments,
                                        const std::vector<std::string>& more = {});

// Keys that a user types once the program has printed `after` (since the keys before).
struct TypedKeys {
  std::string after;
  std::string keys;
};

// Runs the program in a terminal of 80 columns with a user who types these keys. `out` is the
// terminal's input. Ends the program if it prints nothing for 30 seconds.
ProgramResult run_headlight_typing(const std::vector<TypedKeys>& keys,
                                   const std::vector<std::string>& arguments);

// True when tests and program are built with AddressSanitizer or ThreadSanitizer.
bool has_sanitizer();
