#pragma once

namespace headlight {

// Threads that the library computes with. Results do not depend on the number.
int thread_count();

// Throws Error unless 1 <= count <= 1024.
void set_thread_count(int count);

}  // namespace headlight
