// Access to the page of the gates in a browser.
#include <caisson/observe/control/detail/control_access.hpp>
#include <caisson/observe/control/detail/control_page.hpp>
#include <caisson/observe/control/server.hpp>

#include <ctl/command.hpp>
#include <observe/control/control_fixture.hpp>

#include <gmock/gmock.h>

#include <chrono>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using detail::control_access;
using detail::requester;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class page_access : public testing::Test {
protected:
  std::string session() {
    return access.open_session(access.new_ticket()).value_or("");
  }

  requester requester_of(const std::string& authorization) {
    return access.requester_of(
      {"GET", "/v1/gates", {{"authorization", authorization}}, ""});
  }

  control_access::clock::time_point now{};
  control_access access{"secret", [this] { return now; }};
};

TEST_F(page_access, a_ticket_opens_one_session_in_time) {
  auto ticket = access.new_ticket();
  EXPECT_FALSE(access.open_session(""));
  EXPECT_FALSE(access.open_session(ticket + '0'));
  auto session = access.open_session(ticket);
  ASSERT_TRUE(session);
  EXPECT_EQ(session->size(), 32u);
  EXPECT_NE(*session, ticket);
  EXPECT_FALSE(access.open_session(ticket));
  auto late = access.new_ticket();
  now += control_access::ticket_time - 1ns;
  auto later = access.new_ticket();
  EXPECT_TRUE(access.open_session(later));
  now += 1ns;
  EXPECT_FALSE(access.open_session(late));
}

TEST_F(page_access, the_oldest_tickets_and_sessions_go) {
  auto first = access.new_ticket();
  auto second = access.new_ticket();
  std::set<std::string> more;
  for (std::size_t i = 1; i < control_access::max_tickets; ++i)
    more.insert(access.new_ticket());
  EXPECT_FALSE(access.open_session(first));
  EXPECT_TRUE(access.open_session(second));
  auto old = session();
  auto next = session();
  for (std::size_t i = 1; i < control_access::max_sessions; ++i)
    more.insert(session());
  EXPECT_EQ(requester_of("Bearer " + old), requester::stranger);
  EXPECT_EQ(requester_of("Bearer " + next), requester::session);
}

TEST_F(page_access, a_session_ends) {
  auto own = "Bearer " + session();
  now += control_access::session_time - 1ns;
  EXPECT_EQ(requester_of(own), requester::session);
  now += 1ns;
  EXPECT_EQ(requester_of(own), requester::stranger);
}

TEST_F(page_access, only_the_whole_session_counts) {
  auto own = session();
  auto ticket = access.new_ticket();
  struct {
    std::string input;
    requester expected;
  } table[] = {
    {"Bearer " + own, requester::session},
    {"bEARER " + own, requester::session},
    {"Bearer secret", requester::owner},
    {"Bearer " + own + '0', requester::stranger},
    {"Bearer " + own.substr(1), requester::stranger},
    {"Bearer  " + own, requester::stranger},
    {"Basic " + own, requester::stranger},
    {"Bearer " + ticket, requester::stranger},
    {own, requester::stranger},
    {"Bearer ", requester::stranger},
    {"Bearer", requester::stranger},
    {"", requester::stranger},
  };
  for (const auto& [input, expected] : table)
    EXPECT_EQ(requester_of(input), expected) << input;
}

// Browsers send cookies to each port of a machine, and with requests that pages
// of others make.
TEST_F(page_access, no_cookie_opens_anything) {
  auto own = session();
  for (const auto* name : {"caisson", "session", "authorization", "token"})
    EXPECT_EQ(access.requester_of({"POST",
                                   "/v1/reload",
                                   {{"cookie", std::string{name} + '=' + own}},
                                   ""}),
              requester::stranger);
}

// -- with gates ---------------------------------------------------------------

class page_test : public control_test {
protected:
  http_response browse(const std::string& method, const std::string& target,
                       const std::string& session = {},
                       const std::string& body = {}) {
    http_headers headers;
    if (!session.empty())
      headers.emplace("authorization", "Bearer " + session);
    return detail::answer_operator(operations, {method, target, headers, body},
                                   access);
  }

  std::string new_ticket() {
    auto target = expect(200, "POST", "/v1/page")["target"].get<std::string>();
    EXPECT_THAT(target, StartsWith("/#ticket="));
    return target.substr(9);
  }

  http_response trade(const std::string& ticket) {
    return browse("POST", "/v1/session", {}, json{{"ticket", ticket}}.dump());
  }

  std::string opened() {
    return json::parse(trade(new_ticket()).body)["session"].get<std::string>();
  }
};

TEST_F(page_test, is_opened_by_a_link_once) {
  start(two_gates);
  auto ticket = new_ticket();
  auto first = trade(ticket);
  EXPECT_EQ(first.status, 200);
  auto session = json::parse(first.body)["session"].get<std::string>();
  EXPECT_EQ(browse("GET", "/v1/gates", session).status, 200);
  auto again = trade(ticket);
  EXPECT_EQ(again.status, 403);
  EXPECT_THAT(again.body, HasSubstr("the link has been used"));
  EXPECT_EQ(trade("").status, 403);
  EXPECT_EQ(browse("POST", "/v1/session", {}, "{}").status, 403);
  EXPECT_EQ(browse("POST", "/v1/session", {}, "[").status, 400);
  EXPECT_EQ(browse("POST", "/v1/session", {}, R"({"ticket":7})").status, 400);
  EXPECT_EQ(browse("GET", "/v1/session").status, 401);
  // The page itself knows nothing.
  for (const auto* target : {"/", "/?x=y"}) {
    auto page = browse("GET", target);
    EXPECT_EQ(page.status, 200);
    EXPECT_THAT(page.body, HasSubstr("<title>Gates</title>"));
    EXPECT_THAT(page.body, Not(HasSubstr("payments")));
    EXPECT_THAT(page.body, Not(HasSubstr(session)));
  }
}

TEST_F(page_test, runs_its_own_script_and_no_other) {
  start(two_gates);
  std::set<std::string> nonces;
  for (int i = 0; i < 3; ++i) {
    auto page = browse("GET", "/");
    auto rules = page.headers["content-security-policy"];
    EXPECT_THAT(rules, HasSubstr("default-src 'none'"));
    EXPECT_THAT(rules, HasSubstr("frame-ancestors 'none'"));
    auto at = rules.find("script-src 'nonce-");
    ASSERT_NE(at, std::string::npos);
    auto nonce = rules.substr(at + 18, 32);
    EXPECT_THAT(page.body, HasSubstr("<script nonce=\"" + nonce + "\">"));
    EXPECT_THAT(page.body, HasSubstr("<style nonce=\"" + nonce + "\">"));
    EXPECT_THAT(page.body, Not(HasSubstr("{{")));
    nonces.insert(nonce);
  }
  EXPECT_EQ(nonces.size(), 3u);
}

TEST_F(page_test, a_session_does_what_the_token_does_but_make_links) {
  start(two_gates);
  auto own = opened();
  EXPECT_EQ(browse("GET", "/v1/gates/payments", own).status, 200);
  EXPECT_EQ(browse("POST", "/v1/gates/payments/command", own,
                   R"({"command":"force_open","layer":"breaker"})")
              .status,
            200);
  EXPECT_EQ(answer_of("payments", 1), "breaker_open");
  EXPECT_EQ(browse("POST", "/v1/page", own).status, 404);
  EXPECT_EQ(browse("POST", "/v1/page").status, 401);
  EXPECT_EQ(
    browse("POST", "/v1/gates/payments/command", {}, R"({"command":"enable"})")
      .status,
    401);
  EXPECT_EQ(answer_of("payments", 1), "breaker_open");
}

TEST_F(page_test, no_answer_is_kept_or_read_by_others) {
  start(two_gates);
  auto own = opened();
  for (const auto& x :
       {browse("GET", "/"), browse("GET", "/v1/gates"),
        browse("GET", "/v1/gates", own), browse("GET", "/nothing", own)}) {
    auto headers = x.headers;
    EXPECT_EQ(headers["cache-control"], "no-store");
    EXPECT_EQ(headers["x-content-type-options"], "nosniff");
    EXPECT_EQ(headers["cross-origin-resource-policy"], "same-origin");
    EXPECT_EQ(headers["referrer-policy"], "no-referrer");
    EXPECT_EQ(headers.count("set-cookie"), 0u);
  }
}

TEST_F(page_test, the_command_prints_a_link) {
  auto file = (dir / "control").string();
  control_server server{*sys, {.file = file}};
  auto begin = "http://127.0.0.1:" + std::to_string(server.port())
               + "/#ticket=";
  std::string hint;
  auto print = [&](std::vector<const char*> words) {
    words.insert(words.begin(), {"ctl", "--file", file.c_str()});
    std::ostringstream out;
    std::ostringstream err;
    auto count = static_cast<int>(words.size());
    EXPECT_EQ(ctl::command_main(count, words.data(), out, err, {}), 0);
    hint = err.str();
    return out.str();
  };
  auto text = print({"page"});
  EXPECT_THAT(text, StartsWith(begin));
  EXPECT_EQ(text.size(), begin.size() + 32 + 1);
  EXPECT_EQ(text.back(), '\n');
  EXPECT_THAT(hint, HasSubstr("opens once"));
  auto link = json::parse(print({"page", "--json"}))["link"].get<std::string>();
  EXPECT_EQ(hint, "");
  EXPECT_THAT(link, StartsWith(begin));
  EXPECT_THAT(text, Not(StartsWith(link)));
  EXPECT_THAT(server.page_link(), StartsWith(begin));
  EXPECT_EQ(server.page_link().size(), begin.size() + 32);
}

} // namespace
} // namespace caisson::test
