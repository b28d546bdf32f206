#pragma once

#include <algorithm>

#include "headlight/base/index.h"

namespace headlight {
namespace kernels {

// A loop's body without its type: calls it for one chunk.
using ChunkFunction = void (*)(const void* body, Index thread, Index chunk);

// Calls function(body, thread, chunk) for every chunk below `chunks`.
void run_chunks(Index chunks, ChunkFunction function, const void* body);

inline Index chunk_count(Index count, Index grain) { return divided_up(count, grain); }

// Calls body(thread, chunk, begin, end) for every chunk of `grain` items. `thread` is below
// max_threads() and tells scratch buffers apart; it must not influence results.
template <class Body>
void parallel_chunks(Index count, Index grain, const Body& body) {
  const auto run = [&](Index thread, Index chunk) {
    body(thread, chunk, chunk * grain, std::min(count, (chunk + 1) * grain));
  };
  const auto call = [](const void* typeless, Index thread, Index chunk) {
    (*static_cast<decltype(&run)>(typeless))(thread, chunk);
  };
  run_chunks(chunk_count(count, grain), call, &run);
}

}  // namespace kernels

// Calls body(begin, end) for every chunk of `grain` items of 0 to `count`, the last one smaller:
// for the loops of ops of your own. The thread that calls computes as well, up to
// thread_count() - 1 others help it, and each takes a chunk when it has done the one before. So the
// order of chunks is open, and so is who computes which; where chunks begin and end depends on
// `count` and `grain` alone.
//
// For results that do not depend on the number of threads, choose `grain` (1 or more) by the shape
// of the problem, let every chunk write what no other one reads or writes, and add up what chunks
// leave behind afterwards, in the order of chunks. A chunk is worth a thread from about ten
// microseconds on, 16384 elements of a cheap loop; a loop of a single chunk stays on its thread.
//
// A loop inside a loop runs on the thread that it starts on, and so does one that another thread of
// the program starts while the helpers are busy. When bodies throw, chunks that come after may be
// left out, and the exception of the first chunk that threw is thrown here.
template <class Body>
void parallel_for(Index count, Index grain, const Body& body) {
  kernels::parallel_chunks(count, grain,
                           [&](Index, Index, Index begin, Index end) { body(begin, end); });
}

}  // namespace headlight
