#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "headlight/interpret/activations/activation_cache.h"
#include "headlight/tensor/stored_floats.h"

namespace headlight {

struct ActivationFileOptions {
  ActivationOptions activations;
  StoredFloats type = StoredFloats::float32;
  // Rows of a file at most; a context is never split. 0: 65,536, or fewer if their float32 values
  // exceed 1 GiB.
  Index shard_rows = 0;
  std::string model = {};  // model name for the index
  // Called after every batch.
  std::function<void(Index contexts_done)> on_context = [](Index) {};
};

// Counts of values that overflow in the file or are not finite in the model.
struct LostValues {
  Index too_large = 0;    // finite, but infinite in the file: beyond 65,504 as float16
  Index not_numbers = 0;  // NaN or +infinity in the model; -infinity hides a score
};

// One array, over all files.
struct ActivationArrayInfo {
  std::string name;
  std::string type;  // "float16"
  Shape shape;       // with the rows of all files
  LostValues lost = {};
};

// A requested point that the model does not compute, such as resid_mid in a parallel layer.
struct AbsentPoint {
  Point point = Point::resid_mid;
  Index layers = 0;  // requested layers without it; 1 for a point outside the layers
};

struct ActivationFiles {
  std::vector<std::filesystem::path> files;
  std::filesystem::path index;  // empty for a single file, which needs no index
  std::vector<ActivationArrayInfo> arrays;
  std::vector<AbsentPoint> absent;  // missing from `arrays`
  Index rows = 0;
  Index bytes = 0;  // of the files
};

// Writes the arrays of cache_activations() to PATH.npz or PATH.safetensors, for any number of
// contexts. If they have more than options.shard_rows rows, it writes the shards PATH-00000.npz,
// PATH-00001.npz ... instead. Each shard is a cache of its own contexts. PATH.json then lists the
// shards: {model, type, rows, shards: [{file, rows}], arrays: [{name, type, shape}]}. Attention
// maps always go into one file. Replaces or removes files of an earlier call. Memory does not grow
// with the file size: values collect in a temporary float32 file next to the output.
//
// Throws Error as cache_activations() does (except about memory), for other extensions, for
// bfloat16 in .npz (NumPy has no such type), and when a write fails. Leaves no files behind on
// failure.
ActivationFiles write_activations(const std::filesystem::path& path, const LanguageModel& model,
                                  const ActivationContexts& contexts,
                                  const ActivationFileOptions& options);

}  // namespace headlight
