// Hooks into CAF of gates and of virtual time: addresses that are not actors,
// objects that live in an actor, messages of any type, steps of a scheduler.
#pragma once

#include <caisson/caf/caf.hpp>

#include <caisson/caf/detail/relay.hpp>
#include <caisson/caf/detail/resident_address.hpp>

#include <caisson/caf/detail/resident.hpp>
#include <caisson/caf/detail/stepper.hpp>
#include <caisson/caf/interceptor.hpp>
