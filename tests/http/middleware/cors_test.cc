#include "h2server/cors.h"

#include <stdexcept>

#include "http/middleware_support.h"

namespace h2server {
namespace cors_test {

using tests::FieldRows;
using tests::Passage;
using Lines = std::vector<std::string>;

const std::string app = "https://app.example";

CorsOptions all_options() {
  return {.origins = {app, "http://localhost:3000"},
          .methods = {GET, PUT},
          .request_fields = {"Authorization", "X-A"},
          .exposed_fields = {"X-B", "X-C"},
          .credentials = true,
          .max_age = std::chrono::seconds(5)};
}

struct Row {
  Method method;
  FieldRows fields;
  int status;
  Lines lines;
};

void expect(const CorsOptions& options, const std::vector<Row>& rows) {
  Passage passage(cors(options));
  for (const Row& row : rows) {
    const Response response = passage.ask(row.method, row.fields);
    const std::string what = row.fields.empty() ? "" : row.fields.front().second;
    EXPECT_EQ(response.status(), row.status) << what;
    EXPECT_EQ(tests::lines_of(response), row.lines) << what;
  }
}

TEST(Cors, Responses) {
  const Lines refused = {"Vary: Origin"};
  const Lines allowed = {"Vary: Origin", "Access-Control-Allow-Origin: " + app,
                         "Access-Control-Allow-Credentials: true",
                         "Access-Control-Expose-Headers: X-B, X-C"};
  expect(all_options(), {
                            {GET, {{"origin", app}}, 200, allowed},
                            {POST, {{"Origin", app}}, 200, allowed},
                            // Not a preflight.
                            {OPTIONS, {{"origin", app}}, 200, allowed},
                            {OPTIONS, {{"access-control-request-method", "PUT"}}, 200, refused},
                            {GET, {}, 200, refused},
                            // Origins are compared byte by byte.
                            {GET, {{"origin", ""}}, 200, refused},
                            {GET, {{"origin", "null"}}, 200, refused},
                            {GET, {{"origin", "*"}}, 200, refused},
                            {GET, {{"origin", "https://App.example"}}, 200, refused},
                            {GET, {{"origin", app + "/"}}, 200, refused},
                            {GET, {{"origin", app + ".evil"}}, 200, refused},
                            {GET, {{"origin", app + ":443"}}, 200, refused},
                            {GET, {{"origin", "http://app.example"}}, 200, refused},
                            {GET, {{"origin", app + ", " + app}}, 200, refused},
                            {GET, {{"origin", app + "\r\nX-Evil: 1"}}, 200, refused},
                            {GET, {{"origin", app}, {"origin", app}}, 200, refused},
                            {GET, {{"origin", std::string(100'000, 'a')}}, 200, refused},
                        });
}

TEST(Cors, Preflights) {
  const Lines allowed = {"Vary: Origin",
                         "Access-Control-Allow-Origin: http://localhost:3000",
                         "Access-Control-Allow-Credentials: true",
                         "Access-Control-Allow-Methods: GET, PUT",
                         "Access-Control-Allow-Headers: Authorization, X-A",
                         "Access-Control-Max-Age: 5"};
  const std::pair<std::string, std::string> method = {"access-control-request-method", "PUT"};
  expect(all_options(),
         {
             {OPTIONS, {{"origin", "http://localhost:3000"}, method}, 204, allowed},
             // It is for the browser to see that DELETE is not in the list.
             {OPTIONS,
              {{"origin", "http://localhost:3000"}, {"Access-Control-Request-Method", "DELETE"}},
              204,
              allowed},
             {OPTIONS, {{"origin", "https://evil.example"}, method}, 204, {"Vary: Origin"}},
         });
}

TEST(Cors, EveryOrigin) {
  const std::string any = "Access-Control-Allow-Origin: *";
  expect(
      {.origins = {"*"}},
      {
          {GET, {{"origin", "https://anything"}}, 200, {any}},
          {GET, {}, 200, {any}},
          {OPTIONS,
           {{"origin", "null"}, {"access-control-request-method", "GET"}},
           204,
           {any, "Access-Control-Allow-Methods: GET, HEAD, POST", "Access-Control-Max-Age: 600"}},
      });
}

// Two values of Access-Control-Allow-Origin fail in browsers.
TEST(Cors, ReplacesWhatAHandlerSet) {
  Passage passage(cors({.origins = {app}}));
  passage.handler = [](Request&) {
    Response response(404);
    response.add("Access-Control-Allow-Origin", "*").add("Vary", "Accept");
    response.add("access-control-allow-credentials", "true");
    return response;
  };
  EXPECT_EQ(tests::lines_of(passage.get({{"origin", app}})),
            (Lines{"Vary: Accept", "Vary: Origin", "Access-Control-Allow-Origin: " + app}));
  EXPECT_EQ(tests::lines_of(passage.get()), (Lines{"Vary: Accept", "Vary: Origin"}));
}

TEST(Cors, RefusesOptions) {
  std::vector<CorsOptions> refused = {
      {},
      {.origins = {"*"}, .credentials = true},
      {.origins = {"*", app}},
      {.origins = {app, "*"}},
      {.origins = {app}, .methods = {Method::unknown}},
      {.origins = {app}, .request_fields = {"X A"}},
      {.origins = {app}, .request_fields = {"X\r\nA: b"}},
      {.origins = {app}, .request_fields = {"*"}, .credentials = true},
      {.origins = {app}, .exposed_fields = {""}},
      {.origins = {app}, .exposed_fields = {"*", "X-A"}},
      {.origins = {app}, .max_age = std::chrono::seconds(-1)},
  };
  for (const std::string_view origin :
       {"", "null", "app.example", "://a", "https://", "https://a/", "https://A", "HTTPS://a",
        "https://a:443", "http://a:80", "https://a:", "https://user@a", "https://a b",
        "https://a\r\nb", "https://*.a/", "h ttp://a"}) {
    refused.push_back({.origins = {std::string(origin)}});
  }
  for (const CorsOptions& options : refused) {
    EXPECT_THROW(static_cast<void>(cors(options)), std::invalid_argument)
        << (options.origins.empty() ? "" : options.origins.front());
  }
  for (const std::string_view origin : {"https://a:444", "http://[::1]:3000", "tauri://localhost",
                                        "chrome-extension://abcdefgh", "https://a:1443"}) {
    EXPECT_NO_THROW(static_cast<void>(cors({.origins = {std::string(origin)}}))) << origin;
  }
  const CorsOptions words{.origins = {app}, .request_fields = {"*"}, .exposed_fields = {"*"}};
  EXPECT_NO_THROW(static_cast<void>(cors(words)));
}

}  // namespace cors_test
}  // namespace h2server
