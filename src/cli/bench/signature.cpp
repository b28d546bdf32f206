#include <array>
#include <cstdlib>  // defines __GLIBC__
#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

#include "base/json.h"
#include "cli/bench/bench.h"
#include "cli/bench/random_data.h"
#include "datasets/fingerprint.h"
#include "headlight/generate/decoder.h"
#include "headlight/generate/generator.h"
#include "headlight/kernels/machine/machine.h"
#include "headlight/nn/recorder.h"
#include "headlight/tokenizers/byte_tokenizer.h"
#include "headlight/train/trainer.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/openblas.h"

namespace headlight::cli {
namespace {

constexpr Index kSteps = 12;
constexpr Index kDocuments = 40;
constexpr std::uint64_t kSignatureLengthStream = 5;

// Settings of the packed run: several product tiles, odd sizes, all dropouts, accumulated
// gradients.
TrainConfig fixed_config() {
  TrainConfig config;
  config.gpt.n_layer = 2;
  config.gpt.n_head = 3;
  config.gpt.n_embd = 96;
  config.gpt.block_size = 70;
  config.batch_size = 5;
  config.gradient_accumulation_steps = 2;
  config.dropout = 0.1;
  config.gpt.bias = true;
  config.learning_rate = 3e-3;
  config.min_lr = 3e-4;
  config.warmup_iters = 3;
  config.lr_decay_iters = 10;
  config.max_iters = kSteps;
  config.seed = 11;
  return config;
}

TrainConfig padded_config() {
  TrainConfig config = fixed_config();
  config.batching = "padded";
  config.documents = "line";
  config.gpt.tie_weights = false;
  config.gpt.activation = Activation::gelu_erf;
  config.optimizer = "sgd";
  config.learning_rate = 0.1;
  config.min_lr = 0.01;
  return config;
}

// Packed: one stream. Padded: documents of 1 to block_size inputs.
TokenDataset fixed_dataset(const TrainConfig& config) {
  const Index vocabulary = ByteTokenizer().vocab_size();
  if (config.batching == "packed") {
    return stream_dataset(random_tokens(4096, vocabulary, 0));
  }
  return random_documents(kDocuments, config.gpt.block_size, vocabulary,
                          {11, kSignatureLengthStream});
}

// Trains `model` for kSteps steps on fixed_dataset(). Returns all tensors for the hash: weights,
// optimizer state and losses.
NamedTensors train(const TrainConfig& config, Gpt& model) {
  const TokenDataset dataset = fixed_dataset(config);
  Trainer trainer(config, model, dataset);
  std::vector<double> losses;
  trainer.fit([&](const StepMetrics& metrics) {
    losses.push_back(metrics.loss);
    return true;
  });
  NamedTensors result = model.parameters();
  for (auto& [name, tensor] : trainer.optimizer().state()) {
    result.emplace_back(name, tensor);
  }
  result.emplace_back("losses", Tensor::from(losses, {kSteps}));
  return result;
}

// Generates texts with each weight format, greedy and sampled. Adds the logits of one decoding step
// of two sequences.
NamedTensors generate_texts(const Gpt& model) {
  NamedTensors result;
  const ByteTokenizer tokenizer;
  for (const WeightFormat format :
       {WeightFormat::float32, WeightFormat::bfloat16, WeightFormat::int8}) {
    const std::string name(name_of(format));
    Decoder decoder(model, format);
    for (const double temperature : {0.0, 0.9}) {
      GenerateOptions options{.max_new_tokens = 40, .ignore_end_of_text = true};
      options.sampling.temperature = temperature;
      options.sampling.top_p = 0.95;
      const GenerateResult text = generate(decoder, tokenizer, "Signature", options);
      result.emplace_back(name + ".tokens",
                          Tensor::from(text.tokens, {static_cast<Index>(text.tokens.size())}));
    }
    std::array<KeyValueCache, 2> caches{model.make_cache(), model.make_cache()};
    decoder.read({1, 2, 3}, caches[0]);
    decoder.read({4, 5, 6, 7, 8}, caches[1]);
    const std::vector<DecodeItem> items{{9, &caches[0]}, {10, &caches[1]}};
    decoder.step(items);
    for (const Index item : {0, 1}) {
      const auto logits = decoder.logits(item);
      result.emplace_back(name + ".logits",
                          Tensor::from(logits, {static_cast<Index>(logits.size())}));
    }
  }
  return result;
}

NamedTensors record_weights(const Gpt& model) {
  Recorder recorder;
  const Index vocabulary = model.config().vocab_size;
  const Tensor logits =
      model.logits(make_batch({random_tokens(70, vocabulary, 1), random_tokens(1, vocabulary, 2),
                               random_tokens(33, vocabulary, 3)}),
                   {.recorder = &recorder});
  return {{"logits", logits}, {"0", recorder.padded(0)}, {"1", recorder.padded(1)}};
}

// Compiler name and major version. Compilers differ in the products that they fuse with sums.
std::string compiler_name() {
#if defined(__clang__)
  return concat_text("clang-", __clang_major__);
#else
  return concat_text("gcc-", __GNUC__);
#endif
}

// Library that multiplies matrices. Its kernels determine the last bits.
std::string product_library() {
  if (kernels::products_are_own()) {
    return "headlight";
  }
  const kernels::BlasBuild blas = kernels::blas_build();
  return blas.library + "-" + blas.version + "-" + blas.core;
}

// C library, which computes logarithms and error functions.
std::string libc_name() {
#if defined(__GLIBC__)
  return std::string("glibc-") + gnu_get_libc_version();
#else
  return "other-libc";
#endif
}

}  // namespace

BenchReport bench_signature() {
  const Index vocabulary = ByteTokenizer().vocab_size();
  Gpt packed(fixed_config().model(vocabulary), 11);
  Gpt padded(padded_config().model(vocabulary), 12);
  NamedTensors all;
  Json parts;
  const auto add = [&](const char* part, const NamedTensors& tensors) {
    parts[part] = fingerprint(tensors);
    all.insert(all.end(), tensors.begin(), tensors.end());
  };
  add("packed", train(fixed_config(), packed));
  add("padded", train(padded_config(), padded));
  add("generation", generate_texts(packed));
  add("attention", record_weights(padded));
  const std::string signature = fingerprint(all);
  const std::string variant(cpu_variant_name());
  return {{{"signature", signature},
           {"parts", parts},
           {"compiler", compiler_name()},
           {"products", product_library()},
           {"libc", libc_name()}},
          signature + " " + variant + " " + compiler_name() + " " + product_library() + " " +
              libc_name() + "\n"};
}

}  // namespace headlight::cli
