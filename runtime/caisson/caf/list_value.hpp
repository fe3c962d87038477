// Lets messages contain values that are written as lists of texts.
#pragma once

#include <caisson/caf/caf.hpp>

#include <string>
#include <vector>

/// CAISSON_LIST_VALUE(type): lets messages contain a value type that is written
/// as a list of texts: it has `to_list()` and a static `from_list(texts)`.
#if CAISSON_CAF_LEGACY
#define CAISSON_LIST_VALUE(type)                                   \
  template <class Inspector>                                       \
  typename Inspector::result_type inspect(Inspector& f, type& x) { \
    auto texts = x.to_list();                                      \
    return f(caf::meta::type_name(#type), texts,                   \
             caf::meta::load_callback([&]() -> caf::error {        \
               x = type::from_list(texts);                         \
               return caf::none;                                   \
             }));                                                  \
  }
#else
#define CAISSON_LIST_VALUE(type)                           \
  template <class Inspector>                               \
  bool inspect(Inspector& f, type& x) {                    \
    auto get = [&x] { return x.to_list(); };               \
    auto set = [&x](std::vector<std::string>&& texts) {    \
      x = type::from_list(texts);                          \
      return true;                                         \
    };                                                     \
    return f.object(x).fields(f.field("texts", get, set)); \
  }
#endif
