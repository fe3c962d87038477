// Spans in files.
#include <simulator/import/span_ids.hpp>
#include <simulator/import/span_reader.hpp>

#include <caisson/settings/problem.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace caisson::sim {
namespace {

span_set spans_in(const std::string& text,
                  span_format format = span_format::any) {
  span_set out;
  std::istringstream in{text};
  EXPECT_TRUE(read_spans(in, "t.json", format, out));
  return out;
}

// `service/name id<parent start+length kind flags`, one on each line.
std::string shown(const span_set& set) {
  constexpr const char* kinds[] = {"internal", "client", "server", "producer",
                                   "consumer"};
  std::string out;
  for (const auto& s : set.spans) {
    out += fmt::format("{}/{} {:x}<{:x} {}+{} {}", set.names.text(s.service),
                       set.names.text(s.name), s.id, s.parent, s.start,
                       s.end - s.start, kinds[static_cast<int>(s.kind)]);
    if (s.failed)
      out += " failed";
    if (s.follows)
      out += " follows";
    if (s.peer != 0)
      out += " to " + set.names.text(s.peer);
    out += '\n';
  }
  return out;
}

std::string problem_with(const std::string& text,
                         span_format format = span_format::any) {
  span_set out;
  std::istringstream in{text};
  try {
    read_spans(in, "t.json", format, out);
  } catch (const config_error& e) {
    return e.what();
  }
  return "none";
}

// A span of OTLP in all that must be around it.
std::string otlp(const std::string& span, const std::string& more = {}) {
  return R"({"resourceSpans":[{"resource":{"attributes":[)"
         R"({"key":"service.name","value":{"stringValue":"web"}}]},)"
         R"("scopeSpans":[{"spans":[{)"
         R"("traceId":"0af7651916cd43dd8448eb211c80319c",)"
         R"("spanId":"00f067aa0ba902b7",)"
         + span + "}]}]" + more + "}]}";
}

// -- ids ----------------------------------------------------------------------

TEST(span_id_in, reads_hexadecimal_digits_and_base64) {
  EXPECT_EQ(span_id_in("00f067aa0ba902b7"), 0x00f067aa0ba902b7u);
  EXPECT_EQ(span_id_in("00F067AA0BA902B7"), 0x00f067aa0ba902b7u);
  EXPECT_EQ(span_id_in("f067aa0ba902b7"), 0x00f067aa0ba902b7u);
  EXPECT_EQ(span_id_in("APBnqgupArc="), 0x00f067aa0ba902b7u);
  EXPECT_EQ(span_id_in("APBnqgupArc"), 0x00f067aa0ba902b7u);
}

TEST(span_id_in, is_zero_for_none) {
  for (auto text : {"", "0", "0000000000000000", "AAAAAAAAAAA="})
    EXPECT_EQ(span_id_in(text), 0u) << text;
}

TEST(span_id_in, takes_any_other_text_for_itself) {
  EXPECT_NE(span_id_in("span-1"), 0u);
  EXPECT_EQ(span_id_in("span-1"), span_id_in("span-1"));
  EXPECT_NE(span_id_in("span-1"), span_id_in("span-2"));
}

TEST(id_in, reads_128_bits) {
  trace_number expected{0x0af7651916cd43dd, 0x8448eb211c80319c};
  EXPECT_EQ(id_in("0af7651916cd43dd8448eb211c80319c"), expected);
  EXPECT_EQ(id_in("CvdlGRbNQ92ESOshHIAxnA=="), expected);
  EXPECT_EQ(id_in("00000000000000000000000000000000"), std::nullopt);
  // As Jaeger writes what has 64 bits.
  EXPECT_EQ(id_in("8448eb211c80319c"), (trace_number{0, 0x8448eb211c80319c}));
}

// -- OTLP ---------------------------------------------------------------------

TEST(read_spans, reads_a_span_of_otlp) {
  auto set = spans_in(
    otlp(R"("parentSpanId":"00000000000000ab","name":"GET /","kind":2,)"
         R"("startTimeUnixNano":"1600000000000000001",)"
         R"("endTimeUnixNano":"1600000000000000042","status":{"code":2})"));
  EXPECT_EQ(shown(set), "web/GET / f067aa0ba902b7<ab 1600000000000000001+41 "
                        "server failed\n");
  EXPECT_EQ(set.spans[0].trace,
            (trace_number{0x0af7651916cd43dd, 0x8448eb211c80319c}));
}

struct otlp_case {
  const char* span;
  const char* expected;
};

TEST(read_spans, takes_what_writers_of_otlp_make_of_it) {
  const otlp_case cases[] = {
    // Times as numbers, names of kinds and codes.
    {R"("name":"a","kind":"SPAN_KIND_CLIENT","startTimeUnixNano":16,)"
     R"("endTimeUnixNano":20,"status":{"code":"STATUS_CODE_ERROR"})",
     "web/a f067aa0ba902b7<0 16+4 client failed\n"},
    {R"("name":"a","kind":"consumer","startTimeUnixNano":1.6e1,)"
     R"("endTimeUnixNano":2.0E1,"status":{"code":"STATUS_CODE_OK"})",
     "web/a f067aa0ba902b7<0 16+4 consumer\n"},
    // The names of fields as in the protocol's own files.
    {R"("name":"a","start_time_unix_nano":"16","end_time_unix_nano":"20",)"
     R"("parent_span_id":"")",
     "web/a f067aa0ba902b7<0 16+4 internal\n"},
    // Kinds that there are not, and values that are lists.
    {R"("name":"a","kind":9,"startTimeUnixNano":"16","endTimeUnixNano":"20",)"
     R"("attributes":[{"key":"x","value":{"arrayValue":{"values":)"
     R"([{"stringValue":"y"}]}}}],"events":[{"name":"z","timeUnixNano":"7"}])",
     "web/a f067aa0ba902b7<0 16+4 internal\n"},
    // Whom a client calls.
    {R"("kind":3,"startTimeUnixNano":"16","endTimeUnixNano":"20",)"
     R"("attributes":[{"key":"db.system","value":{"stringValue":"redis"}},)"
     R"({"key":"server.address","value":{"stringValue":"cart-db:6379"}},)"
     R"({"value":{"stringValue":"x"},"key":"net.peer.ip"}])",
     "web/ f067aa0ba902b7<0 16+4 client to cart-db\n"},
    {R"("kind":3,"startTimeUnixNano":"16","endTimeUnixNano":"20",)"
     R"("attributes":[{"key":"http.url","value":{"stringValue":)"
     R"("https://me@pay.example:444/v1?x=1"}}])",
     "web/ f067aa0ba902b7<0 16+4 client to pay.example\n"},
    // The name of a service is no URL.
    {R"("kind":3,"startTimeUnixNano":"16","endTimeUnixNano":"20",)"
     R"("attributes":[{"key":"peer.service","value":{"stringValue":)"
     R"("shop/orders@eu:grpc"}},)"
     R"({"key":"server.address","value":{"stringValue":"x"}}])",
     "web/ f067aa0ba902b7<0 16+4 client to shop/orders@eu:grpc\n"},
  };
  for (const auto& c : cases)
    EXPECT_EQ(shown(spans_in(otlp(c.span))), c.expected) << c.span;
}

TEST(read_spans, finds_a_service_that_comes_after_its_spans) {
  auto set = spans_in(
    R"({"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"1","spanId":"2",)"
    R"("startTimeUnixNano":"1","endTimeUnixNano":"2"}]}],"resource":{)"
    R"("attributes":[{"key":"host.name","value":{"stringValue":"h"}},)"
    R"({"key":"service.name","value":{"stringValue":"late"}}]}},)"
    R"({"scopeSpans":[{"spans":[{"traceId":"1","spanId":"3",)"
    R"("startTimeUnixNano":"1","endTimeUnixNano":"2"}]}]}]})");
  EXPECT_EQ(shown(set), "late/ 2<0 1+1 internal\n/ 3<0 1+1 internal\n");
  EXPECT_EQ(set.without_service, 1u);
}

TEST(read_spans, reads_one_document_after_another) {
  auto one = otlp(R"("startTimeUnixNano":"1","endTimeUnixNano":"2")");
  EXPECT_EQ(spans_in(one + "\n" + one + "\r\n\n" + one + "\n").spans.size(),
            3u);
  EXPECT_EQ(spans_in(one + one).spans.size(), 2u);
  EXPECT_EQ(spans_in("[" + one + "," + one + "]").spans.size(), 2u);
}

TEST(read_spans, reads_what_others_put_around_otlp) {
  auto text = otlp(R"("startTimeUnixNano":"1","endTimeUnixNano":"2")");
  auto with = [&](std::string key, const std::string& before) {
    auto out = text;
    return out.replace(out.find(before), before.size(), key);
  };
  EXPECT_EQ(spans_in(with("batches", "resourceSpans")).spans.size(), 1u);
  EXPECT_EQ(spans_in(with("resource_spans", "resourceSpans")).spans.size(), 1u);
  EXPECT_EQ(
    spans_in(with("instrumentationLibrarySpans", "scopeSpans")).spans.size(),
    1u);
  EXPECT_EQ(spans_in(R"({"trace":)" + text + "}").spans.size(), 1u);
  EXPECT_EQ(spans_in(R"({"result":)" + text + "}").spans.size(), 1u);
}

// -- Jaeger -------------------------------------------------------------------

constexpr auto jaeger_trace_text = R"({"data":[{"traceID":"ab","spans":[
  {"traceID":"ab","spanID":"1","operationName":"GET /","references":[],
   "startTime":1600000000000001,"duration":42,"processID":"p1",
   "tags":[{"key":"span.kind","type":"string","value":"server"},
           {"key":"error","type":"bool","value":true}],"logs":[]},
  {"traceID":"ab","spanID":"2","operationName":"get",
   "references":[{"refType":"CHILD_OF","traceID":"ab","spanID":"1"}],
   "startTime":1600000000000002,"duration":1,"processID":"p2",
   "tags":[{"key":"span.kind","value":"client"},
           {"key":"peer.service","value":"db"},
           {"key":"error","type":"string","value":"false"}]},
  {"traceID":"ab","spanID":"3","operationName":"later","references":
   [{"refType":"FOLLOWS_FROM","traceID":"ab","spanID":"2"}],
   "startTime":1600000000000003,"duration":0,"processID":"p9"}],
  "processes":{"p1":{"serviceName":"web","tags":[{"key":"x","value":1}]},
               "p2":{"serviceName":"cart"}}}],
  "total":0,"errors":null})";

constexpr auto jaeger_spans_text
  = "web/GET / 1<0 1600000000000001000+42000 server failed\n"
    "cart/get 2<1 1600000000000002000+1000 client to db\n"
    "/later 3<2 1600000000000003000+0 internal follows\n";

TEST(read_spans, reads_traces_of_jaeger) {
  auto set = spans_in(jaeger_trace_text);
  EXPECT_EQ(shown(set), jaeger_spans_text);
  EXPECT_EQ(set.without_service, 1u);
  EXPECT_EQ(shown(spans_in(jaeger_trace_text, span_format::jaeger)),
            jaeger_spans_text);
}

TEST(read_spans, reads_a_trace_of_jaeger_alone) {
  std::string text = jaeger_trace_text;
  auto begin = text.find("{\"traceID\"");
  EXPECT_EQ(
    shown(spans_in(text.substr(begin, text.find("],\n  \"total\"") - begin))),
    jaeger_spans_text);
}

// Each trace of a file has its own p1.
TEST(read_spans, does_not_mix_the_processes_of_traces) {
  auto trace = [](const char* id, const char* service) {
    return fmt::format(
      R"({{"spans":[{{"traceID":"{}","spanID":"1","startTime":1,"duration":1,)"
      R"("processID":"p1"}}],"processes":{{"p1":{{"serviceName":"{}"}}}}}})",
      id, service);
  };
  // What a trace does not say is not what another one says.
  std::string silent = R"({"spans":[{"traceID":"3","spanID":"1",)"
                       R"("startTime":1,"duration":1,"processID":"p1"}]})";
  auto text = R"({"data":[)" + trace("1", "a") + "," + trace("2", "b") + ","
              + silent + "]}";
  EXPECT_EQ(shown(spans_in(text)), "a/ 1<0 1000+1000 internal\n"
                                   "b/ 1<0 1000+1000 internal\n"
                                   "/ 1<0 1000+1000 internal\n");
}

TEST(read_spans, prefers_a_parent_that_waits_and_ignores_other_traces) {
  auto set = spans_in(
    R"({"spans":[{"traceID":"a","spanID":"9","startTime":1,"duration":1,)"
    R"("references":[{"refType":"FOLLOWS_FROM","traceID":"a","spanID":"1"},)"
    R"({"refType":"CHILD_OF","traceID":"b","spanID":"2"},)"
    R"({"refType":"CHILD_OF","traceID":"a","spanID":"3"},)"
    R"({"refType":"CHILD_OF","traceID":"a","spanID":"4"}],)"
    R"("process":{"serviceName":"inline"}}]})");
  EXPECT_EQ(shown(set), "inline/ 9<3 1000+1000 internal\n");
}

// -- what is wrong ------------------------------------------------------------

TEST(read_spans, leaves_out_spans_without_ids_or_times) {
  struct {
    const char* fields;
    std::uint64_t ids;
    std::uint64_t times;
    std::uint64_t backwards;
  } cases[] = {
    {R"("spanId":"1","startTimeUnixNano":1,"endTimeUnixNano":2)", 1, 0, 0},
    {R"("traceId":"1","startTimeUnixNano":1,"endTimeUnixNano":2)", 1, 0, 0},
    {R"("traceId":"1","spanId":"0","startTimeUnixNano":1,"endTimeUnixNano":2)",
     1, 0, 0},
    {R"("traceId":"1","spanId":"1","startTimeUnixNano":1)", 0, 1, 0},
    {R"("traceId":"1","spanId":"1","endTimeUnixNano":1)", 0, 1, 0},
    {R"("traceId":"1","spanId":"1","startTimeUnixNano":5,"endTimeUnixNano":0)",
     0, 1, 0},
    {R"("traceId":"1","spanId":"1","startTimeUnixNano":"soon",)"
     R"("endTimeUnixNano":1)",
     0, 1, 0},
    {R"("traceId":"1","spanId":"1","startTimeUnixNano":-5,"endTimeUnixNano":1)",
     0, 1, 0},
    {R"("traceId":"1","spanId":"1","startTimeUnixNano":1,)"
     R"("endTimeUnixNano":"99999999999999999999999")",
     0, 1, 0},
    {R"("traceId":"1","spanId":"1","startTimeUnixNano":5,"endTimeUnixNano":3)",
     0, 0, 1},
  };
  for (const auto& c : cases) {
    auto set = spans_in(fmt::format(
      R"({{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{{}}}]}}]}}]}})",
      c.fields));
    EXPECT_EQ(set.without_ids, c.ids) << c.fields;
    EXPECT_EQ(set.without_times, c.times) << c.fields;
    EXPECT_EQ(set.backwards, c.backwards) << c.fields;
    EXPECT_EQ(set.spans.size(), c.backwards) << c.fields;
  }
}

TEST(read_spans, says_what_is_wrong_and_where) {
  auto whole = otlp(R"("startTimeUnixNano":"1","endTimeUnixNano":"2")");
  struct {
    std::string text;
    span_format format;
    const char* expected;
  } cases[] = {
    {"", span_format::any,
     "t.json: has no spans: expected resourceSpans (OTLP), or data or "
     "spans (Jaeger)"},
    {"{}\n[1, null]", span_format::any, "t.json: has no spans"},
    {R"({"resourceMetrics":[]})", span_format::otlp,
     "t.json: has no spans: expected resourceSpans"},
    {jaeger_trace_text, span_format::otlp, "t.json: has no spans"},
    {whole, span_format::jaeger,
     "t.json: has no spans: expected data or spans"},
    {whole + "\n{\"resource", span_format::any, "t.json:2:11: is not JSON: "},
    {whole.substr(0, whole.size() - 1), span_format::any, ": is not JSON: "},
    {whole + "\nnonsense", span_format::any, "t.json:2:3: is not JSON: "},
    {"{\"data\": \"\xff\"}", span_format::any, "is not JSON: "},
    {"\x1f\x8b\x08...", span_format::any, "t.json: is compressed"},
    {"title = 1\n", span_format::any, "t.json:1:3: is not JSON"},
  };
  for (const auto& c : cases)
    EXPECT_NE(problem_with(c.text, c.format).find(c.expected),
              std::string::npos)
      << c.text << "\n"
      << problem_with(c.text, c.format);
}

TEST(read_spans, has_no_limit_to_nesting) {
  std::string deep(1'000'000, '[');
  EXPECT_NE(problem_with(deep).find("is not JSON"), std::string::npos);
  EXPECT_NE(problem_with(deep + std::string(1'000'000, ']')).find("no spans"),
            std::string::npos);
}

TEST(read_spans, cuts_long_names_between_characters) {
  std::string name;
  while (name.size() < 300)
    name += "€";
  auto set = spans_in(otlp(
    R"("startTimeUnixNano":"1","endTimeUnixNano":"2","name":")" + name + '"'));
  const auto& cut = set.names.text(set.spans.at(0).name);
  EXPECT_EQ(cut.size(), 198u);
  EXPECT_EQ(cut, name.substr(0, 198));
}

TEST(read_spans, ends_when_it_is_interrupted) {
  std::string blanks(200'000, ' ');
  std::istringstream in{blanks};
  span_set out;
  std::vector<std::uint64_t> seen;
  EXPECT_FALSE(
    read_spans(in, "t.json", span_format::any, out, [&](std::uint64_t bytes) {
      seen.push_back(bytes);
      return seen.size() < 2;
    }));
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{65'536, 131'072}));
}

} // namespace
} // namespace caisson::sim
