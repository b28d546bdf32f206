#include "serve/work.h"
#include "serve/inspections.h"
#include "serve/running_server.h"
#include "support/test.h"

namespace work_test {
using serve::Work;

struct Asked {
  const char* path;
  Json body;
  Index tokens;     // cost, tokens times passes
  Index no_passes;  // part of the cost without passes of the model
};

// Requests about a text of 256 tokens, enough for a job to compute each layer as one slice.
std::vector<Asked> questions() {
  const std::string text(256, 'a');
  const std::string begin(255, 'a');
  const std::string changes = "off 0.1; mean 1.0 from \"abc\"; add resid_post.0 \"ab\" - \"c\"";
  return {
      {"/api/attention", {{"text", text}}, 256, 0},
      {"/api/attribute", {{"text", text}, {"answer", 120}}, 256, 0},
      {"/api/attribute", {{"text", text}, {"by", "source"}, {"position", 99}}, 100, 0},
      {"/api/attribute", {{"text", text}, {"by", "neuron"}, {"intervene", changes}}, 265, 0},
      {"/api/predict", {{"text", text}}, 256, 0},
      {"/api/predict", {{"text", text}, {"intervene", changes}}, 2 * 256 + 3 + 3 + 3, 0},
      {"/api/predict", {{"text", text}, {"always", changes}}, 256 + 3 + 3 + 3, 0},
      // The whole model, two heads of the first layer, and half a pass for those of the second.
      {"/api/ablate", {{"text", text}}, (1 + 2 + 1) * 255 + 1, 0},
      // Means, also of the last token, and the first MLP, after a pass of one token for its shape.
      {"/api/ablate", {{"text", text}, {"parts", {"mlp.0"}}, {"mode", "mean"}}, 3 * 255 + 2, 0},
      {"/api/ablate", {{"text", text}, {"parts", {"mlp.0", "0.1"}}}, 3 * 255 + 1, 0},
      {"/api/scores", {{"text", text}, {"repeats", 0}}, 256, 0},
      {"/api/scores", {{"text", text + text}, {"repeats", 0}, {"sequence_tokens", 128}}, 512, 0},
      // Six positions with four rows: the first layer's input, two layers, the model's output.
      {"/api/lens", {{"text", text}, {"positions", "200-205"}}, 206 + 4 * 6, 4 * 6},
      // Two texts, one token for the shapes, two heads of two layers from each of four tokens on.
      {"/api/patch",
       {{"clean", "b" + begin},
        {"corrupt", "c" + begin},
        {"answer", "x"},
        {"wrong", "y"},
        {"by", "head,position"},
        {"positions", "0-3"}},
       2 * 256 + 1 + 2 * 1018 + 2 * 1018 / 2,
       0},
      {"/api/patch", {{"clean", "b" + begin}, {"corrupt", "c" + begin}, {"by", "layer"}}, 1409, 0},
      // Two texts that differ in the last token only: no position before it changes anything.
      {"/api/patch",
       {{"clean", begin + "b"},
        {"corrupt", begin + "c"},
        {"answer", "x"},
        {"wrong", "y"},
        {"by", "position"},
        {"positions", "0-254"}},
       2 * 256 + 1,
       0},
  };
}

// Answers a question as the server does.
std::string answer(const ServedModel& served, const Asked& asked, Work::Options options,
                   serve::TextRuns&& runs = {}) {
  serve::Fields fields(asked.body.dump());
  const SpecialNameCount names(*served.loaded.tokenizer);
  serve::RequestTexts texts(fields, *served.loaded.tokenizer, names);
  Work work(*served.loaded.model, std::move(options));
  return serve::find_inspection(asked.path)->run(served, texts, work, runs);
}

TEST_CASE("a slice of work ends after a layer once enough rows were read and restores the model") {
  const auto model = lively_model(257, 256);
  const NoGrad no_grad;
  const auto read = [&](Index tokens) {
    const auto count = static_cast<std::size_t>(tokens);
    model->hidden(make_batch({Ids(count, 'a')}));
  };
  int slices = 0;
  double done = 0;
  {
    Work work(*model, {.most = 10,
                       .yield_to_urgent =
                           [&] {
                             ++slices;
                             CHECK(model->attached() == nullptr);
                             read(256);  // another request's rows, which do not count
                           },
                       .on_end = [&](double tokens) { done = tokens; }});
    CHECK_NOTHROW(work.begin(10));
    check_error([&] { work.begin(11); }, {"max_work", "at most 10", "one for 11"});
    read(100);
    CHECK(slices == 0);
    read(100);  // 300 rows after its first layer
    CHECK(slices == 1);
    read(200);  // 300 rows again, and 200 after that
    CHECK(slices == 2);
    read(256);
    CHECK(slices == 4);
  }
  CHECK(done == 656);
  read(256);
  CHECK(slices == 4);
}

TEST_CASE("every analysis request does exactly the amount of work that it announces") {
  const ServedModel served = lively_served();
  for (const Asked& asked : questions()) {
    INFO(asked.path << " " << asked.body.dump());
    double done = 0;
    Work::Options options{.on_end = [&](double tokens) { done = tokens; }};
    const std::string refusal = error_of([&] { answer(served, asked, options); });
    CHECK(mentions(refusal, {"max_work", "one for " + std::to_string(asked.tokens) + ":"}));
    CHECK(done <= 1);
    options.most = asked.tokens;
    CHECK(!answer(served, asked, options).empty());
    CHECK(done == static_cast<double>(asked.tokens - asked.no_passes));
  }
}

TEST_CASE("questions about one text with the same changes share a pass and its predictions") {
  const ServedModel served = lively_served();
  serve::TextRuns runs;
  const std::string off = "off 1.1";
  double done = 0;
  const auto asked = [&](const char* path, const Json& body) {
    const Work::Options options{.most = 1000, .on_end = [&](double tokens) { done = tokens; }};
    const std::string shared = answer(served, {path, body, 0, 0}, options, std::move(runs));
    const double passes = done;
    CHECK(shared == answer(served, {path, body, 0, 0}, options));
    return passes;
  };
  CHECK(asked("/api/attention", {{"text", "abcab"}, {"intervene", off}}) == 5 + 1);
  CHECK(asked("/api/predict", {{"text", "abcab"}, {"intervene", off}}) == 5 + 1);
  CHECK(asked("/api/predict", {{"text", "abcab"}, {"intervene", ""}, {"answer", "x"}}) == 0);
  CHECK(asked("/api/predict", {{"text", "abcab"}, {"always", off}, {"answer", "x"}}) == 1);
  CHECK(asked("/api/predict", {{"text", "abcab"}, {"intervene", "off 1.0"}}) == 5 + 1);
  for (int time = 0; time < 2; ++time) {
    CHECK(asked("/api/scores", {{"text", "abc"}, {"repeats", 0}, {"weight_scores", true}}) == 3);
  }
  CHECK(asked("/api/attention", {{"text", "abcabc"}}) == 6);
  CHECK(asked("/api/attribute", {{"text", "abcabc"}, {"answer", 120}, {"position", 3}}) == 1);
  CHECK(asked("/api/attribute", {{"text", "abca"}}) == 1);
  CHECK(asked("/api/lens", {{"text", "abcabc"}, {"positions", "3-4"}}) == 2);
}

TEST_CASE("analysis requests pause between slices without changing a bit, and stop there") {
  const ServedModel served = lively_served();
  const Asked other{"/api/saliency", {{"text", "a"}, {"steps", 2}, {"intervene", "off 1.1"}}, 0, 0};
  const std::string told = answer(served, other, {.most = 1000});
  for (const Asked& asked : questions()) {
    INFO(asked.path << " " << asked.body.dump());
    const std::string alone = answer(served, asked, {.most = asked.tokens});
    Index slices = 0;
    const auto yield_to_urgent = [&] {
      ++slices;
      CHECK(answer(served, other, {.most = 1000}) == told);
    };
    CHECK(answer(served, asked, {.most = asked.tokens, .yield_to_urgent = yield_to_urgent}) ==
          alone);
    // A layer reads at most 1,024 rows, and two layers make a pass.
    CHECK(slices * 1024 >= 2 * (asked.tokens - asked.no_passes) - 1024);
    double done = 0;
    const auto gone = [] { fail("the client has gone"); };
    check_error(
        [&] {
          answer(served, asked,
                 {.most = asked.tokens, .yield_to_urgent = gone, .on_end = [&](double tokens) {
                    done = tokens;
                  }});
        },
        {"the client has gone"});
    CHECK(2 * done <= 256 + Work::kSliceRows);
    CHECK(served.loaded.model->attached() == nullptr);
  }
}
}  // namespace work_test
