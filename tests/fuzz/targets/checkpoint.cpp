#include "headlight/train/checkpoint.h"

#include "fuzz/harness.h"
#include "fuzz/targets.h"
#include "headlight/io/manifest.h"
#include "io/shard_index.h"

namespace headlight::fuzz {

// The small files of a checkpoint; its tensors are those of the target safetensors.
void checkpoint(std::string_view input) {
  static const Folder folder;
  static const MemoryFile file;
  switch (take_byte(input) % 3) {
    case 0:
      folder.write("state.json", input);
      accepted([&] {
        const TrainingState state = read_training_state(folder.path());
        demand(state.iteration >= 0, "a negative number of updates");
      });
      break;
    case 1:
      folder.write("a.txt", "abc");
      folder.write("MANIFEST.json", input);
      accepted([&] { verify_manifest(folder.path()); });
      break;
    default:
      file.write(input);
      accepted([&] {
        for (const auto& [tensor, home] : read_shard_index(file.path())) {
          demand(home.find('/') == std::string::npos && home.front() != '.',
                 "a shard lies outside of the folder");
        }
      });
  }
}

}  // namespace headlight::fuzz
