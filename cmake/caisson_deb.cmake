# Packages for Debian and Ubuntu, by `cpack`: libcaisson-dev has what is needed to
# build programs, caisson the command.

# Shared libraries would be packages of their own.
if(NOT PROJECT_IS_TOP_LEVEL OR BUILD_SHARED_LIBS)
  return()
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME caisson)
set(CPACK_PACKAGE_VENDOR "the authors of Caisson")
set(CPACK_PACKAGE_CONTACT "the authors of Caisson <caisson@localhost>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL dev)
if(TARGET caisson_command)
  list(APPEND CPACK_COMPONENTS_ALL command)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

# What the CMake package and the files for pkg-config look for. Components whose
# package is missing are just not there.
set(needs "libfmt-dev")
if(CAF_INCLUDE_DIR STREQUAL "/usr/include")
  string(REGEX REPLACE "^([0-9]+[.][0-9]+)[.].*" "\\1" caf_line
    ${CAISSON_CAF_VERSION})
  string(PREPEND needs "libcaf-dev (>= ${caf_line}), libcaf-dev (<< ${caf_line}.99), ")
endif()
set(helps cmake pkg-config)
foreach(pair IN ITEMS config=libtomlplusplus-dev metrics=prometheus-cpp-dev
    http_client=libcurl4-openssl-dev,libssl-dev grpc=libgrpc++-dev
    redis=libhiredis-dev,libssl-dev postgres=libpq-dev,libssl-dev
    asio=libasio-dev tls=libssl-dev)
  string(REPLACE "=" ";" pair ${pair})
  list(GET pair 0 component)
  list(GET pair 1 package)
  if(TARGET caisson_${component})
    list(APPEND helps ${package})
  endif()
endforeach()
if(caisson_http_has_tls)
  list(APPEND helps libssl-dev)
  list(REMOVE_DUPLICATES helps)
endif()
list(JOIN helps ", " helps)
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libcaisson-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS ${needs})
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS ${helps})
set(CPACK_DEBIAN_DEV_DESCRIPTION
  "Resilience policies for actors and functions in C++20
Circuit breaker, concurrency and rate limits, retries, deadlines, fallback,
cache and others, around actors of CAF or around functions. This package has
static libraries, headers, a CMake package and files for pkg-config.")

set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME caisson)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMMAND_DESCRIPTION
  "Simulates load and faults on services, and controls gates of Caisson
The command caisson runs load and faults on a graph of services in virtual
time, with different resilience policies side by side, and lists, changes and
drains the gates of running programs.")
include(CPack)
