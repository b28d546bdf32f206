#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace headlight::cli {

// Where the beginning of a text may be cut off from what follows.
enum class CutAt {
  piece,  // where pieces of text meet (see split_between_pieces)
  line,   // after a line end; in a line of megabytes, also where its pieces meet
  end,    // nowhere
};

// Reads a file a few megabytes at a time and hands it on in parts that end where `cut` allows, the
// last one at the end of the file: the parts joined are the file. `offset` counts the bytes before
// the part. Throws Error naming the file when it cannot be read, has no place to cut within
// 128 MiB or, with CutAt::end, does not fit in memory, and whatever `use` throws.
void read_in_parts(const std::string& path, CutAt cut,
                   const std::function<void(std::string_view part, std::size_t offset)>& use);

}  // namespace headlight::cli
