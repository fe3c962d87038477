// Load generator of the shop: an open loop, which does not wait for answers.
#pragma once

#include "arguments.hpp"

#include <caisson/caf/caf.hpp>

namespace shop {

/// Sends requests to the front, at random times with the given mean rate, and
/// writes what has become of them: see docs/shop.md. Returns what the
/// process is to return: 1 if a request was answered too late or not at all.
int load(caf::actor_system& sys, const arguments& args);

} // namespace shop
