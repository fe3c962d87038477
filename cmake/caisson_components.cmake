# The components, what they need, and what is said of those that are missing, by
# the build and by find_package(caisson).

set(caisson_components
  runtime actors config metrics http http_client grpc redis postgres asio control otlp
  tls)

# What a component needs besides fmt and CAF, and how it is called in Debian and
# Ubuntu. Those that are needed only while Caisson is built are marked so.
set(caisson_needs_runtime "")
set(caisson_needs_actors "")
set(caisson_needs_config "toml++ (libtomlplusplus-dev)")
set(caisson_needs_metrics "prometheus-cpp (prometheus-cpp-dev)")
set(caisson_needs_http "OpenSSL (libssl-dev)") # If it has TLS.
set(caisson_needs_http_client
  "libcurl 7.80 with OpenSSL (libcurl4-openssl-dev, libssl-dev) and pkg-config")
set(caisson_needs_grpc "gRPC 1.51 (libgrpc++-dev) and pkg-config")
set(caisson_needs_redis
  "hiredis and OpenSSL (libhiredis-dev, libssl-dev) and pkg-config")
set(caisson_needs_postgres
  "libpq with OpenSSL (libpq-dev, libssl-dev) and pkg-config")
set(caisson_needs_asio "Asio 1.22 (libasio-dev)")
set(caisson_needs_control "")
set(caisson_needs_otlp "${caisson_needs_http_client}")
set(caisson_needs_tls "CAF's OpenSSL module (libcaf-dev) and OpenSSL (libssl-dev)")
set(caisson_needs_control_to_build "nlohmann-json (nlohmann-json3-dev)")
set(caisson_needs_otlp_to_build
  "nlohmann-json (nlohmann-json3-dev) and ${caisson_needs_http_client}")

# Sets `out` to why the component is not there, and what to install. `file` is
# what it has in the package if it was built.
function(caisson_explain_missing component file out)
  if(NOT DEFINED caisson_needs_${component})
    list(JOIN caisson_components ", " names)
    set(${out} "there is no component ${component}, there are: ${names}"
      PARENT_SCOPE)
    return()
  endif()
  set(needed "${caisson_needs_${component}}")
  set(text "the component ${component} is missing")
  if(EXISTS "${file}")
    if(needed)
      string(APPEND text ": install ${needed}")
    endif()
  else()
    if(caisson_needs_${component}_to_build)
      set(needed "${caisson_needs_${component}_to_build}")
    endif()
    string(APPEND text ", because Caisson was built without it: ")
    if(needed)
      string(APPEND text "install ${needed}, then ")
    endif()
    string(APPEND text "build and install Caisson again")
    if(NOT component MATCHES "^(runtime|actors|tls)$")
      string(TOUPPER ${component} option)
      string(APPEND text " with -DCAISSON_BUILD_${option}=ON")
    endif()
  endif()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# Makes the option CAISSON_BUILD_<COMPONENT>, which is AUTO, ON or OFF.
function(caisson_component_option component default)
  string(TOUPPER CAISSON_BUILD_${component} option)
  set(${option} ${default} CACHE STRING
    "Build caisson::${component}: AUTO (if it can be), ON or OFF")
  set_property(CACHE ${option} PROPERTY STRINGS AUTO ON OFF)
  string(TOUPPER "${${option}}" value)
  if(NOT value MATCHES "^(AUTO|ON|OFF|TRUE|FALSE|YES|NO|1|0)$")
    message(FATAL_ERROR
      "${option} is \"${${option}}\", which is none of AUTO, ON and OFF")
  endif()
  # What is no constant of CMake would be the name of a variable in if().
  if(value STREQUAL AUTO)
    set(${option} ON PARENT_SCOPE)
    set(${option}_AUTO TRUE PARENT_SCOPE)
  endif()
endfunction()

# Says that a component cannot be built without `needed`; an error if it was
# asked for.
function(caisson_component_lacks component needed)
  string(TOUPPER CAISSON_BUILD_${component} option)
  if(NOT ${option}_AUTO)
    message(FATAL_ERROR "${option} is ON, but caisson::${component} needs \
${needed}: install or set that, or leave the component out with -D${option}=OFF")
  endif()
  message(STATUS "caisson::${component} is not built: it needs ${needed}")
endfunction()

# Sets `out` to the components that are built.
function(caisson_list_components out)
  set(built)
  foreach(component IN LISTS caisson_components)
    if(TARGET caisson_${component})
      list(APPEND built ${component})
    endif()
  endforeach()
  set(${out} ${built} PARENT_SCOPE)
endfunction()
