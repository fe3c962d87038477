// Notes on screens of `caisson top`, besides the gates.
#pragma once

#include <caisson/base/time.hpp>

#include <string>

namespace caisson::ctl {

struct screen_notes {
  /// The program, such as its control file.
  std::string program;
  duration interval{};
  time_point now{};
};

} // namespace caisson::ctl
