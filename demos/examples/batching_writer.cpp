// Writes rows in batches: by count, by time, by deadline; each has its result.
#include "story.hpp"

#include <caisson/gate.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

using rows = std::vector<std::string>;
using row_numbers = std::vector<std::int32_t>;

CAF_BEGIN_TYPE_ID_BLOCK(table_messages, caisson::first_free_type_id)
CAF_ADD_TYPE_ID(table_messages, (rows))
CAF_ADD_TYPE_ID(table_messages, (row_numbers))
CAF_END_TYPE_ID_BLOCK(table_messages)

/// Takes rows and answers with the numbers of those that it could write.
class table final : public caf::event_based_actor {
public:
  table(caf::actor_config& cfg, demo::story* story, std::int32_t room)
    : caf::event_based_actor(cfg), story_(story), room_(room) {}

  caf::behavior make_behavior() override {
    return {[this](const rows& xs) {
      story_->print("  the table gets {} in one message", fmt::join(xs, ", "));
      row_numbers written;
      for (std::size_t i = 0; i < xs.size() && written_ < room_; ++i)
        written.push_back(++written_);
      return written;
    }};
  }

private:
  demo::story* story_;
  std::int32_t room_;
  std::int32_t written_ = 0;
};

int main() {
  caisson::portable::init_types<caf::id_block::table_messages>();
  caisson::system_config config;
  caisson::portable::add_types<caf::id_block::table_messages>(config);
  caisson::virtual_time world{config};
  demo::story story{world};

  auto worker = world.system().spawn<table>(&story, 7);
  // Callers send one row and get one number; the table sees vectors of both.
  auto writer = caisson::spawn_batcher(
    world, worker,
    {.max_items = 3, .max_delay = 100ms, .deadline_margin = 20ms},
    caisson::batching::vectors<std::string, std::int32_t>());
  std::vector<std::pair<std::string, caisson::pending_answer>> written;
  auto write = [&](std::string row) {
    story.print("write {}", row);
    written.emplace_back(row, world.request(writer, row));
  };
  auto results = [&] {
    for (auto& [row, result] : std::exchange(written, {}))
      story.print("{}: {}{}", row, result.ok() ? "row " : "",
                  demo::text_of(result));
  };

  for (auto row : {"a", "b", "c"})
    write(row);
  story.check(written.back().second.ok(), "three items are a batch");
  results();

  world.advance(900ms);
  write("d");
  write("e");
  world.advance(100ms);
  story.check(written.back().second.at() == world.now(),
              "two items go when the first has waited 100 ms");
  results();

  world.advance(900ms);
  story.print("write f, within 50 ms");
  auto urgent = world.request(writer,
                              caisson::wrap(std::string{"f"}).within(50ms));
  world.advance(30ms);
  story.print("f: row {}", demo::text_of(urgent));
  story.check(urgent.ok(), "a deadline flushes while there is still time");

  world.advance(970ms);
  story.print("there is room for one more row");
  for (auto row : {"g", "h", "i"})
    write(row);
  story.check(written.front().second.ok()
                && written.back().second.is(caisson::errc::batch_failed),
              "each item has its own result");
  results();
  return story.end();
}

/* It prints:

  0.000 s  write a
  0.000 s  write b
  0.000 s  write c
  0.000 s    the table gets a, b, c in one message
  0.000 s  a: row 1
  0.000 s  b: row 2
  0.000 s  c: row 3
  0.900 s  write d
  0.900 s  write e
  1.000 s    the table gets d, e in one message
  1.000 s  d: row 4
  1.000 s  e: row 5
  1.900 s  write f, within 50 ms
  1.930 s    the table gets f in one message
  1.930 s  f: row 6
  2.900 s  there is room for one more row
  2.900 s  write g
  2.900 s  write h
  2.900 s  write i
  2.900 s    the table gets g, h, i in one message
  2.900 s  g: row 7
  2.900 s  h: batch_failed by batcher
  2.900 s  i: batch_failed by batcher
*/
