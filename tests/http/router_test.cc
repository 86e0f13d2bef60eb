#include "http/router.h"

#include <gtest/gtest.h>

#include <string>

namespace h2server::http {
namespace router_test {

// Returns a handler that answers with `name`, so that a test can tell which one matched.
Handler named(const std::string& name) {
  return [name](Request&) { return Response(200, name); };
}

class RouterTest : public testing::Test {
 protected:
  void add(Method method, const std::string& pattern) {
    const auto added = router_.add(method, pattern, named(pattern));
    ASSERT_TRUE(added.has_value()) << added.error();
  }
  std::string error_of(const std::string& pattern) {
    const auto added = router_.add(GET, pattern, named(pattern));
    return added ? "" : added.error();
  }
  // Returns the matching pattern and its parameters, or "404" or "405".
  std::string find(const std::string& path, Method method = GET) {
    PathParams params;
    const Router::Match match = router_.find(method, path, params);
    if (match.handler == nullptr) return match.methods == 0 ? "404" : "405";
    const RequestHead head;
    Request request(head, params, nullptr);
    Response response = (*match.handler->plain())(request);
    std::string found = std::get<std::string>(response.body());
    for (const char* const name : {"a", "b", "c", "rest"}) {
      if (const auto value = params.find(name))
        found.append(" ").append(name) += "=" + std::string(*value);
    }
    return found;
  }

  Router router_;
};

TEST_F(RouterTest, FindsFixedPaths) {
  for (const char* const pattern : {"/", "/x", "/x/y", "/x/", "/xy", "/X"}) add(GET, pattern);
  for (const char* const path : {"/", "/x", "/x/y", "/x/", "/xy", "/X"})
    EXPECT_EQ(find(path), path);
  for (const char* const path : {"", "x", "//", "/y", "/x/y/", "/x//y", "/x/y/z", "/xyz", "*"}) {
    EXPECT_EQ(find(path), "404") << path;
  }
}

TEST_F(RouterTest, FindsParameters) {
  add(GET, "/files/{a}");
  add(GET, "/files/{a}/parts/{b}");
  add(GET, "/{a}/{b}/{c}/end");
  EXPECT_EQ(find("/files/x.txt"), "/files/{a} a=x.txt");
  EXPECT_EQ(find("/files/x/parts/y"), "/files/{a}/parts/{b} a=x b=y");
  EXPECT_EQ(find("/1/2/3/end"), "/{a}/{b}/{c}/end a=1 b=2 c=3");
  EXPECT_EQ(find("/files/2/3/end"), "/{a}/{b}/{c}/end a=files b=2 c=3");
  EXPECT_EQ(find("/files/"), "404");  // a parameter is not empty
  EXPECT_EQ(find("/files//parts/y"), "404");
  EXPECT_EQ(find("/1/2/3"), "404");
}

TEST_F(RouterTest, FindsTheRest) {
  add(GET, "/static/{rest...}");
  EXPECT_EQ(find("/static/"), "/static/{rest...} rest=");
  EXPECT_EQ(find("/static/a"), "/static/{rest...} rest=a");
  EXPECT_EQ(find("/static/a/b//c/"), "/static/{rest...} rest=a/b//c/");
  EXPECT_EQ(find("/static"), "404");
  EXPECT_EQ(find("/statica"), "404");
}

TEST_F(RouterTest, PrefersFixedToParameterToRest) {
  add(GET, "/{rest...}");
  add(GET, "/{a}");
  add(GET, "/x");
  add(GET, "/{a}/x");
  add(GET, "/x/{b}");
  EXPECT_EQ(find("/x"), "/x");
  EXPECT_EQ(find("/y"), "/{a} a=y");
  EXPECT_EQ(find("/"), "/{rest...} rest=");
  EXPECT_EQ(find("/x/x"), "/x/{b} b=x");
  EXPECT_EQ(find("/y/x"), "/{a}/x a=y");
  EXPECT_EQ(find("/y/z"), "/{rest...} rest=y/z");
}

TEST_F(RouterTest, TriesTheNextBranchWhereOneEndsInNothing) {
  add(GET, "/a/b/c");
  add(GET, "/a/{b}/d");
  add(GET, "/{a}/b/e");
  add(GET, "/a/{rest...}");
  EXPECT_EQ(find("/a/b/c"), "/a/b/c");
  EXPECT_EQ(find("/a/b/d"), "/a/{b}/d b=b");
  EXPECT_EQ(find("/a/b/e"), "/a/{rest...} rest=b/e");
  EXPECT_EQ(find("/z/b/e"), "/{a}/b/e a=z");
  EXPECT_EQ(find("/a/b/x"), "/a/{rest...} rest=b/x");
  EXPECT_EQ(find("/z/b/x"), "404");
}

TEST_F(RouterTest, KnowsTheMethodsOfAPath) {
  add(GET, "/x");
  add(DELETE, "/x");
  add(POST, "/y");
  EXPECT_EQ(find("/x", HEAD), "/x");
  EXPECT_EQ(find("/x", POST), "405");
  EXPECT_EQ(find("/x", Method::unknown), "405");
  EXPECT_EQ(find("/y", HEAD), "405");
  EXPECT_EQ(find("/z", POST), "404");
  PathParams params;
  EXPECT_EQ(allow_value(router_.find(POST, "/x", params).methods), "GET, HEAD, DELETE, OPTIONS");
  EXPECT_EQ(allow_value(router_.find(GET, "/y", params).methods), "POST, OPTIONS");
  add(PROPFIND, "/y");
  add(UNLOCK, "/y");
  EXPECT_EQ(find("/y", PROPFIND), "/y");
  EXPECT_EQ(find("/y", UNLOCK), "/y");
  EXPECT_EQ(find("/y", LOCK), "405");
  EXPECT_EQ(find("/x", PROPFIND), "405");
  EXPECT_EQ(allow_value(router_.find(GET, "/y", params).methods),
            "POST, OPTIONS, PROPFIND, UNLOCK");
  EXPECT_EQ(allow_value(0), "");
}

TEST_F(RouterTest, MatchesAPatternWithItsMethod) {
  add(GET, "/{rest...}");
  add(POST, "/echo");
  add(PUT, "/{a}");
  add(DELETE, "/echo/{a}");
  EXPECT_EQ(find("/echo", POST), "/echo");
  EXPECT_EQ(find("/echo"), "/{rest...} rest=echo");
  EXPECT_EQ(find("/echo", HEAD), "/{rest...} rest=echo");
  EXPECT_EQ(find("/echo", PUT), "/{a} a=echo");
  EXPECT_EQ(find("/echo/x"), "/{rest...} rest=echo/x");
  EXPECT_EQ(find("/echo", DELETE), "405");
  PathParams params;
  EXPECT_EQ(allow_value(router_.find(DELETE, "/echo", params).methods),
            "GET, HEAD, POST, PUT, OPTIONS");
  EXPECT_EQ(params.find("a"), std::nullopt);
}

TEST_F(RouterTest, HeadMayHaveAHandlerOfItsOwn) {
  add(GET, "/{a}");
  ASSERT_TRUE(router_.add(HEAD, "/{b}", named("head")).has_value());
  EXPECT_EQ(find("/x"), "/{a} a=x");
  EXPECT_EQ(find("/x", HEAD), "head b=x");
}

TEST_F(RouterTest, RefusesBadPatterns) {
  for (const char* const pattern :
       {"", "x", "{a}", "/{", "/{a", "/a}", "/{}", "/{...}", "/x{a}", "/{a}x", "/{a}{b}", "/{{a}}",
        "/{a.b}", "/{a...}/x", "/{a}/{a}", "/{a}/{a...}"}) {
    EXPECT_NE(error_of(pattern), "") << pattern;
  }
  EXPECT_FALSE(router_.add(Method::unknown, "/", named("")).has_value());
  add(GET, "/twice/{a}");
  EXPECT_NE(error_of("/twice/{b}"), "");
  EXPECT_EQ(find("/twice/x"), "/twice/{a} a=x");  // the first stays
}

TEST_F(RouterTest, BoundsTheNumberOfParameters) {
  std::string pattern;
  std::string path;
  for (int i = 0; i < 16; ++i) {
    pattern += "/{p" + std::to_string(i) + "}";
    path += "/" + std::to_string(i);
  }
  EXPECT_EQ(error_of(pattern), "");
  PathParams params;
  ASSERT_NE(router_.find(GET, path, params).handler, nullptr);
  EXPECT_EQ(params.find("p0"), "0");
  EXPECT_EQ(params.find("p15"), "15");
  // A refused pattern leaves nothing behind that a path could match.
  for (const char* const more : {"/{q}", "/{q...}", "/{q}/{r}/{s}"}) {
    EXPECT_NE(error_of(pattern + more), "");
  }
  EXPECT_EQ(router_.find(GET, path + "/16", params).handler, nullptr);
  EXPECT_EQ(router_.find(GET, path + "/16/17/18", params).handler, nullptr);
}

}  // namespace router_test
}  // namespace h2server::http
