#pragma once

#include "support/test.h"

namespace headlight::test {

// A model with heads set by hand:
//   0.0 previous token   0.1 first token   0.2 duplicate token   0.3 the same token
//   1.0 induction        1.1 two tokens back   1.2 uniform attention
// The residual stream concatenates unit vectors: token [V], position [P] and previous token [V].
// Layer norms scale and shift all positions alike, which does not affect the softmax.
class PlantedModel {
 public:
  static constexpr Index kVocabulary = 24;  // V
  static constexpr Index kPositions = 48;   // P
  static constexpr Index kToken = 0;        // first element in the stream
  static constexpr Index kPosition = kVocabulary;
  static constexpr Index kPrevious = kVocabulary + kPositions;
  static constexpr Index kWidth = 2 * kVocabulary + kPositions;      // C
  static constexpr Index kHeadWidth = kVocabulary + kPositions + 1;  // D

  PlantedModel() {
    GptConfig config;
    config.vocab_size = kVocabulary;
    config.block_size = kPositions;
    config.n_layer = 2;
    config.n_head = 4;
    config.n_embd = kWidth;
    config.heads_per_layer = {4, 3};
    config.head_width = kHeadWidth;
    config.tie_weights = false;
    model_ = Gpt::blank(config);
    for (auto& [name, parameter] : model_->parameters()) {
      parameter.fill(name.find("ln_") != std::string::npos && name.ends_with("weight") ? 1 : 0);
    }
    embed();
    plant_first_layer();
    plant_second_layer();
  }

  const Gpt& model() const { return *model_; }

 private:
  static constexpr double kSharp = 12;     // for queries: leaves no weight for other keys
  static constexpr float kCopied = 0.14F;  // makes the copy about 1, from the normalised stream

  float& element(const std::string& name, Index row, Index column) {
    Tensor parameter = parameter_of(*model_, name);
    return parameter.data<float>()[row * parameter.size(1) + column];
  }

  // Makes element `row` of part 0, 1 or 2 (query, key or value) of a head read the stream at
  // `column`.
  void read(Index layer, Index head, Index part, Index row, Index column, double factor = 1) {
    const Index heads = model_->config().heads(layer);
    element(concat_text("h.", layer, ".attn.c_attn.weight"),
            (part * heads + head) * kHeadWidth + row, column) = static_cast<float>(factor);
  }
  void always_query(Index layer, Index head, Index row, double value) {
    parameter_of(*model_, concat_text("h.", layer, ".attn.c_attn.bias"))
        .data<float>()[head * kHeadWidth + row] = static_cast<float>(value);
  }

  void embed() {
    for (Index token = 0; token < kVocabulary; ++token) {
      element("wte.weight", token, kToken + token) = 1;
      element("lm_head.weight", token, kToken + token) = 1;
    }
    for (Index position = 0; position < kPositions; ++position) {
      element("wpe.weight", position, kPosition + position) = 1;
    }
  }

  // Makes the query at position p match the key at position p - offset.
  void look_back(Index layer, Index head, Index offset) {
    for (Index position = 0; position < kPositions; ++position) {
      read(layer, head, 1, position, kPosition + position);
      if (position >= offset) {
        read(layer, head, 0, position - offset, kPosition + position, kSharp);
      }
    }
  }

  void plant_first_layer() {
    look_back(0, 0, 1);
    for (Index token = 0; token < kVocabulary; ++token) {  // 0.0 also copies the token at its key
      read(0, 0, 2, token, kToken + token);
      element("h.0.attn.c_proj.weight", kPrevious + token, token) = kCopied;
      read(0, 2, 0, token, kToken + token, kSharp);  // 0.2 matches its own token ...
      read(0, 2, 1, token, kToken + token);
    }
    read(0, 1, 1, 0, kPosition);
    always_query(0, 1, 0, 5 * kSharp);
    for (Index position = 0; position < kPositions; ++position) {  // ... but not at itself
      read(0, 2, 0, kVocabulary + position, kPosition + position, -2 * kSharp);
      read(0, 2, 1, kVocabulary + position, kPosition + position);
    }
    look_back(0, 3, 0);
  }

  void plant_second_layer() {
    for (Index token = 0; token < kVocabulary; ++token) {
      read(1, 0, 0, token, kToken + token, 2 * kSharp);
      read(1, 0, 1, token, kPrevious + token);
    }
    // The first token has no previous one; head 0.0 attends to the token itself there.
    read(1, 0, 1, kVocabulary, kPosition);
    always_query(1, 0, kVocabulary, -10 * kSharp);
    look_back(1, 1, 2);
  }

  std::unique_ptr<Gpt> model_;
};

// Rows of zeros, or of negligible noise, with numbers that are set one by one.
class SparseRows {
 public:
  SparseRows(Index rows, Index columns, double noise = 0) : columns_(columns) {
    for (Index i = 0; i < rows * columns; ++i) {
      values_.push_back(noise * std::sin(1.7 * static_cast<double>(i) + 0.3));
    }
  }
  void set(Index row, Index column, double value) {
    values_[static_cast<std::size_t>(row * columns_ + column)] = value;
  }
  const std::vector<double>& values() const { return values_; }

 private:
  Index columns_;
  std::vector<double> values_;
};

// First numbers of the parts of the stream that head 0 of two compares, moves and writes.
struct HeadWiring {
  Index query = 0;
  Index query_shift = 0;  // query n matches key n - shift
  Index key = 0;
  Index value = 0;
  Index output = 0;
  Index compared = 8;  // sizes of the parts
  Index moved = 8;
  double sharpness = 1;
  double gain = 1;
  double noise = 0.01;  // in the other head
};

inline void wire_head(const Gpt& gpt, Index layer, const HeadWiring& wiring) {
  const Index width = gpt.config().n_embd;                            // C
  const Index head = gpt.block(layer).attention().plan().head_width;  // D
  SparseRows read(6 * head, width, wiring.noise);  // queries from row 0, keys from 2 D, values
  SparseRows write(width, 2 * head, wiring.noise);
  for (Index d = 0; d < head; ++d) {
    for (Index c = 0; c < width; ++c) {
      for (const Index row : {d, 2 * head + d, 4 * head + d}) {
        read.set(row, c, 0);
      }
      write.set(c, d, 0);
    }
  }
  for (Index d = 0; d < wiring.compared; ++d) {
    if (d + wiring.query_shift < wiring.compared) {
      read.set(d, wiring.query + d + wiring.query_shift, wiring.sharpness);
    }
    read.set(2 * head + d, wiring.key + d, 1);
  }
  for (Index d = 0; d < wiring.moved; ++d) {
    read.set(4 * head + d, wiring.value + d, 1);
    write.set(wiring.output + d, d, wiring.gain);
  }
  const std::string name = concat_text("h.", layer, ".attn.");
  set_parameter(gpt, name + "c_attn.weight", read.values());
  set_parameter(gpt, name + "c_proj.weight", write.values());
}

// Writes tokens and positions as unit vectors from two numbers of the stream on; the output head
// reads next tokens from a third on.
inline void embed_in_parts(const Gpt& gpt, Index token, Index place, Index next, double noise = 0) {
  const Index vocabulary = gpt.config().vocab_size;
  const Index positions = gpt.config().block_size;
  SparseRows tokens(vocabulary, gpt.config().n_embd);
  SparseRows places(positions, gpt.config().n_embd);
  SparseRows head(vocabulary, gpt.config().n_embd, noise);
  for (Index n = 0; n < vocabulary; ++n) {
    tokens.set(n, token + n, 1);
    head.set(n, next + n, 1);
  }
  for (Index n = 0; n < positions; ++n) {
    places.set(n, place + n, 1);
  }
  set_parameter(gpt, "wte.weight", tokens.values());
  set_parameter(gpt, "wpe.weight", places.values());
  set_parameter(gpt, "lm_head.weight", head.values());
}

// Documents of random tokens.
inline std::vector<Ids> random_documents(Index count, Index length, Index vocabulary) {
  return counted<Ids>(count, [&](Index i) {
    return draw_ids(length, vocabulary, static_cast<std::uint64_t>(i) + 1000);
  });
}
}  // namespace headlight::test
