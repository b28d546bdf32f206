#include "serve/completions/token_log.h"

#include <algorithm>

#include "base/strings/hex_text.h"
#include "headlight/base/utf8.h"
#include "show/report/parts/json_output.h"

namespace headlight::serve {
namespace {

// Log-probability of impossible tokens in OpenAI's API: JSON has no infinity.
constexpr double kImpossible = -9999;

double finite(double log_probability) { return std::max(log_probability, kImpossible); }

std::string bytes_of(std::int32_t id, const Tokenizer& tokenizer) {
  const bool is_special = id >= tokenizer.vocab_size() || !tokenizer.special_name(id).empty();
  return is_special ? label_of_id(id, tokenizer) : tokenizer.token_bytes(id);
}

// Returns the token's text, or "bytes:\xe2\x80" if it is not UTF-8.
std::string completion_name(std::int32_t id, const Tokenizer& tokenizer) {
  const std::string bytes = bytes_of(id, tokenizer);
  if (valid_utf8_prefix(bytes) == bytes.size()) {
    return bytes;
  }
  std::string name = "bytes:";
  for (const char byte : bytes) {
    const auto number = static_cast<unsigned char>(byte);
    name += "\\x" + hex_text({&number, 1});
  }
  return name;
}

Json chat_token(std::int32_t id, double log_probability, const Tokenizer& tokenizer) {
  const std::string bytes = bytes_of(id, tokenizer);
  const auto number = [](char byte) { return Index{static_cast<unsigned char>(byte)}; };
  Json token = Json::object();
  token.add("token", replace_invalid_utf8(bytes));
  token.add("logprob", finite(log_probability));
  token.add("bytes", json_list(bytes, number));
  return token;
}

Json numbered_tokens(const std::vector<TokenLog::Entry>& entries, const Tokenizer& tokenizer) {
  const auto id_of = [](const TokenLog::Entry& entry) { return entry.choice.token; };
  const auto likely_json = [&](const TokenLogProbability& likely) {
    return Json{{"id", likely.token},
                {"token", completion_name(likely.token, tokenizer)},
                {"logprob", finite(likely.log_probability)}};
  };
  const auto top_of = [&](const TokenLog::Entry& entry) {
    return json_list(entry.choice.likeliest, likely_json);
  };
  return {{"token_ids", json_list(entries, id_of)}, {"top_tokens", json_list(entries, top_of)}};
}

}  // namespace

void TokenLog::push(TokenChoice choice, bool is_first) {
  const std::int32_t id = choice.token;
  entries_.push_back({std::move(choice), is_first, character_, byte_});
  const std::string text = decoder_.push(id);
  byte_ += text.size();
  character_ += character_count(text);
}

std::vector<TokenLog::Entry> TokenLog::take(std::size_t end) {
  std::vector<Entry> taken;
  for (; taken_ < entries_.size() && entries_[taken_].byte < end; ++taken_) {
    taken.push_back(std::move(entries_[taken_]));
  }
  return taken;
}

Json chat_logprobs(const std::vector<TokenLog::Entry>& entries, const Tokenizer& tokenizer) {
  const auto likely_json = [&](const TokenLogProbability& likely) {
    return chat_token(likely.token, likely.log_probability, tokenizer);
  };
  const auto entry_json = [&](const TokenLog::Entry& entry) {
    Json token = chat_token(entry.choice.token, entry.choice.log_probability, tokenizer);
    token["top_logprobs"] = json_list(entry.choice.likeliest, likely_json);
    return token;
  };
  return {{"content", json_list(entries, entry_json)}, {"refusal", nullptr}};
}

Json completion_logprobs(const std::vector<TokenLog::Entry>& entries, const Tokenizer& tokenizer,
                         bool ids) {
  Json tokens = Json::array();
  Json values = Json::array();
  Json tops = Json::array();
  Json offsets = Json::array();
  for (const TokenLog::Entry& entry : entries) {
    const std::string name = completion_name(entry.choice.token, tokenizer);
    const double log_probability = finite(entry.choice.log_probability);
    tokens.push_back(name);
    values.push_back(entry.is_first ? Json() : Json(log_probability));
    Json top = Json::object();
    for (const TokenLogProbability& likely : entry.choice.likeliest) {
      top[completion_name(likely.token, tokenizer)] = finite(likely.log_probability);
    }
    if (!top.contains(name)) {  // always include the sampled token
      top[name] = log_probability;
    }
    tops.push_back(entry.is_first ? Json() : std::move(top));
    offsets.push_back(entry.character);
  }
  Json json{{"tokens", std::move(tokens)},
            {"token_logprobs", std::move(values)},
            {"top_logprobs", std::move(tops)},
            {"text_offset", std::move(offsets)}};
  if (ids) {
    json.update(numbered_tokens(entries, tokenizer));
  }
  return json;
}

}  // namespace headlight::serve
