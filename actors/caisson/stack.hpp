// Stacks of policies, as values.
#pragma once

#include <caisson/stack/stack.hpp>
