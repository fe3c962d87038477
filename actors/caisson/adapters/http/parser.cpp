#include <caisson/adapters/http/parser.hpp>

#include <algorithm>
#include <charconv>
#include <utility>

namespace caisson::detail {

namespace {

/// Extensions of chunks are of no use, but allowed.
constexpr std::size_t longest_chunk_line = 256;

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

bool is_token_char(char c) noexcept {
  constexpr std::string_view separators = "!#$%&'*+-.^_`|~";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c)
         || separators.find(c) != std::string_view::npos;
}

bool is_token(std::string_view x) noexcept {
  return !x.empty() && std::all_of(x.begin(), x.end(), is_token_char);
}

// What a value may consist of, and what follows the size of a chunk.
bool is_text(std::string_view x) noexcept {
  return std::all_of(x.begin(), x.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 ? c != '\x7f' : c == '\t';
  });
}

std::string_view without_blanks(std::string_view x) noexcept {
  auto first = x.find_first_not_of(" \t");
  if (first == std::string_view::npos)
    return {};
  return x.substr(first, x.find_last_not_of(" \t") - first + 1);
}

template <class F>
void for_each_option(std::string_view list, F f) {
  while (!list.empty()) {
    auto comma = std::min(list.find(','), list.size());
    f(in_lower_case(without_blanks(list.substr(0, comma))));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
}

// RFC 3986 section 3.2: a host and perhaps a port, without a user.
bool is_host(std::string_view x) noexcept {
  constexpr std::string_view separators = "-._~!$&'()*+;=:[]%";
  return std::all_of(x.begin(), x.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c)
           || separators.find(c) != std::string_view::npos;
  });
}

bool has_no_body(std::string_view method) noexcept {
  return method == "GET" || method == "HEAD" || method == "OPTIONS";
}

} // namespace

std::string in_lower_case(std::string_view x) {
  std::string out{x};
  for (auto& c : out)
    if (c >= 'A' && c <= 'Z')
      c = static_cast<char>(c - 'A' + 'a');
  return out;
}

void http_parser::begin(bool to_head) {
  now_ = {};
  now_.to_head = to_head;
}

std::size_t http_parser::feed(std::string_view bytes) {
  std::size_t n = 0;
  while (n < bytes.size() && at() != stage::done && at() != stage::failed) {
    auto is_content = now_.part == part::fixed || now_.part == part::until_close
                      || now_.part == part::chunk;
    if (is_content)
      n += take_content(bytes.substr(n));
    else
      take_char(bytes[n++]);
  }
  return n;
}

void http_parser::take_decoded() noexcept {
  if (at() == stage::body)
    now_.part = part::until_close;
}

bool http_parser::end() {
  if (at() == stage::body && now_.part == part::until_close)
    finish();
  return at() == stage::done;
}

void http_parser::fail(fault why) {
  now_.stage = stage::failed;
  now_.fault = why;
}

void http_parser::finish() {
  now_.stage = stage::done;
}

// -- lines --------------------------------------------------------------------

void http_parser::take_char(char c) {
  if (at() == stage::start)
    now_.stage = stage::head;
  auto in_body = now_.part == part::chunk_size || now_.part == part::chunk_end;
  auto& size = in_body ? now_.around_body : now_.head_size;
  if (++size > (in_body ? 65'536 + 5 * limits_.body : limits_.head))
    return fail(in_body ? fault::large_body : fault::large_head);
  if (now_.after_cr) {
    if (c != '\n')
      return fail(fault::malformed);
    now_.after_cr = false;
    take_line();
    now_.line.clear();
  } else if (c == '\r') {
    now_.after_cr = true;
  } else if (c == '\n' || !is_text({&c, 1})) {
    fail(fault::malformed);
  } else if (now_.line.size() >= longest_line()) {
    fail(now_.part == part::start_line ? fault::long_start_line
         : in_body                     ? fault::malformed
                                       : fault::large_head);
  } else {
    now_.line += c;
  }
}

std::size_t http_parser::longest_line() const noexcept {
  switch (now_.part) {
    case part::start_line:
      return limits_.start_line;
    case part::chunk_size:
      return longest_chunk_line;
    case part::chunk_end:
      return 0;
    default:
      return limits_.header_line;
  }
}

void http_parser::take_line() {
  switch (now_.part) {
    case part::start_line:
      return take_start_line();
    case part::header:
      return now_.line.empty() ? end_head() : take_header(true);
    case part::trailer:
      return now_.line.empty() ? finish() : take_header(false);
    case part::chunk_size:
      return take_chunk_size();
    default:
      now_.part = part::chunk_size;
  }
}

// -- the head -----------------------------------------------------------------

void http_parser::take_start_line() {
  if (now_.line.empty() && kind_ == kind::request && !now_.after_blank) {
    // Some clients send one after a body (RFC 9112 section 2.2).
    // Nothing of a request has come yet.
    now_.after_blank = true;
    now_.stage = stage::start;
    return;
  }
  now_.part = part::header;
  if (kind_ == kind::request)
    take_request_line();
  else
    take_status_line();
}

void http_parser::take_request_line() {
  std::string_view x = now_.line;
  auto first = x.find(' ');
  auto last = x.rfind(' ');
  if (first == last)
    return fail(fault::malformed);
  now_.method = x.substr(0, first);
  now_.target = x.substr(first + 1, last - first - 1);
  auto is_path = now_.target.starts_with('/')
                 && std::all_of(now_.target.begin(), now_.target.end(),
                                [](char c) { return c > ' ' && c < '\x7f'; });
  if (!is_token(now_.method) || !is_path)
    return fail(fault::malformed);
  take_version(x.substr(last + 1));
}

// "HTTP/1.1 200 OK"; many leave out the blank before a reason that is empty.
void http_parser::take_status_line() {
  std::string_view x = now_.line;
  constexpr std::size_t code = 9;
  auto well = x.size() >= code + 3 && x[code - 1] == ' ' && x[code] >= '1'
              && is_digit(x[code]) && is_digit(x[code + 1])
              && is_digit(x[code + 2])
              && (x.size() == code + 3 || x[code + 3] == ' ');
  if (!well)
    return fail(fault::malformed);
  std::from_chars(x.data() + code, x.data() + code + 3, now_.status);
  take_version(x.substr(0, code - 1));
}

void http_parser::take_version(std::string_view x) {
  constexpr std::string_view name = "HTTP/";
  auto well = x.size() == name.size() + 3 && x.starts_with(name)
              && is_digit(x[5]) && x[6] == '.' && is_digit(x[7]);
  if (!well)
    return fail(fault::malformed);
  if (x != "HTTP/1.1" && x != "HTTP/1.0")
    return fail(fault::bad_version);
  now_.old_version = x == "HTTP/1.0";
  now_.closes = now_.old_version;
}

// A line that begins with a blank, which would belong to the one above, has no
// name.
void http_parser::take_header(bool keep) {
  std::string_view x = now_.line;
  auto colon = x.find(':');
  if (colon == std::string_view::npos || !is_token(x.substr(0, colon)))
    return fail(fault::malformed);
  if (keep)
    keep_header(in_lower_case(x.substr(0, colon)),
                without_blanks(x.substr(colon + 1)));
}

void http_parser::keep_header(std::string name, std::string_view value) {
  if (++now_.kept > limits_.headers)
    return fail(fault::large_head);
  if (name == "host") {
    ++now_.hosts;
    if (kind_ == kind::request && !is_host(value))
      return fail(fault::malformed);
  }
  now_.lengths += name == "content-length";
  now_.encodings += name == "transfer-encoding";
  auto [i, is_new] = now_.headers.emplace(std::move(name), value);
  // Several cookies cannot be joined: commas are part of them.
  if (!is_new && i->first != "set-cookie")
    i->second.append(i->first == "cookie" ? "; " : ", ").append(value);
}

void http_parser::end_head() {
  // An interim response; nobody asks for another protocol.
  if (kind_ == kind::response && now_.status < 200) {
    if (now_.status == 101 || now_.lengths + now_.encodings > 0)
      return fail(fault::malformed);
    auto size = now_.head_size;
    begin(now_.to_head);
    now_.stage = stage::head;
    now_.head_size = size;
    return;
  }
  auto required_hosts = now_.old_version ? 0 : 1;
  if (kind_ == kind::request && (now_.hosts < required_hosts || now_.hosts > 1))
    return fail(fault::malformed);
  auto named = std::string{header_of(now_.headers, "connection")};
  for_each_option(named, [this](const std::string& x) {
    now_.closes = now_.closes || x == "close";
  });
  find_end_of_message();
  now_.wants_continue = kind_ == kind::request && !now_.old_version
                        && in_lower_case(header_of(now_.headers, "expect"))
                             == "100-continue";
}

// RFC 9112 section 6.3; where a proxy could see another end, there is none.
void http_parser::find_end_of_message() {
  if (now_.lengths + now_.encodings > 1)
    return fail(fault::malformed);
  now_.stage = stage::body;
  auto bodiless = kind_ == kind::request
                    ? has_no_body(now_.method)
                    : now_.to_head || now_.status == 204 || now_.status == 304;
  if (now_.encodings == 1) {
    auto coding = in_lower_case(header_of(now_.headers, "transfer-encoding"));
    auto is_odd = kind_ == kind::request
                  && (bodiless || now_.method == "DELETE");
    if (coding != "chunked" || now_.old_version || is_odd)
      return fail(fault::malformed);
    if (bodiless)
      return finish();
    now_.part = part::chunk_size;
    return;
  }
  if (now_.lengths == 0) {
    if (bodiless || kind_ == kind::request)
      return finish();
    now_.closes = true;
    now_.part = part::until_close;
    return;
  }
  auto text = header_of(now_.headers, "content-length");
  std::uint64_t n = 0;
  auto well = !text.empty() && text.size() < 19
              && std::all_of(text.begin(), text.end(), is_digit);
  if (well)
    std::from_chars(text.data(), text.data() + text.size(), n);
  if (!well || (kind_ == kind::request && bodiless && n > 0))
    return fail(fault::malformed);
  if (bodiless || n == 0)
    return finish();
  expect_content(part::fixed, n);
}

// -- the body -----------------------------------------------------------------

void http_parser::expect_content(part p, std::size_t n) {
  if (n > limits_.body - now_.body.size())
    return fail(fault::large_body);
  now_.part = p;
  now_.left = n;
}

std::size_t http_parser::take_content(std::string_view bytes) {
  auto open = now_.part == part::until_close;
  auto room = limits_.body - now_.body.size();
  auto n = std::min(bytes.size(), open ? room : now_.left);
  now_.body.append(bytes.substr(0, n));
  if (open) {
    if (n < bytes.size())
      fail(fault::large_body);
    return n;
  }
  now_.left -= n;
  if (now_.left == 0 && now_.part == part::fixed)
    finish();
  else if (now_.left == 0)
    now_.part = part::chunk_end;
  return n;
}

void http_parser::take_chunk_size() {
  std::string_view x = now_.line;
  std::uint64_t n = 0;
  // Neither signs nor blanks nor `0x`: that function takes digits alone.
  auto [end, err] = std::from_chars(x.data(), x.data() + x.size(), n, 16);
  auto rest = x.substr(static_cast<std::size_t>(end - x.data()));
  auto extended = without_blanks(rest).starts_with(';');
  if (err != std::errc{} || x.front() == '-' || (!rest.empty() && !extended))
    return fail(fault::malformed);
  if (n == 0)
    now_.part = part::trailer;
  else
    expect_content(part::chunk, n);
}

// -- the connection -----------------------------------------------------------

void drop_named_by_connection(http_headers& all, std::string_view named) {
  for_each_option(named, [&](const std::string& x) {
    if (x != "content-length" && x != "transfer-encoding" && x != "host")
      all.erase(x);
  });
}

void drop_hop_by_hop(http_headers& all, bool keep_length) {
  drop_named_by_connection(all, std::string{header_of(all, "connection")});
  std::erase_if(all, [&](const auto& x) {
    return is_of_connection(x.first)
           && !(keep_length && x.first == "content-length");
  });
}

} // namespace caisson::detail
