# What `cmake --install` gives beside the libraries and programs that their own folders install.
include(CMakePackageConfigHelpers)

install(TARGETS hanpmpi EXPORT hanpmpi-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT hanpmpi-targets NAMESPACE hanpmpi:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hanpmpi)
configure_package_config_file(cmake/hanpmpi-config.cmake.in hanpmpi-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hanpmpi)
write_basic_package_version_file(hanpmpi-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/hanpmpi-config.cmake ${PROJECT_BINARY_DIR}/hanpmpi-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hanpmpi)

file(RELATIVE_PATH HP_PREFIX_FROM_PC ${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/hanpmpi.pc.in hanpmpi.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/hanpmpi.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(FILES include/hanpmpi/hanpmpi.h include/hanpmpi/noise.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/hanpmpi)
install(FILES LICENSE README.md ARCHITECTURE.md docs/KNOBS.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The manual page's list of variables comes from the same table as the library's.
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/hanpmpi.7
                   COMMAND sh -c "cat '${PROJECT_SOURCE_DIR}/docs/hanpmpi.7.head' >hanpmpi.7 && $<TARGET_FILE:hanpmpi_info> --knobs-man >>hanpmpi.7 && cat '${PROJECT_SOURCE_DIR}/docs/hanpmpi.7.tail' >>hanpmpi.7"
                   DEPENDS hanpmpi_info docs/hanpmpi.7.head docs/hanpmpi.7.tail WORKING_DIRECTORY ${PROJECT_BINARY_DIR} VERBATIM)
add_custom_target(hanpmpi_man ALL DEPENDS ${PROJECT_BINARY_DIR}/hanpmpi.7)
install(FILES ${PROJECT_BINARY_DIR}/hanpmpi.7 DESTINATION ${CMAKE_INSTALL_MANDIR}/man7)
install(FILES docs/hanpmpi-network.5 docs/hanpmpi-rules.5 docs/hanpmpi-schedules.5 docs/hanpmpi-profile.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
install(FILES docs/hanpmpi-noise.7 DESTINATION ${CMAKE_INSTALL_MANDIR}/man7)
# pip installs hanpmpi_report and hanpmpi_profile themselves.
install(FILES docs/hanpmpi_info.1 docs/hanpmpi_generate.1 docs/hanpmpi_report.1 docs/hanpmpi_profile.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
