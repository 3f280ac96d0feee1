# hotel_folder(NAME [DEPENDS folder...] [LIBS target...])
#
# Makes the static library hotel_<NAME> from the sources of this folder. DEPENDS names the folders it
# may include; the order of libhotel's folders allows no cycle.
function(hotel_folder name)
  cmake_parse_arguments(arg "" "" "DEPENDS;LIBS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cc")
  add_library(hotel_${name} STATIC ${sources})
  target_include_directories(hotel_${name} PUBLIC "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}")
  target_link_libraries(hotel_${name} PRIVATE hotel_compiler)
  foreach(folder IN LISTS arg_DEPENDS)
    target_link_libraries(hotel_${name} PUBLIC hotel_${folder})
  endforeach()
  target_link_libraries(hotel_${name} PUBLIC absl::status absl::statusor ${arg_LIBS})
endfunction()

# hotel_test(NAME SOURCES file... [LIBS target...] [LABELS label...])
#
# One Catch2 executable, registered with CTest as one test.
function(hotel_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS;LABELS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}")
  target_compile_definitions(${name} PRIVATE HOTEL_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE hotel_compiler ${arg_LIBS} test_support)
  if(HOTEL_SANITIZE)
    # What is looked for is in the library; optimising instrumented assertions takes as long again.
    target_compile_options(${name} PRIVATE -O0)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 1200)
endfunction()
