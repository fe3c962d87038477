// Gates as actors of their own.
#pragma once

#include <caisson/gate/gate.hpp>
