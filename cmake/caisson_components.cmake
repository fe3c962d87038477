# What find_package(caisson) says of a component that is missing.

# What a component needs besides fmt and CAF, and how it is called in Debian and
# Ubuntu. Those that are needed only while Caisson is built are marked so.
set(caisson_needs_runtime "")
set(caisson_needs_actors "")
set(caisson_needs_config "toml++ (libtomlplusplus-dev)")
set(caisson_needs_metrics "prometheus-cpp (prometheus-cpp-dev)")
set(caisson_needs_http "")
set(caisson_needs_redis "hiredis (libhiredis-dev) and pkg-config")
set(caisson_needs_postgres "libpq (libpq-dev) and pkg-config")
set(caisson_needs_control "")
set(caisson_needs_tls "CAF's OpenSSL module (libcaf-dev) and OpenSSL (libssl-dev)")
set(caisson_needs_control_to_build "nlohmann-json (nlohmann-json3-dev)")

# Sets `out` to why the component is not there, and what to install. `file` is
# what it has in the package if it was built.
function(caisson_explain_missing component file out)
  if(NOT DEFINED caisson_needs_${component})
    set(${out} "there is no component ${component}, there are: runtime, actors, \
config, metrics, http, redis, postgres, control, tls" PARENT_SCOPE)
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
    string(APPEND text ", because Caisson was built without it")
    if(needed)
      string(APPEND text
        ": install ${needed}, then build and install Caisson again")
    endif()
  endif()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()
