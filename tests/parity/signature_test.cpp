#include "kernels/cpu_variant.h"
#include "support/test.h"

// Tests that results change neither by accident nor with the number of threads.

// Returns "HASH VARIANT COMPILER PRODUCTS LIBC".
std::string signature_line(const std::string& variant, const std::string& threads = "1") {
  const ProgramResult result =
      run_headlight({"bench", "--signature", "--cpu_variant", variant, "--threads", threads});
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  REQUIRE(result.out.size() > 33);
  CHECK(result.out.back() == '\n');
  return result.out.substr(0, result.out.size() - 1);
}

std::string without_hash(const std::string& line) { return line.substr(line.find(' ') + 1); }

// Returns the committed line for the same variant, compiler and libraries; "" if there is none.
std::string committed_line(const std::string& line) {
  std::ifstream in(HEADLIGHT_SOURCE_DIR "/tests/parity/signatures.txt");
  REQUIRE(in.is_open());
  for (std::string committed; std::getline(in, committed);) {
    if (without_hash(committed) == without_hash(line)) {
      return committed;
    }
  }
  return "";
}

std::vector<std::string> supported_variants() {
  std::vector<std::string> names;
  for (const kernels::CpuVariant variant : kernels::kCpuVariants) {
    if (kernels::supports(variant)) {
      names.emplace_back(kernels::name_of(variant));
    }
  }
  return names;
}

TEST_CASE("a build computes the bits that are committed for it") {
  for (const std::string& variant : supported_variants()) {
    const std::string line = signature_line(variant);
    const std::string committed = committed_line(line);
    // Sanitizer builds are optimised less and round a product before adding it.
    if (committed.empty() || has_sanitizer()) {
      WARN("no committed signature to compare with for: " << without_hash(line));
      continue;
    }
    INFO(
        "If this change of the numbers is meant, put what `headlight bench --signature "
        "--cpu_variant "
        << variant << "` prints into tests/parity/signatures.txt, for every variant.");
    CHECK(line == committed);
  }
}

TEST_CASE("the signature is the same for any number of threads", "[long]") {
  const std::vector<std::string> variants = supported_variants();
  for (const std::string& variant : {variants.front(), variants.back()}) {
    std::set<std::string> different;
    for (const char* threads : {"1", "2", "3", "4", "8"}) {
      different.insert(signature_line(variant, threads));
    }
    INFO(*different.begin());
    CHECK(different.size() == 1);
  }
}

TEST_CASE("the signature as JSON names its parts and what it depends on") {
  const ProgramResult result = run_headlight({"bench", "--signature", "--json"});
  REQUIRE(result.exit_code == 0);
  const json report = json::parse(result.out);
  CHECK(report["kind"] == "signature");
  std::ostringstream line;
  line << report["signature"].get<std::string>();
  for (const char* key : {"kernel_variant", "compiler", "products", "libc"}) {
    line << " " << report[key].get<std::string>();
  }
  CHECK(line.str() == signature_line(std::string(cpu_variant_name())));
  std::set<std::string> different{report["signature"].get<std::string>()};
  for (const char* part : {"packed", "padded", "generation", "attention"}) {
    different.insert(report["parts"][part].get<std::string>());
  }
  CHECK(different.size() == 5);
}

TEST_CASE("bench refuses --signature together with a kind of measurement") {
  const ProgramResult result = run_headlight({"bench", "train", "--signature"});
  CHECK(result.exit_code == 2);
  CHECK(result.out.empty());
  CHECK(result.messages().size() == 1);
  CHECK(contains(result.err, "--signature"));
}
