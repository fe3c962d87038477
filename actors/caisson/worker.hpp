// Workers behind a gate: actors, factories, or none.
#pragma once

#include <caisson/engine/supervision.hpp>
#include <caisson/gate/supervision_group.hpp>
#include <caisson/gate/worker.hpp>
