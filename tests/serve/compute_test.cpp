#include "serve/compute.h"

#include <future>

#include "serve/api_error.h"
#include "serve/running_server.h"
#include "support/catch.h"

namespace compute_test {

using namespace headlight;
using namespace headlight::test;
using serve::Compute;
using serve::Urgency;

TEST_CASE("a job that nobody waits for any more is not begun and takes no place", "[serve]") {
  std::vector<ServedModel> models;
  models.push_back(lively_served());
  Compute compute(models, {.slots = 1, .queue = 2, .context_tokens = 256});
  const auto always = [] { return true; };
  std::promise<void> has_begun;
  std::promise<void> may_end;
  compute.run(Urgency::live, {[&] {
                                has_begun.set_value();
                                may_end.get_future().wait();
                              },
                              always});
  has_begun.get_future().wait();
  bool is_wanted = true;
  int unwanted = 0;
  for (int i = 0; i < 3; ++i) {  // as many as requests may wait
    compute.run(Urgency::live, {[&] { ++unwanted; }, [&] { return is_wanted; }});
  }
  CHECK_THROWS_AS(compute.run(Urgency::live, {[] {}, always}), serve::ApiError);
  is_wanted = false;
  std::promise<void> is_over;
  compute.run(Urgency::live, {[&] { is_over.set_value(); }, always});
  CHECK(compute.status().jobs == 2);
  compute.run(Urgency::live, {[&] { ++unwanted; }, [&] { return is_wanted; }});
  may_end.set_value();
  is_over.get_future().wait();
  compute.stop();
  CHECK(unwanted == 0);
}

}  // namespace compute_test
