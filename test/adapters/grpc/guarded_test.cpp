// Guards around the stubs of gRPC, and interceptors.
#include <adapters/grpc/servers.hpp>

#include <caisson/adapters/grpc/channel.hpp>
#include <caisson/adapters/grpc/guarded.hpp>
#include <caisson/adapters/grpc/interceptor.hpp>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class grpc_guarded_test : public grpc_test {
protected:
  static shop::PriceRequest tea() {
    shop::PriceRequest x;
    x.set_item("tea");
    return x;
  }

  ::grpc::Status get(guard& by, call_options options = {}) {
    auto stub = shop::Prices::NewStub(
      grpc_channel({.target = server.target()}));
    return guarded(
      by,
      [&](::grpc::ClientContext& context) {
        return stub->Get(&context, tea(), &price);
      },
      std::move(options));
  }

  scripted_prices service;
  grpc_server server{service};
  shop::Price price;
};

TEST_F(grpc_guarded_test, a_call_has_the_deadline_and_the_trace_of_its_guard) {
  guard by{stack{"prices"}.deadline({.timeout = 2s})};
  std::string trace = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01";
  call_options options{.idempotency_key = "k", .traceparent = trace};
  options.propagated.set_tracestate("a=1");
  options.propagated.set_baggage("user=7");
  EXPECT_TRUE(get(by, options).ok());
  EXPECT_EQ(price.item(), "tea");
  EXPECT_GT(service.time_left(), 1s);
  EXPECT_LE(service.time_left(), 2'100ms);
  EXPECT_EQ(service.seen("traceparent").substr(0, 35), trace.substr(0, 35));
  EXPECT_EQ(service.seen("tracestate"), "a=1");
  EXPECT_EQ(service.seen("baggage"), "user=7");
  EXPECT_EQ(service.seen("idempotency-key"), "k");
}

// Servers take 8192 bytes of metadata.
TEST_F(grpc_guarded_test, a_call_has_the_baggage_that_fits) {
  guard by{stack{"prices"}};
  for (auto size : {100u, 6'000u, 7'400u, 8'000u, 8'192u}) {
    call_options options{.idempotency_key = "k"};
    options.propagated.set_tracestate("a=1");
    options.propagated.set_baggage("b=" + std::string(size - 2, 'x'));
    ASSERT_EQ(options.propagated.baggage().size(), size);
    auto status = get(by, options);
    EXPECT_TRUE(status.ok()) << size << ": " << status.error_message();
    EXPECT_EQ(service.seen("baggage").size(), size < 7'000 ? size : 0) << size;
  }
}

TEST_F(grpc_guarded_test, a_call_that_hangs_ends_at_the_deadline) {
  guard by{stack{"prices"}.deadline({.timeout = 100ms})};
  service.get = slow(20'000);
  auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(get(by).error_code(), ::grpc::DEADLINE_EXCEEDED);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
}

TEST_F(grpc_guarded_test, a_retrier_repeats_by_code_and_pushback) {
  guard by{stack{"prices"}.retrier({.max_attempts = 3,
                                    .backoff = schedule::constant(1ms),
                                    .idempotent = true})};
  service.get = [this](::grpc::ServerContext&, const shop::PriceRequest&,
                       shop::Price&) {
    return service.served < 3 ? ::grpc::Status{::grpc::UNAVAILABLE, "not yet"}
                              : ::grpc::Status::OK;
  };
  EXPECT_TRUE(get(by).ok());
  EXPECT_EQ(service.served, 3);
  service.served = 0;
  service.get = failing(::grpc::NOT_FOUND);
  EXPECT_EQ(get(by).error_code(), ::grpc::NOT_FOUND);
  EXPECT_EQ(service.served, 1);
  service.served = 0;
  service.get = failing(::grpc::UNAVAILABLE, "-1");
  auto status = get(by);
  EXPECT_EQ(status.error_code(), ::grpc::UNAVAILABLE);
  EXPECT_EQ(status.error_message(), "as the test says");
  EXPECT_EQ(service.served, 1);
}

TEST_F(grpc_guarded_test, a_layer_that_refuses_has_a_status) {
  guard by{stack{"prices"}.breaker({.threshold = 1})};
  service.get = failing(::grpc::UNAVAILABLE);
  get(by);
  auto status = get(by);
  EXPECT_EQ(status.error_code(), ::grpc::UNAVAILABLE);
  EXPECT_EQ(status.error_message(), "breaker_open");
  EXPECT_EQ(service.served, 1);
}

TEST_F(grpc_guarded_test, what_a_function_throws_goes_on) {
  guard by{stack{"prices"}};
  EXPECT_THROW(guarded(by,
                       [](::grpc::ClientContext&) -> ::grpc::Status {
                         throw std::logic_error{"mine"};
                       }),
               std::logic_error);
}

TEST(grpc_status, of_errors_says_what_a_client_can_do) {
  auto code = [](errc x) { return grpc_status_of(make_error(x)).error_code(); };
  EXPECT_EQ(code(errc::rate_limited), ::grpc::RESOURCE_EXHAUSTED);
  EXPECT_EQ(code(errc::shed), ::grpc::RESOURCE_EXHAUSTED);
  EXPECT_EQ(code(errc::breaker_open), ::grpc::UNAVAILABLE);
  EXPECT_EQ(code(errc::deadline_exceeded), ::grpc::DEADLINE_EXCEEDED);
  EXPECT_EQ(code(errc::internal_error), ::grpc::INTERNAL);
  EXPECT_EQ(grpc_status_of(make_error(transport_errc::timed_out)).error_code(),
            ::grpc::DEADLINE_EXCEEDED);
  EXPECT_EQ(grpc_status_of(make_error(transport_errc::busy)).error_code(),
            ::grpc::UNAVAILABLE);
  EXPECT_EQ(
    grpc_status_of(caf::make_error(caf::sec::bad_function_call)).error_code(),
    ::grpc::INTERNAL);
  EXPECT_EQ(grpc_pushback_of(0s), std::nullopt);
  EXPECT_EQ(grpc_pushback_of(1'500us), "2");
  EXPECT_EQ(grpc_pushback_of(unlimited), "-1");
}

// -- interceptors -------------------------------------------------------------

class grpc_interceptor_test : public grpc_guarded_test {
protected:
  void guard_with(const stack& x) {
    by = std::make_shared<guard>(x);
    grpc_client_interceptors all;
    all.push_back(grpc_interceptor(by));
    stub = shop::Prices::NewStub(
      grpc_channel({.target = server.target()}, std::move(all)));
  }

  struct end {
    ::grpc::Status status;
    std::string pushback;
    int messages = 0;
  };

  static std::string pushback_of(const ::grpc::ClientContext& x) {
    auto i = x.GetServerTrailingMetadata().find("grpc-retry-pushback-ms");
    return i == x.GetServerTrailingMetadata().end()
             ? ""
             : std::string{i->second.data(), i->second.size()};
  }

  end unary() {
    ::grpc::ClientContext context;
    auto status = stub->Get(&context, tea(), &price);
    return {status, pushback_of(context), 0};
  }

  end watch(duration timeout = 20s) {
    ::grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + timeout);
    auto stream = stub->Watch(&context, tea());
    end out;
    while (stream->Read(&price))
      ++out.messages;
    out.status = stream->Finish();
    out.pushback = pushback_of(context);
    return out;
  }

  end each() {
    ::grpc::ClientContext context;
    auto stream = stub->Each(&context);
    end out;
    for (int i = 0; i < 3 && stream->Write(tea()); ++i)
      out.messages += stream->Read(&price) ? 1 : 0;
    stream->WritesDone();
    out.status = stream->Finish();
    out.pushback = pushback_of(context);
    return out;
  }

  std::shared_ptr<guard> by;
  std::unique_ptr<shop::Prices::Stub> stub;
};

stack with_breaker() {
  return stack{"prices"}.breaker(
    {.threshold = 2, .open = schedule::constant(1h)});
}

TEST_F(grpc_interceptor_test, lets_calls_and_streams_pass) {
  guard_with(with_breaker().semaphore({.permits = 1}));
  EXPECT_TRUE(unary().status.ok());
  EXPECT_EQ(watch().messages, 3);
  EXPECT_EQ(each().messages, 3);
  EXPECT_TRUE(watch().status.ok());
  EXPECT_EQ(service.served, 4);
}

TEST_F(grpc_interceptor_test, counts_a_stream_that_breaks_as_a_failure) {
  guard_with(with_breaker());
  service.watch = [](::grpc::ServerContext&,
                     ::grpc::ServerWriter<shop::Price>& out) {
    out.Write({});
    return ::grpc::Status{::grpc::UNAVAILABLE, "in the middle"};
  };
  for (int i = 0; i < 2; ++i) {
    auto x = watch();
    EXPECT_EQ(x.messages, 1);
    EXPECT_EQ(x.status.error_message(), "in the middle");
  }
  // All kinds of calls fail at once, and say when to come back.
  for (auto& x : {watch(), each(), unary()}) {
    EXPECT_EQ(x.status.error_code(), ::grpc::UNAVAILABLE);
    EXPECT_EQ(x.status.error_message(), "breaker_open");
    EXPECT_EQ(x.messages, 0);
    ASSERT_NE(x.pushback, "");
    EXPECT_GT(std::stoi(x.pushback), 3'500'000);
    EXPECT_LE(std::stoi(x.pushback), 3'600'000);
  }
  EXPECT_EQ(service.served, 2);
}

TEST_F(grpc_interceptor_test, counts_no_failure_that_is_the_requests) {
  guard_with(with_breaker());
  service.watch = [](::grpc::ServerContext&,
                     ::grpc::ServerWriter<shop::Price>&) {
    return ::grpc::Status{::grpc::NOT_FOUND, "no tea"};
  };
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(watch().status.error_code(), ::grpc::NOT_FOUND);
}

TEST_F(grpc_interceptor_test, holds_a_permit_as_long_as_a_stream) {
  guard_with(stack{"prices"}.semaphore({.permits = 1}));
  {
    ::grpc::ClientContext context;
    auto stream = stub->Each(&context);
    ASSERT_TRUE(stream->Write(tea()));
    ASSERT_TRUE(stream->Read(&price));
    auto refused = unary();
    EXPECT_EQ(refused.status.error_code(), ::grpc::RESOURCE_EXHAUSTED);
    EXPECT_EQ(refused.status.error_message(), "queue_full");
    EXPECT_EQ(refused.pushback, "");
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
    EXPECT_TRUE(unary().status.ok());
  }
  {
    // One whose end nobody reads is over with its context.
    ::grpc::ClientContext context;
    auto stream = stub->Each(&context);
    EXPECT_EQ(unary().status.error_message(), "queue_full");
    context.TryCancel();
  }
  EXPECT_TRUE(unary().status.ok());
}

TEST_F(grpc_interceptor_test, ends_a_stream_at_the_deadline_of_a_layer) {
  guard_with(stack{"prices"}.deadline({.timeout = 100ms}));
  std::atomic<bool> cancelled{false};
  service.watch = [&](::grpc::ServerContext& c,
                      ::grpc::ServerWriter<shop::Price>& out) {
    out.Write({});
    while (!c.IsCancelled())
      std::this_thread::sleep_for(1ms);
    cancelled = true;
    return ::grpc::Status::OK;
  };
  auto begin = std::chrono::steady_clock::now();
  auto x = watch();
  EXPECT_EQ(x.messages, 1);
  EXPECT_EQ(x.status.error_code(), ::grpc::DEADLINE_EXCEEDED);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 100ms);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
  EXPECT_TRUE(eventually([&] { return cancelled.load(); }));
}

// Its context is gone, or going, when the timer of the layer goes off.
TEST_F(grpc_interceptor_test, survives_streams_that_nobody_finishes) {
  constexpr auto limit = 3ms;
  guard_with(stack{"prices"}.deadline({.timeout = limit}));
  service.watch = [&](::grpc::ServerContext& c,
                      ::grpc::ServerWriter<shop::Price>& out) {
    out.Write({});
    for (int i = 0; i < 200 && !c.IsCancelled(); ++i)
      std::this_thread::sleep_for(1ms);
    return ::grpc::Status::OK;
  };
  auto leave_streams = [&](int first) {
    for (int i = first; i < 600; i += 2) {
      auto until = std::chrono::steady_clock::now() + limit
                   + std::chrono::microseconds(37 * i % 2500 - 200);
      ::grpc::ClientContext context;
      auto stream = stub->Watch(&context, tea());
      while (std::chrono::steady_clock::now() < until)
        std::this_thread::sleep_for(20us);
    }
  };
  std::jthread other{leave_streams, 1};
  leave_streams(0);
  other.join();
  EXPECT_EQ(by->get_status().metric("in_progress"), 0);
}

// What it refuses comes to the one before it a second time.
TEST_F(grpc_interceptor_test, admits_a_call_once_that_another_one_refuses) {
  by = std::make_shared<guard>(stack{"outer"}.semaphore({.permits = 1}));
  auto inner = std::make_shared<guard>(with_breaker());
  for (int i = 0; i < 2; ++i)
    inner->admit().fail("no", grpc_answer(14));
  grpc_client_interceptors all;
  all.push_back(grpc_interceptor(by));
  all.push_back(grpc_interceptor(inner));
  stub = shop::Prices::NewStub(
    grpc_channel({.target = server.target()}, std::move(all)));
  for (int i = 0; i < 3; ++i) {
    ::grpc::ClientContext context;
    ::grpc::CompletionQueue queue;
    ::grpc::Status status;
    auto stream = stub->AsyncEach(&context, &queue, this);
    void* tag = nullptr;
    auto ok = false;
    ASSERT_TRUE(queue.Next(&tag, &ok));
    stream->Write(tea(), this);
    ASSERT_TRUE(queue.Next(&tag, &ok));
    stream->WritesDone(this);
    ASSERT_TRUE(queue.Next(&tag, &ok));
    stream->Finish(&status, this);
    ASSERT_TRUE(queue.Next(&tag, &ok));
    EXPECT_EQ(status.error_message(), "breaker_open");
    queue.Shutdown();
    while (queue.Next(&tag, &ok))
      continue;
  }
  EXPECT_EQ(by->get_status().metric("calls"), 3);
  EXPECT_EQ(by->get_status().metric("semaphore", "in_use"), 0);
}

TEST_F(grpc_interceptor_test, goes_by_the_deadline_of_the_context) {
  guard_with(with_breaker());
  service.watch = [&](::grpc::ServerContext& c,
                      ::grpc::ServerWriter<shop::Price>&) {
    while (!c.IsCancelled())
      std::this_thread::sleep_for(1ms);
    return ::grpc::Status::OK;
  };
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(watch(50ms).status.error_code(), ::grpc::DEADLINE_EXCEEDED);
  EXPECT_EQ(watch().status.error_message(), "breaker_open");
  // Of one that comes without any time left nothing is sent.
  service.served = 0;
  guard_with(stack{"prices"});
  EXPECT_EQ(watch(-1s).status.error_code(), ::grpc::DEADLINE_EXCEEDED);
  EXPECT_EQ(service.served, 0);
}

TEST_F(grpc_interceptor_test, can_be_used_by_many_threads) {
  guard_with(stack{"prices"}.breaker().semaphore({.permits = 4}));
  std::atomic<int> ok{0};
  std::atomic<int> refused{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        ::grpc::ClientContext context;
        shop::Price out;
        ::grpc::Status status;
        if (t % 2 == 0) {
          status = stub->Get(&context, tea(), &out);
        } else {
          auto stream = stub->Watch(&context, tea());
          while (stream->Read(&out))
            continue;
          status = stream->Finish();
        }
        ++(status.ok() ? ok : refused);
      }
    });
  for (auto& x : threads)
    x.join();
  EXPECT_EQ(ok + refused, 400);
  EXPECT_EQ(ok, service.served);
}

TEST(grpc_interceptor, needs_a_guard) {
  EXPECT_THROW((void)grpc_interceptor(nullptr), std::invalid_argument);
}

} // namespace
} // namespace caisson::test
