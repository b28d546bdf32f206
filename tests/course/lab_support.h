#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/programs/program.h"
#include "support/tensors.h"

// Results of `headlight lab`, run with the real program.
namespace headlight::test {

inline std::string lab_text(Arguments arguments) {
  arguments.insert(arguments.begin(), "lab");
  const ProgramResult result = run_headlight(arguments);
  INFO(result.err);
  CHECK(result.exit_code == 0);
  return result.out;
}

inline nlohmann::json lab_json(Arguments arguments) {
  arguments.push_back("--json");
  return nlohmann::json::parse(lab_text(arguments));
}

// Claims of the results, as {id: holds}.
inline nlohmann::json claims_of(const nlohmann::json& results) {
  nlohmann::json claims = nlohmann::json::object();
  for (const nlohmann::json& claim : results["claims"]) {
    claims[claim["id"].get<std::string>()] = claim["holds"];
  }
  return claims;
}

// Checks that the results have claims, which all hold.
inline void check_all_claims(const nlohmann::json& results) {
  CHECK(!results["claims"].empty());
  for (const nlohmann::json& claim : results["claims"]) {
    INFO(claim["text"]);
    CHECK(claim["holds"] == true);
  }
}

// Text of a claim; empty if there is none.
inline std::string claim_text(const nlohmann::json& results, const std::string& id) {
  for (const nlohmann::json& claim : results["claims"]) {
    if (claim["id"] == id) {
      return claim["text"];
    }
  }
  return "";
}

// Checks that the program refuses the arguments with one line that has these parts.
inline void check_lab_refuses(Arguments arguments, const std::vector<std::string>& parts) {
  arguments.insert(arguments.begin(), "lab");
  const ProgramResult result = run_headlight(arguments);
  CHECK(result.exit_code == 2);
  CHECK(result.out.empty());
  REQUIRE(result.messages().size() == 1);
  CHECK(mentions(result.messages()[0], parts));
}
}  // namespace headlight::test
