# Everything the build takes from the system: found here and nowhere else, never downloaded.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(absl REQUIRED CONFIG)
find_package(fmt REQUIRED CONFIG)
find_package(simdjson REQUIRED CONFIG)
find_package(ZLIB REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(CURL 7.88 REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)
find_package(yaml-cpp REQUIRED CONFIG)
# yaml-cpp 0.7 exports "yaml-cpp", 0.8 "yaml-cpp::yaml-cpp".
if(NOT TARGET yaml-cpp::yaml-cpp)
  add_library(yaml-cpp::yaml-cpp INTERFACE IMPORTED)
  set_target_properties(yaml-cpp::yaml-cpp PROPERTIES INTERFACE_LINK_LIBRARIES yaml-cpp)
endif()
pkg_check_modules(argon2 REQUIRED IMPORTED_TARGET libargon2)

if(HOTEL_BUILD_SERVER)
  # Debian's cpp-httplib is a compiled library whose build flags change the layout of its classes;
  # only its pkg-config file carries them.
  pkg_check_modules(httplib REQUIRED IMPORTED_TARGET cpp-httplib)
  find_package(nlohmann_json REQUIRED CONFIG)
  find_package(spdlog REQUIRED CONFIG)
  find_package(CLI11 REQUIRED CONFIG)
  # Its own configuration file asks for the web server of a part that is not used.
  pkg_check_modules(prometheus REQUIRED IMPORTED_TARGET prometheus-cpp-core)
endif()
if(HOTEL_BUILD_TESTS)
  find_package(Catch2 REQUIRED CONFIG)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  find_program(HOTEL_NODE NAMES node nodejs)
endif()
