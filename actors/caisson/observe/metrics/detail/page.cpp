#include <caisson/observe/metrics/detail/page.hpp>

#ifdef CAISSON_METRICS_ZLIB
#include <zlib.h>
#endif

#include <chrono>
#include <utility>

namespace caisson::detail {

metrics_page::text metrics_page::get(form& x) {
  std::unique_lock guard{mutex_};
  for (;;) {
    auto now = std::chrono::steady_clock::now();
    if (auto last = x.last.lock(); last && now - *x.built_at < lasts_)
      return last;
    if (!x.in_work)
      break;
    ++x.waiting;
    done_.wait(guard, [&] { return !x.in_work; });
    auto page = x.page_for_waiters;
    if (--x.waiting == 0)
      x.page_for_waiters = nullptr;
    if (page)
      return page;
  }
  x.in_work = true;
  // Those who ask rarely shall not pay with its memory.
  auto keeps = x.built_at
               && std::chrono::steady_clock::now() - *x.built_at < 2 * lasts_;
  x.kept = nullptr;
  guard.unlock();
  text out;
  try {
    out = make(x);
  } catch (...) {
    guard.lock();
    x.in_work = false;
    done_.notify_all();
    throw;
  }
  guard.lock();
  x.in_work = false;
  x.last = out;
  x.kept = keeps ? out : nullptr;
  if (x.waiting > 0)
    x.page_for_waiters = out;
  x.built_at = std::chrono::steady_clock::now();
  done_.notify_all();
  return out;
}

metrics_page::text metrics_page::make(const form& x) {
  return std::make_shared<const std::string>(x.packs ? packed(*plain())
                                                     : render_());
}

#ifdef CAISSON_METRICS_ZLIB

bool can_pack() noexcept {
  return true;
}

std::string packed(const std::string& text) {
  // The fastest level, and a window with the header of gzip.
  constexpr auto level = 1;
  constexpr auto window = 15 + 16;
  constexpr auto memory = 8;
  z_stream z{};
  if (deflateInit2(&z, level, Z_DEFLATED, window, memory, Z_DEFAULT_STRATEGY)
      != Z_OK)
    return {};
  std::string out(deflateBound(&z, static_cast<uLong>(text.size())), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  auto whole = deflate(&z, Z_FINISH) == Z_STREAM_END;
  out.resize(whole ? z.total_out : 0);
  deflateEnd(&z);
  return out;
}

#else

bool can_pack() noexcept {
  return false;
}

std::string packed(const std::string&) {
  return {};
}

#endif

} // namespace caisson::detail
