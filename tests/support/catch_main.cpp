// Catch2 3 brings its own main(). Version 2 needs this definition in one file.
#if !__has_include(<catch2/catch_all.hpp>)
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif
