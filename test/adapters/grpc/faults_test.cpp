// The worker for gRPC and servers that are not there, go away, or are none.
#include <adapters/grpc/servers.hpp>

#include <support/scripted_server.hpp>

#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class grpc_faults_test : public grpc_test {
protected:
  static grpc_client_config at(int port) {
    grpc_client_config c;
    c.target = "127.0.0.1:" + std::to_string(port);
    c.max_reconnect_delay = 200ms;
    return c;
  }

  static answer_info meaning_of(const answer& x) {
    auto content = x.response ? caf::make_message(*x.response)
                              : caf::make_message(x.error);
    auto both = first_adapter_of(grpc_adapter(), transport_answer);
    return both(content).value_or(answer_info{});
  }

  scripted_prices service;
};

TEST_F(grpc_faults_test, nothing_is_sent_if_nobody_listens) {
  auto w = spawn_grpc_worker(*sys, at(free_port()));
  for (int i = 0; i < 3; ++i) {
    auto x = ask(w, price_of("tea"));
    EXPECT_EQ(x.failure(), "not_connected");
    EXPECT_FALSE(meaning_of(x).may_have_executed);
    EXPECT_NE(transport_text_of(x.error), "");
    EXPECT_LT(x.took, 10s);
  }
}

TEST_F(grpc_faults_test, nothing_is_sent_while_it_waits_for_a_connection) {
  auto c = at(free_port());
  c.wait_for_ready = true;
  auto x = ask(spawn_grpc_worker(*sys, c), price_of("tea").within(300ms));
  EXPECT_EQ(x.failure(), "not_connected");
  EXPECT_GE(x.took, 300ms);
  EXPECT_FALSE(meaning_of(x).may_have_executed);
}

TEST_F(grpc_faults_test, a_call_that_waits_is_sent_once_the_server_is_there) {
  auto port = free_port();
  auto c = at(port);
  c.wait_for_ready = true;
  auto w = spawn_grpc_worker(*sys, c);
  std::optional<grpc_server> server;
  auto x = ask_at_once(
    w, 3, [] { return price_of("tea"); },
    [&] {
      std::this_thread::sleep_for(50ms);
      server.emplace(service, port);
    });
  EXPECT_EQ(x.ok, 3);
}

TEST_F(grpc_faults_test, a_name_that_does_not_exist_is_no_connection) {
  grpc_client_config c;
  c.target = "no-such-host.invalid:50051";
  auto x = ask(spawn_grpc_worker(*sys, c), price_of("tea").within(10s));
  EXPECT_EQ(x.failure(), "not_connected");
}

TEST_F(grpc_faults_test, a_call_whose_server_dies_may_have_been_done) {
  std::optional<grpc_server> server{std::in_place, service};
  service.get = slow(20'000);
  auto w = spawn_grpc_worker(*sys, at(server->port()));
  auto x = ask_at_once(
    w, 4, [] { return price_of("tea"); },
    [&] {
      EXPECT_TRUE(eventually([&] { return service.served == 4; }));
      server->stop();
    });
  EXPECT_EQ(x.ok, 0);
  EXPECT_EQ(x.failed["not_connected"], 0);
  // It is gone now.
  EXPECT_EQ(ask(w, price_of("tea")).failure(), "not_connected");
}

TEST_F(grpc_faults_test, connects_again_once_the_server_is_back) {
  std::optional<grpc_server> server{std::in_place, service};
  auto port = server->port();
  auto w = spawn_grpc_worker(*sys, at(port));
  EXPECT_EQ(ask(w, price_of("tea")).code(), 0);
  for (int round = 0; round < 3; ++round) {
    server.reset();
    EXPECT_TRUE(eventually(
      [&] { return ask(w, price_of("tea")).failure() == "not_connected"; }));
    server.emplace(service, port);
    auto begin = std::chrono::steady_clock::now();
    EXPECT_TRUE(
      eventually([&] { return ask(w, price_of("tea")).code() == 0; }));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
  }
}

TEST_F(grpc_faults_test,
       each_call_to_a_server_that_flaps_is_done_or_explained) {
  std::optional<grpc_server> server{std::in_place, service};
  auto port = server->port();
  auto w = spawn_grpc_worker(*sys, at(port));
  int sent = 0;
  int ok = 0;
  int unsent = 0;
  for (int round = 0; round < 10; ++round) {
    auto x = ask_at_once(
      w, 50, [] { return price_of("tea"); },
      [&] {
        server.reset();
        server.emplace(service, port);
      });
    sent += 50;
    ok += x.ok;
    unsent += x.failed["not_connected"] + x.failed["busy"];
  }
  // What was certainly not sent was not served.
  EXPECT_LE(service.served, sent - unsent);
  EXPECT_GE(service.served, ok);
}

TEST_F(grpc_faults_test, a_server_that_says_nothing_is_left_at_the_deadline) {
  scripted_server silent{[](raw_socket& x, int) {
    while (!x.read().empty())
      continue;
  }};
  auto c = at(silent.port());
  c.connect_timeout = 200ms;
  auto x = ask(spawn_grpc_worker(*sys, c), price_of("tea").within(2s));
  // Without its settings there is no connection.
  EXPECT_EQ(x.failure(), "not_connected");
  EXPECT_LT(x.took, 1'900ms);
}

TEST_F(grpc_faults_test, what_speaks_something_else_is_no_server) {
  scripted_server web{[](raw_socket& x, int) {
    (void)x.read();
    x.write("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
  }};
  auto x = ask(spawn_grpc_worker(*sys, at(web.port())),
               price_of("tea").within(5s));
  EXPECT_FALSE(x.response && is_ok(*x.response));
  EXPECT_EQ(x.failure(), "not_connected") << to_text(*x.response);
}

TEST_F(grpc_faults_test, a_method_that_does_not_exist_is_unimplemented) {
  grpc_server server{service};
  auto x = ask(spawn_grpc_worker(*sys, at(server.port())),
               grpc_request{"/shop.Prices/Steal", {}, {}});
  EXPECT_EQ(x.code(), 12);
  EXPECT_EQ(meaning_of(x).kind, answer_class::fail);
}

TEST_F(grpc_faults_test, bytes_that_are_no_message_are_an_internal_error) {
  grpc_server server{service};
  auto x = ask(spawn_grpc_worker(*sys, at(server.port())),
               grpc_request{get_price, "\xff\xff\xff", {}});
  EXPECT_EQ(x.code(), 13);
  EXPECT_EQ(service.served, 0);
}

TEST_F(grpc_faults_test, a_stream_of_messages_is_no_answer_of_a_unary_call) {
  grpc_server server{service};
  auto w = spawn_grpc_worker(*sys, at(server.port()));
  auto x = ask(w, grpc_request{"/shop.Prices/Watch", {}, {}});
  EXPECT_EQ(x.failure(), "garbled");
  // One that never ends is ended.
  service.watch = [](::grpc::ServerContext&,
                     ::grpc::ServerWriter<shop::Price>& out) {
    while (out.Write({}))
      continue;
    return ::grpc::Status::OK;
  };
  x = ask(w, grpc_request{"/shop.Prices/Watch", {}, {}});
  EXPECT_EQ(x.failure(), "garbled");
  // And one that has no message has no answer.
  service.watch = [](::grpc::ServerContext&,
                     ::grpc::ServerWriter<shop::Price>&) {
    return ::grpc::Status::OK;
  };
  x = ask(w, grpc_request{"/shop.Prices/Watch", {}, {}});
  EXPECT_EQ(x.code(), 13);
}

TEST_F(grpc_faults_test, grpc_repeats_nothing_by_itself) {
  grpc_server server{service};
  service.get = failing(::grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(
    ask(spawn_grpc_worker(*sys, at(server.port())), price_of("tea")).code(),
    14);
  EXPECT_EQ(service.served, 1);
}

TEST_F(grpc_faults_test, grpc_repeats_calls_if_that_is_left_to_it) {
  grpc_server server{service};
  service.get = [this](::grpc::ServerContext&, const shop::PriceRequest&,
                       shop::Price&) {
    return service.served < 3 ? ::grpc::Status{::grpc::UNAVAILABLE, "not yet"}
                              : ::grpc::Status::OK;
  };
  auto c = at(server.port());
  c.channel_retries = true;
  c.service_config = R"({"methodConfig": [{"name": [{}], "retryPolicy": {
    "maxAttempts": 4, "initialBackoff": "0.01s", "maxBackoff": "0.02s",
    "backoffMultiplier": 1, "retryableStatusCodes": ["UNAVAILABLE"]}}]})";
  EXPECT_EQ(ask(spawn_grpc_worker(*sys, c), price_of("tea")).code(), 0);
  EXPECT_EQ(service.served, 3);
}

// -- ends of life -------------------------------------------------------------

TEST_F(grpc_faults_test, a_worker_that_ends_answers_and_cancels_all) {
  std::atomic<int> cancelled{0};
  service.get = [&](::grpc::ServerContext& c, const shop::PriceRequest&,
                    shop::Price&) {
    while (!c.IsCancelled())
      std::this_thread::sleep_for(1ms);
    ++cancelled;
    return ::grpc::Status::OK;
  };
  grpc_server server{service};
  auto c = at(server.port());
  c.max_in_progress = 3;
  auto w = spawn_grpc_worker(*sys, c);
  auto x = ask_at_once(
    w, 5, [] { return price_of("tea"); },
    [&] {
      EXPECT_TRUE(eventually([&] { return service.served == 3; }));
      caf::anon_send_exit(w, caf::exit_reason::user_shutdown);
    });
  EXPECT_EQ(x.failed["lost"], 3);
  EXPECT_EQ(x.failed["stopped"], 2);
  EXPECT_TRUE(eventually([&] { return cancelled == 3; }));
}

TEST_F(grpc_faults_test, a_system_can_end_while_calls_are_in_progress) {
  service.get = slow(20'000);
  grpc_server server{service};
  {
    auto gate = spawn_gate(*sys, grpc_worker(at(server.port())),
                           stack{"prices"});
    for (int i = 0; i < 10; ++i)
      portable::send_anon(gate, price_of("tea"));
    EXPECT_TRUE(eventually([&] { return service.served > 0; }));
    stop_gate(gate);
  }
  self.reset();
  sys.reset();
}

TEST_F(grpc_faults_test, a_worker_can_end_without_a_call) {
  auto w = spawn_grpc_worker(*sys, at(free_port()));
  caf::anon_send_exit(w, caf::exit_reason::user_shutdown);
  w = nullptr;
  self.reset();
  sys.reset();
}

TEST_F(grpc_faults_test, workers_come_and_go_while_calls_are_in_progress) {
  grpc_server server{service};
  service.get = slow(5);
  for (int i = 0; i < 20; ++i) {
    auto w = spawn_grpc_worker(*sys, at(server.port()));
    auto x = ask_at_once(
      w, 20, [] { return price_of("tea"); },
      [&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(i % 7));
        caf::anon_send_exit(w, caf::exit_reason::user_shutdown);
      });
    auto answered = x.ok;
    for (auto& [why, n] : x.failed)
      answered += n;
    EXPECT_EQ(answered, 20);
  }
}

} // namespace
} // namespace caisson::test
