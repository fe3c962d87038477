#include <caisson/observe/control/detail/control_access.hpp>

#include <caisson/adapters/http/parser.hpp>
#include <caisson/observe/control/control_file.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

namespace caisson::detail {

namespace {

// Of a header `Authorization`; empty if there is none.
std::string bearer_of(const http_request& x) {
  auto authorization = header_of(x.headers, "authorization");
  auto blank = std::min(authorization.find(' '), authorization.size());
  // RFC 9110 section 11.1: in any case.
  if (in_lower_case(authorization.substr(0, blank)) != "bearer"
      || blank == authorization.size())
    return {};
  return std::string{authorization.substr(blank + 1)};
}

} // namespace

control_access::control_access(std::string token,
                               std::function<clock::time_point()> now)
  : token_(std::move(token)), now_(std::move(now)) {}

requester control_access::requester_of(const http_request& x) const {
  auto authorization = bearer_of(x);
  if (same_token(authorization, token_))
    return requester::owner;
  std::lock_guard guard{mutex_};
  return find(sessions_, authorization) != sessions_.end()
           ? requester::session
           : requester::stranger;
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
  auto out = new_token();
  add(sessions_, {out, now_() + session_time}, max_sessions);
  return out;
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
