# Rules of installation: libraries, headers, `find_package(caisson)`, files for
# pkg-config, and the command. The component `dev` is for those who build programs,
# `command` is the command.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/caisson)

# Each library has its targets file, so that those that are not asked for need
# not have their dependencies installed.
foreach(name IN LISTS caisson_components)
  if(TARGET caisson_${name})
    install(TARGETS caisson_${name} EXPORT caisson_${name}
      ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
      LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
      RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT dev)
    install(EXPORT caisson_${name} NAMESPACE caisson::
      FILE caisson_${name}.cmake DESTINATION ${package_dir} COMPONENT dev)
    # So that what test/run has built can be installed.
    get_target_property(type caisson_${name} TYPE)
    if(TARGET caisson_tests AND NOT type STREQUAL "INTERFACE_LIBRARY")
      add_dependencies(caisson_tests caisson_${name})
    endif()
    # Shared libraries find each other wherever they are.
    if(type STREQUAL "SHARED_LIBRARY")
      set_target_properties(caisson_${name} PROPERTIES INSTALL_RPATH "$ORIGIN")
    endif()
  endif()
endforeach()

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
  DESTINATION ${package_dir} COMPONENT dev)
include(caisson_pkg_config)

# What Prometheus and Grafana take.
install(FILES docs/operation/alerts.yml docs/operation/rules.yml
  docs/operation/dashboard.json
  DESTINATION ${CMAKE_INSTALL_DATADIR}/caisson COMPONENT dev)
install(FILES LICENSE
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libcaisson-dev
  RENAME copyright COMPONENT dev)

if(TARGET caisson_command)
  include(caisson_install_command)
endif()
include(caisson_deb)
