# Files for pkg-config: caisson.pc is caisson::actors, caisson-NAME.pc is another
# component.

# Static libraries name all that they need to be linked with; shared ones bring
# it, except for what headers use.
if(BUILD_SHARED_LIBS)
  set(pc_hidden Requires.private)
else()
  set(pc_hidden Requires)
endif()

# Where they are found, from the directory of the files on: a prefix can be moved.
set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
set(pc_prefix ${CMAKE_INSTALL_PREFIX})
if(NOT IS_ABSOLUTE ${pc_dir})
  file(RELATIVE_PATH pc_prefix /${pc_dir} /)
  string(REGEX REPLACE "/$" "" pc_prefix "\${pcfiledir}/${pc_prefix}")
endif()
set(pc_includedir "\${prefix}")
set(pc_libdir "\${prefix}")
cmake_path(APPEND pc_includedir ${CMAKE_INSTALL_INCLUDEDIR})
cmake_path(APPEND pc_libdir ${CMAKE_INSTALL_LIBDIR})

# Writes the file of a component, unless that is not built.
#
#   LINKS    options of the linker besides its own library
#   NEEDS    packages whose headers its headers include
#   HIDDEN   packages that only its sources use
function(caisson_pkg_config component description)
  cmake_parse_arguments(pc "" "CFLAGS;LINKS" "NEEDS;HIDDEN" ${ARGN})
  if(NOT TARGET caisson_${component})
    return()
  endif()
  set(name caisson-${component})
  if(component STREQUAL actors)
    set(name caisson)
  endif()
  set(library "-L\${libdir} -lcaisson_${component} ")
  get_target_property(type caisson_${component} TYPE)
  if(type STREQUAL INTERFACE_LIBRARY)
    set(library)
  endif()
  if(pc_hidden STREQUAL Requires)
    list(APPEND pc_NEEDS ${pc_HIDDEN})
    set(pc_HIDDEN)
  endif()
  list(JOIN pc_NEEDS ", " needs)
  list(JOIN pc_HIDDEN ", " hidden)
  set(file ${PROJECT_BINARY_DIR}/${name}.pc)
  file(GENERATE OUTPUT ${file} CONTENT "\
prefix=${pc_prefix}
includedir=${pc_includedir}
libdir=${pc_libdir}

Name: ${name}
Description: ${description}
Version: ${PROJECT_VERSION}
Requires: ${needs}
Requires.private: ${hidden}
Cflags: -I\${includedir} ${pc_CFLAGS}
Libs: ${library}${pc_LINKS}
")
  install(FILES ${file} DESTINATION ${pc_dir} COMPONENT dev)
endfunction()

# CAF has no such files.
set(caf_dir "$<TARGET_FILE_DIR:CAF::core>")
set(caf_includes "$<TARGET_PROPERTY:CAF::core,INTERFACE_INCLUDE_DIRECTORIES>")
caisson_pkg_config(runtime "Base of Caisson: time, errors, settings, policies"
  CFLAGS "-I$<JOIN:${caf_includes}, -I> -pthread"
  LINKS "-L${caf_dir} -lcaf_io -lcaf_core -pthread"
  HIDDEN fmt)
caisson_pkg_config(actors "Resilience policies for actors and functions in C++"
  NEEDS caisson-runtime HIDDEN fmt)
caisson_pkg_config(config "Stacks of Caisson's policies from TOML"
  NEEDS caisson HIDDEN tomlplusplus fmt)
set(openssl)
if(caisson_http_has_tls)
  set(openssl openssl)
endif()
caisson_pkg_config(http "A server for HTTP in front of Caisson's gates"
  NEEDS caisson HIDDEN ${openssl} fmt)
caisson_pkg_config(http_client "Workers for HTTP behind Caisson's gates"
  NEEDS caisson-http HIDDEN ${caisson_client_http_client} fmt)
caisson_pkg_config(asio "Calls through Caisson's gates and guards with Asio"
  NEEDS caisson CFLAGS -DASIO_STANDALONE)
set(zlib)
if(TARGET ZLIB::ZLIB)
  set(zlib zlib)
endif()
caisson_pkg_config(metrics "Metrics of Caisson's gates for Prometheus"
  NEEDS caisson prometheus-cpp-core HIDDEN caisson-http ${zlib} fmt)
caisson_pkg_config(control "What caisson ctl talks to"
  NEEDS caisson HIDDEN caisson-http fmt)
caisson_pkg_config(otlp "Spans and metrics of Caisson's gates for OpenTelemetry"
  NEEDS caisson-http_client HIDDEN fmt)
caisson_pkg_config(grpc "Workers and guards for gRPC with Caisson's policies"
  NEEDS caisson ${caisson_client_grpc} HIDDEN fmt)
foreach(part IN ITEMS redis postgres)
  # A lower bound is a package of its own in these lists.
  caisson_pkg_config(${part} "Workers for ${part} behind Caisson's gates"
    NEEDS caisson HIDDEN ${caisson_client_${part}} fmt)
endforeach()
# The module of CAF 0.17 brings OpenSSL itself.
set(openssl)
if(NOT CAF_OPENSSL_LIBRARY)
  set(openssl openssl)
endif()
caisson_pkg_config(tls "Connections with certificates between nodes of CAF"
  NEEDS caisson-runtime ${openssl} CFLAGS -DCAISSON_TLS
  LINKS "-L${caf_dir} -lcaf_openssl")
