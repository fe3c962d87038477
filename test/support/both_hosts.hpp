// Tests that run on gates and on local gates alike.
#pragma once

#include <support/local_proxy.hpp>
#include <support/world.hpp>

#include <tuple>
#include <utility>

namespace caisson::test {

/// The parameters are what hosts the layers, and the order of messages.
class both_hosts : protected ordered_world,
                   public testing::TestWithParam<std::tuple<host_kind, int>> {
protected:
  both_hosts() : ordered_world(std::get<1>(GetParam())) {}

  void TearDown() override { clean_up(); }

  caf::actor host(worker behind, stack s) {
    return own(spawn_host(std::get<0>(GetParam()), world, std::move(behind),
                          std::move(s)));
  }
};

/// Gates and local gates, FIFO and `orders` - 1 random orders.
#define CAISSON_BOTH_HOSTS(fixture, orders)                              \
  INSTANTIATE_TEST_SUITE_P(                                              \
    hosts, fixture,                                                      \
    testing::Combine(testing::Values(host_kind::gate, host_kind::local), \
                     testing::Range(0, orders)))

} // namespace caisson::test
