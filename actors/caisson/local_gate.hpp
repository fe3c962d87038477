// Gates inside an actor.
#pragma once

#include <caisson/gate/local_gate.hpp>
