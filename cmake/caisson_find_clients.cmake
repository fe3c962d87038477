# The client libraries of the optional workers, found by pkg-config: the
# distributions that Caisson is built on describe them there. No header of
# Caisson's includes them, but for those of gRPC.
find_package(PkgConfig QUIET)
find_package(Threads QUIET)

# Pipelines came with libpq 14, and what is called before a request is sent with
# libcurl 7.80. The OpenSSL of libcurl and libpq is asked what a connection still
# has; that to Redis is made without the help of hiredis. Only tests and demos
# use cpp-httplib.
set(caisson_client_http "cpp-httplib >= 0.10" "cpp-httplib < 0.19")
set(caisson_client_http_client "libcurl >= 7.80" "libssl >= 1.1.1")
set(caisson_client_grpc "grpc++ >= 1.51")
set(caisson_client_redis "hiredis >= 0.14" "libssl >= 1.1.1"
  "libcrypto >= 1.1.1")
set(caisson_client_postgres "libpq >= 14" "libssl >= 1.1.1"
  "libcrypto >= 1.1.1")

# Asio without Boost, which is only headers. Debian has no file for pkg-config.
function(caisson_find_asio)
  find_path(CAISSON_ASIO_INCLUDE_DIR asio/cancellation_signal.hpp)
  mark_as_advanced(CAISSON_ASIO_INCLUDE_DIR)
  if(NOT CAISSON_ASIO_INCLUDE_DIR OR NOT Threads_FOUND)
    return()
  endif()
  file(STRINGS ${CAISSON_ASIO_INCLUDE_DIR}/asio/version.hpp version
    REGEX "^#define ASIO_VERSION ")
  string(REGEX MATCH "[0-9]+" version "${version}")
  if(NOT version OR version LESS 102200)
    return()
  endif()
  add_library(caisson_client::asio INTERFACE IMPORTED GLOBAL)
  target_include_directories(caisson_client::asio INTERFACE
    ${CAISSON_ASIO_INCLUDE_DIR})
  target_compile_definitions(caisson_client::asio INTERFACE ASIO_STANDALONE)
  target_link_libraries(caisson_client::asio INTERFACE Threads::Threads)
endfunction()

# Makes the imported target `caisson_client::NAME` if the library of that worker
# is installed.
function(caisson_find_client name)
  if(name STREQUAL "asio" AND NOT TARGET caisson_client::asio)
    caisson_find_asio()
  endif()
  if(TARGET caisson_client::${name} OR NOT PKG_CONFIG_FOUND)
    return()
  endif()
  pkg_check_modules(caisson_pc_${name} QUIET IMPORTED_TARGET GLOBAL
    ${caisson_client_${name}})
  if(TARGET PkgConfig::caisson_pc_${name})
    add_library(caisson_client::${name} INTERFACE IMPORTED GLOBAL)
    target_link_libraries(caisson_client::${name} INTERFACE
      PkgConfig::caisson_pc_${name} Threads::Threads)
  endif()
endfunction()
