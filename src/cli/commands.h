#pragma once

#include <string>
#include <vector>

// Commands of the program. Each takes the arguments after its name, prints its results on stdout
// and returns the exit code. All throw Error for invalid input.
namespace headlight::cli {

int run_train(const std::vector<std::string>& arguments);
int run_eval(const std::vector<std::string>& arguments);
// Compares several runs side by side.
int run_compare(const std::vector<std::string>& arguments);
int run_info(const std::vector<std::string>& arguments);

// Continues a prompt with a model.
int run_generate(const std::vector<std::string>& arguments);
// Serves models by HTTP.
int run_serve(const std::vector<std::string>& arguments);
// Writes the attention weights of a text as arrays and pictures.
int run_attention(const std::vector<std::string>& arguments);

// Scores and classifies every head.
int run_heads(const std::vector<std::string>& arguments);
// Measures the rise of the loss without heads or other parts.
int run_ablate(const std::vector<std::string>& arguments);
// Ranks the heads by sensitivity, Taylor estimate and ablation.
int run_importance(const std::vector<std::string>& arguments);

// Writes a model without some of its heads.
int run_prune(const std::vector<std::string>& arguments);

// Trace the difference between two texts, or the logit of a token, to heads.
int run_patch(const std::vector<std::string>& arguments);
int run_circuit(const std::vector<std::string>& arguments);
int run_attribute(const std::vector<std::string>& arguments);
// Writes activations at chosen points as arrays.
int run_cache(const std::vector<std::string>& arguments);

// Shows the next-token prediction after every layer.
int run_lens(const std::vector<std::string>& arguments);

// Trains tokenizers, encodes and decodes text. The subcommands are in cli/tokenizer.h.
int run_tokenizer(const std::vector<std::string>& arguments);

// Writes a model, or a file of tensors, in the format of another program.
int run_export(const std::vector<std::string>& arguments);

// Runs one of the experiments on how attention works, or lists them.
int run_lab(const std::vector<std::string>& arguments);

// Compares the gradients of every op with central differences. Returns 1 if any differs.
int run_gradcheck(const std::vector<std::string>& arguments);

// Measures the speed of training, generation and computation on this machine.
int run_bench(const std::vector<std::string>& arguments);

}  // namespace headlight::cli
