#include <caisson/observe/metrics/detail/text.hpp>

#include <caisson/observe/detail/family_index.hpp>
#include <caisson/observe/detail/series.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace caisson::detail {

namespace {

void append(std::string& out, std::uint64_t x) {
  char digits[20];
  auto end = std::to_chars(std::begin(digits), std::end(digits), x).ptr;
  out.append(digits, end);
}

// As prometheus-cpp writes it: at most 16 digits.
void append(std::string& out, double x) {
  // Up to here each whole number is a double, and has no exponent.
  constexpr double whole = 1e15;
  if (x >= 0 && x < whole && x == std::trunc(x) && !std::signbit(x))
    append(out, static_cast<std::uint64_t>(x));
  else if (std::isfinite(x))
    fmt::format_to(std::back_inserter(out), FMT_STRING("{:.16g}"), x);
  else
    out += std::isnan(x) ? "Nan" : x > 0 ? "+Inf" : "-Inf";
}

bool is_special(char c) {
  return c == '\n' || c == '\\' || c == '"';
}

void append_escaped(std::string& out, std::string_view text) {
  auto begin = text.begin();
  for (;;) {
    auto special = std::find_if(begin, text.end(), is_special);
    out.append(begin, special);
    if (special == text.end())
      return;
    out += '\\';
    out += *special == '\n' ? 'n' : *special;
    begin = special + 1;
  }
}

/// Series as lines of text.
class text_sink {
public:
  /// All labels of a series, as they stand between the braces.
  using labels = std::string;

  struct text_family {
    std::string name;
    std::string text;
    /// What stands before it, in pieces: one text that grows would be copied
    /// again and again.
    std::vector<std::string> before = {};
  };

  static labels with(const labels& l, series_label own) {
    labels out = l;
    append(out, own);
    return out;
  }

  text_family& family(std::string_view name, const char* help,
                      metric_type type) {
    auto i = index_.of(name);
    if (i == all_.size()) {
      auto& x = all_.emplace_back(text_family{std::string{name}, {}});
      if (*help != '\0')
        x.text = fmt::format("# HELP {} {}\n", name, help);
      x.text += fmt::format("# TYPE {} {}\n", name, name_of(type));
    }
    auto& x = all_[i];
    constexpr std::size_t piece = 60'000;
    if (x.text.size() > piece) {
      x.before.push_back(std::move(x.text));
      x.text.clear();
      x.text.reserve(piece + piece / 10);
    }
    return x;
  }

  static void number(text_family& f, const labels& l, series_label own,
                     double value) {
    begin(f, "", l, own);
    end(f.text, value);
  }

  void histogram(text_family& f, const labels& l, series_label own,
                 const series_histogram& x) {
    begin(f, "_count", l, own);
    end(f.text, x.count);
    begin(f, "_sum", l, own);
    end(f.text, x.sum);
    auto head = fmt::format("{}_bucket{{{},", f.name, with(l, own));
    const auto& bounds = texts_of(x.bounds);
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      f.text += head;
      f.text += bounds[i];
      end(f.text, x.counts[i]);
    }
  }

  std::string take() && {
    std::size_t size = 0;
    for (auto& x : all_) {
      x.before.push_back(std::move(x.text));
      for (const auto& piece : x.before)
        size += piece.size();
    }
    std::string out;
    out.reserve(size);
    for (auto& x : all_)
      for (auto& piece : x.before) {
        out += piece;
        // Two copies of all would be much.
        std::string{}.swap(piece);
      }
    return out;
  }

private:
  static const char* name_of(metric_type x) {
    switch (x) {
      case metric_type::counter:
        return "counter";
      case metric_type::gauge:
        return "gauge";
      default:
        return "histogram";
    }
  }

  static void append(std::string& out, series_label x) {
    if (x.is_none())
      return;
    if (!out.empty() && out.back() != '{')
      out += ',';
    out += x.name;
    out += "=\"";
    append_escaped(out, x.value);
    out += '"';
  }

  static void begin(text_family& f, const char* suffix, const labels& l,
                    series_label own) {
    f.text += f.name;
    f.text += suffix;
    if (l.empty() && own.is_none())
      return;
    f.text += '{';
    f.text += l;
    append(f.text, own);
    f.text += '}';
  }

  template <class Number>
  static void end(std::string& out, Number value) {
    out += ' ';
    detail::append(out, value);
    out += '\n';
  }

  // The last label of a line, and the brace behind it, for each bucket.
  const std::vector<std::string>& texts_of(std::span<const double> bounds) {
    auto [i, is_new] = bounds_.try_emplace(bounds.data());
    if (is_new)
      for (auto x : bounds) {
        std::string text = "le=\"";
        detail::append(text, x);
        i->second.push_back(text + "\"}");
      }
    return i->second;
  }

  family_index index_;
  std::vector<text_family> all_;
  /// By their place: the bounds of a kind of histogram are always the same.
  std::unordered_map<const double*, std::vector<std::string>> bounds_;
};

} // namespace

std::string text_of(const std::vector<watched_gate>& gates,
                    const metrics_config& c) {
  text_sink out;
  series_writer<text_sink>{out, c}.write(gates);
  return std::move(out).take();
}

} // namespace caisson::detail
