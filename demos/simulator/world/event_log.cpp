#include <simulator/world/event_log.hpp>

namespace caisson::sim {

// By hand, and not by a format: some lines are written for each request.

namespace {

/// The digits of the largest number.
constexpr std::size_t most_digits = 20;

/// Those of nanoseconds within a second.
constexpr std::size_t second_digits = 9;

// Writes the last `n` digits of a number, zeros among them.
void write_digits(char* to, std::size_t n, std::uint64_t number) {
  while (n > 0) {
    to[--n] = static_cast<char>('0' + number % 10);
    number /= 10;
  }
}

std::size_t digits_of(std::uint64_t number) {
  std::size_t n = 1;
  for (; number >= 10; number /= 10)
    ++n;
  return n;
}

} // namespace

void event_log::add_number(std::uint64_t number) {
  make_room(most_digits);
  auto n = digits_of(number);
  write_digits(end_, n, number);
  end_ += n;
}

void event_log::add_time(duration at) {
  constexpr std::uint64_t second = 1'000'000'000;
  auto ns = static_cast<std::uint64_t>(at.count());
  add_number(ns / second);
  make_room(second_digits + 2);
  *end_++ = '.';
  write_digits(end_, second_digits, ns % second);
  end_ += second_digits;
  *end_++ = ' ';
}

void event_log::grow(std::size_t more) {
  auto used = static_cast<std::size_t>(end_ - text_.data());
  text_.resize(2 * (used + more));
  end_ = text_.data() + used;
}

void event_log::finish_line() {
  std::string_view line{text_.data(),
                        static_cast<std::size_t>(end_ - text_.data())};
  digest_ = detail::fnv1a(line, digest_);
  digest_ = detail::fnv1a('\n', digest_);
  ++lines_;
  if (sink_)
    sink_(line);
}

} // namespace caisson::sim
