// Requests of which a proxy in front could see another end, or another content,
// than the front does: the classes of the published collections. Each is
// refused, and what follows it is never taken for a request.
#include <adapters/http/fronts.hpp>

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

using namespace std::chrono_literals;
using namespace std::string_literals;

namespace caisson::test {
namespace {

struct smuggled {
  const char* name;
  /// After `POST /first HTTP/1.1`, `Host: a`.
  std::string headers;
  std::string body;
};

const std::string chunked = "Transfer-Encoding: chunked\r\n";
const std::string one_chunk = "3\r\nabc\r\n0\r\n\r\n";

const std::vector<smuggled>& lengths_and_encodings() {
  static const std::vector<smuggled> all{
    {"CL.TE", "Content-Length: 6\r\n" + chunked, "0\r\n\r\nG"},
    {"TE.CL", chunked + "Content-Length: 3\r\n", one_chunk},
    {"CL.0", "Content-Length: 0\r\n" + chunked, one_chunk},
    {"TE.TE", chunked + chunked, one_chunk},
    {"TE.TE, one unknown", chunked + "Transfer-encoding: cow\r\n", one_chunk},
    {"unknown coding", "Transfer-Encoding: xchunked\r\n", one_chunk},
    {"quoted coding", "Transfer-Encoding: \"chunked\"\r\n", one_chunk},
    {"list of codings", "Transfer-Encoding: gzip, chunked\r\n", one_chunk},
    {"chunked twice", "Transfer-Encoding: chunked, chunked\r\n", one_chunk},
    {"identity", "Transfer-Encoding: identity\r\n", one_chunk},
    {"not the last", "Transfer-Encoding: chunked, identity\r\n", one_chunk},
    {"with a parameter", "Transfer-Encoding: chunked;a=1\r\n", one_chunk},
    {"empty encoding", "Transfer-Encoding:\r\n", one_chunk},
    {"encoded coding", "Transfer-Encoding: %63hunked\r\n", one_chunk},
    {"vertical tab", "Transfer-Encoding: \vchunked\r\n", one_chunk},
    {"form feed", "Transfer-Encoding: chunked\f\r\n", one_chunk},
    {"NUL in the coding", "Transfer-Encoding: chunked\0\r\n"s, one_chunk},
    {"CR in the coding", "Transfer-Encoding: chunked\r\r\n", one_chunk},
    {"blank before the colon", "Transfer-Encoding : chunked\r\n", one_chunk},
    {"tab before the colon", "Transfer-Encoding\t: chunked\r\n", one_chunk},
    {"length, blank before colon", "Content-Length : 3\r\n", "abc"},
    {"NUL in a name", "Transfer-Encoding\0: chunked\r\n"s, one_chunk},
    {"blank before a name", " Transfer-Encoding: chunked\r\n", one_chunk},
    {"folded coding", "Transfer-Encoding:\r\n chunked\r\n", one_chunk},
    {"folded header", "X: a\r\n\tTransfer-Encoding: chunked\r\n", one_chunk},
    {"bare LF ends a header", "X: a\nTransfer-Encoding: chunked\r\n",
     one_chunk},
    {"bare CR ends a header", "X: a\rTransfer-Encoding: chunked\r\n",
     one_chunk},
    {"no colon", "Transfer-Encoding chunked\r\n", one_chunk},
    {"nothing but a word", "hello\r\n", ""},
    {"no name", ": chunked\r\n", ""},
    {"two lengths", "Content-Length: 3\r\nContent-Length: 4\r\n", "abc"},
    {"the same length twice", "Content-Length: 3\r\nContent-Length: 3\r\n",
     "abc"},
    {"list of lengths", "Content-Length: 3, 3\r\n", "abc"},
    {"length +3", "Content-Length: +3\r\n", "abc"},
    {"length -3", "Content-Length: -3\r\n", "abc"},
    {"length 0x3", "Content-Length: 0x3\r\n", "abc"},
    {"length 3 3", "Content-Length: 3 3\r\n", "abc"},
    {"length 3.0", "Content-Length: 3.0\r\n", "abc"},
    {"length %33", "Content-Length: %33\r\n", "abc"},
    {"empty length", "Content-Length:\r\n", "abc"},
    {"length beyond 64 bits", "Content-Length: 18446744073709551619\r\n",
     "abc"},
    {"lengths that differ, in other letters",
     "Content-Length: 3\r\ncontent-length: 4\r\n", "abc"},
    {"length and an empty one", "Content-Length: 3\r\nContent-Length:\r\n",
     "abc"},
    {"length 3,", "Content-Length: 3,\r\n", "abc"},
    {"length 3;a", "Content-Length: 3;a\r\n", "abc"},
    {"length in full-width digits", "Content-Length: \xef\xbc\x93\r\n", "abc"},
    {"length -0", "Content-Length: -0\r\n", ""},
    {"folded length", "Content-Length:\r\n 3\r\n", "abc"},
    {"no-break space",
     "Transfer-Encoding: \xa0"
     "chunked\r\n",
     one_chunk},
    {"next line", "Transfer-Encoding: chunked\x85\r\n", one_chunk},
    {"full stop", "Transfer-Encoding: chunked.\r\n", one_chunk},
    {"comma", "Transfer-Encoding: chunked,\r\n", one_chunk},
    {"comma first", "Transfer-Encoding: ,chunked\r\n", one_chunk},
    {"long s",
     "Tran\xc5\xbf"
     "fer-Encoding: chunked\r\n",
     one_chunk},
    {"TE hidden by Connection",
     "Connection: transfer-encoding\r\nContent-Length: 3\r\n" + chunked,
     one_chunk},
    {"two hosts", "Host: b\r\n", ""},
    {"NUL in a value", "X: a\0b\r\n"s, ""},
    {"CR in a value", "X: a\rb\r\n", ""},
    {"escape in a value", "X: a\x1b\r\n", ""},
  };
  return all;
}

const std::vector<smuggled>& chunks() {
  static const std::vector<smuggled> all{
    {"size 0x3", chunked, "0x3\r\nabc\r\n0\r\n\r\n"},
    {"size +3", chunked, "+3\r\nabc\r\n0\r\n\r\n"},
    {"size ' 3'", chunked, " 3\r\nabc\r\n0\r\n\r\n"},
    {"size '3 '", chunked, "3 \r\nabc\r\n0\r\n\r\n"},
    {"size 3zz", chunked, "3zz\r\nabc\r\n0\r\n\r\n"},
    {"size 3_0", chunked, "3_0\r\nabc\r\n0\r\n\r\n"},
    {"size -3", chunked, "-3\r\nabc\r\n0\r\n\r\n"},
    {"size that wraps", chunked, "-fffffffffffffffd\r\nabc\r\n0\r\n\r\n"},
    {"size of 68 bits", chunked, "10000000000000003\r\nabc\r\n0\r\n\r\n"},
    {"empty size", chunked, "\r\nabc\r\n0\r\n\r\n"},
    {"no size", chunked, ";a=b\r\nabc\r\n0\r\n\r\n"},
    {"NUL in a size", chunked, "3\0\r\nabc\r\n0\r\n\r\n"s},
    {"last -0", chunked, "3\r\nabc\r\n-0\r\n\r\n"},
    {"last 0zz", chunked, "3\r\nabc\r\n0zz\r\n\r\n"},
    {"last 0x", chunked, "3\r\nabc\r\n0x\r\n\r\n"},
    {"bare LF after a size", chunked, "3\nabc\r\n0\r\n\r\n"},
    {"bare CR after a size", chunked, "3\rabc\r\n0\r\n\r\n"},
    {"bare LF after a chunk", chunked, "3\r\nabc\n0\r\n\r\n"},
    {"bare LF after the last", chunked, "3\r\nabc\r\n0\n\r\n"},
    {"bare LF at the end", chunked, "3\r\nabc\r\n0\r\n\n"},
    {"bare LF in an extension", chunked, "3;\nabc\r\n0\r\n\r\n"},
    {"bare CR in an extension", chunked, "3;a\rb\r\nabc\r\n0\r\n\r\n"},
    {"chunk too long", chunked, "3\r\nabcXX\r\n"},
    {"chunk too short", chunked, "4\r\nabc\r\n0\r\n\r\n"},
    {"chunk without an end", chunked, "3\r\nabcX\n"},
    {"chunks without a blank", chunked, "3\r\nabc0\r\n\r\n"},
    {"trailer without a colon", chunked, "3\r\nabc\r\n0\r\nhello\r\n\r\n"},
    {"folded trailer", chunked, "3\r\nabc\r\n0\r\na: b\r\n c\r\n\r\n"},
    {"extension of 9 KiB", chunked,
     "3;" + std::string(9'000, 'a') + "\r\nabc\r\n0\r\n\r\n"},
  };
  return all;
}

class smuggling_test : public http_front_test {
protected:
  // Refused with this status, closed, and nothing has been served.
  void refuses(const std::string& text, int status, const std::string& name) {
    auto x = talk(front.port(), text + next);
    EXPECT_EQ(status_in(x), status) << name << '\n' << x;
    EXPECT_EQ(count(x, "HTTP/1.1 "), 1u) << name << '\n' << x;
    EXPECT_TRUE(has_line(x, "connection: close")) << name << '\n' << x;
    EXPECT_EQ(served, 0) << name;
    served = 0;
  }

  const std::string next = "GET /second HTTP/1.1\r\nHost: a\r\n"
                           "Connection: close\r\n\r\n";
  http_front front{*sys, gate, {.idle_timeout = 1s}};
};

TEST_F(smuggling_test, finds_no_second_request_behind_odd_lengths) {
  for (const auto& x : lengths_and_encodings())
    refuses("POST /first HTTP/1.1\r\nHost: a\r\n" + x.headers + "\r\n" + x.body,
            400, x.name);
}

TEST_F(smuggling_test, finds_no_second_request_behind_odd_chunks) {
  for (const auto& x : chunks())
    refuses("POST /first HTTP/1.1\r\nHost: a\r\n" + x.headers + "\r\n" + x.body,
            400, x.name);
}

TEST_F(smuggling_test, refuses_odd_request_lines) {
  auto head = " HTTP/1.1\r\nHost: a\r\n\r\n"s;
  for (const auto& x :
       {"GET  /first" + head, "GET /first " + head, "GET\t/first" + head,
        " GET /first" + head, "GET /first x" + head, "G(T /first" + head,
        "GET /fi\0rst"s + head, "GET /fi\x80rst" + head, "GET /fi\rrst" + head,
        "GET first" + head, "GET http://a/" + head,
        "GET /first\r\nHost: a\r\n\r\n"s,
        "GET /first HTTP/1.1\nHost: a\r\n\r\n"s,
        "GET /first http/1.1\r\nHost: a\r\n\r\n"s,
        "GET /first HTTP/1.1 \r\nHost: a\r\n\r\n"s,
        "GET /first HTTP/11.1\r\nHost: a\r\n\r\n"s, "\r\n\r\nGET /first" + head,
        "\nGET /first" + head})
    refuses(x, 400, x);
  for (const auto& x : {"HTTP/2.0"s, "HTTP/0.9"s, "HTTP/1.2"s})
    refuses("GET /first " + x + "\r\nHost: a\r\n\r\n", 505, x);
  refuses("BREW /first" + head, 501, "unknown method");
  refuses("TRACE /first" + head, 501, "trace");
}

TEST_F(smuggling_test, refuses_requests_without_one_good_host) {
  for (const auto& x : {""s, "Host: a\r\nHost: a\r\n"s, "Host: a b\r\n"s,
                        "Host: a/b\r\n"s, "Host: u@a\r\n"s, "Host: a,b\r\n"s})
    refuses("GET /first HTTP/1.1\r\n" + x + "\r\n", 400, x);
}

TEST_F(smuggling_test, refuses_chunks_of_an_old_version) {
  refuses("POST /first HTTP/1.0\r\nHost: a\r\n" + chunked + "\r\n" + one_chunk,
          400, "chunks in HTTP/1.0");
}

// Where some read no body at all.
TEST_F(smuggling_test, refuses_bodies_that_have_no_meaning) {
  for (const auto& method : {"GET"s, "HEAD"s, "OPTIONS"s}) {
    refuses(method
              + " /first HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n"
                "\r\nabc",
            400, method);
    refuses(method + " /first HTTP/1.1\r\nHost: a\r\n" + chunked + "\r\n"
              + one_chunk,
            400, method);
  }
  refuses("DELETE /first HTTP/1.1\r\nHost: a\r\n" + chunked + "\r\n"
            + one_chunk,
          400, "DELETE");
}

TEST_F(smuggling_test, takes_a_request_in_a_body_for_a_body) {
  const std::string post = "POST /first HTTP/1.1\r\nHost: a\r\n";
  auto size = fmt::format("{:x}", next.size());
  for (const auto& [name, headers, body] : std::vector<smuggled>{
         {"CL.0", "Content-Length: " + std::to_string(next.size()) + "\r\n",
          next},
         {"CL.0 with Connection",
          "Connection: content-length\r\nContent-Length: "
            + std::to_string(next.size()) + "\r\n",
          next},
         {"in a chunk", chunked, size + "\r\n" + next + "\r\n0\r\n\r\n"},
         {"in an extension", chunked,
          "3;GET /second HTTP/1.1\r\nabc\r\n0\r\n\r\n"},
         {"in a trailer", chunked,
          "3\r\nabc\r\n0\r\nContent-Length: 9\r\nHost: b\r\n\r\n"},
         {"Expect",
          "Expect: 100-continue\r\nContent-Length: "
            + std::to_string(next.size()) + "\r\n",
          next},
       }) {
    served = 0;
    auto x = talk(front.port(), post + headers + "\r\n" + body + next);
    EXPECT_EQ(count(x, "HTTP/1.1 200"), 2u) << name << '\n' << x;
    EXPECT_EQ(served, 2) << name << '\n' << x;
  }
}

TEST_F(smuggling_test, refuses_a_chunk_that_is_too_large_before_it_comes) {
  refuses("POST /first HTTP/1.1\r\nHost: a\r\n" + chunked
            + "\r\n7fffffffffffffff\r\nabc",
          413, "large chunk");
}

// The neighbours of the cases above that are right.
TEST_F(smuggling_test, takes_what_is_allowed) {
  const std::string post = "POST /first HTTP/1.1\r\nHost: a\r\n";
  for (const auto& [name, headers, body] : std::vector<smuggled>{
         {"chunk", chunked, one_chunk},
         {"name of the coding", "transfer-ENCODING: CHUNKED\r\n", one_chunk},
         {"blanks around it", "Transfer-Encoding: \t chunked \t\r\n",
          one_chunk},
         {"zeros", chunked, "0003\r\nabc\r\n000\r\n\r\n"},
         {"extension", chunked, "3;a=\"b\" ; c\r\nabc\r\n0;d\r\n\r\n"},
         {"trailer", chunked, "3\r\nabc\r\n0\r\nX-Sum: 7\r\n\r\n"},
         {"length", "Content-Length: 003\r\n", "abc"},
       }) {
    served = 0;
    auto x = talk(front.port(), post + headers + "\r\n" + body + next);
    EXPECT_EQ(count(x, "HTTP/1.1 200"), 2u) << name << '\n' << x;
    EXPECT_EQ(count(x, "POST /first abc"), 1u) << name << '\n' << x;
    EXPECT_EQ(count(x, "GET /second "), 1u) << name << '\n' << x;
    EXPECT_EQ(served, 2) << name;
  }
  auto x = talk(front.port(), "\r\n" + next);
  EXPECT_EQ(status_in(x), 200) << "one empty line";
  x = talk(front.port(), "GET /old HTTP/1.0\r\n\r\n");
  EXPECT_EQ(status_in(x), 200) << "no host in HTTP/1.0";
}

TEST_F(smuggling_test, passes_values_on_as_they_were_sent) {
  for (auto value : {"a=1%3B%20admin=1", "100%25+a%2Bb", "%0d%0aX: 1", "%00",
                     "%", "%zz", "a  b", "z\xc3\xb6", "\"a%20b\""}) {
    auto x = get(front.port(), "/echo", "X-Mine: "s + value + "\r\n");
    EXPECT_TRUE(has_line(x, "x-mine: "s + value)) << value << '\n' << x;
  }
}

TEST_F(smuggling_test, passes_nothing_on_that_concerns_the_connection) {
  auto x = talk(front.port(), "GET /echo HTTP/1.1\r\nHost: a\r\n"
                              "Connection: close, X-Mine,, x-other\r\n"
                              "X-Mine: 7\r\nX-OTHER: 8\r\nTE: trailers\r\n"
                              "Keep-Alive: 5\r\n\r\n");
  EXPECT_EQ(status_in(x), 200);
  EXPECT_TRUE(has_line(x, "x-mine: ")) << x;
  EXPECT_TRUE(has_line(x, "x-headers: 1")) << x;
}

} // namespace
} // namespace caisson::test
