// Errors of gates and of workers, with texts for people.
#pragma once

#include <caisson/caf/error.hpp>
#include <caisson/engine/answers.hpp>
#include <caisson/engine/transport_errc.hpp>
#include <caisson/policy/errc.hpp>
#include <caisson/policy/outcome.hpp>
