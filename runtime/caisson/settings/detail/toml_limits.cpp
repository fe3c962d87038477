#include <caisson/settings/detail/toml_limits.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace caisson::detail {

namespace {

// Walks over keys, brackets, strings and comments, and builds nothing. Up to
// the first syntax error it sees what a parser sees; there a parser ends.
class scanner {
public:
  scanner(std::string_view text, std::string_view source)
    : text_(text), source_(source) {}

  std::optional<problem> scan() {
    while (at_ < text_.size() && !found_)
      step(text_[at_]);
    return std::move(found_);
  }

private:
  enum class part { key, header, value };

  // A list or an inline table that is not closed yet.
  struct bracket {
    char kind;
    std::size_t level;
  };

  void step(char c) {
    switch (c) {
      case '#':
        at_ = std::min(text_.find('\n', at_), text_.size());
        return;
      case '\n':
        if (open_.empty())
          begin_key();
        break;
      case ',':
        next_item();
        break;
      case '=':
        if (part_ == part::key)
          end_key();
        break;
      case '[':
      case '{':
        open(c);
        break;
      case ']':
      case '}':
        close();
        break;
      case '"':
      case '\'':
        note_key();
        return skip_string(c);
      case '.':
        ++parts_;
        break;
      case ' ':
      case '\t':
      case '\r':
        break;
      default:
        note_key();
    }
    ++at_;
  }

  // -- keys -------------------------------------------------------------------

  // The level of the table or list around what is read.
  [[nodiscard]] std::size_t around() const {
    if (!open_.empty())
      return open_.back().level;
    return part_ == part::header ? 0 : header_;
  }

  void begin_key() {
    part_ = part::key;
    parts_ = 1;
    begin_.reset();
  }

  void note_key() {
    if (!begin_)
      begin_ = at_;
  }

  void end_key() {
    auto begin = begin_.value_or(at_);
    level_ = around() + parts_;
    if (level_ > most_levels)
      refuse(begin, too_deep());
    else if (at_ - begin > longest_key)
      refuse(begin, too_long_key(at_ - begin));
    part_ = part::value;
  }

  // -- brackets ---------------------------------------------------------------

  void open(char kind) {
    if (part_ == part::header)
      return; // The second one of a list of tables.
    if (part_ == part::key) {
      begin_key();
      part_ = part::header;
      return;
    }
    open_.push_back({kind, level_});
    next_item();
  }

  void next_item() {
    if (open_.empty())
      return;
    if (open_.back().kind == '{')
      return begin_key();
    part_ = part::value;
    level_ = around() + 1;
    if (level_ > most_levels)
      refuse(at_, too_deep());
  }

  void close() {
    if (part_ == part::header) {
      end_key();
      header_ = level_;
    } else if (!open_.empty()) {
      open_.pop_back();
      part_ = part::value;
    }
  }

  // -- strings ----------------------------------------------------------------

  void skip_string(char mark) {
    auto three = text_.substr(at_).starts_with(end_of(mark));
    at_ += three ? 3 : 1;
    while (at_ < text_.size()) {
      auto c = text_[at_];
      if (c == '\\' && mark == '"')
        ++at_;
      else if (c == mark && !three) {
        ++at_;
        return;
      } else if (text_.substr(at_).starts_with(end_of(mark)))
        return end_three(mark);
      else if (c == '\n' && !three)
        break;
      ++at_;
    }
    at_ = text_.size(); // It has no end.
  }

  static std::string_view end_of(char mark) {
    return mark == '"' ? "\"\"\"" : "'''";
  }

  // Two quotation marks before the last three belong to the string itself.
  void end_three(char mark) {
    for (int n = 0; n < 5 && at_ < text_.size() && text_[at_] == mark; ++n)
      ++at_;
  }

  // -- problems ---------------------------------------------------------------

  void refuse(std::size_t begin, std::string message) {
    auto before = text_.substr(0, begin);
    auto line = std::count(before.begin(), before.end(), '\n') + 1;
    before.remove_prefix(before.rfind('\n') + 1);
    // Continuation bytes of UTF-8 are no characters of their own.
    auto column = std::count_if(before.begin(), before.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    });
    found_ = problem{
      problem_kind::syntax,
      setting_path{}
        / shortened(text_.substr(begin, at_ - begin), longest_quoted),
      std::move(message), fmt::format("{}:{}:{}", source_, line, column + 1)};
  }

  std::string_view text_;
  std::string_view source_;
  std::size_t at_ = 0;
  part part_ = part::key;
  // Of the current key: how many, and where it begins.
  std::size_t parts_ = 1;
  std::optional<std::size_t> begin_;
  // Of the current value.
  std::size_t level_ = 0;
  // Of the table that the last header names.
  std::size_t header_ = 0;
  std::vector<bracket> open_;
  std::optional<problem> found_;
};

} // namespace

std::optional<problem> toml_excess(std::string_view text,
                                   std::string_view source_name) {
  // A byte order mark is no part of the first key.
  if (text.starts_with("\xef\xbb\xbf"))
    text.remove_prefix(3);
  return scanner{text, source_name}.scan();
}

} // namespace caisson::detail
