#include <iostream>
#include <span>

#include "headlight/formats/gguf/gguf.h"

namespace {

// Copies a GGUF file. With Q8_0, tensors whose rows are not whole blocks become F32.
void copy(const std::string& source, const std::string& target, const std::string& type) {
  const headlight::GgufFile file(source);
  std::vector<headlight::GgufSource> tensors;
  for (const headlight::GgufTensor& tensor : file.tensors()) {
    const bool whole = tensor.shape.rank() > 0 && tensor.shape.back() % 32 == 0;
    tensors.push_back({tensor.name, file.read(tensor),
                       whole || type != "Q8_0"
                           ? headlight::parse_name<headlight::GgufType>("TYPE", type)
                           : headlight::GgufType::f32});
  }
  write_gguf(target, file.metadata(), tensors);
}

}  // namespace

// headlight_gguf_copy IN.gguf OUT.gguf TYPE: writes a copy of metadata and tensors, for
// tools/parity/check_gguf.py. Exit code 2 on an error.
int main(int count, char** arguments) {
  const std::span<char*> all(arguments, static_cast<std::size_t>(count));
  if (all.size() != 4) {
    std::cerr << "usage: headlight_gguf_copy IN.gguf OUT.gguf F32|F16|BF16|Q8_0\n";
    return 2;
  }
  try {
    copy(all[1], all[2], all[3]);
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 2;
  }
}
