// The sockets of the connections that libcurl keeps, by their two ends.
#pragma once

#include <curl/curl.h>

#include <string>
#include <unordered_map>
#include <vector>

namespace caisson::detail {

/// Both ends of a connection, addresses in the form of `inet_ntop`. One local
/// port can be that of several connections, to different ends.
struct connection_ends {
  std::string local;
  int local_port = 0;
  std::string remote;
  int remote_port = 0;

  [[nodiscard]] std::string text() const;
};

/// Used by one thread; outlives the connections.
class http_sockets {
public:
  /// Whether something has come on that connection that was not read; also its
  /// end. True if there is no such connection.
  [[nodiscard]] bool has_input(const connection_ends& x);

  /// Ends that connection, whatever the library does.
  void shut_down(const connection_ends& x);

  /// What the library calls for each socket, with such an object.
  static curl_socket_t open(void* self, curlsocktype, curl_sockaddr* where);
  static int close(void* self, curl_socket_t fd);

private:
  [[nodiscard]] int find(const connection_ends& x);

  // Those whose ends are not known yet.
  std::vector<int> new_;
  std::unordered_map<std::string, int> sockets_;
  std::unordered_map<int, std::string> ends_;
};

} // namespace caisson::detail
