#include "kernels/cpu_variant.h"
#include "kernels/loops.h"
#include "support/cpu_variants.h"
#include "support/test.h"

using kernels::CpuVariant;

TEST_CASE("a CPU variant can be set by name and changes the table of loops") {
  const VariantScope restored(kernels::cpu_variant());
  std::set<const kernels::Loops<float>*> tables;
  for (const char* name : {"baseline", "v3", "v4"}) {
    const CpuVariant variant = kernels::kCpuVariants[tables.size()];
    if (kernels::supports(variant)) {
      set_cpu_variant(name);
      CHECK(cpu_variant_name() == name);
      CHECK(kernels::cpu_variant() == variant);
      CHECK(tables.insert(&kernels::loops<float>()).second);
    }
  }
}

TEST_CASE("the first CPU variant is the best that the machine supports") {
  bool better = false;
  for (const CpuVariant variant : kernels::kCpuVariants) {
    better = variant > kernels::cpu_variant();
    CHECK(kernels::supports(variant) == !better);
  }
}

TEST_CASE("an unknown CPU variant is refused in one line that lists the known ones") {
  check_error([] { set_cpu_variant("v5"); }, {"[cpu_variant]", "baseline, v3 or v4", "'v5'"});
  check_error([] { set_cpu_variant(""); }, {"got ''"});
}

TEST_CASE("a CPU variant that the machine cannot run is refused") {
  for (const CpuVariant variant : kernels::kCpuVariants) {
    const std::string name(kernels::name_of(variant));
    const CpuVariant before = kernels::cpu_variant();
    if (!kernels::supports(variant)) {
      check_error([&] { set_cpu_variant(name); }, {"'" + name + "'", "baseline"});
      CHECK(kernels::cpu_variant() == before);
    }
  }
  CHECK(kernels::supports(CpuVariant::baseline));
}

TEST_CASE("the description of the machine names the variant that computes") {
  {
    const VariantScope scope(CpuVariant::baseline);
    CHECK(contains(machine_description(), " baseline kernels"));
  }
  if (kernels::supports(CpuVariant::v3)) {
    const VariantScope scope(CpuVariant::v3);
    CHECK(contains(machine_description(), " x86-64-v3 kernels"));
  }
}
