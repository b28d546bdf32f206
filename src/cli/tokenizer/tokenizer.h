#pragma once

#include <string>
#include <vector>

// Subcommands of `headlight tokenizer`.
namespace headlight::cli {

int run_tokenizer_train(const std::vector<std::string>& arguments);
int run_tokenizer_encode(const std::vector<std::string>& arguments);
int run_tokenizer_decode(const std::vector<std::string>& arguments);
int run_tokenizer_info(const std::vector<std::string>& arguments);
int run_tokenizer_show(const std::vector<std::string>& arguments);

}  // namespace headlight::cli
