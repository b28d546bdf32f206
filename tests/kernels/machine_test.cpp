#include "support/test.h"

TEST_CASE("an invalid number of threads is refused") {
  check_error([] { set_thread_count(0); }, {"[threads]", "1", "1024", "got 0"});
  check_error([] { set_thread_count(-3); }, {"got -3"});
  check_error([] { set_thread_count(1025); }, {"got 1025"});
}

// Sets OMP_NUM_THREADS during its lifetime; nullptr unsets it.
class EnvironmentScope {
 public:
  explicit EnvironmentScope(const char* value) {
    const char* before = std::getenv(kName);
    previous_ = before == nullptr ? std::nullopt : std::optional<std::string>(before);
    set(value);
  }
  ~EnvironmentScope() { set(previous_ ? previous_->c_str() : nullptr); }
  EnvironmentScope(const EnvironmentScope&) = delete;
  EnvironmentScope& operator=(const EnvironmentScope&) = delete;

 private:
  static constexpr const char* kName = "OMP_NUM_THREADS";
  static void set(const char* value) {
    if (value == nullptr) {
      unsetenv(kName);
    } else {
      setenv(kName, value, 1);
    }
  }
  std::optional<std::string> previous_;
};

int default_with(const char* variable) {
  const EnvironmentScope scope(variable);
  return default_thread_count();
}

TEST_CASE("the default number of threads follows OMP_NUM_THREADS up to the CPUs there are") {
  CHECK(default_with("1") == 1);
  CHECK(default_with(" 1,4") == 1);
  CHECK(default_with("100000") == std::min(available_cpus(), 1024));
  CHECK(default_with("2") == std::min(available_cpus(), 2));
}

TEST_CASE("without a valid OMP_NUM_THREADS the default is one thread per core") {
  const int cores = default_with(nullptr);
  CHECK(cores >= 1);
  CHECK(cores <= available_cpus());
  for (const char* nonsense : {"", "many", "0", "-3", "2x", "99999999999999999999"}) {
    INFO(nonsense);
    CHECK(default_with(nonsense) == cores);
  }
}
