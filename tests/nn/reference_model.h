#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "headlight/nn/gpt.h"
#include "support/models.h"

// Reference implementation of attention and GPT, in loops over doubles that follow the formulas.
namespace headlight::test {

using Row = std::vector<double>;
using Matrix = std::vector<Row>;

inline Matrix matrix_of(const Tensor& x) {
  const Row values = x.to_vector();
  Matrix rows;
  const Index width = x.size(-1);
  for (auto start = values.begin(); start != values.end(); start += width) {
    rows.emplace_back(start, start + width);
  }
  return rows;
}

inline double dot(const Row& a, const Row& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

inline bool has_parameter(const Module& module, const std::string& name) {
  for (const auto& entry : module.parameters()) {
    if (entry.first == name) {
      return true;
    }
  }
  return false;
}

// Returns x W^T + b with the parameters "part.weight" and, if present, "part.bias".
inline Matrix reference_linear(const Matrix& x, const Module& module, const std::string& part) {
  const Matrix weight = matrix_of(parameter_of(module, part + ".weight"));
  Row bias(weight.size(), 0.0);
  if (has_parameter(module, part + ".bias")) {
    bias = parameter_of(module, part + ".bias").to_vector();
  }
  Matrix result;
  for (const Row& row : x) {
    Row& out = result.emplace_back();
    for (std::size_t o = 0; o < weight.size(); ++o) {
      out.push_back(dot(row, weight[o]) + bias[o]);
    }
  }
  return result;
}

struct ReferenceAttention {
  std::vector<Matrix> weights;  // per head [T, S]
  Matrix joined;                // [T, H D], before c_proj
};

// query [T, H D], key and value [S, H D]; hidden(head, t, s) is true for masked pairs.
template <class Hidden>
ReferenceAttention reference_attention(const Matrix& query, const Matrix& key, const Matrix& value,
                                       std::size_t heads, const Hidden& hidden) {
  const std::size_t width = query[0].size() / heads;
  ReferenceAttention result{std::vector<Matrix>(heads, Matrix(query.size(), Row(key.size(), 0.0))),
                            Matrix(query.size(), Row(query[0].size(), 0.0))};
  for (std::size_t h = 0; h < heads; ++h) {
    for (std::size_t t = 0; t < query.size(); ++t) {
      Row& weights = result.weights[h][t];
      double total = 0;
      for (std::size_t s = 0; s < key.size(); ++s) {
        double score = 0;
        for (std::size_t d = h * width; d < (h + 1) * width; ++d) {
          score += query[t][d] * key[s][d];
        }
        weights[s] = hidden(h, t, s) ? 0 : std::exp(score / std::sqrt(static_cast<double>(width)));
        total += weights[s];
      }
      for (std::size_t s = 0; s < key.size(); ++s) {
        weights[s] = total == 0 ? 0 : weights[s] / total;
        for (std::size_t d = h * width; d < (h + 1) * width; ++d) {
          result.joined[t][d] += weights[s] * value[s][d];
        }
      }
    }
  }
  return result;
}

inline Matrix columns(const Matrix& x, std::size_t first, std::size_t count) {
  Matrix result;
  for (const Row& row : x) {
    const auto start = row.begin() + static_cast<Index>(first);
    result.emplace_back(start, start + static_cast<Index>(count));
  }
  return result;
}

inline Matrix sum_of(const Matrix& a, const Matrix& b) {
  Matrix result = a;
  for (std::size_t t = 0; t < a.size(); ++t) {
    for (std::size_t c = 0; c < a[t].size(); ++c) {
      result[t][c] += b[t][c];
    }
  }
  return result;
}

inline Matrix reference_layer_norm(const Matrix& x, const Gpt& gpt, const std::string& part) {
  const Row gain = parameter_of(gpt, part + ".weight").to_vector();
  const bool has_shift = has_parameter(gpt, part + ".bias");
  const Row shift =
      has_shift ? parameter_of(gpt, part + ".bias").to_vector() : Row(gain.size(), 0.0);
  Matrix result = x;
  for (Row& row : result) {
    const auto count = static_cast<double>(row.size());
    double mean = 0;
    double variance = 0;
    for (const double value : row) {
      mean += value / count;
    }
    for (const double value : row) {
      variance += (value - mean) * (value - mean) / count;
    }
    for (std::size_t c = 0; c < row.size(); ++c) {
      row[c] = (row[c] - mean) / std::sqrt(variance + gpt.config().layer_norm_epsilon) * gain[c] +
               shift[c];
    }
  }
  return result;
}

inline double reference_activation(double x, Activation activation) {
  switch (activation) {
    case Activation::gelu_tanh:
      return 0.5 * x *
             (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::gelu_erf:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::relu:
      return std::max(x, 0.0);
    case Activation::relu2:
      return std::max(x, 0.0) * std::max(x, 0.0);
    case Activation::silu:
      break;
  }
  return x / (1 + std::exp(-x));
}

inline Matrix reference_activations(Matrix rows, Activation activation) {
  for (Row& row : rows) {
    for (double& value : row) {
      value = reference_activation(value, activation);
    }
  }
  return rows;
}

inline Matrix reference_mlp(const Matrix& x, const Gpt& gpt, const std::string& block) {
  const Matrix inner =
      reference_activations(reference_linear(x, gpt, block + "mlp.c_fc"), gpt.config().activation);
  return reference_linear(inner, gpt, block + "mlp.c_proj");
}

inline Matrix reference_self_attention(const Matrix& x, const Gpt& gpt, Index layer) {
  const std::string part = "h." + std::to_string(layer) + ".attn";
  const Matrix qkv = reference_linear(x, gpt, part + ".c_attn");
  const std::size_t inner = qkv[0].size() / 3;
  const ReferenceAttention attention = reference_attention(
      columns(qkv, 0, inner), columns(qkv, inner, inner), columns(qkv, 2 * inner, inner),
      static_cast<std::size_t>(gpt.config().heads(layer)),
      [&](std::size_t, std::size_t t, std::size_t s) { return gpt.config().causal && s > t; });
  return reference_linear(attention.joined, gpt, part + ".c_proj");
}

// Returns the logits [T, V] of one sequence, without dropout.
inline Matrix reference_logits(const Gpt& gpt, const Ids& tokens) {
  const Matrix wte = matrix_of(parameter_of(gpt, "wte.weight"));
  const Matrix wpe = matrix_of(parameter_of(gpt, "wpe.weight"));
  Matrix x;
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    x.push_back(sum_of({wte[static_cast<std::size_t>(tokens[t])]}, {wpe[t]})[0]);
  }
  if (gpt.config().n_segment > 0) {
    const Row segment = matrix_of(parameter_of(gpt, "wse.weight"))[0];
    x = sum_of(x, Matrix(x.size(), segment));
  }
  if (gpt.config().embedding_norm) {
    x = reference_layer_norm(x, gpt, "ln_e");
  }
  const bool pre = gpt.config().norm == NormPosition::pre;
  for (Index layer = 0; layer < gpt.config().n_layer; ++layer) {
    const std::string block = "h." + std::to_string(layer) + ".";
    if (pre) {
      x = sum_of(
          x, reference_self_attention(reference_layer_norm(x, gpt, block + "ln_1"), gpt, layer));
      x = sum_of(x, reference_mlp(reference_layer_norm(x, gpt, block + "ln_2"), gpt, block));
    } else {
      x = reference_layer_norm(sum_of(x, reference_self_attention(x, gpt, layer)), gpt,
                               block + "ln_1");
      x = reference_layer_norm(sum_of(x, reference_mlp(x, gpt, block)), gpt, block + "ln_2");
    }
  }
  if (pre) {
    x = reference_layer_norm(x, gpt, "ln_f");
  }
  Row bias(static_cast<std::size_t>(gpt.config().vocab_size), 0.0);
  if (gpt.config().masked_head) {
    x = reference_activations(reference_linear(x, gpt, "head_transform"), gpt.config().activation);
    x = reference_layer_norm(x, gpt, "head_norm");
    bias = parameter_of(gpt, "lm_head.bias").to_vector();
  }
  const Matrix head =
      gpt.config().tie_weights ? wte : matrix_of(parameter_of(gpt, "lm_head.weight"));
  Matrix logits;
  for (const Row& row : x) {
    Row& out = logits.emplace_back();
    for (const Row& token : head) {
      out.push_back(dot(row, token) + bias[out.size()]);
    }
  }
  return logits;
}

// Returns the sum of -log softmax(logits[t])[tokens[t + 1]] over the sequence.
inline double reference_loss_sum(const Matrix& logits, const Ids& tokens) {
  double loss = 0;
  for (std::size_t t = 0; t + 1 < tokens.size(); ++t) {
    double total = 0;
    for (const double logit : logits[t]) {
      total += std::exp(logit);
    }
    loss += std::log(total) - logits[t][static_cast<std::size_t>(tokens[t + 1])];
  }
  return loss;
}

inline Tensor tensor_of(const Matrix& rows) {
  Row values;
  for (const Row& row : rows) {
    values.insert(values.end(), row.begin(), row.end());
  }
  return Tensor::from(values,
                      {static_cast<Index>(rows.size()), static_cast<Index>(rows[0].size())});
}

}  // namespace headlight::test
