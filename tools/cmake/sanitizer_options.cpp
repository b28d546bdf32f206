// Default sanitizer options of programs; ASAN_OPTIONS and TSAN_OPTIONS override them.

// Allocations that are too large must end in std::bad_alloc, as without AddressSanitizer.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }

// Memory that libraries keep until exit: libomp for its threads, the others for drawing (--format
// png).
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libomp\nleak:librsvg\nleak:libfontconfig\nleak:libpango\nleak:libcairo\nleak:"
         "libglib\n";
}

// OpenBLAS and other libraries lack ThreadSanitizer's instrumentation: their races may be false.
extern "C" const char* __tsan_default_options() { return "ignore_noninstrumented_modules=1"; }
