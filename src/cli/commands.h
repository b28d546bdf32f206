#pragma once

#include <string>
#include <vector>

// The commands of the program: each takes the arguments after its name, prints its results on
// stdout and returns the exit code. All throw Error for input that does not fit.
namespace headlight::cli {

int run_train(const std::vector<std::string>& arguments);
int run_eval(const std::vector<std::string>& arguments);
// Shows what several runs did, side by side.
int run_compare(const std::vector<std::string>& arguments);
int run_info(const std::vector<std::string>& arguments);

// Continues a prompt with a model.
int run_generate(const std::vector<std::string>& arguments);
// Serves models by HTTP.
int run_serve(const std::vector<std::string>& arguments);
// Writes the attention weights of a text, as arrays and as pictures.
int run_attention(const std::vector<std::string>& arguments);

// What every head does.
int run_heads(const std::vector<std::string>& arguments);
// What the loss loses without each head, and which heads it depends on.
int run_ablate(const std::vector<std::string>& arguments);
int run_importance(const std::vector<std::string>& arguments);

// Writes a model without some of its heads.
int run_prune(const std::vector<std::string>& arguments);

// Which heads carry the difference between two texts, and what each adds to a token's logit.
int run_patch(const std::vector<std::string>& arguments);
int run_circuit(const std::vector<std::string>& arguments);
int run_attribute(const std::vector<std::string>& arguments);
// Writes what a model computes at some points, for programs that read arrays.
int run_cache(const std::vector<std::string>& arguments);

// What every layer would say about the next token.
int run_lens(const std::vector<std::string>& arguments);

// Learns tokenizers and turns text into ids and back; the subcommands are in cli/tokenizer.h.
int run_tokenizer(const std::vector<std::string>& arguments);

// Writes a model, or a file of tensors, in the format of another program.
int run_export(const std::vector<std::string>& arguments);

// Runs one of the experiments on how attention works, or lists them.
int run_lab(const std::vector<std::string>& arguments);

// Compares the gradients of every op with central differences; 1 when one of them differs.
int run_gradcheck(const std::vector<std::string>& arguments);

// Measures how fast this machine trains, generates and computes.
int run_bench(const std::vector<std::string>& arguments);

}  // namespace headlight::cli
