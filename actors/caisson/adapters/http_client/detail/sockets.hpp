// The sockets of the connections that libcurl keeps, by their local ports.
#pragma once

#include <curl/curl.h>

#include <unordered_map>
#include <vector>

namespace caisson::detail {

/// Used by one thread; outlives the connections.
class http_sockets {
public:
  /// Whether something has come on the connection with this local port that
  /// was not read; also its end. False if there is no such connection.
  [[nodiscard]] bool has_input(int port);

  /// Ends the connection with this local port, whatever the library does.
  void shut_down(int port);

  /// What the library calls for each socket, with such an object.
  static curl_socket_t open(void* self, curlsocktype, curl_sockaddr* where);
  static int close(void* self, curl_socket_t fd);

private:
  [[nodiscard]] int find(int port);

  // Those whose local ports are not known yet.
  std::vector<int> new_;
  std::unordered_map<int, int> by_port_;
  std::unordered_map<int, int> ports_;
};

} // namespace caisson::detail
