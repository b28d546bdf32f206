#pragma once

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace headlight::serve {

// The members of a request's body. Null counts as missing. Everything throws Error about the
// member whose value does not fit; numbers are checked against their range.
class Fields {
 public:
  // Parses the body, which must be an object.
  explicit Fields(std::string_view body);

  // Null: there is none.
  const Json* find(const std::string& name);
  // Throws Error when there is none.
  const Json& get(const std::string& name);
  Index integer(const std::string& name, Index otherwise, Index least, Index most);
  double number(const std::string& name, double otherwise, double least, double most);
  bool boolean(const std::string& name, bool otherwise);
  std::string text(const std::string& name, const std::string& otherwise);
  // A text or a list of texts.
  std::vector<std::string> texts(const std::string& name, std::size_t most);
  // Token ids below `vocabulary`.
  std::vector<std::int32_t> tokens(const std::string& name, Index vocabulary);
  // Members that other servers know and that change nothing here.
  void ignore(std::initializer_list<const char*> names) {
    known_.insert(names.begin(), names.end());
  }
  // Throws Error about a member that nobody asked for.
  void refuse_others() const;

 private:
  Json body_;
  std::set<std::string> known_;
};

// A list of token ids below `vocabulary`. Throws Error about `name`.
std::vector<std::int32_t> token_list(const Json& list, const std::string& name, Index vocabulary);

}  // namespace headlight::serve
