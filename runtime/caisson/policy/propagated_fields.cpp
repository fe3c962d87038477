#include <caisson/policy/propagated_fields.hpp>

#include <algorithm>
#include <utility>

namespace caisson {

namespace {

/// Members that are longer are the first to be left out of a `tracestate`.
constexpr std::size_t long_member = 128;

/// The longest key, and the longest value, of a member of a `tracestate`.
constexpr std::size_t longest_part = 256;

const std::string no_text;

bool is_lower_or_digit(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

std::string_view no_blanks_around(std::string_view x) noexcept {
  constexpr std::string_view blanks = " \t";
  auto from = x.find_first_not_of(blanks);
  if (from == x.npos)
    return {};
  return x.substr(from, x.find_last_not_of(blanks) - from + 1);
}

// Calls f with each part between separators, without blanks around it, until it
// returns false. Returns whether it never has.
template <class F>
bool each_part(std::string_view text, char separator, F f) {
  for (;;) {
    auto end = text.find(separator);
    if (!f(no_blanks_around(text.substr(0, end))))
      return false;
    if (end == text.npos)
      return true;
    text.remove_prefix(end + 1);
  }
}

// -- tracestate ---------------------------------------------------------------

bool is_state_key(std::string_view x) noexcept {
  constexpr std::string_view marks = "_-*/@";
  return !x.empty() && x.size() <= longest_part && is_lower_or_digit(x[0])
         && std::all_of(x.begin(), x.end(), [&](char c) {
              return is_lower_or_digit(c) || marks.find(c) != marks.npos;
            });
}

// That it ends with a blank is impossible.
bool is_state_value(std::string_view x) noexcept {
  return !x.empty() && x.size() <= longest_part
         && std::all_of(x.begin(), x.end(), [&](char c) {
              return c >= ' ' && c <= '~' && c != ',' && c != '=';
            });
}

struct state_member {
  std::string_view text;
  std::string_view key;
};

// False if the text is no `tracestate`.
bool read_state(std::string_view text, std::vector<state_member>& out) {
  return each_part(text, ',', [&](std::string_view part) {
    if (part.empty())
      return true;
    auto at = part.find('=');
    if (at == part.npos || !is_state_key(part.substr(0, at))
        || !is_state_value(part.substr(at + 1)))
      return false;
    auto key = part.substr(0, at);
    auto is_same = [&](const auto& x) { return x.key == key; };
    if (out.size() == max_tracestate_members
        || std::any_of(out.begin(), out.end(), is_same))
      return false;
    out.push_back({part, key});
    return true;
  });
}

std::size_t length_of(const std::vector<state_member>& all) noexcept {
  auto length = all.empty() ? 0 : all.size() - 1;
  for (const auto& x : all)
    length += x.text.size();
  return length;
}

void shorten(std::vector<state_member>& all) {
  auto length = length_of(all);
  auto leave_out = [&](std::size_t i) {
    length -= all[i].text.size() + (all.size() > 1 ? 1 : 0);
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
  };
  for (auto i = all.size(); i-- > 0 && length > max_tracestate_length;)
    if (all[i].text.size() > long_member)
      leave_out(i);
  while (length > max_tracestate_length)
    leave_out(all.size() - 1);
}

// -- baggage ------------------------------------------------------------------

// RFC 9110 section 5.6.2.
bool is_baggage_key(std::string_view x) noexcept {
  constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  return !x.empty() && std::all_of(x.begin(), x.end(), [&](char c) {
    return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z')
           || marks.find(c) != marks.npos;
  });
}

bool is_baggage_value(std::string_view x) noexcept {
  return std::all_of(x.begin(), x.end(), [&](char c) {
    return c > ' ' && c <= '~' && c != '"' && c != ',' && c != ';' && c != '\\';
  });
}

// The member without blanks; empty if it is none.
std::string baggage_member(std::string_view part) {
  std::string out;
  auto valid = each_part(part, ';', [&](std::string_view field) {
    auto at = field.find('=');
    auto key = no_blanks_around(field.substr(0, at));
    // A property may have no value, the member itself must.
    if (!is_baggage_key(key) || (at == field.npos && out.empty()))
      return false;
    if (!out.empty())
      out += ';';
    out += key;
    if (at == field.npos)
      return true;
    auto value = no_blanks_around(field.substr(at + 1));
    out += '=';
    out += value;
    return is_baggage_value(value);
  });
  return valid ? out : std::string{};
}

} // namespace

std::string valid_tracestate(std::string_view text) {
  std::vector<state_member> members;
  if (!read_state(text, members))
    return {};
  shorten(members);
  std::string out;
  for (const auto& x : members) {
    if (!out.empty())
      out += ',';
    out += x.text;
  }
  return out;
}

std::string valid_baggage(std::string_view text) {
  std::string out;
  std::size_t members = 0;
  each_part(text, ',', [&](std::string_view part) {
    // Much longer ones are not worth a copy.
    if (part.size() > 2 * max_baggage_length)
      return true;
    auto member = baggage_member(part);
    if (member.empty())
      return true;
    if (out.size() + member.size() + (out.empty() ? 0 : 1) > max_baggage_length)
      return true;
    if (!out.empty())
      out += ',';
    out += member;
    return ++members < max_baggage_members;
  });
  return out;
}

const std::string& propagated_fields::tracestate() const noexcept {
  return texts_ ? texts_->tracestate : no_text;
}

const std::string& propagated_fields::baggage() const noexcept {
  return texts_ ? texts_->baggage : no_text;
}

void propagated_fields::set_tracestate(std::string_view text) {
  set({valid_tracestate(text), baggage()});
}

void propagated_fields::set_baggage(std::string_view text) {
  set({tracestate(), valid_baggage(text)});
}

void propagated_fields::set(texts x) {
  if (x.tracestate.empty() && x.baggage.empty())
    texts_ = nullptr;
  else
    texts_ = std::make_shared<const texts>(std::move(x));
}

std::vector<std::string> propagated_fields::to_list() const {
  if (!texts_)
    return {};
  return {texts_->tracestate, texts_->baggage};
}

propagated_fields
propagated_fields::from_list(const std::vector<std::string>& texts) {
  propagated_fields out;
  if (texts.size() == 2)
    out.set({valid_tracestate(texts[0]), valid_baggage(texts[1])});
  return out;
}

} // namespace caisson
