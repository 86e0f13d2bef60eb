#include "h2server/trace.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace h2server {
namespace trace_test {

const std::string trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string parent_id = "00f067aa0ba902b7";
const std::string ids = trace_id + "-" + parent_id;

TEST(TraceContext, ReadsTraceparent) {
  struct Row {
    std::string value;
    bool sampled;
  };
  const std::vector<Row> rows = {
      {"00-" + ids + "-00", false},
      {"00-" + ids + "-01", true},
      {"00-" + ids + "-02", false},
      {"00-" + ids + "-03", true},
      {"00-" + ids + "-ff", true},
      {"00-" + ids + "-fe", false},
      // 3.2.4: later versions may go on after a hyphen.
      {"01-" + ids + "-01", true},
      {"01-" + ids + "-01-", true},
      {"01-" + ids + "-00-what comes later", false},
      {"fe-" + ids + "-01-x", true},
  };
  for (const Row& row : rows) {
    const auto trace = TraceContext::parse(row.value);
    ASSERT_TRUE(trace) << row.value;
    EXPECT_EQ(trace->trace_id(), trace_id);
    EXPECT_EQ(trace->parent_id(), parent_id);
    EXPECT_EQ(trace->sampled(), row.sampled) << row.value;
    EXPECT_EQ(trace->to_field(), "00-" + ids + (row.sampled ? "-01" : "-00"));
  }
}

TEST(TraceContext, RefusesEverythingElse) {
  const std::string good = "00-" + ids + "-01";
  std::vector<std::string> rows = {
      "ff-" + ids + "-01",
      "ff-" + ids + "-01-x",
      good + "-",  // version 00 ends here
      good + "0",
      good + " ",
      " " + good,
      "01-" + ids + "-010",
      "01-" + ids + "-01.x",
      "0-" + ids + "-001",
      "00-" + std::string(32, '0') + "-" + parent_id + "-01",
      "00-" + trace_id + "-" + std::string(16, '0') + "-01",
      "0A-" + ids + "-01",
      "00-" + ids + "-0A",
  };
  for (std::size_t size = 0; size < good.size(); ++size) rows.push_back(good.substr(0, size));
  // No other byte in any place: a digit or a hyphen of the other kind, upper case, blanks.
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const char wrong : {good[at] == '-' ? '0' : '-', 'A', 'g', ' ', '\0', '\x80'}) {
      rows.push_back(good);
      rows.back()[at] = wrong;
    }
  }
  for (const std::string& value : rows) {
    EXPECT_FALSE(TraceContext::parse(value)) << testing::PrintToString(value);
  }
}

TEST(TraceContext, StartsAndGoesOn) {
  const auto trace = TraceContext::start(true, {0x0123456789abcdef, 0xfedcba9876543210}, 0xab);
  EXPECT_EQ(trace.to_field(), "00-0123456789abcdeffedcba9876543210-00000000000000ab-01");
  EXPECT_EQ(trace.child(~std::uint64_t{0}).to_field(),
            "00-0123456789abcdeffedcba9876543210-ffffffffffffffff-01");
  EXPECT_EQ(trace.parent_id(), "00000000000000ab") << "the child is another one";
  const auto quiet = TraceContext::start(false, {0, 7}, 8);
  EXPECT_EQ(quiet.child(9).to_field(), "00-00000000000000000000000000000007-0000000000000009-00");
}

// Zero is no valid id.
TEST(TraceContext, HasNoZeroId) {
  const auto trace = TraceContext::start(false, {0, 0}, 0);
  EXPECT_EQ(trace.to_field(), "00-00000000000000000000000000000001-0000000000000001-00");
  EXPECT_EQ(TraceContext::start(false, {1, 0}, 2).child(0).to_field(),
            "00-00000000000000010000000000000000-0000000000000001-00");
}

TEST(TraceContext, DrawsDifferentIds) {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    const TraceContext trace = TraceContext::start(i % 2 == 0);
    EXPECT_EQ(trace.sampled(), i % 2 == 0);
    EXPECT_TRUE(TraceContext::parse(trace.to_field())) << trace.to_field();
    const TraceContext child = trace.child();
    EXPECT_EQ(child.trace_id(), trace.trace_id());
    EXPECT_EQ(child.sampled(), trace.sampled());
    for (const auto id : {trace.trace_id(), trace.parent_id(), child.parent_id()}) seen.emplace(id);
  }
  EXPECT_EQ(seen.size(), 300U);
}

TEST(TraceContext, PassesTheStateOn) {
  const std::string parent = "00-" + ids + "-01";
  struct Row {
    std::vector<std::string> lines;
    std::string state;
  };
  for (const Row& row : std::vector<Row>{{{}, ""},
                                         {{"a=1"}, "a=1"},
                                         {{"a=1,b=2", "", "c=3"}, "a=1,b=2,c=3"},
                                         {{std::string(512, 'x')}, std::string(512, 'x')},
                                         {{std::string(512, 'x'), "a"}, ""}}) {
    RequestHead head;
    const PathParams params;
    head.fields.add("traceparent", parent);
    for (const std::string& line : row.lines) head.fields.add("TraceState", line);
    const auto trace = trace_of(Request(head, params, nullptr));
    ASSERT_TRUE(trace);
    EXPECT_EQ(trace->child().state(), row.state);
    EXPECT_EQ(TraceContext::start(true).state(), "");
  }
}

TEST(TraceContext, OfARequest) {
  const std::string good = "00-" + ids + "-01";
  struct Row {
    std::vector<std::string> lines;
    bool found;
  };
  for (const Row& row : std::vector<Row>{{{}, false},
                                         {{good}, true},
                                         {{good, good}, false},
                                         {{""}, false},
                                         {{"x", good}, false}}) {
    RequestHead head;
    const PathParams params;
    head.fields.add("tracestate", good);
    for (const std::string& line : row.lines) head.fields.add("TraceParent", line);
    const auto trace = trace_of(Request(head, params, nullptr));
    EXPECT_EQ(trace.has_value(), row.found) << row.lines.size();
    if (trace) {
      EXPECT_EQ(trace->to_field(), good);
    }
  }
}

}  // namespace trace_test
}  // namespace h2server
