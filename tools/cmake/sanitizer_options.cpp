// What programs that are built with sanitizers start from; ASAN_OPTIONS and TSAN_OPTIONS change it.

// More memory than there is must end in std::bad_alloc, as without AddressSanitizer.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }

// What libraries keep for as long as a program runs: libomp for its threads, the others to draw
// (--format png).
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libomp\nleak:librsvg\nleak:libfontconfig\nleak:libpango\nleak:libcairo\nleak:"
         "libglib\n";
}

// OpenBLAS and the other libraries are not instrumented.
extern "C" const char* __tsan_default_options() { return "ignore_noninstrumented_modules=1"; }
