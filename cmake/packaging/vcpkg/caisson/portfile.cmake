# Port for `vcpkg install caisson --overlay-ports=cmake/packaging/vcpkg`: builds the
# sources that this port lies in.
get_filename_component(source_path "${CURRENT_PORT_DIR}/../../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS options
  FEATURES
    asio CAISSON_BUILD_ASIO
    config CAISSON_BUILD_CONFIG
    control CAISSON_BUILD_CONTROL
    grpc CAISSON_BUILD_GRPC
    metrics CAISSON_BUILD_METRICS
    otlp CAISSON_BUILD_OTLP
    postgres CAISSON_BUILD_POSTGRES
    redis CAISSON_BUILD_REDIS
    http-client CAISSON_BUILD_HTTP_CLIENT)

# gRPC and the client libraries of Redis and PostgreSQL are found by pkg-config.
vcpkg_find_acquire_program(PKGCONFIG)

vcpkg_cmake_configure(
  SOURCE_PATH "${source_path}"
  OPTIONS
    ${options}
    "-DPKG_CONFIG_EXECUTABLE=${PKGCONFIG}"
    -DCAISSON_BUILD_TESTS=OFF
    -DCAISSON_BUILD_BENCHMARKS=OFF
    -DCAISSON_BUILD_DEMOS=OFF
    -DCAISSON_BUILD_COMMAND=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME caisson CONFIG_PATH lib/cmake/caisson)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include"
  "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${source_path}/LICENSE")
