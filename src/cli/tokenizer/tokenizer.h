#pragma once

#include <string>
#include <vector>

// The subcommands of `headlight tokenizer`, each like a command of its own.
namespace headlight::cli {

int run_tokenizer_train(const std::vector<std::string>& arguments);
int run_tokenizer_encode(const std::vector<std::string>& arguments);
int run_tokenizer_decode(const std::vector<std::string>& arguments);
int run_tokenizer_info(const std::vector<std::string>& arguments);
int run_tokenizer_show(const std::vector<std::string>& arguments);

}  // namespace headlight::cli
