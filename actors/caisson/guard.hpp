// Guards: policies for threads, without actors.
#pragma once

#include <caisson/gate/guard.hpp>
