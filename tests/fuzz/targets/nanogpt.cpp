#include "formats/huggingface/model_weights.h"
#include "formats/nanogpt/nanogpt_file.h"
#include "fuzz/harness.h"
#include "fuzz/stored_archive.h"
#include "fuzz/targets.h"

namespace headlight::fuzz {
namespace {

// Archive of a data.pkl and three storages, so that mutations reach the pickle.
std::string archive_of(std::string_view pickle) {
  return stored_archive({{"ckpt/data.pkl", std::string(pickle)},
                         {"ckpt/byteorder", "little"},
                         {"ckpt/data/0", std::string(24, '\x3C')},
                         {"ckpt/data/1", std::string(96, '\x3C')},
                         {"ckpt/data/2", std::string(8, '\x3C')}});
}

// Reads a model that fits its model_args: the file must have every weight.
void use_model(const std::shared_ptr<const NanoGptFile>& file) {
  accepted([&] {
    GptConfig config = file->config();
    ModelWeights weights(nanogpt_weights(file), kNanoGptLayout);
    weights.infer_missing_fields(config);
    weights.check(config);
    const std::unique_ptr<Gpt> model = Gpt::blank(config);
    weights.read_into(*model);
  });
}

}  // namespace

void nanogpt(std::string_view input) {
  static const MemoryFile memory;
  const bool raw = take_byte(input) % 2 == 0;
  const std::string bytes = raw ? std::string(input) : archive_of(input);
  memory.write(bytes);
  accepted([&] {
    const auto file = std::make_shared<const NanoGptFile>(memory.path());
    for (const TorchTensor& tensor : file->tensors()) {
      accepted([&] {
        const Tensor values = file->read(tensor);
        demand(values.shape() == tensor.shape, tensor.name + " has another shape");
        demand(2 * values.numel() <= static_cast<Index>(bytes.size()),
               tensor.name + " is larger than the file");
      });
    }
    use_model(file);
  });
}

}  // namespace headlight::fuzz
