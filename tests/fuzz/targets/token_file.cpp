#include "headlight/io/token_file.h"

#include <algorithm>

#include "fuzz/harness.h"
#include "fuzz/targets.h"
#include "headlight/data/dataset.h"

namespace headlight::fuzz {

void token_file(std::string_view input) {
  static const MemoryFile file;
  const Index vocabulary = 1 + 257 * static_cast<Index>(take_byte(input));
  file.write(input);
  accepted([&] {
    const std::vector<std::int32_t> ids = read_token_file(file.path(), vocabulary);
    demand(2 * ids.size() == input.size(), "ids were lost");
    demand(std::all_of(ids.begin(), ids.end(), [&](auto id) { return id >= 0 && id < vocabulary; }),
           "an id is out of range");
    demand(stream_dataset(ids).token_count == std::ssize(ids), "tokens were lost");
  });
}

}  // namespace headlight::fuzz
