#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "cli/terminal/options.h"
#include "headlight/formats/model_directory.h"
#include "headlight/generate/decoder.h"
#include "headlight/generate/speculation.h"

namespace headlight::cli {

// Adds --weights and --cache_type. Their help texts begin with `precision`.
void add_precision_options(Options& options, const std::string& precision = "Precision");
// Adds --weights, --cache_type and --speculate.
void add_decoding_options(Options& options);

// The values of --weights, --cache_type and --speculate: how a model generates. Must outlive the
// texts, because it holds the smaller model that --speculate may name.
class Decoding {
 public:
  explicit Decoding(const Options& options);

  MatrixForm matrices() const { return matrices_; }
  // Returns --cache_type, if given.
  const std::optional<CacheType>& cache_type() const { return cache_type_; }
  // Returns the type of keys and values of a model.
  CacheType cache_type(const Gpt& model, WeightFormat format = WeightFormat::float32) const {
    return cache_type_.value_or(default_cache_type(model, format));
  }
  // Returns the decoder of a model, whose matrices are packed as `format` unless they are packed
  // already.
  Decoder decoder(const Gpt& model, WeightFormat format = WeightFormat::float32) const {
    return Decoder(model, format, cache_type(model, format));
  }
  // Returns room for the drafters of one model; null without a smaller model. Loads it.
  std::shared_ptr<DraftRoom> draft_room();
  // Returns the drafter for texts of this tokenizer; empty without --speculate. Loads the smaller
  // model, in the same form.
  MakeDrafter drafter(const Tokenizer& tokenizer, std::shared_ptr<DraftRoom> room = nullptr);

 private:
  void load();

  MatrixForm matrices_;
  std::optional<CacheType> cache_type_;
  std::string speculate_;
  std::filesystem::path base_;  // of the smaller model, if that is an adapter
  MakeDrafter ngrams_ = {};
  std::optional<LoadedModel> model_ = {};
  std::optional<Decoder> decoder_ = {};
};

}  // namespace headlight::cli
