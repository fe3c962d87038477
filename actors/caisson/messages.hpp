// Messages that gates understand, with handles, permits and status.
#pragma once

#include <caisson/caf/call_handle.hpp>
#include <caisson/caf/inherit.hpp>
#include <caisson/caf/messages.hpp>
#include <caisson/caf/status.hpp>
#include <caisson/caf/ticket.hpp>
