#pragma once

#include <string>
#include <vector>

#include "headlight/show/model/model_diagram.h"

// The parts of a model in the order of computation, for its diagrams.
namespace headlight {

// A matrix, norm or function. One without a title is the arrow that passes it.
struct DiagramBox {
  std::string title = {};
  std::string detail = {};
  Index parameters = 0;   // biases included; 0: none
  std::string note = {};  // a further line
};

// Boxes side by side. All heads of a layer are one row, numbered by their titles.
struct DiagramRow {
  std::vector<DiagramBox> boxes = {};
  std::vector<std::string> shapes =
      {};  // of the vectors that leave the row: one, or one for each box
  bool is_heads = false;
  std::string caption = {};  // of a row of heads
};

using DiagramBranch = std::vector<DiagramRow>;

struct DiagramParts {
  std::string sizes;  // "C = 768, H = 12, D = 64"
  DiagramBox token_embedding;
  DiagramBox position_embedding;  // without a title: none
  std::string layers;             // "Layer 0 of 12; all have the same parts"
  bool parallel = false;          // both branches read the same vectors
  bool shared_norm = false;       // parallel: the MLP reads the first row of `attention`
  std::vector<DiagramBox> stream_norms = {};  // after each branch, for norm = post
  DiagramBranch attention;
  DiagramBranch mlp;                           // empty: no MLP
  std::vector<DiagramBox> before_layers = {};  // after the sum of the embeddings
  std::vector<DiagramBox> after_layers = {};
  DiagramBox head;  // without a title: none
};

DiagramParts diagram_parts(const GptConfig& config, Language language);

// Weights of one name and shape in several layers.
struct MatrixRow {
  std::string name;   // "h.*.attn.c_attn.weight", of some layers "h.0,2.attn..."
  std::string shape;  // "2304 x 768"
  Index each = 0;     // parameters of one
  Index count = 1;    // how many there are
};

// Returns all weights of a model in the order of weights_of(). Throws Error as it does.
std::vector<MatrixRow> matrix_rows(const GptConfig& config);

}  // namespace headlight
