# The command with its man pages, its completion for bash, and scenarios to try.

install(TARGETS caisson_command
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
if(BUILD_SHARED_LIBS)
  file(RELATIVE_PATH lib_from_bin
    ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(caisson_command PROPERTIES
    INSTALL_RPATH "$ORIGIN/${lib_from_bin}")
endif()

# Its help texts are the pages.
find_package(Python3 QUIET COMPONENTS Interpreter)
if(Python3_Interpreter_FOUND AND NOT CMAKE_CROSSCOMPILING)
  set(man_dir ${PROJECT_BINARY_DIR}/man)
  set(man_script ${PROJECT_SOURCE_DIR}/cmake/packaging/man_pages.py)
  add_custom_command(OUTPUT ${man_dir}/caisson.1
    COMMAND Python3::Interpreter ${man_script}
      $<TARGET_FILE:caisson_command> ${PROJECT_VERSION} ${man_dir}
    DEPENDS caisson_command ${man_script} VERBATIM)
  add_custom_target(caisson_man ALL DEPENDS ${man_dir}/caisson.1)
  if(TARGET caisson_tests)
    add_dependencies(caisson_tests caisson_man)
  endif()
  install(DIRECTORY ${man_dir}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
    COMPONENT command FILES_MATCHING PATTERN "*.1")
else()
  message(STATUS "The man pages are not built: they need Python 3, and a "
    "command that runs on this machine")
endif()

install(FILES cmake/packaging/caisson.bash
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
  RENAME caisson COMPONENT command)
install(DIRECTORY demos/scenarios
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/caisson COMPONENT command)
# The pages that help texts and headers name.
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/caisson
  COMPONENT command FILES_MATCHING
  PATTERN "*.md" PATTERN "*.png" PATTERN "*.svg" PATTERN "*.yml"
  PATTERN "*.json" PATTERN "docs/site" EXCLUDE)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/caisson
  RENAME copyright COMPONENT command)
