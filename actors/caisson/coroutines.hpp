// Calls that coroutines await.
#pragma once

#include <caisson/gate/request_awaitable.hpp>
#include <caisson/gate/run_awaitable.hpp>
