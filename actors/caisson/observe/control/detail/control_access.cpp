#include <caisson/observe/control/detail/control_access.hpp>

#include <caisson/observe/control/detail/control_file.hpp>
#include <caisson/settings/settings_text.hpp>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <utility>

namespace caisson::detail {

namespace {

std::string in_lower_case(std::string_view text) {
  std::string out{text};
  std::ranges::transform(out, out.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return out;
}

// Of a header `Cookie`; empty if there is none of that name.
std::string cookie_named(std::string_view name, std::string_view all) {
  while (!all.empty()) {
    auto end = std::min(all.find(';'), all.size());
    auto pair = trimmed(all.substr(0, end));
    if (pair.size() > name.size() && pair[name.size()] == '='
        && pair.starts_with(name))
      return std::string{pair.substr(name.size() + 1)};
    all.remove_prefix(std::min(end + 1, all.size()));
  }
  return {};
}

bool is_digits(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool changes_nothing(std::string_view method) {
  return method == "GET" || method == "HEAD";
}

// Browsers say by these headers which page a request comes from. Those of old
// send no `Sec-Fetch-Site`; all send `Origin` with what is no GET or HEAD.
bool is_of_own_page(const http_request& x) {
  auto host = header_of(x.headers, "host");
  if (!is_loopback_host(host))
    return false;
  auto site = header_of(x.headers, "sec-fetch-site");
  if (!site.empty() && site != "same-origin" && site != "none")
    return false;
  auto origin = header_of(x.headers, "origin");
  if (origin.empty())
    return changes_nothing(x.method);
  return in_lower_case(origin) == "http://" + in_lower_case(host);
}

} // namespace

bool is_loopback_host(std::string_view host) noexcept {
  for (std::string_view name : {"127.0.0.1", "localhost", "[::1]"}) {
    if (host.size() < name.size()
        || !std::ranges::equal(
          host.substr(0, name.size()), name, [](char a, char b) {
            return std::tolower(static_cast<unsigned char>(a)) == b;
          }))
      continue;
    auto rest = host.substr(name.size());
    if (rest.empty()
        || (rest.size() > 1 && rest[0] == ':' && is_digits(rest.substr(1))))
      return true;
  }
  return false;
}

control_access::control_access(std::string token,
                               std::function<clock::time_point()> now)
  : token_(std::move(token)), now_(std::move(now)),
    cookie_("caisson_" + new_token().substr(0, 8)) {}

requester control_access::who_asks(const http_request& x) const {
  if (has_token(x))
    return requester::owner;
  if (!has_session(x))
    return requester::stranger;
  return is_of_own_page(x) ? requester::browser : requester::other_page;
}

bool control_access::has_token(const http_request& x) const {
  auto given = header_of(x.headers, "authorization");
  auto blank = std::min(given.find(' '), given.size());
  // RFC 9110 section 11.1: the scheme is written in any case.
  return in_lower_case(given.substr(0, blank)) == "bearer"
         && blank < given.size()
         && same_token(std::string{given.substr(blank + 1)}, token_);
}

bool control_access::has_session(const http_request& x) const {
  auto given = cookie_named(cookie_, header_of(x.headers, "cookie"));
  std::lock_guard guard{mutex_};
  return find(sessions_, given) != sessions_.end();
}

std::string control_access::new_ticket() {
  auto out = new_token();
  std::lock_guard guard{mutex_};
  add(tickets_, {out, now_() + ticket_time}, max_tickets);
  return out;
}

std::optional<std::string>
control_access::open_session(const std::string& ticket) {
  std::lock_guard guard{mutex_};
  auto at = find(tickets_, ticket);
  if (at == tickets_.end())
    return std::nullopt;
  tickets_.erase(at);
  auto session = new_token();
  add(sessions_, {session, now_() + session_time}, max_sessions);
  return cookie_ + '=' + session + "; Path=/; HttpOnly; SameSite=Strict";
}

void control_access::add(std::deque<secret>& to, secret x, std::size_t most) {
  if (to.size() == most)
    to.pop_front();
  to.push_back(std::move(x));
}

std::deque<control_access::secret>::const_iterator
control_access::find(const std::deque<secret>& in,
                     const std::string& text) const {
  auto now = now_();
  // Looks at all of them, so that the time does not reveal which one it is.
  auto out = in.end();
  for (auto i = in.begin(); i != in.end(); ++i)
    if (same_token(i->text, text) && now < i->until)
      out = i;
  return out;
}

} // namespace caisson::detail
