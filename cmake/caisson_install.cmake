# The installed package: libraries, headers, and `find_package(caisson)`.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/caisson)

# Each library has its targets file, so that those that are not asked for need
# not have their dependencies installed.
foreach(name IN ITEMS runtime actors config metrics http redis postgres control tls)
  if(TARGET caisson_${name})
    install(TARGETS caisson_${name} EXPORT caisson_${name}
      ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
      LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
      RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    install(EXPORT caisson_${name} NAMESPACE caisson::
      FILE caisson_${name}.cmake DESTINATION ${package_dir})
    # So that what test/run has built can be installed.
    get_target_property(type caisson_${name} TYPE)
    if(TARGET caisson_tests AND NOT type STREQUAL "INTERFACE_LIBRARY")
      add_dependencies(caisson_tests caisson_${name})
    endif()
  endif()
endforeach()
if(TARGET caisson_tests AND TARGET caisson_command)
  add_dependencies(caisson_tests caisson_command)
endif()

include(caisson_public_headers)
caisson_public_headers(public_headers)
caisson_install_headers(${public_headers})

configure_package_config_file(cmake/caissonConfig.cmake.in
  ${PROJECT_BINARY_DIR}/caissonConfig.cmake INSTALL_DESTINATION ${package_dir}
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/caissonConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/caissonConfig.cmake
  ${PROJECT_BINARY_DIR}/caissonConfigVersion.cmake
  cmake/caisson_components.cmake
  cmake/caisson_find_caf.cmake
  cmake/caisson_find_clients.cmake
  DESTINATION ${package_dir})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
