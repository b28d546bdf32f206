#pragma once

#include <string>
#include <vector>

namespace headlight::test {

// File that readers must refuse.
struct HostileFile {
  std::string name;
  std::string bytes;
  std::string expected;  // part of the error
};

// Malicious GGUF files: wrong starts, counts, metadata, tables and layouts. They include every
// attack known to have broken ggml's reader, gguf.GGUFReader or others: counts of tensors
// (CVE-2024-21836) and keys (CVE-2024-23605), lengths of texts (CVE-2024-23496), lists whose size
// in bytes wraps (CVE-2024-21825), too many axes (CVE-2024-21802), sizes and sums of sizes that
// wrap (CVE-2025-53630, CVE-2026-27940), types outside of the table, axes and alignments of 0,
// tensors that end behind the file (CVE-2026-7482).
std::vector<HostileFile> hostile_gguf();

// Malicious safetensors files: wrong lengths, JSON, entries, layouts and names, and JSON that needs
// much memory.
std::vector<HostileFile> hostile_safetensors();

}  // namespace headlight::test
