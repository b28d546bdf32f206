#include "fault/injector/plan.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

namespace headlight::fault {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

struct NamedError {
  std::string_view name;
  int number;
};

constexpr std::array<NamedError, 5> kErrors{
    {{"EINTR", EINTR}, {"EIO", EIO}, {"ENOSPC", ENOSPC}, {"EMFILE", EMFILE}, {"EACCES", EACCES}}};

bool is_one_of(Operation operation, std::initializer_list<Operation> all) {
  for (const Operation one : all) {
    if (one == operation) {
      return true;
    }
  }
  return false;
}

// True if the operation can fail with this error on a real system.
bool can_fail(Operation operation, int error) {
  using enum Operation;
  switch (error) {
    case EINTR:
      return is_one_of(operation, {open, create, read, write, truncate, sync, close, lock});
    case ENOSPC:
      return is_one_of(operation, {create, write, truncate, sync, rename, make_folder, link});
    case EMFILE:
      return is_one_of(operation, {open, create});
    case EACCES:
      return is_one_of(operation, {open, create, rename, unlink, make_folder, drop_folder, link});
    default:
      return true;
  }
}

}  // namespace

bool Plan::strikes(Operation operation) const {
  switch (kind) {
    case Fault::none:
      return false;
    case Fault::kill:
      return operation != Operation::read;
    case Fault::tear:
      return operation == Operation::write;
    case Fault::shorten:
      return is_one_of(operation, {Operation::read, Operation::write});
    case Fault::fail:
      return can_fail(operation, error);
  }
  return false;
}

Plan plan_from_environment() {
  Plan plan{.root = variable("FAULT_ROOT"),
            .at = std::atol(variable("FAULT_AT").c_str()),
            .repeats = variable("FAULT_REPEAT") == "1",
            .fired = variable("FAULT_FIRED"),
            .log = variable("FAULT_LOG")};
  const std::string kind = variable("FAULT_KIND");
  if (kind == "kill") {
    plan.kind = Fault::kill;
  } else if (kind == "tear") {
    plan.kind = Fault::tear;
  } else if (kind == "short") {
    plan.kind = Fault::shorten;
  }
  for (const NamedError& error : kErrors) {
    if (kind == error.name) {
      plan.kind = Fault::fail;
      plan.error = error.number;
    }
  }
  return plan;
}

}  // namespace headlight::fault
