#include "cli/lab/lab.h"

// Options of each experiment, which lab.cpp shows in its help.
namespace headlight::cli::lab {
namespace {

Options& length(Options& options) {
  return options.flag("full", "Run the long version, with more steps and repeats");
}

Options& size(Options& options, const char* width, const char* heads) {
  return options.value("width", "Width of the layer, d_model", width)
      .value("heads", "Number of heads; divides the width", heads);
}

}  // namespace

void declare_scaling(Options& options) {
  length(options).value("d_k", "Compare these key widths, separated by commas", "8,64,512");
}

void declare_masks(Options& options) {
  options.value("tokens", "Words of the sequence, separated by commas")
      .value("keep",
             "Mask of your own: 1 keeps a key and 0 hides it, one number for each key "
             "(\"1,1,1,0\"), or a row for each query (\"1,0;1,1\")");
}

void declare_worked_example(Options& options) {
  options
      .value("input",
             "Compute with the x, W_Q, W_K, W_V and optional W_O of this JSON file, each "
             "a list of rows")
      .value("heads", "Number of heads with --input; divides the columns of W_Q and of W_V", "1")
      .flag("causal", "With --input: hide later tokens");
  options.paths({"input"});
}

void declare_attention(Options& options) {
  size(
      options.value("tokens", "Words of the sequence, separated by commas", "I,love,deep,learning"),
      "64", "8")
      .flag("causal", "Hide later tokens")
      .value("pad", "Add this number of hidden <pad> tokens", "0")
      .value("weights",
             "Use the weights of this .safetensors file, under the names of PyTorch's "
             "nn.MultiheadAttention: in_proj_weight, in_proj_bias, out_proj.weight, "
             "out_proj.bias");
  options.paths({"weights"});
}

void declare_shapes(Options& options) {
  size(options.values("text", "Sentences of the batch, one for each --text")
           .value("file", "Read the sentences from the lines of this file")
           .value("sequences", "Read token ids from this JSON file, a list of lists")
           .value("tokenizer",
                  "Split sentences into char (characters), word (at blanks), or the "
                  "tokens of this run directory or tokenizer.json",
                  "word"),
       "512", "8")
      .value("pad_id", "Id of <pad>", "0")
      .choice("mask", "Hide pads, later tokens or both", kChoiceNames<MaskKind>, "padding");
  options.paths({"file", "sequences", "tokenizer"});
}

void declare_norms(Options& options) {
  options.value("x", "Normalise this matrix, a list of rows: \"[[1,2,3],[1,1,1]]\"")
      .value("gamma", "Gain of each feature, separated by commas")
      .value("beta", "Shift of each feature, separated by commas");
}

void declare_training(Options& options) {
  length(options)
      .value("iters", "Train for this number of steps; 0: the experiment's own number", "0")
      .alias("max_iters", "iters");
}

void declare_heads(Options& options) {
  declare_training(options);
  size(options, "64", "1,2,4,8,16,32,64");
}

void declare_single_vs_multi(Options& options) {
  declare_training(options);
  options.value("starts", "Train this number of pairs of models, each from its own seed", "1");
}

void declare_induction(Options& options) {
  declare_training(options);
  options.value("model", "Inspect this model instead of training one");
  options.paths({"model"});
}

void declare_params(Options& options) {
  options.value("width", "Count a layer of this width, d_model")
      .value("heads", "Number of heads of that layer; divides the width");
}

}  // namespace headlight::cli::lab
