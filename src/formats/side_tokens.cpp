#include "formats/side_tokens.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/strings/read_number.h"
#include "formats/tokenizer_class.h"
#include "formats/tokenizers/tokenizer_json.h"
#include "formats/word_list.h"
#include "headlight/base/error.h"

namespace headlight {
namespace {

constexpr Index kLargestSideId = Index{1} << 24;

// Keys of special tokens that every tokenizer has, in the order in which they are added.
constexpr std::array<std::string_view, 7> kTokenRoles{
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};
constexpr std::array<const char*, 4> kMatchFlags{"single_word", "lstrip", "rstrip", "normalized"};

std::string text_under(const Json& file, std::string_view key) {
  const Json* value = file.find(key);
  return value != nullptr && value->is_string() ? value->text() : "";
}

// Returns the token as an entry of added_tokens without an id. A name alone is a special token.
Json side_entry(const Json& token, const std::string& where) {
  require(token.is_string() || token.is_object(), where,
          ": expected the name of a token, or an object with its content, got ", token.type_name());
  const Json flags = token.is_object() ? token : Json::object();
  const bool special = json_flag(flags, "special", token.is_string(), where + ".");
  Json entry{{"content", token.is_string() ? token.text() : json_string(token, "content", where)}};
  for (const char* flag : kMatchFlags) {
    const bool fallback = flag == kMatchFlags.back() && !special;
    entry[flag] = json_flag(flags, flag, fallback, where + ".");
  }
  entry["special"] = special;
  return entry;
}

bool has_decoder(const SideFiles& files) {
  return !files.tokenizer_config.value("added_tokens_decoder", Json()).is_null();
}

// The tokens that AutoTokenizer adds to tokenizer.json's, in its order.
class SideTokens {
 public:
  SideTokens(const SideFiles& files, const std::string& where, const Json& added)
      : files_(files), where_(where) {
    for (const auto& [key, value] : members(files.tokenizer_config, "tokenizer_config.json")) {
      read_name(key, value, value.is_string() ? kText : kObject, Source::config);
    }
    read_extra(files.tokenizer_config);
    if (has_decoder(files)) {
      read_decoder(files.tokenizer_config["added_tokens_decoder"]);
    } else {
      read_map();
      read_old_file();
      for (const Json& entry : added) {
        by_id_[number(entry.value("id", Json()), "added_tokens")] =
            side_entry(entry, at("added_tokens"));
      }
    }
    for (const Json& entry : added) {
      known_.emplace(text_under(entry, "content"));
    }
  }

  // Names a token by the class unless the files name one for this role.
  void add_default(std::string_view role, std::string_view token) {
    const auto has_role = [&](const NamedToken& named) { return named.key == role; };
    if (std::ranges::none_of(named_, has_role)) {
      named_.push_back(
          {std::string(role), given(Json(token), where_, Source::config), order_of(role)});
    }
  }

  // Returns the tokens. A name that occurs twice has the flags of its last different token.
  std::vector<Json> take() {
    std::ranges::stable_sort(named_, {}, [](const NamedToken& named) { return named.order; });
    std::vector<Json> tokens;
    std::set<std::string, std::less<>> names;
    for (const NamedToken& named : named_) {
      names.insert(named.token.name());
    }
    for (auto& [id, entry] : by_id_) {
      const std::string& name = entry["content"].text();
      known_.insert(name);
      entry["special"] = entry["special"].boolean() || names.contains(name);
      tokens.push_back(std::move(entry));
    }
    std::set<std::string> added;
    const auto add_new = [&](const GivenToken& token) {
      const std::string kind = token.is_text ? "text " : "object ";
      if (!known_.contains(token.name()) && added.insert(kind + token.entry.dump()).second) {
        tokens.push_back(token.entry);
        tokens.back()["special"] = token.entry["special"].boolean() || names.contains(token.name());
      }
    };
    std::ranges::for_each(named_, add_new, &NamedToken::token);
    std::ranges::for_each(extra_, add_new);
    return tokens;
  }

 private:
  // Order of the tokens that have names of their own, such as image_token; roles come first.
  static constexpr std::size_t kObject = kTokenRoles.size();
  static constexpr std::size_t kText = kObject + 1;
  static constexpr std::size_t kExtra = kText + 1;

  // A token as the files give it. A text and an object with its flags count as different tokens.
  struct GivenToken {
    const std::string& name() const { return entry["content"].text(); }

    Json entry;  // of added_tokens, without an id
    bool is_text = false;
    bool is_read = false;  // before added_tokens.json: makes the name special there
  };

  struct NamedToken {
    std::string key;
    GivenToken token;
    std::size_t order = 0;
  };

  // Where transformers finds a token before it reads added_tokens.json; nowhere: it takes it later.
  enum class Source { config, map, nowhere };

  // Returns a token of a file. Objects in tokenizer_config.json are no tokens until later, either.
  static GivenToken given(const Json& token, const std::string& where, Source source) {
    const bool is_text = token.is_string();
    return {side_entry(token, where), is_text,
            source == Source::map || (source == Source::config && is_text)};
  }

  std::string at(std::string_view key) const { return concat_text(where_, ": ", key); }

  // Returns the order of a role; a larger number for other keys.
  static std::size_t order_of(std::string_view key) {
    const auto role = std::ranges::find(kTokenRoles, key);
    return role == kTokenRoles.end() ? kExtra
                                     : static_cast<std::size_t>(role - kTokenRoles.begin());
  }

  const Json::Object& members(const Json& file, std::string_view name) const {
    static const Json::Object kNone;
    require(file.is_null() || file.is_object(), at(name), ": expected an object, got ",
            file.type_name());
    return file.is_null() ? kNone : file.members();
  }

  Index number(const Json& id, std::string_view key) const {
    require(id.is_integer() && id.integer() >= 0 && id.integer() < kLargestSideId, at(key),
            ": expected ids from 0 to ", kLargestSideId - 1, ", got ", quoted_text(id.dump()));
    return id.integer();
  }

  // Reads a member such as "eos_token". A later file replaces the token of an earlier one.
  void read_name(const std::string& key, const Json& value, std::size_t order, Source source) {
    if (!key.ends_with("_token") || !(value.is_string() || value.is_object())) {
      return;
    }
    const char* file = source == Source::map ? "special_tokens_map.json" : "tokenizer_config.json";
    GivenToken token = given(value, concat_text(where_, ": ", file, ": ", key), source);
    const auto found = std::ranges::find(named_, key, &NamedToken::key);
    if (found == named_.end()) {
      named_.push_back({key, std::move(token), std::min(order, order_of(key))});
    } else if (found->order < kText) {
      found->token = std::move(token);
    }
  }

  // Reads extra_special_tokens: a list, or tokens by their keys. additional_special_tokens is its
  // older name, which counts unless the newer one is a list with tokens.
  void read_extra(const Json& file) {
    const Json now = file.value("extra_special_tokens", Json());
    const bool empty = now.is_null() || ((now.is_array() || now.is_object()) && now.empty());
    const Json old = file.value("additional_special_tokens", Json());
    has_extra_ = !old.is_null() || (!now.is_null() && !now.is_object());
    read_extra_tokens(now, Source::config);
    if (empty || now.is_object()) {
      read_extra_tokens(old, empty ? Source::config : Source::nowhere);
    }
  }

  void read_extra_tokens(const Json& tokens, Source source) {
    const std::string key = at("extra_special_tokens");
    require(tokens.is_null() || tokens.is_array() || tokens.is_object(), key,
            ": expected a list or an object, got ", tokens.type_name());
    if (tokens.is_object()) {
      for (const auto& [name, token] : tokens.members()) {
        named_.push_back({name, given(token, key, source), kExtra});
      }
    } else if (tokens.is_array()) {
      for (const Json& token : tokens) {
        extra_.push_back(given(token, key, source));
      }
    }
  }

  void read_decoder(const Json& decoder) {
    const std::string key = "added_tokens_decoder";
    require(decoder.is_object(), at(key), ": expected an object, got ", decoder.type_name());
    for (const auto& [text, token] : decoder.members()) {
      const auto id = read_number<Index>(text);
      require(id.has_value() && token.is_object(), at(key), ": expected tokens by id, got ",
              quoted_text(text));
      by_id_[number(*id, key)] = side_entry(token, at(key));
    }
  }

  // Reads special_tokens_map.json, whose objects are special tokens.
  void read_map() {
    const std::string file = "special_tokens_map.json";
    for (const auto& [key, value] : members(files_.special_tokens_map, file)) {
      Json token = value;
      if (token.is_object() && key.ends_with("_token")) {
        token["special"] = true;
      }
      read_name(key, token, kObject, Source::map);
      if (key == "extra_special_tokens") {
        read_extra_tokens(value, Source::map);
      } else if (key == "additional_special_tokens" && !has_extra_) {
        read_extra_tokens(value, Source::nowhere);
      }
    }
  }

  // Reads added_tokens.json, ids by name.
  void read_old_file() {
    const std::string file = "added_tokens.json";
    std::set<std::string, std::less<>> names;
    for (const GivenToken& token : extra_) {
      names.insert(token.is_read ? token.name() : "");
    }
    for (const NamedToken& named : named_) {
      names.insert(named.order < kObject && named.token.is_read ? named.token.name() : "");
    }
    for (const auto& [name, id] : members(files_.added_tokens, file)) {
      const bool special = names.contains(name);
      by_id_[number(id, file)] =
          side_entry(Json{{"content", name}, {"special", special}}, at(file));
    }
  }

  const SideFiles& files_;
  const std::string& where_;
  std::vector<NamedToken> named_;
  std::vector<GivenToken> extra_;
  bool has_extra_ = false;  // tokenizer_config.json has a list of extra tokens
  std::map<Index, Json> by_id_;
  std::set<std::string, std::less<>> known_;
};

// Ids of a vocabulary by name, and the ids that new tokens get.
class SideIds {
 public:
  SideIds(const Json& vocab, const Json& added) {
    const Json::Object none;
    for (const auto& [name, id] : vocab.is_object() ? vocab.members() : none) {
      ids_.emplace(name, id.is_integer() ? id.integer() : 0);
    }
    for (std::size_t id = 0; vocab.is_array() && id < vocab.size(); ++id) {
      ids_.emplace(vocab[id].is_array() && !vocab[id].empty() ? text_of(vocab[id][0]) : "", id);
    }
    next_ = static_cast<Index>(vocab.size());
    for (const Json& entry : added) {
      take(text_under(entry, "content"));
    }
  }

  // Returns the id of a token that is added now: that of the vocabulary, or the next one.
  Index take(std::string_view name) {
    const auto found = ids_.find(name);
    const Index id = found == ids_.end() ? next_ : found->second;
    next_ = std::max(next_, id + 1);
    return id;
  }

 private:
  static std::string_view text_of(const Json& json) {
    return json.is_string() ? std::string_view(json.text()) : "";
  }

  std::unordered_map<std::string_view, Index> ids_;
  Index next_ = 0;
};

// Adds tokens to added_tokens, or changes the flags of tokens of the same name. A special token
// stays special.
void add_side_tokens(const std::vector<Json>& tokens, Json& root) {
  Json::List added = root["added_tokens"].list();
  std::unordered_map<std::string, std::size_t> indices;
  for (std::size_t i = 0; i < added.size(); ++i) {
    indices.emplace(text_under(added[i], "content"), i);
  }
  std::optional<SideIds> ids;
  for (const Json& token : tokens) {
    const std::string& name = token["content"].text();
    if (name.empty()) {
      continue;
    }
    const auto [known, is_new] = indices.emplace(name, added.size());
    if (is_new) {
      if (!ids) {
        ids.emplace(root["model"]["vocab"], root["added_tokens"]);
      }
      added.push_back({{"id", ids->take(name)}});
    }
    Json& entry = added[known->second];
    const bool special = entry.value("special", Json(false)) == Json(true);
    entry.update(token);
    entry["special"] = special || token["special"].boolean();
  }
  root["added_tokens"] = added;
}

}  // namespace

bool apply_side_files(const SideFiles& files, const std::string& where, Json& root) {
  const Json* list = root.find("added_tokens");
  const Json* model = root.find("model");
  if (list == nullptr || !list->is_array() || model == nullptr || !model->contains("vocab")) {
    return false;  // the reader of tokenizer.json names what is missing
  }
  const Json before = *list;
  const auto* one = tokenizer_class_of(files.tokenizer_config, files.config, root);
  if (one != nullptr && has_decoder(files)) {
    root["added_tokens"] = Json::array();  // such a class takes only the vocabulary
  }
  SideTokens tokens(files, where, root["added_tokens"]);
  if (const std::string padding = text_under(root.value("padding", Json()), "pad_token");
      !padding.empty()) {
    tokens.add_default("pad_token", padding);
  }
  for (const std::string_view role : words_of(one == nullptr ? "" : one->roles)) {
    if ((*model)["vocab"].contains(one->token)) {
      tokens.add_default(role, one->token);
    }
  }
  const bool changed = one != nullptr && set_class_stages(*one, files.tokenizer_config, root);
  add_side_tokens(tokens.take(), root);
  return changed || root["added_tokens"] != before;
}

}  // namespace headlight
