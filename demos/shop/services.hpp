// The services of the shop, each in a process of its own.
#pragma once

#include "arguments.hpp"

#include <caisson/caf/caf.hpp>

#include <signal.h>

namespace shop {

/// SIGTERM and SIGINT, which the process has to block before it has threads.
inline sigset_t ending_signals() {
  sigset_t out;
  sigemptyset(&out);
  sigaddset(&out, SIGTERM);
  sigaddset(&out, SIGINT);
  return out;
}

/// Runs the service until the process gets SIGTERM or SIGINT.
///
/// - catalog: `GET /items/ID`, from PostgreSQL
/// - cart: `POST /carts/USER/ID`, in Redis
/// - payment: `POST /payments/USER`, takes a while
/// - front: `GET /items/ID` asks the catalog; `POST /orders/USER/ID` asks the
///   catalog, the cart and the payment service, one after the other; orders
///   are more important, most of all those of people who have bought before
void serve(caf::actor_system& sys, const arguments& args);

} // namespace shop
