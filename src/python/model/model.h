#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <vector>

#include "headlight/formats/model_directory.h"
#include "headlight/generate/engine.h"
#include "headlight/interpret/features/sparse_autoencoder.h"
#include "headlight/interpret/recorded_pass.h"
#include "headlight/interpret/scores/weight_scores.h"
#include "headlight/nn/forward_hook.h"

namespace headlight::python {

namespace nb = nanobind;

// A model with its tokenizer, as Python sees it: any number of hooks, and packed weights that are
// made once.
class Model {
 public:
  Model(std::unique_ptr<Gpt> gpt, std::shared_ptr<Tokenizer> tokenizer, std::filesystem::path path);

  Gpt& gpt() { return *gpt_; }
  const Gpt& gpt() const { return *gpt_; }
  const std::shared_ptr<Tokenizer>& tokenizer() const { return tokenizer_; }
  const std::filesystem::path& path() const { return path_; }  // given by the user
  std::string name() const { return path_.filename().string(); }

  // Releases the lock of the interpreter and holds the model's: calls of several Python threads run
  // one after another. Throws RuntimeError inside a hook of the model, whose pass holds it.
  class Use {
   public:
    explicit Use(Model& model);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    Model& model_;
    nb::gil_scoped_release released_;  // before lock_, or a hook could never get the interpreter
    std::unique_lock<std::mutex> lock_;
  };

  // Returns the packed weights; packs them again after a change. Call it while in use.
  // `cache_type`: empty for usual_cache_type().
  std::shared_ptr<Decoder> decoder(WeightFormat format, const std::optional<CacheType>& cache_type);

  // Returns the model for users, who may share its weights with other libraries: changes by these
  // raise no version, so nothing is kept from then on.
  Gpt& shared_gpt() {
    is_shared_ = true;
    return gpt();
  }

  // Answers that questions share until the weights change.
  struct Kept {
    RecordedPasses passes;
    std::optional<WeightScores> weight_scores = {};  // empty until measured
  };
  Kept& kept();  // call it while in use

  // Adds a hook to every pass, after the earlier ones or before them. Call both while in use.
  void add_hook(std::shared_ptr<ForwardHook> hook, bool first = false);
  void remove_hook(const ForwardHook* hook);

  // Texts of the sequences of the running pass while texts are generated, else empty. Call both
  // while in use.
  const std::vector<PassText>& pass_texts() const { return pass_texts_; }
  EngineOptions engine_options() {
    return {.on_pass = [this](std::span<const PassText> texts) {
      pass_texts_.assign(texts.begin(), texts.end());
    }};
  }

  // Adds an autoencoder, whose features become the point `feature` of its layer, or removes all.
  // add_features() throws Error as feature_maps() does. Call both while in use.
  void add_features(std::shared_ptr<const SparseAutoencoder> autoencoder);
  void remove_features();

  // Throws Error about `about` for points and layers that the model does not compute. Call it while
  // in use.
  void require_points(const std::vector<PointRange>& points, std::string_view about);

 private:
  // Sum of the versions of all weights; see Tensor::version().
  std::uint64_t weights_version() const;
  // Throws RuntimeError if this thread uses the model.
  Model& not_used_here();
  void attach_hooks();
  class WithoutHooks;

  std::unique_ptr<Gpt> gpt_;
  std::shared_ptr<Tokenizer> tokenizer_;
  std::filesystem::path path_;
  std::mutex mutex_;
  std::atomic<std::thread::id> user_{};  // holder of mutex_
  std::map<std::pair<WeightFormat, CacheType>, std::shared_ptr<Decoder>> decoders_;
  std::uint64_t packed_version_ = 0;  // of the weights in decoders_
  bool is_shared_ = false;
  std::optional<Kept> kept_;
  std::uint64_t kept_version_ = 0;  // of the weights of kept_
  std::vector<std::shared_ptr<ForwardHook>> hooks_;
  std::vector<PassText> pass_texts_;
  std::vector<std::shared_ptr<const SparseAutoencoder>> autoencoders_;
  std::set<std::pair<Point, Index>> points_;  // that the model computes, by layer; empty: unknown
};

// Attaches a hook during its lifetime, after all others or before them. Make it while the model is
// in use.
class HookInUse {
 public:
  HookInUse(Model& model, std::shared_ptr<ForwardHook> hook, bool first = false)
      : model_(model), hook_(std::move(hook)) {
    model_.add_hook(hook_, first);
  }
  ~HookInUse() { model_.remove_hook(hook_.get()); }
  HookInUse(const HookInUse&) = delete;
  HookInUse& operator=(const HookInUse&) = delete;

 private:
  Model& model_;
  std::shared_ptr<ForwardHook> hook_;
};

}  // namespace headlight::python
