# Language level, warnings and sanitizers, carried by one interface target that every target of the
# project links privately.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(HOTEL_CCACHE ccache)
if(HOTEL_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${HOTEL_CCACHE}")
endif()

add_library(hotel_compiler INTERFACE)
target_compile_options(hotel_compiler INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wold-style-cast
                                                -Woverloaded-virtual)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 sees overlapping copies in std::string at -O3 where there are none (GCC bug 105651).
  target_compile_options(hotel_compiler INTERFACE -Wno-restrict)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(hotel_compiler INTERFACE -Wthread-safety)
endif()
if(HOTEL_WERROR)
  target_compile_options(hotel_compiler INTERFACE -Werror)
endif()
if(HOTEL_SANITIZE)
  add_compile_options(-fsanitize=${HOTEL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${HOTEL_SANITIZE})
endif()
