#include "runs/conversations/record_keys.h"

#include <algorithm>
#include <array>
#include <optional>

#include "headlight/base/error.h"

namespace headlight {
namespace {

struct RecordKey {
  std::string_view name;
  RecordPart part;
  std::string_view why = {};  // for refused keys, and for labels that say no
};

constexpr std::string_view kTextAlone = "models here read text alone; leave out such records";
constexpr std::string_view kBadAnswer =
    "marks an answer that must not be learned (KTO); leave out such records, or make pairs with "
    "\"chosen\" and \"rejected\"";

// Keys of OpenAI, TRL, ShareGPT, Alpaca, Dolly, KTO, UltraFeedback, Orca, LLaMA-Factory,
// mistral-finetune and axolotl. Other keys, such as "id", are ignored and named once. Of several
// keys with one part, the first is used.
constexpr auto kRecordKeys = std::to_array<RecordKey>({
    {"messages", RecordPart::messages},
    {"conversations", RecordPart::messages},
    {"conversation", RecordPart::messages},
    {"interactions", RecordPart::messages},
    {"prompt", RecordPart::prompt},
    {"completion", RecordPart::completion},
    {"instruction", RecordPart::request},
    {"question", RecordPart::request},
    {"query", RecordPart::request},
    {"input", RecordPart::input},
    {"context", RecordPart::input},
    {"output", RecordPart::answer},
    {"response", RecordPart::answer},
    {"answer", RecordPart::answer},
    {"chosen", RecordPart::chosen},
    {"preferred_output", RecordPart::chosen},
    {"rejected", RecordPart::rejected},
    {"non_preferred_output", RecordPart::rejected},
    {"system", RecordPart::system},
    {"system_prompt", RecordPart::system},
    {"history", RecordPart::history},
    {"tools", RecordPart::tools},
    {"available_tools", RecordPart::tools},
    {"only_last", RecordPart::only_last},
    {"label", RecordPart::label, kBadAnswer},
    {"kto_tag", RecordPart::label, kBadAnswer},
    {"weight", RecordPart::learned, "is a weight of the whole record, which must be 1"},
    {"train", RecordPart::learned, "says that the record must not be learned; leave it out"},
    {"training", RecordPart::learned, "says that the record must not be learned; leave it out"},
    {"functions", RecordPart::refused, "is OpenAI's older form of \"tools\"; write \"tools\""},
    {"chat_template_kwargs", RecordPart::refused,
     "sets variables of the chat template, which is not supported; write a template with these "
     "values (--chat_template FILE)"},
    {"image", RecordPart::refused, kTextAlone},
    {"images", RecordPart::refused, kTextAlone},
    {"video", RecordPart::refused, kTextAlone},
    {"videos", RecordPart::refused, kTextAlone},
    {"audio", RecordPart::refused, kTextAlone},
    {"audios", RecordPart::refused, kTextAlone},
});

struct MessageKey {
  std::string_view name;
  MemberPart part;
  std::string_view why = {};
};

constexpr auto kMessageKeys = std::to_array<MessageKey>({
    {"role", MemberPart::role},
    {"from", MemberPart::role},
    {"content", MemberPart::content},
    {"value", MemberPart::content},
    {"text", MemberPart::content},
    {"weight", MemberPart::learned},
    {"train", MemberPart::learned},
    {"training", MemberPart::learned},
    {"trainable", MemberPart::learned},
    {"loss", MemberPart::learned},   // of ms-swift
    {"masked", MemberPart::hidden},  // of torchtune
    {"train_detail", MemberPart::refused,
     "chooses parts of an answer, which is not supported; use \"train\" for whole answers"},
    {"training_detail", MemberPart::refused,
     "chooses parts of an answer, which is not supported; use \"training\" for whole answers"},
    {"function_call", MemberPart::refused,
     "is OpenAI's older form of \"tool_calls\"; write \"tool_calls\""},
    {"refusal", MemberPart::refused,
     "is an answer beside the content; write its text as the content"},
    {"audio", MemberPart::refused, kTextAlone},
    {"images", MemberPart::refused, kTextAlone},
    {"videos", MemberPart::refused, kTextAlone},
});

// Formats whose records are no conversations by themselves.
struct OtherFormat {
  std::string_view key;
  std::string_view other_key;  // that the record has, too; "": none
  std::string_view why;
};

constexpr auto kOtherFormats = std::to_array<OtherFormat>({
    {"message_tree_id", "prompt",
     "is a tree of Open Assistant; write each conversation of it as {\"messages\": [...]}"},
    {"message_id", "parent_id",
     "is one message of Open Assistant; write whole conversations as {\"messages\": [...]}, or "
     "read the texts alone with --jsonl text"},
    {"completions", "models",
     "is UltraFeedback with all its answers; write two of them as \"chosen\" and \"rejected\""},
    {"completions", "labels",
     "has labels of single steps (TRL's stepwise supervision), which is not supported"},
    {"segments", "",
     "is axolotl's template-free form; write {\"prompt\": \"...\", \"completion\": \"...\"}"},
    {"input_ids", "", "has token ids of another program; give the texts"},
});

template <class Keys>
const auto* key_named(const Keys& keys, std::string_view name) {
  const auto found = std::ranges::find(keys, name, &Keys::value_type::name);
  return found == keys.end() ? nullptr : &*found;
}

bool is_one_of(const Json& value, std::initializer_list<std::string_view> texts) {
  return value.is_string() && std::ranges::find(texts, value.text()) != texts.end();
}

bool equals_number(const Json& value, double number) {
  return value.is_number() && value.number() == number;
}

bool is_message(const Json& value) { return value.contains("role") || value.contains("from"); }

// Returns true for a list or message that a table holds as JSON, and for Alpaca's history.
bool is_packed(const Json& value, RecordPart part) {
  const bool may_be_one = part == RecordPart::chosen || part == RecordPart::rejected;
  return (may_be_one && is_message(value)) ||
         (value.is_array() && !value.empty() &&
          std::ranges::all_of(value.list(), [&](const Json& one) {
            return part == RecordPart::history ? one.is_array() : is_message(one);
          }));
}

// Returns the list or message that the text of a part holds in JSON; nothing for other texts.
std::optional<Json> packed_in(const std::string& text, RecordPart part, const std::string& where) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  const std::string_view start = std::string_view(text).substr(begin);
  for (const char* key : {"'role'", "'from'", "'content'", "'value'"}) {
    require(!start.starts_with(std::string("[{") + key), where,
            ": holds a list in the notation of Python, as pandas writes it; write JSON "
            "(json.dumps)");
  }
  std::optional<Json> value;
  if (start.starts_with('[') || start.starts_with('{')) {
    value = try_parse_json(text);
  }
  return value && is_packed(*value, part) ? value : std::nullopt;
}

bool may_be_packed(RecordPart part) {
  return part == RecordPart::messages || part == RecordPart::prompt ||
         part == RecordPart::completion || part == RecordPart::chosen ||
         part == RecordPart::rejected || part == RecordPart::history;
}

}  // namespace

bool is_blank_value(const Json& value) {
  return value.empty() || (value.is_string() && value.text().empty());
}

bool is_negative(const Json& value) {
  return value == Json(false) || equals_number(value, 0) ||
         is_one_of(value, {"false", "False", "0", "0.0"});
}

bool is_affirmative(const Json& value) {
  return value == Json(true) || equals_number(value, 1) ||
         is_one_of(value, {"true", "True", "1", "1.0"});
}

Json unpacked_record(const Json& record, const std::string& where) {
  if (!record.is_object()) {
    return record;
  }
  Json unpacked = Json::object();
  for (const JsonMember& member : record.members()) {
    const RecordKey* key = key_named(kRecordKeys, member.key);
    std::optional<Json> list;
    if (key != nullptr && may_be_packed(key->part) && member.value.is_string()) {
      list = packed_in(member.value.text(), key->part, where + ": " + quoted_text(member.key));
    }
    unpacked.add(member.key, list.value_or(member.value));
  }
  const Json* input = unpacked.find("input");
  if (unpacked.contains("preferred_output") && input != nullptr && input->is_object()) {
    const Json inner = *input;
    unpacked["input"] = Json();
    unpacked.update(inner);
  }
  return unpacked;
}

RecordKeys::RecordKeys(const Json& record, const std::string& list_key, std::string where)
    : record_(record), list_key_(list_key), where_(std::move(where)) {}

RecordKeys::Found RecordKeys::find(RecordPart part) const {
  Found found;
  if (part == RecordPart::messages && !list_key_.empty()) {
    return {list_key_, record_.find(list_key_)};
  }
  for (const RecordKey& key : kRecordKeys) {
    const Json* value = key.part == part ? record_.find(key.name) : nullptr;
    if (value != nullptr && (found.value == nullptr || is_blank_value(*found.value))) {
      found = {key.name, value};
    }
  }
  return found;
}

const Json* RecordKeys::take(RecordPart part) {
  const Found found = find(part);
  if (found.value != nullptr) {
    used_.insert(found.name);
  }
  return found.value;
}

void RecordKeys::finish(std::set<std::string>& ignored) const {
  for (const JsonMember& member : record_.members()) {
    const RecordKey* key = key_named(kRecordKeys, member.key);
    const Json& value = member.value;
    if (used_.contains(member.key) || is_blank_value(value)) {
      continue;
    }
    const RecordPart part = key == nullptr ? RecordPart::input : key->part;
    const bool is_refused = part == RecordPart::refused ||
                            (part == RecordPart::label && is_negative(value)) ||
                            (part == RecordPart::learned && !is_affirmative(value));
    require(!is_refused, where_, ": ", quoted_text(member.key), ": ", value.dump().substr(0, 40),
            " ", key == nullptr ? "" : key->why);
    if (part != RecordPart::label && part != RecordPart::learned) {
      ignored.insert(member.key);
    }
  }
}

void refuse_other_formats(const Json& record, const std::string& where) {
  for (const OtherFormat& format : kOtherFormats) {
    require(!record.contains(format.key) ||
                (!format.other_key.empty() && !record.contains(format.other_key)),
            where, ": the record (with ", quoted_text(format.key), ") ", format.why);
  }
}

MemberPart member_part(std::string_view key) {
  const MessageKey* found = key_named(kMessageKeys, key);
  return found == nullptr ? MemberPart::other : found->part;
}

void refuse_member(const JsonMember& member, const std::string& where) {
  const MessageKey* found = key_named(kMessageKeys, member.key);
  require(is_blank_value(member.value), where, ": ", quoted_text(member.key), " ",
          found == nullptr ? "" : found->why);
}

}  // namespace headlight
