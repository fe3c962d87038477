// Errors as people read them.
#include <caisson/caf/error.hpp>
#include <caisson/caf/error_text.hpp>
#include <caisson/caf/messages.hpp>
#include <caisson/engine/transport_errc.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(text_of_an_error, needs_no_system) {
  auto by = [](rejection x) {
    return to_text(make_error(errc::breaker_open, std::move(x)));
  };
  EXPECT_EQ(by({"db", 1'999'632'911ns}),
            "breaker_open by db, retry after 2.00 s");
  EXPECT_EQ(by({"db", 4s, false, "why"}),
            "breaker_open by db, retry after 4 s: why");
  EXPECT_EQ(by({}), "breaker_open");
  EXPECT_EQ(to_text(make_error(errc::queue_full)), "queue_full");
  EXPECT_EQ(to_text(caf::error{}), "no error");
  EXPECT_EQ(to_text(caf::make_error(caf::sec::request_timeout)),
            "request_timeout");
  EXPECT_THAT(to_text(caf::make_error(caf::sec::runtime_error, "a text")),
              AllOf(HasSubstr("runtime_error"), HasSubstr("a text")));
  EXPECT_THAT(to_text(caf::make_error(caf::pec::unexpected_eof)),
              HasSubstr("unexpected_eof"));
  EXPECT_EQ(to_text(make_error(transport_errc::lost, "reset by peer")),
            "transport::lost: reset by peer");
  EXPECT_EQ(to_text(make_error(transport_errc::busy)), "transport::busy");
}

TEST(text_of_an_error, has_the_names_that_a_system_knows) {
  system_config cfg;
#if CAISSON_CAF_LEGACY
  cfg.add_error_category(
    caf::atom("shop"),
    [](std::uint8_t code, caf::atom_value, const caf::message&) -> std::string {
      return code == 1 ? "sold out" : "closed";
    });
#endif
  caf::actor_system sys{cfg};
#if CAISSON_CAF_LEGACY
  caf::error unknown{1, caf::atom("shop")};
  EXPECT_EQ(to_text(unknown), "shop 1");
  EXPECT_EQ(portable::to_text(sys, unknown), "sold out");
#endif
  EXPECT_EQ(portable::to_text(sys, caf::error{}), "no error");
  EXPECT_EQ(portable::to_text(sys, caf::make_error(caf::sec::request_timeout)),
            "request_timeout");
  EXPECT_EQ(portable::to_text(sys, make_error(transport_errc::busy)),
            "transport::busy");
  EXPECT_EQ(portable::to_text(sys, make_error(errc::breaker_open, {"db", 4s})),
            "breaker_open by db, retry after 4 s");
}

TEST(text_of_an_error, is_readable_if_caf_prints_it) {
  auto text = to_string(
    make_error(errc::breaker_open, {"db", 1'999'632'911ns, false, "why"}));
  EXPECT_THAT(text, HasSubstr("by db, retry after 2.00 s: why"));
  EXPECT_THAT(text, Not(HasSubstr("rejection(")));
  EXPECT_EQ(to_string(rejection{"", 4s}), "retry after 4 s");
  EXPECT_EQ(to_string(rejection{}), "");
}

} // namespace
} // namespace caisson::test
