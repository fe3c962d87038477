#include <simulator/remote/build_identity.hpp>

#include <caisson/base/hash.hpp>
#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <string_view>
#include <vector>

namespace caisson::sim {

namespace {

std::string program_hash() {
  std::ifstream file{"/proc/self/exe", std::ios::binary};
  std::vector<char> part(1 << 16);
  auto hash = detail::fnv1a_start;
  auto read = std::uint64_t{0};
  while (file.read(part.data(), static_cast<std::streamsize>(part.size()))
         || file.gcount() > 0) {
    auto n = static_cast<std::size_t>(file.gcount());
    hash = detail::fnv1a(std::string_view{part.data(), n}, hash);
    read += n;
  }
  // Where a process cannot read its own file.
  if (read == 0)
    hash = detail::fnv1a(std::string_view{__VERSION__});
  return fmt::format("{:016x}", hash);
}

std::string arithmetic_hash() {
  auto hash = detail::fnv1a_start;
  auto add = [&](double x) {
    auto bits = std::bit_cast<std::uint64_t>(x);
    for (int i = 0; i < 8; ++i)
      hash = detail::fnv1a(static_cast<unsigned char>(bits >> (8 * i)), hash);
  };
  // Numbers in (0, 1), by Knuth's generator.
  std::uint64_t state = 1;
  for (int i = 0; i < 4096; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    auto x = (static_cast<double>(state >> 12) + 0.5) * 0x1p-52;
    add(std::exp(20 * x - 10));
    add(std::log(x));
    add(std::log1p(-x));
    add(std::pow(10 * x, 3 * x - 1));
    add(std::sqrt(x));
    add(std::cos(6.5 * x));
    add(std::tgamma(1 + 5 * x));
  }
  return fmt::format("{:016x}", hash);
}

} // namespace

build_identity own_identity(const std::string& version) {
  return {version, program_hash(), arithmetic_hash()};
}

std::string difference_of(const build_identity& own,
                          const build_identity& other) {
  if (own.version != other.version)
    return fmt::format("it is version {}, this is {}",
                       detail::printable(other.version), own.version);
  if (own.program != other.program)
    return fmt::format("it is another build of {}; both must be the same "
                       "program, byte for byte",
                       own.version);
  if (own.arithmetic != other.arithmetic)
    return "it is the same program, but exp, log or the like give other "
           "numbers there: another processor or C library";
  return {};
}

} // namespace caisson::sim
