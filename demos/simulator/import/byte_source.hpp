// Reads a stream byte by byte, and knows where it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <istream>
#include <iterator>
#include <utility>
#include <vector>

namespace caisson::sim {

/// The bytes of a stream, with the line and the column of the next one. Keeps
/// 64 KiB of them.
class byte_source {
public:
  /// `each_block` is called with the number of bytes read so far; false from
  /// it ends the input.
  explicit byte_source(std::istream& in,
                       std::function<bool(std::uint64_t)> each_block = {})
    : in_(in), each_block_(std::move(each_block)), block_(65'536) {
    fill();
  }

  [[nodiscard]] bool at_end() const noexcept { return next_ == size_; }
  [[nodiscard]] char peek() const { return block_[next_]; }
  [[nodiscard]] std::uint64_t line() const noexcept { return line_; }
  [[nodiscard]] std::uint64_t column() const noexcept { return column_; }
  /// Whether `each_block` has ended it.
  [[nodiscard]] bool stopped() const noexcept { return stopped_; }

  void advance() {
    ++column_;
    if (block_[next_] == '\n') {
      ++line_;
      column_ = 1;
    }
    if (++next_ == size_)
      fill();
  }

  void skip_blanks() {
    while (
      !at_end()
      && (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r'))
      advance();
  }

  /// Takes bytes out of a source; all of one source move together.
  class iterator {
  public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = char;

    iterator() = default;
    explicit iterator(byte_source& from) : from_(&from) {}

    char operator*() const { return from_->peek(); }
    iterator& operator++() {
      from_->advance();
      return *this;
    }
    void operator++(int) { from_->advance(); }
    friend bool operator==(const iterator& a, const iterator& b) {
      return a.ended() == b.ended();
    }

  private:
    [[nodiscard]] bool ended() const { return !from_ || from_->at_end(); }

    byte_source* from_ = nullptr;
  };

  [[nodiscard]] iterator begin() { return iterator{*this}; }
  [[nodiscard]] static iterator end() { return {}; }

private:
  void fill() {
    next_ = size_ = 0;
    if (stopped_)
      return;
    in_.read(block_.data(), static_cast<std::streamsize>(block_.size()));
    size_ = static_cast<std::size_t>(in_.gcount());
    read_ += size_;
    if (each_block_ && !each_block_(read_)) {
      stopped_ = true;
      size_ = 0;
    }
  }

  std::istream& in_;
  std::function<bool(std::uint64_t)> each_block_;
  std::vector<char> block_;
  std::size_t next_ = 0;
  std::size_t size_ = 0;
  std::uint64_t read_ = 0;
  std::uint64_t line_ = 1;
  std::uint64_t column_ = 1;
  bool stopped_ = false;
};

} // namespace caisson::sim
