#pragma once

namespace headlight::test {

// Changes a setting of the library during its lifetime.
template <auto kRead, auto kSet>
class SettingScope {
 public:
  using Value = decltype(kRead());

  explicit SettingScope(Value value) : previous_(kRead()) { kSet(value); }
  ~SettingScope() { kSet(previous_); }
  SettingScope(const SettingScope&) = delete;
  SettingScope& operator=(const SettingScope&) = delete;

 private:
  Value previous_;
};

}  // namespace headlight::test
