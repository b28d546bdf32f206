#pragma once

#include <string>

#include "fault/call_record.h"

namespace headlight::fault {

// Effect of a fault on a call.
enum class Fault {
  none,
  kill,     // the process dies before the call
  tear,     // the process dies after half of a write
  fail,     // the call fails with `error`
  shorten,  // the call reads or writes half of the bytes
};

// Fault of one run, from environment variables:
//   FAULT_ROOT    calls on paths below this folder count, no others
//   FAULT_KIND    kill, tear, short, or an error: EINTR, EIO, ENOSPC, EMFILE, EACCES
//   FAULT_AT      the fault strikes the N-th call that it can strike, from 1
//   FAULT_REPEAT  1: all later calls fail too, as on a full disk
//   FAULT_FIRED   a file that gets a line when the fault strikes
//   FAULT_LOG     a file that gets a record of every call that changes something
struct Plan {
  std::string root = {};
  Fault kind = Fault::none;
  int error = 0;
  long at = 0;
  bool repeats = false;
  std::string fired = {};
  std::string log = {};

  bool strikes(Operation operation) const;
};

Plan plan_from_environment();

}  // namespace headlight::fault
