// Stacks for common cases.
#pragma once

#include <caisson/stack/presets.hpp>
