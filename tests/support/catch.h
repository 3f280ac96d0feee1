// Catch2 2 and 3 behind one include. Tests use the spellings both know.
#ifndef HOTEL_TESTS_SUPPORT_CATCH_H_
#define HOTEL_TESTS_SUPPORT_CATCH_H_

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif

#endif  // HOTEL_TESTS_SUPPORT_CATCH_H_
