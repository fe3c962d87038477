// Virtual time and scripted workers, for tests of your own actors.
#pragma once

#include <caisson/testing/scripted_worker.hpp>
#include <caisson/testing/virtual_time.hpp>
