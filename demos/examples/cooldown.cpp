// Keeps all callers away from a service that has asked one of them to wait.
#include "story.hpp"

#include <caisson/engine/answers.hpp>
#include <caisson/gate.hpp>
#include <caisson/policies/cooldown.hpp>
#include <caisson/stack/add.hpp>

#include <cstdint>
#include <string>
#include <string_view>

using namespace std::chrono_literals;

/// What the service answers.
struct reply {
  std::int32_t status = 0;
  std::string retry_after = {};
};
CAISSON_MESSAGE(reply, status, retry_after)

CAF_BEGIN_TYPE_ID_BLOCK(cooldown_messages, caisson::first_free_type_id)
CAF_ADD_TYPE_ID(cooldown_messages, (reply))
CAF_END_TYPE_ID_BLOCK(cooldown_messages)

namespace {

/// Serves 50 requests of all callers together, and tells the others when 20 s
/// have passed since the first. Who asks nevertheless puts that off.
class service {
public:
  explicit service(caisson::virtual_time& world) : world_(world) {}

  caf::behavior behavior() {
    return {[this](std::int32_t) { return answer(); }};
  }

  int requests = 0;

private:
  reply answer() {
    ++requests;
    auto now = world_.elapsed();
    if (now >= open_again_) {
      served_ = 0;
      open_again_ = now + 20s;
    }
    if (served_ < 50) {
      ++served_;
      return {200};
    }
    open_again_ += 100ms;
    auto seconds = (open_again_ - now + 999ms) / 1s;
    return {429, std::to_string(seconds)};
  }

  caisson::virtual_time& world_;
  caisson::duration open_again_{};
  int served_ = 0;
};

struct numbers {
  int sent = 0;
  int answered = 0;
};

// Ten callers a second for two minutes.
numbers play(demo::story& story, caisson::virtual_time& world,
             std::string_view title, const caisson::stack& policies) {
  service server{world};
  auto actor = world.system().spawn([&] { return server.behavior(); });
  auto worker = caisson::worker{actor}.classified_by(
    caisson::classify_http<reply>([](const reply& x) {
      return caisson::http_result{x.status, x.retry_after};
    }));
  auto gate = caisson::spawn_gate(world, worker, policies);
  numbers n;
  for (int i = 0; i < 1'200; ++i) {
    auto answer = world.request(gate, std::int32_t{i});
    n.answered += answer.ok() && answer.value<reply>().status == 200;
    world.advance(100ms);
  }
  n.sent = server.requests;
  story.print("{:20} 1200 calls, {:4} sent, {:3} answered", title, n.sent,
              n.answered);
  caf::anon_send_exit(gate, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  world.advance(0s);
  return n;
}

} // namespace

int main() {
  caisson::portable::init_types<caf::id_block::cooldown_messages>();
  caisson::virtual_time world;
  demo::story story{world};

  auto bare = play(story, world, "without a cool-down:", caisson::stack{});
  // [stack]
  auto policies = caisson::stack{"quota"}.add<caisson::cooldown>(
    {.max_time = 1min, .default_time = 1s});
  // [/stack]
  auto kept = play(story, world, "with a cool-down:", policies);

  story.check(kept.sent < bare.sent / 3, "far less is sent");
  story.check(kept.answered > bare.answered, "and more is answered");
  return story.end();
}

/* It prints:

120.000 s  without a cool-down: 1200 calls, 1200 sent,  50 answered
240.000 s  with a cool-down:    1200 calls,  306 sent, 300 answered
*/
