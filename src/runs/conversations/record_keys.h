#pragma once

#include <set>
#include <string>
#include <string_view>

#include "base/json.h"

namespace headlight {

// Part of a record that a key holds. Programs have different names for the same part.
enum class RecordPart {
  messages,    // list of messages
  prompt,      // text, or list of messages
  completion,  // the same
  request,     // text of a user
  input,       // text below the request
  answer,      // text of the assistant
  chosen,      // text, message or list of messages
  rejected,    // the same
  system,      // text of a system message
  history,     // pairs of request and answer
  tools,       // functions that the model may call
  only_last,   // true: only the last answer is learned
  label,       // false: the answer must not be learned
  learned,     // the same, as a number or a truth value, for the whole record
  refused,
};

// Returns true for null, "", [] and {}.
bool is_blank_value(const Json& value);
// Returns true for false and 0, also as texts in a table.
bool is_negative(const Json& value);
// Returns true for true and 1, also as texts in a table.
bool is_affirmative(const Json& value);

// A record with lists in JSON texts, as tables hold them, and with OpenAI's "input" of a pair in
// the record itself. Throws Error for a list in the notation of Python.
Json unpacked_record(const Json& record, const std::string& where);

// Keys of a record. All keys that are known are in one table, record_keys.cpp.
class RecordKeys {
 public:
  // `record` must outlive this object. `list_key`: further key of the part `messages`.
  RecordKeys(const Json& record, const std::string& list_key, std::string where);

  // Returns true if the record has a key of this part.
  bool has(RecordPart part) const { return find(part).value != nullptr; }
  // Returns the value of a part without using it, or nullptr. If several keys name it, the first
  // in the table that says something.
  const Json* peek(RecordPart part) const { return find(part).value; }
  // Returns peek(part); the key counts as used.
  const Json* take(RecordPart part);
  // Returns the name of the key of a part.
  std::string name_of(RecordPart part) const { return std::string(find(part).name); }
  // Adds the names of unused keys that say something to `ignored`. Throws Error for keys that
  // cannot be ignored.
  void finish(std::set<std::string>& ignored) const;

 private:
  struct Found {
    std::string_view name = {};
    const Json* value = nullptr;
  };
  Found find(RecordPart part) const;

  const Json& record_;
  std::string list_key_;
  std::string where_;
  std::set<std::string_view> used_ = {};
};

// Throws Error if the keys belong to a known format whose records cannot be learned.
void refuse_other_formats(const Json& record, const std::string& where);

// How the members of a message are used. All others are for the chat template.
enum class MemberPart { role, content, learned, hidden, refused, other };
MemberPart member_part(std::string_view key);
// Throws Error for a member that cannot be obeyed.
void refuse_member(const JsonMember& member, const std::string& where);

}  // namespace headlight
