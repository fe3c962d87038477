// Keys, as a terminal sends them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::ctl {

enum class key_kind : std::uint8_t {
  /// Has a text.
  character,
  enter,
  escape,
  backspace,
  up,
  down,
  left,
  right,
  home,
  end,
  page_up,
  page_down,
  /// Ctrl-C, Ctrl-Z, Ctrl-L and Ctrl-U.
  interrupt,
  suspend,
  redraw,
  clear,
};

struct key {
  key_kind kind = key_kind::character;
  /// One character in UTF-8.
  std::string text;

  friend bool operator==(const key&, const key&) = default;
};

/// Makes keys of bytes. What it does not know it leaves out.
class key_decoder {
public:
  /// Keys of what has come so far. A part of a key waits for its rest.
  [[nodiscard]] std::vector<key> take(std::string_view bytes);

  /// Whether a key may have come only in part: if nothing follows within some
  /// milliseconds, `finish` says which one it was.
  [[nodiscard]] bool is_waiting() const noexcept { return !rest_.empty(); }
  [[nodiscard]] std::vector<key> finish();

private:
  [[nodiscard]] std::size_t take_first(std::vector<key>& out) const;

  std::string rest_;
};

} // namespace caisson::ctl
