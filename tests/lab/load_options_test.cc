#include "load/options.h"

#include <gtest/gtest.h>

#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace h2server::lab::load {
namespace load_options_test {

Result<Options, Stop> parse(const std::string& line) {
  std::istringstream words("load " + line);
  const std::vector<std::string> list(std::istream_iterator<std::string>{words}, {});
  std::vector<const char*> arguments;
  for (const std::string& word : list) arguments.push_back(word.c_str());
  return parse_options(static_cast<int>(arguments.size()), arguments.data());
}

TEST(LoadOptions, ReadsEachMode) {
  const auto closed = parse("closed --port 80 --requests 10 --connections 4 --weights 8,1,1,1");
  ASSERT_TRUE(closed.has_value());
  EXPECT_EQ(closed->weights, (std::vector<unsigned>{8, 1, 1, 1}));
  const auto open = parse("open --port 80 --rate 200 --seconds 2 --protocol h2 --streams 10");
  ASSERT_TRUE(open.has_value());
  EXPECT_EQ(open->mode, ModeName::open);
  EXPECT_EQ(open->protocol, ProtocolName::h2);
  EXPECT_EQ(open->pace.rate, 200);
  const auto exchange = parse("exchange --port 80 --clients 50 --connections 3 --messages 20");
  ASSERT_TRUE(exchange.has_value());
  EXPECT_EQ(exchange->connections_each, 3U);
  EXPECT_EQ(exchange->message_bytes, 1204U);
  const auto churn = parse("churn --port 80 --connections 7 --concurrency 2 --linger-rst");
  ASSERT_TRUE(churn.has_value());
  EXPECT_EQ(churn->requests, 7U);
  EXPECT_TRUE(churn->resets);
  EXPECT_EQ(parse("idle --port 80 --connections 9")->connections, 9U);
}

TEST(LoadOptions, PrintsHelp) {
  const auto help = parse("--help");
  ASSERT_FALSE(help.has_value());
  EXPECT_EQ(help.error().status, 0);
  EXPECT_NE(help.error().text.find("--warmup-seconds"), std::string::npos);
}

TEST(LoadOptions, RefusesWhatIsWrong) {
  for (const char* const line :
       {"", "closed", "closed --port 80", "closed --requests 5", "fast --port 80",
        "closed --port 0 --requests 5", "closed --port 80 --requests 0",
        "closed --port 80 --requests 5 --protocol h3", "closed --port 80 --requests 5 --streams 2",
        "closed --port 80 --requests 5 --upload-bytes 5",
        "closed --port 80 --requests 5 --method POST --multipart",
        "closed --port 80 --requests 5 --weights 0,0", "closed --port 80 --requests 5 --path a",
        "closed --port 80 --requests 5 --weights 1 --weights x",
        "open --port 80 --rate 0 --seconds 1", "churn --port 80 --connections 5 --protocol h2",
        "exchange --port 80 --clients 1 --connections 1 --messages 1 --protocol h2",
        "idle --port 80 --connections 5 --rate 5"}) {
    const auto options = parse(line);
    ASSERT_FALSE(options.has_value()) << line;
    EXPECT_EQ(options.error().status, 2) << line;
  }
}

}  // namespace load_options_test
}  // namespace h2server::lab::load
