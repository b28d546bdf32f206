#include "formats/arrays/safetensors_file.h"
#include "fuzz/harness.h"
#include "fuzz/targets.h"
#include "headlight/storage/manifest.h"
#include "runs/state_json.h"

namespace headlight::fuzz {
namespace {

// A parsed state must read the same after it is written.
void state_json(std::string_view input) {
  TrainingState state;
  if (accepted([&] { state = parse_state_json(std::string(input), "state.json"); })) {
    demand(state.iteration >= 0, "a negative number of updates");
    const std::string written = to_state_json(state);
    demand(to_state_json(parse_state_json(written, "written")) == written,
           "the state that was written reads as another");
  }
}

}  // namespace

// Small files of a checkpoint. The safetensors target covers the tensors.
void checkpoint(std::string_view input) {
  static const Folder folder;
  static const MemoryFile file;
  switch (take_byte(input) % 3) {
    case 0:
      state_json(input);
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
