#pragma once

#include <string>
#include <vector>

// Commands of the program.
namespace headlight::cli {

// Arguments of a command line.
using Words = std::vector<std::string>;

// Runs a command with the words after its name. Prints its results on stdout and returns the exit
// code. Throws Error for invalid input.
using RunCommand = int(const Words& words);

RunCommand run_train, run_tokenizer, run_export, run_info, run_compare;
RunCommand run_generate, run_chat, run_serve, run_page, run_eval;
RunCommand run_attention, run_heads, run_cache;
RunCommand run_bench;

// Subcommands of run_tokenizer.
RunCommand run_tokenizer_train, run_tokenizer_encode, run_tokenizer_decode;
RunCommand run_tokenizer_info, run_tokenizer_show;

}  // namespace headlight::cli
