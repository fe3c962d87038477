// A hash table with texts from the content of calls as its keys.
#pragma once

#include <caisson/base/entropy.hpp>
#include <caisson/base/sip_hash.hpp>

#include <cstddef>
#include <string>
#include <unordered_map>

namespace caisson::detail {

/// Callers choose such texts: without the secret they could choose many with
/// the same hash. Nothing iterates over the tables, so that it orders nothing.
struct content_hash {
  std::size_t operator()(const std::string& x) const {
    static const sip_secret secret{entropy_bits(), entropy_bits()};
    return static_cast<std::size_t>(sip_hash(secret, x));
  }
};

template <class T>
using content_map = std::unordered_map<std::string, T, content_hash>;

} // namespace caisson::detail
