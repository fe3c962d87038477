// The thread that carries all requests of an HTTP worker.
#pragma once

#include <caisson/adapters/http_client/detail/transfer.hpp>

#include <curl/curl.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

namespace caisson::detail {

/// An address that takes requests with a `call`, and answers each one once its
/// transfer is over. The thread begins with the first request, and ends with
/// `stop`.
class http_loop final : public portable::relay {
public:
  http_loop(caf::actor_config& cfg, const http_client_config& c);

  http_loop(const http_loop&) = delete;
  http_loop& operator=(const http_loop&) = delete;

  /// The request with that number needs no answer any more: it ends at once,
  /// and is answered.
  void cancel(std::uint64_t number);

  /// Ends all requests without an answer, closes all connections, and waits for
  /// the thread.
  void stop();

protected:
  bool receive(caf::mailbox_element_ptr what,
               portable::run_context* on) override;

private:
  struct multi_deleter {
    void operator()(CURLM* x) const { ::curl_multi_cleanup(x); }
  };
  using multi_handle = std::unique_ptr<CURLM, multi_deleter>;

  struct share_deleter {
    void operator()(CURLSH* x) const { ::curl_share_cleanup(x); }
  };

  struct request {
    portable::reply_to from;
    call what;
  };

  // What the thread is to do.
  struct inbox {
    std::vector<request> requests;
    std::vector<std::uint64_t> cancelled;
    bool stopped = false;
  };

  using transfer_ptr = std::unique_ptr<http_transfer>;

  [[nodiscard]] multi_handle new_multi() const;
  bool start();
  void wake();

  // -- the thread's -----------------------------------------------------------

  void run();
  [[nodiscard]] inbox take_inbox();
  void wait();
  [[nodiscard]] int patience() const;
  void begin(request x);
  bool enter(transfer_ptr& x);
  void take_results();
  void finish(http_transfer& x, CURLcode code);
  void call_off_late();
  void call_off(std::uint64_t number, bool is_due);
  void answer(transfer_ptr x, caf::message content);
  void close_idle();

  const http_client_config config_;
  const http_origin server_;

  std::mutex mutex_;
  inbox inbox_;
  bool sleeps_ = false;
  // It outlives the connections.
  http_sockets sockets_;
  multi_handle multi_;

  // The thread's; transfers share the sessions of TLS.
  std::unique_ptr<CURLSH, share_deleter> share_;
  std::unordered_map<std::uint64_t, transfer_ptr> running_;
  std::vector<transfer_ptr> spare_;
  // When there was something to do the last time; never if all is closed.
  time_point active_ = never;
  // When the first of those that run should have ended, or be connected.
  time_point late_at_ = never;

  std::thread thread_;
  bool ended_ = false;
};

} // namespace caisson::detail
