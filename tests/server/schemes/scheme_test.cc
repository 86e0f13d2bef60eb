#include "server/schemes/scheme.h"

#include <gtest/gtest.h>

#include <set>

namespace h2server::server {
namespace scheme_test {

TEST(Schemes, HaveTheEnginesThatFit) {
  for (const SchemeKind& kind : scheme_kinds()) {
    for (const IoEngine engine :
         {IoEngine::automatic, IoEngine::epoll, IoEngine::io_uring, IoEngine::blocking}) {
      const bool fits =
          engine == IoEngine::automatic || (engine == IoEngine::blocking) == kind.blocking;
      EXPECT_EQ(runs_on(kind, engine), fits) << kind.name << " on " << name_of(engine);
      if (fits) continue;
      const Result<EngineTaken, std::string> refused = take_engine(kind, engine);
      ASSERT_FALSE(refused);
      EXPECT_NE(refused.error().find(kind.name), std::string::npos);
      EXPECT_NE(refused.error().find(name_of(engine)), std::string::npos);
    }
  }
}

TEST(Schemes, SayWhyAnEngineWasTaken) {
  const SchemeKind& acceptor = kind_of(ServerScheme::acceptor);
  const Result<EngineTaken, std::string> asked = take_engine(acceptor, IoEngine::epoll);
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->name, "epoll");
  EXPECT_EQ(asked->reason, "");
  const Result<EngineTaken, std::string> found = take_engine(acceptor, IoEngine::automatic);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, io::name_of(found->wanted.kind));
  EXPECT_NE(found->reason, "");
  const Result<EngineTaken, std::string> blocking =
      take_engine(kind_of(ServerScheme::thread_pool), IoEngine::automatic);
  ASSERT_TRUE(blocking);
  EXPECT_EQ(blocking->name, "blocking");
  EXPECT_NE(blocking->reason, "");
}

}  // namespace scheme_test
}  // namespace h2server::server
