#include "support/models/story_facts.h"
#include "headlight/interpret/record_attention.h"
#include "serve/file_page/story_address.h"
#include "support/test.h"

namespace headlight::test {

using Json = nlohmann::json;

namespace {

std::string without_blank(const std::string& token) {
  return token.starts_with(' ') ? token.substr(1) : token;
}

}  // namespace

std::vector<std::string> shares_in(const std::string& text) {
  return matches_of(text, std::regex(R"((0\.\d+))"));
}

std::vector<std::string> quotes_in(const std::string& text) {
  return matches_of(text, std::regex("\"([^\"]+)\""));
}

double probability_of(const std::string& run, const std::string& text, const std::string& word,
                      const std::string& intervene) {
  Arguments arguments = {"generate",         run, "--prompt",   text, "--temperature", "0",
                         "--max_new_tokens", "1", "--logprobs", "10"};
  if (!intervene.empty()) {
    arguments.insert(arguments.end(), {"--intervene", intervene});
  }
  const Json report = report_of(arguments);
  for (const Json& token : report["logprobs"][0]["top_logprobs"]) {
    if (without_blank(token["token"]) == word) {
      return std::exp(token["logprob"].get<double>());
    }
  }
  return 0;
}

namespace {

// A step as the checks need it.
struct Claim {
  std::string text;
  serve::StoryAddress address;
  std::vector<std::string> words = {};  // quoted in the text
  std::vector<double> shares = {};      // numbers in the text, without the names of heads

  const std::string& entry(const std::string& name) const { return address.entries.at(name); }
  bool has(const std::string& name) const { return address.entries.contains(name); }
};

Claim claim_of(const serve::StoryStep& step, const serve::StoryScope& scope) {
  Claim claim{.text = step.text, .address = serve::read_story_address(step.address, scope)};
  claim.words = quotes_in(step.text);
  const std::string numbers =
      std::regex_replace(step.text, std::regex(R"((head|헤드) \d\.\d)"), "");
  for (const std::string& number : shares_in(numbers)) {
    claim.shares.push_back(std::stod(number));
  }
  return claim;
}

// Position of the last token with this word, before or at `end`.
Index position_of(const std::vector<std::string>& tokens, const std::string& word, Index end) {
  for (Index place = end; place >= 0; --place) {
    if (without_blank(tokens.at(static_cast<std::size_t>(place))) == word) {
      return place;
    }
  }
  FAIL("no token " << word);
  return 0;
}

// Model and attention weights of a step's text, with whole characters as on the page.
struct Attention {
  Attention(const LoadedModel& loaded, const std::string& text)
      : maps(record_attention_batch(*loaded.model, *loaded.tokenizer, {text})
                 .whole_maps(0, *loaded.tokenizer)),
        count(static_cast<Index>(maps.tokens.size())) {}

  double weight(std::size_t layer, Index head, Index query, Index key) const {
    return maps.layers.at(layer).weights.to_vector().at(
        static_cast<std::size_t>((head * count + query) * count + key));
  }

  AttentionMaps maps;
  Index count;
};

// Checks "at A, head H has more than SHARE of its weight on B": A and B are the first and the last
// word of the step, H and the place of A those of the address.
void check_head(const LoadedModel& loaded, const Claim& claim) {
  static const std::regex kFragment(R"(#\w+/(\d)\.(\d)(?:/(\d+))?)");
  std::smatch match;
  REQUIRE(std::regex_match(claim.address.fragment, match, kFragment));
  const Attention attention(loaded, claim.entry("text"));
  const auto layer = static_cast<std::size_t>(std::stoi(match[1]));
  const Index head = std::stoi(match[2]);
  if (!match[3].matched) {  // a grid: no token sees a later one
    for (Index query = 0; query < attention.count; ++query) {
      for (Index key = query + 1; key < attention.count; ++key) {
        CHECK(attention.weight(layer, head, query, key) == 0);
      }
    }
    return;
  }
  const Index query = std::stoi(match[3]);
  if (claim.words.size() > 1) {
    CHECK(position_of(attention.maps.tokens, claim.words.front(), query) == query);
  }
  const Index key = position_of(attention.maps.tokens, claim.words.back(), query);
  const bool is_rough =
      claim.text.find("about ") != std::string::npos || claim.text.find("쯤") != std::string::npos;
  const double share = claim.shares.empty() ? 0.5 : claim.shares.front() - (is_rough ? 0.1 : 0);
  CHECK(attention.weight(layer, head, query, key) > share);
}

// Checks "at the last token, no other head has more than SHARE of its weight on B".
void check_all_heads(const LoadedModel& loaded, const Claim& claim) {
  const Attention attention(loaded, claim.entry("text"));
  const Index last = attention.count - 1;
  const Index key = position_of(attention.maps.tokens, claim.words.back(), last);
  int above = 0;
  const GptConfig& config = loaded.model->config();
  for (std::size_t layer = 0; layer < static_cast<std::size_t>(config.n_layer); ++layer) {
    for (Index head = 0; head < config.n_head; ++head) {
      above += attention.weight(layer, head, last, key) > claim.shares.front() ? 1 : 0;
    }
  }
  CHECK(above == 1);
}

// Checks "the probability of B is above SHARE", or "falls from above SHARE to below SHARE" with a
// head switched off.
void check_switch(const std::string& run, const Claim& claim) {
  const std::string changes = claim.entry("changes");
  REQUIRE(changes.ends_with(":off"));
  const std::string& word = claim.words.back();
  const double off =
      probability_of(run, claim.entry("text"), word, "off " + changes.substr(0, changes.find(':')));
  if (claim.shares.size() == 2) {
    CHECK(probability_of(run, claim.entry("text"), word, "") > claim.shares.front());
    CHECK(off < claim.shares.back());
  } else {
    CHECK(off > claim.shares.front());
  }
}

// Checks "the embedding predicts A, layer N predicts B".
void check_layers(const std::string& run, const Claim& claim) {
  static const std::regex kLayer(R"(layer (\d)|(\d)층)");
  std::smatch layer;
  REQUIRE(std::regex_search(claim.text, layer, kLayer));
  const auto row = static_cast<std::size_t>(std::stoi(layer[layer[1].matched ? 1 : 2])) + 1;
  const Json rows = report_of({"lens", run, "--text", claim.entry("text")})["rows"];
  const auto best = [&](std::size_t number) {
    const Json& reading = rows.at(number)["readings"].back();
    return without_blank(reading["top"][0]["token"].get<std::string>());
  };
  CHECK(best(0) == claim.words.front());
  CHECK(best(row) == claim.words.back());
}

// Checks "this head alone recovers more than SHARE of the difference".
void check_patch(const std::string& run, const Claim& claim) {
  CHECK(without_blank(claim.entry("answer")) == claim.words.back());
  const Json report =
      report_of({"patch", run, "--clean", claim.entry("clean"), "--corrupt", claim.entry("corrupt"),
                 "--answer", claim.entry("answer"), "--wrong", claim.entry("wrong")});
  REQUIRE(report["cells"].size() == 4);
  for (const Json& cell : report["cells"]) {
    INFO(cell.dump());
    const std::string head = cell["layer"].dump() + "." + cell["item"].dump();
    CHECK((cell["recovered"].get<double>() > claim.shares.front()) ==
          (head == claim.entry("carry")));
  }
}

void check_step(const std::string& run, const LoadedModel& loaded, const Claim& claim) {
  INFO(claim.text);
  if (claim.entry("part") == "layers") {
    check_layers(run, claim);
  } else if (claim.entry("part") == "pair") {
    check_patch(run, claim);
  } else if (claim.has("changes")) {
    check_switch(run, claim);
  } else if (claim.address.fragment == "#model") {
    check_all_heads(loaded, claim);
  } else {
    check_head(loaded, claim);
  }
}

}  // namespace

const serve::StoryScope& toy_story_scope() {
  static const std::vector<std::string> kViews{"write", "chat", "heads", "layers", "pair"};
  static const serve::StoryScope kScope{.views = kViews, .layers = 2, .heads = 2};
  return kScope;
}

void check_story_facts(const std::string& model, const std::vector<serve::StoryStep>& steps) {
  const LoadedModel loaded = load_model(find_model_directory(model));
  CHECK(loaded.model->config().n_layer == toy_story_scope().layers);
  CHECK(loaded.model->config().n_head == toy_story_scope().heads);
  for (const serve::StoryStep& step : steps) {
    check_step(model, loaded, claim_of(step, toy_story_scope()));
  }
}

}  // namespace headlight::test
