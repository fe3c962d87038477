// The options of demos that go on for a time, so that others can look at them.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

namespace demo {

struct serving {
  /// Of the option that the demo names.
  std::string where;
  std::chrono::seconds time;
};

/// Reads `option VALUE` and `--seconds N`, each of which may be absent; without
/// a value prints how to use the program, where `what` is the kind of value.
inline std::optional<serving> serving_of(int argc, char** argv,
                                         std::string_view option,
                                         std::string_view what, serving out) {
  auto right = argc % 2 == 1;
  for (auto i = 1; right && i < argc; i += 2) {
    std::string_view value = argv[i + 1];
    if (argv[i] == option) {
      out.where = value;
    } else if (argv[i] == std::string_view{"--seconds"}) {
      auto seconds = 0;
      auto* end = value.data() + value.size();
      right = std::from_chars(value.data(), end, seconds).ptr == end
              && seconds >= 1 && seconds <= 86'400;
      out.time = std::chrono::seconds(seconds);
    } else {
      right = false;
    }
  }
  if (right)
    return out;
  fmt::print(stderr, "usage: {} [{} {}] [--seconds 1..86400]\n", argv[0],
             option, what);
  return std::nullopt;
}

} // namespace demo
