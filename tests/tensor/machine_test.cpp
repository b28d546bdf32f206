#include "headlight/tensor/machine.h"

#include "support/tensors.h"

using namespace headlight;
using namespace headlight::test;

TEST_CASE("the number of threads can be set and read") {
  const int before = thread_count();
  {
    const ThreadScope scope(3);
    CHECK(thread_count() == 3);
  }
  CHECK(thread_count() == before);
}

TEST_CASE("a number of threads that makes no sense is refused") {
  CHECK(mentions(error_of([] { set_thread_count(0); }), {"[threads]", "1", "1024", "got 0"}));
  CHECK(mentions(error_of([] { set_thread_count(-3); }), {"got -3"}));
  CHECK(mentions(error_of([] { set_thread_count(1025); }), {"got 1025"}));
}
