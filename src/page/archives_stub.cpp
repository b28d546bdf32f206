#include "headlight/base/error.h"
#include "headlight/formats/arrays/npz.h"
#include "headlight/interpret/lens/tuned_lens.h"
#include "storage/compressed/decompression.h"

// A page reads one GGUF file and one text. No file is compressed here.
namespace headlight {
namespace {

[[noreturn]] void refuse(std::string_view kind) {
  fail("a page cannot read ", kind, "; use the program headlight");
}

}  // namespace

Compression compression_of_bytes(std::string_view) { return Compression::none; }

Compression compression_of_name(std::string_view) { return Compression::none; }

std::string_view without_compression(std::string_view name) { return name; }

std::unique_ptr<ByteSource> decompressed(std::unique_ptr<ByteSource> source, Compression,
                                         std::string) {
  return source;
}

NamedTensors read_npz(const std::filesystem::path&, NamedTexts*, std::string_view) {
  refuse("NPZ files");
}

Tensor TunedLens::translated(const Tensor&, Index) const { refuse("a tuned lens"); }

TunedLens load_tuned_lens(const std::filesystem::path&) { refuse("a tuned lens"); }

}  // namespace headlight
