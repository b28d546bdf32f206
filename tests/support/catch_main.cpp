// Catch2 3 brings its own main(); version 2 wants one file to ask for it.
#if !__has_include(<catch2/catch_all.hpp>)
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif
