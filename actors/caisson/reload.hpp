// Gates from a file, and its reload while they run.
#pragma once

#include <caisson/config/gate_file.hpp>
#include <caisson/config/gate_set.hpp>
#include <caisson/config/reload_watch.hpp>
#include <caisson/config/stack_toml.hpp>
#include <caisson/gate/worker_names.hpp>
