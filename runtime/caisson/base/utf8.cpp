#include <caisson/base/utf8.hpp>

namespace caisson::detail {

std::size_t utf8_length(std::string_view text) noexcept {
  auto byte = [&](std::size_t i) {
    return static_cast<unsigned char>(text[i]);
  };
  auto first = byte(0);
  if (first < 0x80)
    return 1;
  std::size_t n = first >= 0xc2 && first <= 0xdf   ? 2
                  : first >= 0xe0 && first <= 0xef ? 3
                  : first >= 0xf0 && first <= 0xf4 ? 4
                                                   : 0;
  if (n == 0 || text.size() < n)
    return 0;
  for (std::size_t i = 1; i < n; ++i)
    if ((byte(i) & 0xc0) != 0x80)
      return 0;
  auto second = byte(1);
  auto overlong = (first == 0xe0 && second < 0xa0)
                  || (first == 0xf0 && second < 0x90);
  auto surrogate = first == 0xed && second > 0x9f;
  auto too_high = first == 0xf4 && second > 0x8f;
  return overlong || surrogate || too_high ? 0 : n;
}

} // namespace caisson::detail
