#include <caisson/settings/table_list.hpp>

#include <caisson/settings/settings_text.hpp>

#include <algorithm>
#include <utility>

namespace caisson::detail {

namespace {

bool is_bare(std::string_view key) {
  return !key.empty() && key.size() <= longest_key
         && std::ranges::all_of(key, [](char c) {
              return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
                     || (c >= '0' && c <= '9') || c == '_' || c == '-';
            });
}

class reader {
public:
  reader(std::string_view text, const std::string& place)
    : rest_(text), place_(place) {}

  std::optional<std::vector<setting>> list() {
    std::vector<setting> out;
    if (!take('['))
      return {};
    while (good_ && !take(']')) {
      // A comma may follow the last item.
      if (!out.empty() && (good_ = take(',')) && take(']'))
        break;
      if (good_)
        out.push_back({item(), place_});
    }
    if (!good_ || !trimmed(rest_).empty())
      return {};
    return out;
  }

private:
  void skip_blanks() {
    rest_.remove_prefix(
      std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
  }

  bool take(char c) {
    skip_blanks();
    if (!rest_.starts_with(c))
      return false;
    rest_.remove_prefix(1);
    return true;
  }

  decltype(setting::value) item() {
    if (!take('{'))
      return scalar();
    settings table;
    while (good_ && !take('}')) {
      good_ = table.empty() || take(',');
      if (good_)
        entry(table);
    }
    return table;
  }

  void entry(settings& table) {
    std::string key{trimmed(up_to("=,{}[]"))};
    good_ = is_bare(key) && take('=') && !table.contains(key);
    if (!good_)
      return;
    auto value = scalar();
    table.insert_or_assign(key, setting{std::move(value), place_});
  }

  // A number, a word, or a string without its quotes.
  setting::raw scalar() {
    skip_blanks();
    for (auto quote : {'"', '\''})
      if (take(quote)) {
        auto inside = up_to(std::string_view{&quote, 1});
        good_ = take(quote) && inside.find_first_of("\\\n") == inside.npos;
        return {std::string{inside}};
      }
    auto word = trimmed(up_to(",{}[]=\"'"));
    good_ = !word.empty();
    return {std::string{word}};
  }

  std::string_view up_to(std::string_view ends) {
    auto n = std::min(rest_.find_first_of(ends), rest_.size());
    auto out = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return out;
  }

  std::string_view rest_;
  const std::string& place_;
  bool good_ = true;
};

} // namespace

std::optional<std::vector<setting>> table_list_in(std::string_view text,
                                                  const std::string& place) {
  return reader{text, place}.list();
}

} // namespace caisson::detail
