#include <caisson/stack/stack_replacement.hpp>

#include <caisson/settings/settings_text.hpp>

#include <utility>

namespace caisson::detail {

next_stack next_stack_of(const stack_replacement& from) {
  next_stack out;
  out.config = from.policies.config();
  out.supervision = from.supervision;
  auto layers = from.policies.build();
  out.layers.reserve(layers.size());
  for (auto& x : layers) {
    auto i = out.layers.size();
    out.layers.push_back(
      {std::move(x), i < from.afresh.size() && from.afresh[i]});
  }
  return out;
}

std::string text_of(const std::vector<layer_change>& changes) {
  std::string out;
  for (const auto& x : changes)
    out += printable(x.layer) + '\t' + printable(x.what) + '\n';
  return out;
}

std::vector<layer_change> changes_in(const std::string& text) {
  std::vector<layer_change> out;
  for (std::size_t at = 0; at < text.size();) {
    auto tab = text.find('\t', at);
    auto end = text.find('\n', at);
    out.push_back(
      {text.substr(at, tab - at), text.substr(tab + 1, end - tab - 1)});
    at = end + 1;
  }
  return out;
}

} // namespace caisson::detail
