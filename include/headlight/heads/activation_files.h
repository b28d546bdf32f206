#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "headlight/heads/activation_cache.h"
#include "headlight/io/stored_floats.h"

namespace headlight {

struct ActivationFileOptions {
  ActivationOptions activations;
  StoredFloats type = StoredFloats::float32;
  // Most rows of a file, but always a whole context. 0: 65,536, or as many as take a gibibyte as
  // float32.
  Index shard_rows = 0;
  std::string model = {};  // what the index calls it
  // Called after every batch, unless it is null.
  std::function<void(Index contexts_done)> on_context = nullptr;
};

// Values of an array that its file cannot hold, or that are none.
struct LostValues {
  Index too_large = 0;    // finite, but infinite in the file: beyond 65,504 as float16
  Index not_numbers = 0;  // NaN or +infinity in the model; -infinity hides a score
};

// An array of all files together.
struct ActivationArrayInfo {
  std::string name;
  std::string type;  // "float16"
  Shape shape;       // with the rows of all files
  LostValues lost = {};
};

// A point that was asked for and that the model does not compute, such as resid_mid where attention
// and MLP run in parallel.
struct AbsentPoint {
  Point point = Point::resid_mid;
  Index layers = 0;  // that were asked for and lack it; 1 for a point outside the layers
};

struct ActivationFiles {
  std::vector<std::filesystem::path> files;
  std::filesystem::path index;  // empty: there is one file, which needs none
  std::vector<ActivationArrayInfo> arrays;
  std::vector<AbsentPoint> absent;  // no array holds these
  Index rows = 0;
  Index bytes = 0;  // of the files
};

// Writes what cache_activations() says about contexts of any number to PATH.npz or
// PATH.safetensors, or, where that would have more than options.shard_rows, to PATH-00000.npz,
// PATH-00001.npz ..., each of which is such a cache of its contexts, and PATH.json, which lists
// them: {model, type, rows, shards: [{file, rows}], arrays: [{name, type, shape}]}. Maps always go
// into one file. What an earlier call left under these names is replaced or removed. Memory does
// not grow with a file, which is gathered beside it: while it is written it takes its place, as
// float32, on the disk once more.
//
// Throws Error, and leaves none of its files behind, as cache_activations() does but about memory,
// for another extension, for bfloat16 in .npz, which NumPy does not know, and when a write fails.
ActivationFiles write_activations(const std::filesystem::path& path, const LanguageModel& model,
                                  const ActivationContexts& contexts,
                                  const ActivationFileOptions& options);

}  // namespace headlight
