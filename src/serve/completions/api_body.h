#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "serve/request/fields.h"

namespace headlight::serve {

// Returns the members that another API shares with chats: all but `names`, which the caller has
// read.
Json shared_members(const Json& body, std::initializer_list<std::string_view> names);

// Throws Error about a member that asks for something that the server does not have: one that is
// neither missing nor empty nor `harmless`.
void refuse_feature(Fields& fields, const std::string& name, const Json& harmless = {},
                    std::string_view reason = "is not supported");

// Returns the text of a part {"type", "text"} of one of the given types, or of a refusal. Throws
// Error about `about` for other parts.
const std::string& text_of_part(const Json& part, std::initializer_list<std::string_view> types,
                                const std::string& about);
// Returns the joined texts of parts; a text as it is.
std::string text_of_parts(const Json& content, std::initializer_list<std::string_view> types,
                          const std::string& about);

// Collects the messages of a chat from items in which text and calls stand apart.
class ChatMessages {
 public:
  void add(std::string_view role, std::string_view text);
  // Adds a call to the last answer. `arguments`: JSON, as text or value.
  void add_call(const Json& id, const Json& name, const Json& arguments);
  void add_result(const Json& id, std::string_view text);
  Json take() const { return Json(list_); }

 private:
  std::vector<Json> list_;
};

// Returns a function in the form of a chat's tools.
Json chat_tool(const Json& name, const Json& description, const Json& parameters);

}  // namespace headlight::serve
