// A config with one field of each type, and a relation between two of them.
#pragma once

#include <caisson/policy/policy_config.hpp>
#include <caisson/policy/schedule_settings.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace caisson::test {

struct sample_config {
  std::string name = {};
  caisson::mode mode = caisson::mode::enforce;
  bool loud = false;
  std::uint32_t least = 1;
  std::uint32_t most = 5;
  double ratio = 0.5;
  duration wait = std::chrono::seconds(1);
  schedule pause = schedule::constant(std::chrono::milliseconds(10));
  std::vector<std::string> words = {};
};

inline void describe(field_visitor& v, sample_config& c) {
  describe_common(v, c);
  v.on({"loud", "whether"}, c.loud);
  v.integer<std::uint32_t>({"least", "from"}, c.least, {1, 100});
  v.integer<std::uint32_t>({"most", "to", "bytes"}, c.most, {1, 1'000'000});
  v.on({"ratio", "how much"}, c.ratio, {0.0, 1.0});
  v.on({"wait", "how long"}, c.wait, {duration::zero(), unlimited});
  v.on({"pause", "between"}, c.pause);
  v.on({"words", "which"}, c.words);
}

inline void check(const sample_config& c, const setting_path& path,
                  problems& out) {
  if (c.least > c.most)
    out.push_back(
      {problem_kind::relation, path / "least", "must not exceed most"});
}

} // namespace caisson::test
