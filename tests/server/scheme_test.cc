#include "server/scheme.h"

#include <gtest/gtest.h>

#include <set>

namespace h2server::server {
namespace {

TEST(Schemes, AreFoundByName) {
  std::set<std::string_view> names;
  for (const SchemeKind& kind : scheme_kinds()) {
    EXPECT_EQ(find_scheme(kind.name), &kind);
    names.insert(kind.name);
  }
  EXPECT_EQ(names,
            (std::set<std::string_view>{"acceptor", "reuseport", "thread-pool", "buffered-pool",
                                        "thread-per-connection", "process-per-connection"}));
  EXPECT_EQ(find_scheme("magic"), nullptr);
  EXPECT_EQ(find_scheme(""), nullptr);
}

TEST(Schemes, TheTableHasALineForEach) {
  const std::string table = scheme_table();
  for (const SchemeKind& kind : scheme_kinds()) {
    const std::size_t at = table.find("\n" + std::string(kind.name) + " ");
    ASSERT_NE(at, std::string::npos) << kind.name;
    const std::string line = table.substr(at + 1, table.find('\n', at + 1) - at - 1);
    EXPECT_EQ(line.find("blocking") != std::string::npos, kind.blocking) << line;
    EXPECT_EQ(line.find("epoll") != std::string::npos, !kind.blocking) << line;
    EXPECT_LE(line.size(), 100U);
    EXPECT_NE(table.find(kind.sentence), std::string::npos);
  }
}

TEST(Schemes, HaveTheEnginesThatFit) {
  for (const SchemeKind& kind : scheme_kinds()) {
    for (const std::string_view engine : engine_names()) {
      const bool fits = engine == "auto" || (engine == "blocking") == kind.blocking;
      const Result<void, std::string> checked = check_engine(kind, engine);
      EXPECT_EQ(checked.has_value(), fits) << kind.name << " on " << engine;
      if (checked) continue;
      EXPECT_NE(checked.error().find(kind.name), std::string::npos);
      EXPECT_NE(checked.error().find(engine), std::string::npos);
      EXPECT_FALSE(take_engine(kind, engine));
    }
    EXPECT_FALSE(check_engine(kind, "magic"));
  }
}

TEST(Schemes, SayWhyAnEngineWasTaken) {
  const Result<EngineTaken, std::string> asked = take_engine(*find_scheme("acceptor"), "epoll");
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->name, "epoll");
  EXPECT_EQ(asked->reason, "");
  const Result<EngineTaken, std::string> found = take_engine(*find_scheme("acceptor"), "auto");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, io::name_of(found->kind));
  EXPECT_NE(found->reason, "");
  const Result<EngineTaken, std::string> blocking =
      take_engine(*find_scheme("thread-pool"), "auto");
  ASSERT_TRUE(blocking);
  EXPECT_EQ(blocking->name, "blocking");
  EXPECT_NE(blocking->reason, "");
}

}  // namespace
}  // namespace h2server::server
