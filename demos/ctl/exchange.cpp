#include <ctl/exchange.hpp>

#include <string>

namespace caisson::ctl {

bool http_exchange::run(const std::string& host, std::uint16_t port,
                        duration patience, time_point until,
                        std::string_view head, std::string_view body,
                        bool to_head) {
  stream_.begin(until);
  parser_.begin(to_head);
  if (stream_.is_stale())
    stream_.close();
  auto done = (stream_.is_open() || stream_.connect(host, port, patience))
              && converse(head, body);
  if (!done || parser_.closes())
    stream_.close();
  return done;
}

// Returns whether a whole response has come. A server that does not want the
// request may say so before it has all, and close the connection.
bool http_exchange::converse(std::string_view head, std::string_view body) {
  // In one packet, if it is small.
  auto sent = body.size() < 4'096 ? send(std::string{head}.append(body))
                                  : send(head) && send(body);
  while (!is_over() && take())
    ;
  if (!sent)
    stream_.close();
  return parser_.at() == http_parser::stage::done;
}

// Returns whether all was written.
bool http_exchange::send(std::string_view bytes) {
  for (;;)
    switch (stream_.write(bytes)) {
      case http_stream::progress::written:
        return true;
      case http_stream::progress::failed:
        return false;
      case http_stream::progress::readable:
        if (!take())
          return false;
    }
}

bool http_exchange::is_over() const noexcept {
  return parser_.at() == http_parser::stage::done || is_garbled();
}

// Takes a part of the response. Returns whether it goes on.
bool http_exchange::take() {
  auto part = stream_.read();
  if (part.empty()) {
    if (stream_.why() == http_stream::failure::ended)
      parser_.end();
    return false;
  }
  auto n = parser_.feed(part);
  // What follows would be taken for the next answer.
  if (parser_.at() == http_parser::stage::done && n < part.size())
    stream_.close();
  return !is_over();
}

} // namespace caisson::ctl
