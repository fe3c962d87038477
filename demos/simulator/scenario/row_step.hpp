// Seconds that a row of the results covers.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/settings.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace caisson::sim {

/// What a step may be, for messages.
inline constexpr std::string_view allowed_steps
  = "whole seconds from 1s to 100h";

/// The seconds that `text` says, such as `1min`; nothing if it is not one of
/// `allowed_steps`.
[[nodiscard]] std::optional<std::uint32_t> read_step(std::string_view text);

/// The next longer step that people read well and that consists of whole steps
/// of `unit` seconds.
[[nodiscard]] std::uint32_t next_step(std::uint32_t step, std::uint32_t unit);

/// For a run that lasts at most so long: a second, or more if that would be
/// more than 10,000 rows.
[[nodiscard]] std::uint32_t usual_step(duration longest);

/// A field that is a step, absent as long as nobody has said it.
class step_value final : public field_value {
public:
  explicit step_value(std::optional<std::uint32_t>& x) : x_(x) {}

  [[nodiscard]] std::string type() const override { return "duration"; }
  [[nodiscard]] std::string allowed() const override {
    return std::string{allowed_steps};
  }
  [[nodiscard]] std::string text() const override;
  void read(const setting& from, const setting_path& path,
            problems& out) override;
  void check(const setting_path& path, problems& out) const override;

private:
  std::optional<std::uint32_t>& x_;
};

} // namespace caisson::sim
