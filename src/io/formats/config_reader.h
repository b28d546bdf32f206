#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "io/formats/asked_keys.h"

namespace headlight {

// Reads members of one config.json; what is wrong is said about their keys. Absent and null are the
// same to all but is_null().
class ConfigReader {
 public:
  // Throws Error unless it is an object.
  explicit ConfigReader(const Json& object);
  // Reads the object under a key, whose members are called "KEY.MEMBER". Throws Error unless it is
  // one.
  ConfigReader inside(const char* key) const;

  // Returns the name of a member in messages.
  std::string name(const char* key) const { return prefix_ + key; }
  const AskedKeys& asked() const { return *asked_; }
  const Json* find(const char* key) const;
  bool is_null(const char* key) const;  // it is there, and null
  Index integer(const char* key, Index fallback) const;
  // At most kLargestSize, so that no size becomes memory, or overflows, before it is checked.
  Index size(const char* key, Index fallback, Index smallest = 1) const;
  double number(const char* key, double fallback) const;
  std::optional<bool> boolean(const char* key) const;
  bool boolean(const char* key, bool fallback) const { return boolean(key).value_or(fallback); }
  std::string text(const char* key, const std::string& fallback) const;
  // Empty where there is none.
  std::vector<Index> integers(const char* key) const;
  std::vector<std::string> texts(const char* key) const;
  // Throws Error for another value: the model would compute something else.
  void require_default(const char* key, bool supported) const;

 private:
  const Json& object_;
  std::string prefix_;
  std::shared_ptr<AskedKeys> asked_ = std::make_shared<AskedKeys>();
};

}  // namespace headlight
