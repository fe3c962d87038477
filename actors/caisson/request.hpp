// Requests to gates from threads that are no actors.
#pragma once

#include <caisson/gate/request.hpp>
