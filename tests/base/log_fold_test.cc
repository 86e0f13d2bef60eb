#include "base/log_fold.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace h2server::base {
namespace log_fold_test {

// What a log would write of these lines: "K:TEXT", and "K:TEXT xN" for N repetitions.
struct Line {
  std::int64_t at_ms;
  std::uint8_t kind;
  std::string text;
};
std::vector<std::string> folded(const std::vector<Line>& lines) {
  LogFold fold;
  std::vector<std::string> written;
  const auto take = [&] {
    const LogFold::Repeated repeated = fold.take();
    if (repeated.times == 0) return;
    written.push_back(std::to_string(repeated.kind) + ":" + std::string(repeated.text) + " x" +
                      std::to_string(repeated.times));
  };
  for (const Line& line : lines) {
    if (fold.counts(line.kind, line.text, line.at_ms)) continue;
    take();
    written.push_back(std::to_string(line.kind) + ":" + line.text);
    fold.written(line.kind, line.text, line.at_ms);
  }
  take();
  return written;
}

using Written = std::vector<std::string>;

TEST(LogFold, Sequences) {
  struct Row {
    std::vector<Line> lines;
    Written expected;
  };
  for (const Row& row : std::vector<Row>{
           {{}, {}},
           {{{0, 0, ""}}, {"0:"}},
           {{{0, 0, ""}, {1, 0, ""}}, {"0:", "0: x1"}},
           {{{0, 0, "a"}, {1, 0, "b"}, {2, 0, "a"}}, {"0:a", "0:b", "0:a"}},
           {{{0, 0, "a"}, {1, 0, "a"}, {9'999, 0, "a"}}, {"0:a", "0:a x2"}},
           {{{0, 0, "a"}, {1, 0, "a"}, {2, 0, "b"}}, {"0:a", "0:a x1", "0:b"}},
           {{{0, 0, "a"}, {1, 1, "a"}}, {"0:a", "1:a"}},
           {{{0, 0, "a"}, {10'000, 0, "a"}}, {"0:a", "0:a"}},
           {{{0, 0, "a"}, {5, 0, "a"}, {10'000, 0, "a"}, {10'005, 0, "a"}},
            {"0:a", "0:a x1", "0:a", "0:a x1"}},
           {{{0, 0, "ab"}, {0, 0, "a"}, {0, 0, "ab"}}, {"0:ab", "0:a", "0:ab"}},
       }) {
    EXPECT_EQ(folded(row.lines), row.expected);
  }
}

TEST(LogFold, LongLinesAreNeverCounted) {
  const std::string longest(LogFold::bytes_max, 'x');
  EXPECT_EQ(folded({{0, 0, longest}, {0, 0, longest}}).back(), "0:" + longest + " x1");
  const std::string longer = longest + "x";
  EXPECT_EQ(folded({{0, 0, longer}, {0, 0, longer}}), (Written{"0:" + longer, "0:" + longer}));
  EXPECT_EQ(folded({{0, 0, "a"}, {0, 0, longer}, {0, 0, "a"}}).size(), 3U);
}

TEST(LogFold, IsDueAfterItsTime) {
  LogFold fold;
  fold.written(0, "a", 100);
  EXPECT_FALSE(fold.is_due(20'000)) << "nothing was counted";
  ASSERT_TRUE(fold.counts(0, "a", 101));
  EXPECT_FALSE(fold.is_due(10'099));
  EXPECT_TRUE(fold.is_due(10'100));
  EXPECT_EQ(fold.take().times, 1U);
  EXPECT_FALSE(fold.is_due(20'000));
}

TEST(LogFold, AForgottenLineIsWrittenAgain) {
  LogFold fold;
  fold.written(0, "a", 0);
  fold.forget();
  EXPECT_FALSE(fold.counts(0, "a", 0));
}

}  // namespace log_fold_test
}  // namespace h2server::base
