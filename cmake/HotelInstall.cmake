# What `cmake --install` puts under the prefix: headers, libraries, the CMake package and the
# pkg-config file.
include(CMakePackageConfigHelpers)

set(HOTEL_CMAKE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/hotel")
get_target_property(type hotel TYPE)
string(COMPARE EQUAL "${type}" "STATIC_LIBRARY" HOTEL_STATIC)

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/hotel" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.h")
install(TARGETS hotel hotel_testing EXPORT hotelTargets
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
        RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(EXPORT hotelTargets NAMESPACE hotel:: DESTINATION "${HOTEL_CMAKE_DIR}")

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/hotelConfig.cmake.in"
                              "${PROJECT_BINARY_DIR}/hotelConfig.cmake"
                              INSTALL_DESTINATION "${HOTEL_CMAKE_DIR}")
# Before 1.0 a minor version may change interfaces.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/hotelConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/hotelConfig.cmake" "${PROJECT_BINARY_DIR}/hotelConfigVersion.cmake"
        DESTINATION "${HOTEL_CMAKE_DIR}")

# The prefix is taken from where the file lies, so that an installed tree can be moved.
file(RELATIVE_PATH HOTEL_PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" HOTEL_PC_PREFIX "${HOTEL_PC_PREFIX}")
configure_file("${PROJECT_SOURCE_DIR}/cmake/hotel.pc.in" "${PROJECT_BINARY_DIR}/hotel.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/hotel.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

# The programs install themselves (server/); linked against a shared library they find it by this.
if(NOT HOTEL_STATIC)
  file(RELATIVE_PATH lib_from_bin "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
  foreach(program IN ITEMS hoteld hotelctl hotel-sim)
    if(TARGET ${program})
      set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN/${lib_from_bin}")
    endif()
  endforeach()
endif()
