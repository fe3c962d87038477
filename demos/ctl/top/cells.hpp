// Text in the cells of a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::ctl {

/// How something is drawn. Each also says by words what its colour says.
enum class paint : std::uint8_t { plain, dim, bold, good, strained, bad };

/// What a terminal can show.
struct terminal_look {
  /// Whether it can show more than ASCII.
  bool utf8 = true;
  bool colors = true;
};

/// The text, so that it does nothing to a terminal and its width is known:
/// control characters, directions of writing and what is no UTF-8 are written
/// like `\x1b`, and what has no width of its own, or is not ASCII without
/// `utf8`, is a question mark. Only the first `most_text_bytes` of it.
[[nodiscard]] std::string harmless(std::string_view text, bool utf8);
inline constexpr std::size_t most_text_bytes = 512;

/// In cells, of a text that is `harmless`.
[[nodiscard]] std::size_t width_of(std::string_view text) noexcept;

enum class side : std::uint8_t { left, right };

/// Such a text with blanks beside it, or cut, so that it has exactly this
/// width. `…` stands for what was cut, or `~` without `utf8`.
[[nodiscard]] std::string fitted(const std::string& text, std::size_t width,
                                 bool utf8, side at = side::left);

/// A character of one cell for each value, whose height is its share of the
/// greatest one; a blank for what is not known.
[[nodiscard]] std::vector<std::string>
bars_of(std::span<const std::optional<double>> values, bool utf8);

/// One line of a screen.
class text_line {
public:
  text_line() = default;
  explicit text_line(std::string text, paint how = paint::plain) {
    add(std::move(text), how);
  }

  /// `text` is harmless.
  void add(std::string text, paint how = paint::plain);

  void append(const text_line& more) {
    for (const auto& x : more.parts_)
      add(x.text, x.how);
  }

  /// Makes it exactly so wide, by blanks at its end or by cutting it.
  void set_width(std::size_t columns, bool utf8);

  /// Pale, as what is no longer true.
  void fade() {
    for (auto& x : parts_)
      x.how = paint::dim;
  }

  /// As the one that is chosen.
  void select() noexcept { selected_ = true; }

  [[nodiscard]] std::size_t width() const noexcept { return width_; }

  /// Without colours.
  [[nodiscard]] std::string text() const;

  /// With the sequences for its colours; ends as it began.
  [[nodiscard]] std::string drawn(bool colors) const;

private:
  struct part {
    std::string text;
    paint how;
  };

  std::vector<part> parts_;
  std::size_t width_ = 0;
  bool selected_ = false;
};

} // namespace caisson::ctl
