#pragma once

#include <algorithm>

#include "headlight/base/index.h"

namespace headlight {
namespace kernels {

// A type-erased loop body: runs one chunk.
using ChunkFunction = void (*)(const void* body, Index thread, Index chunk);

// Calls function(body, thread, chunk) for every chunk below `chunks`.
void run_chunks(Index chunks, ChunkFunction function, const void* body);

inline Index chunk_count(Index count, Index grain) { return divided_up(count, grain); }

// Calls body(thread, chunk, begin, end) for every chunk of `grain` items. `thread` < max_threads()
// may select scratch buffers; it must not influence results.
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

// Calls body(begin, end) for every chunk of `grain` items of [0, count); the last chunk may be
// smaller. For loops of your own ops. The calling thread and up to thread_count() - 1 helpers each
// take the next chunk when they are free. The order of chunks and their threads are therefore
// unspecified, but chunk boundaries depend on `count` and `grain` alone.
//
// Three rules make results independent of the number of threads. Choose `grain` >= 1 by the shape
// of the problem. Let no chunk access data that another chunk writes. Add up the results of chunks
// afterwards, in chunk order. A chunk should take at least 10 microseconds, about 16384 elements of
// a cheap loop. A loop with a single chunk runs on the calling thread.
//
// A nested loop runs on the thread that starts it. So does a loop that another thread of the
// program starts while the helpers are busy. If bodies throw, later chunks may be skipped, and the
// first throwing chunk's exception is rethrown here.
template <class Body>
void parallel_for(Index count, Index grain, const Body& body) {
  kernels::parallel_chunks(count, grain,
                           [&](Index, Index, Index begin, Index end) { body(begin, end); });
}

}  // namespace headlight
