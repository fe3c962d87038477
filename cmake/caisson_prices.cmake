# The library `caisson_prices`: the messages, stubs and services of
# demos/examples/prices.proto, for tests and demos. It needs the compilers of
# protobuf and gRPC, which users of caisson::grpc need not have.
find_program(CAISSON_PROTOC protoc)
find_program(CAISSON_GRPC_PLUGIN grpc_cpp_plugin)
mark_as_advanced(CAISSON_PROTOC CAISSON_GRPC_PLUGIN)
pkg_check_modules(caisson_pc_protobuf QUIET IMPORTED_TARGET GLOBAL protobuf)
if(NOT CAISSON_PROTOC OR NOT CAISSON_GRPC_PLUGIN
   OR NOT TARGET PkgConfig::caisson_pc_protobuf)
  message(STATUS "caisson::grpc is not tested: that needs libprotobuf-dev, "
    "protobuf-compiler and protobuf-compiler-grpc")
  return()
endif()

set(prices_source ${PROJECT_SOURCE_DIR}/demos/examples/prices.proto)
set(prices_dir ${PROJECT_BINARY_DIR}/prices)
file(MAKE_DIRECTORY ${prices_dir})
set(prices_sources ${prices_dir}/prices.pb.cc ${prices_dir}/prices.grpc.pb.cc)
add_custom_command(
  OUTPUT ${prices_sources} ${prices_dir}/prices.pb.h
    ${prices_dir}/prices.grpc.pb.h
  COMMAND ${CAISSON_PROTOC} -I${PROJECT_SOURCE_DIR}/demos/examples
    --cpp_out=${prices_dir} --grpc_out=${prices_dir}
    --plugin=protoc-gen-grpc=${CAISSON_GRPC_PLUGIN} ${prices_source}
  DEPENDS ${prices_source}
  VERBATIM)
add_library(caisson_prices STATIC EXCLUDE_FROM_ALL ${prices_sources})
# Nobody here has written it.
target_compile_options(caisson_prices PRIVATE -w -O1 -g0)
target_include_directories(caisson_prices SYSTEM PUBLIC ${prices_dir})
target_link_libraries(caisson_prices PUBLIC
  caisson_client::grpc PkgConfig::caisson_pc_protobuf)
