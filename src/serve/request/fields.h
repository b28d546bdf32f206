#pragma once

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

namespace headlight::serve {

// Members of a request's JSON body. Null counts as missing. Accessors throw Error about a member of
// the wrong type or out of range.
class Fields {
 public:
  // Parses the body, which must be an object.
  explicit Fields(std::string_view body, WorkBudget budget = {});

  // Returns the members of an object.
  static Fields of(Json object, WorkBudget budget);

  const Json& body() const { return body_; }
  // Limit of the work on the members.
  const WorkBudget& budget() const { return budget_; }
  void set_budget(WorkBudget budget) { budget_ = std::move(budget); }
  // Returns about the number of bytes of the members in memory.
  std::size_t memory() const { return body_.memory(); }

  // Returns null for a missing member.
  const Json* find(const std::string& name);
  // Throws Error if `is_right` is false for the member.
  const Json* find(const std::string& name, bool (Json::*is_right)() const, const char* expected);
  // Throws Error for a missing member.
  const Json& get(const std::string& name);
  Index integer(const std::string& name, Index fallback, Index least, Index most);
  double number(const std::string& name, double fallback, double least, double most);
  bool boolean(const std::string& name, bool fallback);
  std::string text(const std::string& name, const std::string& fallback);
  // Returns the texts of a text or of a list of at most `most` texts.
  std::vector<std::string> texts(const std::string& name, std::size_t most);
  // Accepts members of other servers' APIs that have no effect here.
  void ignore(std::initializer_list<const char*> names) {
    known_.insert(names.begin(), names.end());
  }
  // Throws Error about a member that was neither read nor ignored.
  void refuse_others() const;

 private:
  Fields() = default;

  WorkBudget budget_;
  Json body_;
  std::set<std::string> known_;
};

// Returns the number of tokens of all texts.
Index token_count(const std::vector<std::vector<std::int32_t>>& texts);

// Returns a list of token ids below `vocabulary`. Throws Error about `name`.
std::vector<std::int32_t> token_list(const Json& list, const std::string& name, Index vocabulary);

}  // namespace headlight::serve
