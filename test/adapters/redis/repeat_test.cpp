// Commands that are marked as idempotent, carried out twice by a real Redis.
#include "server.hpp"

#include <cctype>
#include <set>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using words_of_command = std::vector<std::string>;

const std::vector<words_of_command> repeatable{
  {"BITCOUNT", "text"},
  {"BITPOS", "text", "1"},
  {"DBSIZE"},
  {"DUMP", "text"},
  {"ECHO", "x"},
  {"EXISTS", "text", "none"},
  {"GEODIST", "places", "a", "b"},
  {"GEOHASH", "places", "a"},
  {"GEOPOS", "places", "a"},
  {"GEOSEARCH", "places", "FROMMEMBER", "a", "BYRADIUS", "900", "km", "ASC"},
  {"GET", "text"},
  {"GETBIT", "text", "3"},
  {"GETRANGE", "text", "1", "3"},
  {"HEXISTS", "hash", "a"},
  {"HGET", "hash", "a"},
  {"HGETALL", "hash"},
  {"HKEYS", "hash"},
  {"HLEN", "hash"},
  {"HMGET", "hash", "a", "none"},
  {"HSCAN", "hash", "0"},
  {"HSTRLEN", "hash", "a"},
  {"HVALS", "hash"},
  {"INFO"},
  {"KEYS", "text"},
  {"LINDEX", "list", "1"},
  {"LLEN", "list"},
  {"LPOS", "list", "3"},
  {"LRANGE", "list", "0", "2"},
  {"MGET", "text", "none"},
  {"PFCOUNT", "seen"},
  {"PFCOUNT", "seen", "more"},
  {"PING"},
  {"PTTL", "text"},
  {"SCAN", "0", "MATCH", "text", "COUNT", "1000"},
  {"SCARD", "set"},
  {"SDIFF", "set", "other"},
  {"SINTER", "set", "other"},
  {"SISMEMBER", "set", "a"},
  {"SMEMBERS", "set"},
  {"SMISMEMBER", "set", "a", "none"},
  {"SSCAN", "set", "0"},
  {"STRLEN", "text"},
  {"SUNION", "set", "other"},
  {"TIME"},
  {"TTL", "text"},
  {"TYPE", "text"},
  {"ZCARD", "scores"},
  {"ZCOUNT", "scores", "-inf", "1"},
  {"ZRANGE", "scores", "0", "-1", "WITHSCORES"},
  {"ZRANK", "scores", "b"},
  {"ZSCAN", "scores", "0"},
  {"ZSCORE", "scores", "a"},
  {"HMSET", "hash", "a", "new", "c", "3"},
  {"MSET", "text", "new", "other text", "1"},
  {"PFMERGE", "seen", "more"},
  {"PFMERGE", "none", "seen", "more"},
  {"PSETEX", "text", "100000", "new"},
  {"SETEX", "text", "100", "new"},
  {"SETRANGE", "text", "20", "new"},
  {"SETRANGE", "text", "0", ""},
  {"SET", "text", "new"},
  {"SET", "text", "new", "EX", "100"},
  {"SET", "text", "new", "px", "100000"},
  {"SET", "text", "new", "EXAT", "4000000000"},
  {"SET", "text", "new", "PXAT", "1"},
  {"SET", "short", "new", "KEEPTTL"},
  {"LTRIM", "list", "0", "2"},
  {"LTRIM", "list", "0", "100"},
  {"LTRIM", "list", "0", "-1"},
  {"LTRIM", "list", "-2", "-1"},
  {"LTRIM", "list", "-100", "-1"},
};

// What depends on arguments whether a second time changes something, or tells
// something else.
const std::vector<words_of_command> doubtful{
  {"SET", "text", "new", "NX"},
  {"SET", "none", "new", "NX"},
  {"SET", "text", "new", "XX"},
  {"SET", "text", "new", "GET"},
  {"SET", "none", "new", "XX", "GET"},
  {"SET", "none", "new", "EX", "100", "NX"},
  {"SET", "text", "new", "KEEPTTL", "GET"},
  {"SETNX", "none", "new"},
  {"MSETNX", "none", "new", "nobody", "new"},
  {"GETSET", "text", "new"},
  {"GETDEL", "text"},
  {"GETEX", "text"},
  {"GETEX", "text", "EX", "100"},
  {"GETEX", "short", "PERSIST"},
  {"APPEND", "text", "x"},
  {"APPEND", "text", ""},
  {"SETBIT", "text", "7", "1"},
  {"SETBIT", "text", "7", "0"},
  {"BITFIELD", "text", "GET", "u8", "0"},
  {"BITFIELD", "text", "SET", "u8", "0", "1"},
  {"BITFIELD", "text", "INCRBY", "u8", "0", "1"},
  {"BITOP", "NOT", "text", "text"},
  {"BITOP", "XOR", "text", "text", "short"},
  {"INCR", "number"},
  {"INCRBY", "number", "0"},
  {"INCRBYFLOAT", "number", "1"},
  {"DEL", "text"},
  {"UNLINK", "text"},
  {"COPY", "text", "none"},
  {"COPY", "text", "short", "REPLACE"},
  {"RENAME", "text", "text"},
  {"RENAMENX", "text", "none"},
  {"EXPIRE", "text", "100"},
  {"EXPIRE", "text", "100", "NX"},
  {"EXPIRE", "short", "2000", "GT"},
  {"EXPIRE", "short", "10", "LT"},
  {"EXPIRE", "text", "-1"},
  {"PEXPIREAT", "text", "4000000000000", "NX"},
  {"PERSIST", "short"},
  {"MOVE", "text", "1"},
  {"TOUCH", "text"},
  {"SORT", "list"},
  {"SORT", "list", "DESC", "STORE", "list"},
  {"LPUSH", "list", "x"},
  {"RPUSHX", "list", "x"},
  {"LPUSHX", "none", "x"},
  {"LPOP", "list"},
  {"LPOP", "list", "0"},
  {"LSET", "list", "0", "new"},
  {"LSET", "list", "-1", "new"},
  {"LINSERT", "list", "BEFORE", "3", "x"},
  {"LREM", "list", "0", "3"},
  {"LREM", "list", "1", "twice"},
  {"RPOPLPUSH", "list", "list"},
  {"LMOVE", "list", "list", "LEFT", "RIGHT"},
  {"LMPOP", "1", "list", "LEFT"},
  {"LTRIM", "list", "2", "-1"},
  {"LTRIM", "list", "1", "3"},
  {"LTRIM", "list", "0", "-2"},
  {"LTRIM", "list", "-3", "-2"},
  {"LTRIM", "list", "-3", "5"},
  {"HSET", "hash", "a", "new"},
  {"HSET", "hash", "c", "3"},
  {"HSETNX", "hash", "c", "3"},
  {"HDEL", "hash", "a"},
  {"HINCRBY", "hash", "a", "1"},
  {"SADD", "set", "a"},
  {"SADD", "set", "new"},
  {"SREM", "set", "a"},
  {"SPOP", "set"},
  {"SMOVE", "set", "other", "a"},
  {"SRANDMEMBER", "many", "3"},
  {"HRANDFIELD", "hash", "-9"},
  {"ZRANDMEMBER", "scores", "-9"},
  {"RANDOMKEY"},
  {"SDIFFSTORE", "set", "set", "other"},
  {"SINTERSTORE", "none", "set", "other"},
  {"SUNIONSTORE", "set", "set", "other"},
  {"ZADD", "scores", "5", "a"},
  {"ZADD", "scores", "5", "new"},
  {"ZADD", "scores", "CH", "5", "a"},
  {"ZADD", "scores", "GT", "5", "a"},
  {"ZADD", "scores", "INCR", "5", "a"},
  {"ZADD", "scores", "XX", "INCR", "0", "a"},
  {"ZINCRBY", "scores", "1", "a"},
  {"ZREM", "scores", "a"},
  {"ZPOPMIN", "scores"},
  {"ZREMRANGEBYRANK", "scores", "0", "0"},
  {"ZREMRANGEBYSCORE", "scores", "1", "1"},
  {"ZUNIONSTORE", "scores", "2", "scores", "scores"},
  {"ZINTERSTORE", "scores", "1", "scores", "WEIGHTS", "2"},
  {"ZRANGESTORE", "scores", "scores", "1", "-1"},
  {"GEOADD", "places", "13", "52", "c"},
  {"GEOADD", "places", "CH", "13", "52", "a"},
  {"GEOSEARCHSTORE", "none", "places", "FROMMEMBER", "a", "BYRADIUS", "1",
   "km"},
  {"GEORADIUSBYMEMBER", "places", "a", "900", "km", "STORE", "places"},
  {"PFADD", "seen", "a"},
  {"PFADD", "seen", "new"},
  {"XADD", "stream", "*", "a", "1"},
  {"XADD", "stream", "9-9", "a", "1"},
  {"XADD", "stream", "NOMKSTREAM", "*", "a", "1"},
  {"XTRIM", "stream", "MAXLEN", "1"},
  {"XTRIM", "stream", "MINID", "2-1"},
  {"XDEL", "stream", "1-1"},
  {"XSETID", "stream", "9-9"},
  {"XGROUP", "CREATE", "stream", "more", "0"},
  {"XREADGROUP", "GROUP", "readers", "me", "COUNT", "1", "STREAMS", "stream",
   ">"},
  {"XACK", "stream", "readers", "1-1"},
  {"XAUTOCLAIM", "stream", "readers", "me", "0", "0"},
  {"RESTORE", "text", "0", "x", "REPLACE"},
  {"EVAL", "return redis.call('INCR', 'number')", "0"},
  {"EVAL_RO", "return redis.call('GET', 'text')", "0"},
  {"EVAL", "return redis.call('SET', 'text', 'new')", "0"},
  {"PUBLISH", "channel", "x"},
  {"FLUSHDB"},
  {"FLUSHALL"},
};

// One key of each type, and one with a time to live.
constexpr auto fill = R"(
redis.call('FLUSHALL')
redis.call('SET', 'text', 'some text')
redis.call('SET', 'short', 'lived', 'EX', '1000')
redis.call('RPUSH', 'list', '1', '2', '3', '4', '5', '6', '7', '8', '9')
redis.call('HSET', 'hash', 'a', '1', 'b', '2')
redis.call('SADD', 'set', 'a', 'b')
redis.call('SADD', 'other', 'b', 'c')
redis.call('ZADD', 'scores', '1', 'a', '2', 'b')
redis.call('GEOADD', 'places', '13.4', '52.5', 'a', '11.6', '48.1', 'b')
redis.call('PFADD', 'seen', 'a', 'b')
redis.call('PFADD', 'more', 'b', 'c')
redis.call('SET', 'number', '1')
redis.call('SADD', 'many', unpack(redis.call('LRANGE', 'list', 0, -1)))
redis.call('RPUSH', 'list', 'twice', 'twice')
redis.call('XADD', 'stream', '1-1', 'a', '1')
redis.call('XADD', 'stream', '2-1', 'a', '2')
redis.call('XADD', 'stream', '3-1', 'a', '3')
redis.call('XGROUP', 'CREATE', 'stream', 'readers', '0')
return redis.status_reply('OK'))";

// All keys, what they hold, and whether they expire.
constexpr auto everything = R"(
local keys = redis.call('KEYS', '*')
table.sort(keys)
local all = {}
for _, k in ipairs(keys) do
  all[#all + 1] = k
  all[#all + 1] = redis.call('DUMP', k)
  all[#all + 1] = redis.call('PTTL', k) >= 0 and 1 or 0
end
return all)";

class redis_repeat_test : public redis_test {
protected:
  redis_repeat_test() {
    start();
    gate = patient_gate();
  }

  std::string data() { return ask(gate, {"EVAL", everything, "0"}); }

  // Whether a second time leaves what the first has left, and tells the same.
  bool is_same_twice(const words_of_command& x, bool may_fail = false) {
    EXPECT_EQ(ask(gate, {"EVAL", fill, "0"}), "OK");
    auto first = ask(gate, x);
    // A negative number is no error.
    auto failed = first.size() > 1 && first[0] == '-'
                  && std::isupper(static_cast<unsigned char>(first[1]));
    EXPECT_TRUE(may_fail || !failed) << x.front() << ": " << first;
    auto left = data();
    auto second = ask(gate, x);
    // What tells the time, or what the server has done.
    auto varies = x.front() == "INFO" || x.front() == "TIME";
    return data() == left && (varies || first == second);
  }

  caf::actor gate;
};

TEST_F(redis_repeat_test, leaves_the_same_if_a_command_is_idempotent) {
  for (const auto& x : repeatable) {
    std::string text;
    for (const auto& word : x)
      text += word + ' ';
    EXPECT_TRUE(is_idempotent({x})) << text;
    EXPECT_TRUE(is_same_twice(x)) << text;
  }
}

TEST_F(redis_repeat_test, marks_nothing_that_changes_something_each_time) {
  auto unmarked = 0;
  for (const auto& x : doubtful) {
    std::string text;
    for (const auto& word : x)
      text += word + ' ';
    if (!is_same_twice(x, true)) {
      ++unmarked;
      EXPECT_FALSE(is_idempotent({x})) << text;
    }
  }
  EXPECT_GT(unmarked, 60);
}

// The server lists its commands.
TEST_F(redis_repeat_test, carries_out_all_that_are_marked) {
  std::set<std::string> tried;
  for (const auto& x : repeatable)
    tried.insert(x.front());
  auto reply = ask(gate, {"COMMAND", "LIST"});
  auto n = 0;
  std::string name;
  for (auto c : reply.substr(1)) {
    if (c != ' ') {
      name += c;
      continue;
    }
    for (auto& letter : name)
      letter = static_cast<char>(std::toupper(letter));
    n += is_idempotent({{name}}) ? 1 : 0;
    EXPECT_TRUE(!is_idempotent({{name}}) || tried.contains(name)) << name;
    name.clear();
  }
  EXPECT_GT(n, 50);
}

} // namespace
} // namespace caisson::test
