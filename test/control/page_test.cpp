// Who may see the page of the gates, and what others' pages may do.
#include <caisson/observe/control/detail/control_access.hpp>
#include <caisson/observe/control/detail/control_page.hpp>
#include <caisson/observe/control/server.hpp>

#include <control/desk.hpp>
#include <ctl/command.hpp>

#include <gmock/gmock.h>

#include <chrono>
#include <set>
#include <sstream>
#include <string>
#include <utility>
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
  /// The cookie of a new session, as a browser sends it.
  std::string cookie() {
    auto set = access.open_session(access.new_ticket()).value_or("");
    return set.substr(0, set.find(';'));
  }

  requester who(http_headers headers, const std::string& method = "GET") {
    return access.who_asks({method, "/v1/gates", std::move(headers), ""});
  }

  control_access::clock::time_point now{};
  control_access access{"secret", [this] { return now; }};
};

TEST_F(page_access, a_ticket_opens_one_session_in_time) {
  auto ticket = access.new_ticket();
  EXPECT_FALSE(access.open_session(""));
  EXPECT_FALSE(access.open_session(ticket + '0'));
  auto cookie = access.open_session(ticket);
  ASSERT_TRUE(cookie);
  EXPECT_THAT(*cookie, HasSubstr("; Path=/; HttpOnly; SameSite=Strict"));
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
  auto old = cookie();
  auto next = cookie();
  for (std::size_t i = 1; i < control_access::max_sessions; ++i)
    cookie();
  EXPECT_EQ(who({{"host", "localhost"}, {"cookie", old}}), requester::stranger);
  EXPECT_EQ(who({{"host", "localhost"}, {"cookie", next}}), requester::browser);
}

TEST_F(page_access, a_session_ends) {
  auto own = cookie();
  now += control_access::session_time - 1ns;
  EXPECT_EQ(who({{"host", "localhost"}, {"cookie", own}}), requester::browser);
  now += 1ns;
  EXPECT_EQ(who({{"host", "localhost"}, {"cookie", own}}), requester::stranger);
}

TEST_F(page_access, only_the_own_cookie_counts) {
  auto own = cookie();
  auto name = own.substr(0, own.find('='));
  auto value = own.substr(own.find('=') + 1);
  struct {
    std::string cookies;
    requester expected;
  } table[] = {
    {own, requester::browser},
    {"a=b; " + own + ";c=d", requester::browser},
    {"a=b;" + own, requester::browser},
    {name + '=' + value + '0', requester::stranger},
    {name + '=', requester::stranger},
    {name, requester::stranger},
    {name + "x=" + value, requester::stranger},
    {"x" + name + '=' + value, requester::stranger},
    {"=" + value, requester::stranger},
    {value, requester::stranger},
    {";;; ;", requester::stranger},
    {"", requester::stranger},
    // Another program of this machine has a cookie of another name.
    {"caisson_00000000=" + value, requester::stranger},
  };
  for (const auto& [cookies, expected] : table)
    EXPECT_EQ(who({{"host", "localhost:80"}, {"cookie", cookies}}), expected)
      << cookies;
  EXPECT_NE(own, cookie());
}

// What a browser sends with requests that other pages make it send.
TEST_F(page_access, pages_of_others_use_no_session) {
  auto own = cookie();
  struct {
    std::string method;
    http_headers headers;
    requester expected;
  } table[] = {
    {"GET", {{"host", "127.0.0.1:4711"}}, requester::browser},
    {"GET", {{"host", "localhost:4711"}}, requester::browser},
    {"GET", {{"host", "[::1]:4711"}}, requester::browser},
    // A name that leads to this machine (DNS rebinding).
    {"GET", {{"host", "evil.example:4711"}}, requester::other_page},
    {"GET", {{"host", "127.0.0.1.evil.example"}}, requester::other_page},
    {"GET", {{"host", "localhost:evil"}}, requester::other_page},
    {"GET", {{"host", "localhost:"}}, requester::other_page},
    {"GET", {}, requester::other_page},
    // Of another port, which browsers hold for the same site.
    {"GET",
     {{"host", "localhost:4711"}, {"sec-fetch-site", "same-site"}},
     requester::other_page},
    {"GET",
     {{"host", "localhost:4711"}, {"sec-fetch-site", "cross-site"}},
     requester::other_page},
    {"GET",
     {{"host", "localhost:4711"}, {"sec-fetch-site", "none"}},
     requester::browser},
    {"POST",
     {{"host", "localhost:4711"}, {"origin", "http://localhost:4711"}},
     requester::browser},
    {"POST",
     {{"host", "LocalHost:4711"}, {"origin", "HTTP://LOCALHOST:4711"}},
     requester::browser},
    {"POST", {{"host", "localhost:4711"}}, requester::other_page},
    {"POST",
     {{"host", "localhost:4711"}, {"origin", "null"}},
     requester::other_page},
    {"POST",
     {{"host", "localhost:4711"}, {"origin", "http://localhost:3000"}},
     requester::other_page},
    {"POST",
     {{"host", "localhost:4711"}, {"origin", "https://localhost:4711"}},
     requester::other_page},
    {"POST",
     {{"host", "localhost:4711"},
      {"origin", "http://localhost:4711"},
      {"sec-fetch-site", "cross-site"}},
     requester::other_page},
    {"GET",
     {{"host", "localhost:4711"}, {"origin", "http://evil.example"}},
     requester::other_page},
  };
  for (auto& [method, headers, expected] : table) {
    headers["cookie"] = own;
    EXPECT_EQ(who(headers, method), expected)
      << method << testing::PrintToString(headers);
  }
  // With the token it does not matter.
  EXPECT_EQ(who({{"authorization", "Bearer secret"}}, "POST"),
            requester::owner);
}

// -- with gates ---------------------------------------------------------------

class page_test : public control_test {
protected:
  http_response browse(const std::string& target, http_headers headers = {}) {
    headers.emplace("host", "127.0.0.1:4711");
    return detail::answer_operator(desk, {"GET", target, headers, ""}, access);
  }

  std::string new_target() {
    return expect(200, "POST", "/v1/page")["target"].get<std::string>();
  }

  /// The cookie that a link gives.
  std::string opened() {
    auto set = browse(new_target()).headers["set-cookie"];
    return set.substr(0, set.find(';'));
  }
};

TEST_F(page_test, is_opened_by_a_link_once) {
  start(two_gates);
  auto target = new_target();
  auto first = browse(target);
  EXPECT_EQ(first.status, 303);
  EXPECT_EQ(first.headers["location"], "/");
  auto set = first.headers["set-cookie"];
  auto cookie = set.substr(0, set.find(';'));
  auto page = browse("/", {{"cookie", cookie}});
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.body, HasSubstr("<title>Gates</title>"));
  // It is told nothing before its script asks.
  EXPECT_THAT(page.body, Not(HasSubstr("payments")));
  auto again = browse(target);
  EXPECT_EQ(again.status, 403);
  EXPECT_EQ(again.headers.count("set-cookie"), 0u);
  EXPECT_THAT(again.body, HasSubstr("This link has been used"));
  EXPECT_EQ(browse("/").status, 401);
  EXPECT_EQ(browse("/?x=y").status, 401);
  EXPECT_EQ(browse("/?ticket=").status, 403);
}

TEST_F(page_test, a_name_that_leads_here_gets_no_session) {
  start(two_gates);
  auto target = new_target();
  EXPECT_EQ(browse(target, {{"host", "evil.example"}}).status, 403);
  EXPECT_EQ(browse(target).status, 303);
}

TEST_F(page_test, runs_its_own_script_and_no_other) {
  start(two_gates);
  auto cookie = opened();
  std::set<std::string> nonces;
  for (int i = 0; i < 3; ++i) {
    auto page = browse("/", {{"cookie", cookie}});
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
  http_headers own{{"cookie", opened()}, {"origin", "http://127.0.0.1:4711"}};
  EXPECT_EQ(browse("/v1/gates", own).status, 200);
  EXPECT_EQ(browse("/v1/gates/payments", own).status, 200);
  auto post = [&](const std::string& target, const http_headers& headers,
                  const std::string& body = "{}") {
    auto all = headers;
    all.emplace("host", "127.0.0.1:4711");
    return detail::answer_operator(desk, {"POST", target, all, body}, access)
      .status;
  };
  EXPECT_EQ(post("/v1/gates/payments/command", own,
                 R"({"command":"force_open","layer":"breaker"})"),
            200);
  EXPECT_EQ(answer_of("payments", 1), "breaker_open");
  EXPECT_EQ(post("/v1/page", own), 404);
  auto others = own;
  others["origin"] = "http://127.0.0.1:3000";
  EXPECT_EQ(
    post("/v1/gates/payments/command", others, R"({"command":"enable"})"), 403);
  EXPECT_EQ(answer_of("payments", 1), "breaker_open");
}

TEST_F(page_test, no_answer_is_kept_or_read_by_others) {
  start(two_gates);
  http_headers own{{"cookie", opened()}};
  for (const auto& x : {browse("/"), browse("/", own), browse("/v1/gates"),
                        browse("/v1/gates", own), browse("/nothing", own)}) {
    auto headers = x.headers;
    EXPECT_EQ(headers["cache-control"], "no-store");
    EXPECT_EQ(headers["x-content-type-options"], "nosniff");
    EXPECT_EQ(headers["cross-origin-resource-policy"], "same-origin");
    EXPECT_EQ(headers["referrer-policy"], "no-referrer");
  }
}

TEST_F(page_test, the_command_prints_a_link) {
  auto file = (dir / "control").string();
  control_server server{*sys, {.file = file}};
  auto begin = "http://127.0.0.1:" + std::to_string(server.port())
               + "/?ticket=";
  auto print = [&](std::vector<const char*> words) {
    words.insert(words.begin(), {"ctl", "--file", file.c_str()});
    std::ostringstream out;
    std::ostringstream err;
    auto count = static_cast<int>(words.size());
    EXPECT_EQ(ctl::command_main(count, words.data(), out, err, {}), 0);
    EXPECT_EQ(err.str(), "");
    return out.str();
  };
  auto text = print({"page"});
  EXPECT_THAT(text, StartsWith(begin));
  EXPECT_EQ(text.find('\n'), begin.size() + 32);
  EXPECT_THAT(text, HasSubstr("opens once"));
  auto link = json::parse(print({"page", "--json"}))["link"].get<std::string>();
  EXPECT_THAT(link, StartsWith(begin));
  EXPECT_THAT(text, Not(StartsWith(link)));
  EXPECT_THAT(server.page_link(), StartsWith(begin));
  EXPECT_EQ(server.page_link().size(), begin.size() + 32);
}

} // namespace
} // namespace caisson::test
