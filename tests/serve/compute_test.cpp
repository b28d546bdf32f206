#include <future>

#include "serve/api_error.h"
#include "serve/compute.h"
#include "serve/running_server.h"
#include "support/test.h"

using serve::Compute;

TEST_CASE("a job whose client has left is not started and takes no place in the queue") {
  std::vector<ServedModel> models = served_models();
  Compute compute(models, {.slots = 1, .queue = 2, .context_tokens = 256});
  compute.start();
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
  for (int i = 0; i < 3; ++i) {  // fills the queue
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

TEST_CASE("a completion of one token waits for at most one slice of a job") {
  std::vector<ServedModel> models = served_models();
  Compute compute(models, {.slots = 2, .queue = 2, .context_tokens = 256});
  compute.start();
  const Urgency urgency = GENERATE(Urgency::live, Urgency::requested, Urgency::background);
  bool has_ended = false;
  std::promise<void> is_over;
  const auto job = [&] {
    Request request{.prompt = {'a', 'b'}, .on_end = [&](Index, GenerateResult result) {
                      has_ended = result.tokens.size() == 1;
                    }};
    request.options.max_new_tokens = 1;
    request.on_error = [](const std::exception_ptr&) {};
    std::vector<Request> requests;
    requests.push_back(std::move(request));
    compute.begin(0, std::move(requests));
    compute.run_more_urgent(urgency);
    is_over.set_value();
  };
  compute.run(urgency, {job, [] { return true; }});
  is_over.get_future().wait();
  compute.stop();
  CHECK(has_ended);
  CHECK(compute.status().slices == 1);
}

TEST_CASE("requests and jobs wait only while their memory is below the limit") {
  std::vector<ServedModel> models = served_models();
  Compute compute(models, {.queue_bytes = 1000, .context_tokens = 256});
  const auto always = [] { return true; };
  const auto begin = [&](std::size_t bytes) {
    Request request{.prompt = {'a'}};
    request.options.max_new_tokens = 1;
    std::vector<Request> requests;
    requests.push_back(std::move(request));
    return compute.begin(0, std::move(requests), bytes);
  };
  begin(2000);  // a single one always fits
  CHECK_THROWS_AS(begin(1), serve::ApiError);
  CHECK_THROWS_AS(compute.run(Urgency::live, {[] {}, always, 1}), serve::ApiError);
  while (compute.step()) {
  }
  compute.run(Urgency::live, {[] {}, always, 600});
  CHECK_THROWS_AS(begin(500), serve::ApiError);
  const Compute::Ticket ticket = begin(400);
  compute.cancel(ticket);
  while (compute.step()) {
  }
  bool is_wanted = true;
  compute.run(Urgency::live, {[] {}, [&] { return is_wanted; }, 1000});
  is_wanted = false;
  compute.run(Urgency::live, {[] {}, always, 1000});  // drops the unwanted one
  CHECK(compute.status().jobs == 1);
}

TEST_CASE("a request for many texts leaves a slot to others") {
  std::vector<ServedModel> models = served_models();
  const Index slots = GENERATE(2, 4, 16);
  Compute compute(models, {.slots = slots, .context_tokens = 64 * 300});
  std::vector<std::string> ends;
  const auto requests = [&](const std::string& name, std::size_t count, Index samples,
                            Index tokens) {
    std::vector<Request> all;
    for (std::size_t i = 0; i < count; ++i) {
      Request request{.prompt = {'a', 'b'}, .samples = samples};
      request.options.max_new_tokens = tokens;
      request.options.ignore_end_of_text = true;
      request.on_end = [&ends, name](Index, const GenerateResult&) { ends.push_back(name); };
      all.push_back(std::move(request));
    }
    return all;
  };
  const bool has_many_prompts = GENERATE(false, true);
  compute.begin(0, has_many_prompts ? requests("many", 40, 1, 200) : requests("many", 1, 40, 200));
  for (int i = 0; i < 5; ++i) {
    compute.step();
  }
  compute.begin(0, requests("short", 1, 1, 2));
  while (compute.step()) {
  }
  REQUIRE(ends.size() == 41);
  CHECK(ends.front() == "short");
}

TEST_CASE("memory of jobs is returned to the system when the server is idle") {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  std::vector<ServedModel> models = served_models();
  Compute compute(models, {.context_tokens = 256});
  compute.start();
  compute.run(Urgency::live, {[] { const Storage taken(kBytes); }, [] { return true; }});
  while (compute.status().jobs > 0 || storage_statistics().cached_bytes >= kBytes) {
    std::this_thread::yield();
  }
  CHECK(compute.status().slices == 0);
}
