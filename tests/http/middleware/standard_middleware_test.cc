#include "h2server/standard_middleware.h"

#include <algorithm>
#include <stdexcept>

#include "h2server/trace.h"
#include "http/middleware_support.h"

namespace h2server {
namespace standard_middleware_test {

using tests::FieldRows;
using tests::Passage;
using Lines = std::vector<std::string>;

TEST(SecurityHeaders, OfResponses) {
  Passage passage(security_headers());
  EXPECT_EQ(tests::lines_of(passage.get()),
            (Lines{"X-Content-Type-Options: nosniff", "Referrer-Policy: same-origin",
                   "X-Frame-Options: DENY"}));
  Passage all(security_headers({.referrer_policy = "",
                                .frame_options = "",
                                .content_security_policy = "default-src 'self'",
                                .strict_transport_security = "max-age=9"}));
  const std::string policy = "Content-Security-Policy: default-src 'self'";
  EXPECT_EQ(tests::lines_of(all.get()), (Lines{"X-Content-Type-Options: nosniff", policy}));
  all.encrypted = true;
  EXPECT_EQ(tests::lines_of(all.get()), (Lines{"X-Content-Type-Options: nosniff", policy,
                                               "Strict-Transport-Security: max-age=9"}));
}

TEST(SecurityHeaders, KeepWhatAHandlerSet) {
  Passage passage(security_headers());
  passage.handler = [](Request&) {
    return Response(200).add("x-frame-options", "SAMEORIGIN").add("referrer-POLICY", "origin");
  };
  EXPECT_EQ(tests::lines_of(passage.get()),
            (Lines{"x-frame-options: SAMEORIGIN", "referrer-POLICY: origin",
                   "X-Content-Type-Options: nosniff"}));
}

TEST(SecurityHeaders, RefuseValues) {
  for (const SecurityHeadersOptions& options : {
           SecurityHeadersOptions{.referrer_policy = "a\r\nX-Evil: b"},
           SecurityHeadersOptions{.frame_options = " DENY"},
           SecurityHeadersOptions{.content_security_policy = std::string(1, '\0')},
           SecurityHeadersOptions{.strict_transport_security = "max-age=1\n"},
       }) {
    EXPECT_THROW(static_cast<void>(security_headers(options)), std::invalid_argument);
  }
}

struct Traced {
  std::string trace_id;
  std::string parent_id;
  bool sampled = false;
  Lines lines;
};

Traced trace(const FieldRows& fields) {
  Traced traced;
  Passage passage(request_id());
  passage.handler = [&traced](Request& request) {
    if (const TraceContext* const context = request.attached<TraceContext>()) {
      traced.trace_id = context->trace_id();
      traced.parent_id = context->parent_id();
      traced.sampled = context->sampled();
    }
    return Response(200).add("X-Request-Id", "of the handler");
  };
  traced.lines = tests::lines_of(passage.get(fields));
  return traced;
}

TEST(RequestId, ContinuesATrace) {
  const std::string id = "4bf92f3577b34da6a3ce929d0e0e4736";
  const std::string parent = "00f067aa0ba902b7";
  const Traced traced = trace({{"traceparent", "00-" + id + "-" + parent + "-01"}});
  EXPECT_EQ(traced.trace_id, id);
  EXPECT_NE(traced.parent_id, parent);
  EXPECT_EQ(traced.parent_id.size(), parent.size());
  EXPECT_TRUE(traced.sampled);
  EXPECT_EQ(traced.lines, Lines{"X-Request-Id: " + id});
}

TEST(RequestId, StartsATrace) {
  const std::string evil = "00-evil\r\nX-Evil: 1";
  const std::vector<FieldRows> rows = {
      {},
      {{"x-request-id", "forged"}},
      {{"traceparent", evil}},
      {{"traceparent", "00-" + std::string(32, '0') + "-00f067aa0ba902b7-01"}},
      {{"traceparent", std::string(100'000, '0')}},
  };
  std::vector<std::string> seen;
  for (const FieldRows& row : rows) {
    const Traced traced = trace(row);
    EXPECT_EQ(traced.trace_id.size(), 32U);
    EXPECT_EQ(traced.trace_id.find_first_not_of("0123456789abcdef"), std::string::npos);
    EXPECT_FALSE(traced.sampled);
    EXPECT_EQ(traced.lines, Lines{"X-Request-Id: " + traced.trace_id});
    EXPECT_EQ(std::ranges::find(seen, traced.trace_id), seen.end());
    seen.push_back(traced.trace_id);
  }
}

TEST(RequestLog, CallsTheHook) {
  std::vector<std::pair<std::string, std::int64_t>> calls;
  const auto hook = [&calls](std::string name) {
    return [&calls, name](const Request& request, int status, std::chrono::microseconds duration) {
      calls.emplace_back(name + " " + std::string(request.path()) + " " + std::to_string(status),
                         duration.count());
    };
  };
  const auto refuse = [](Request& request) -> std::optional<Response> {
    if (request.field("refuse")) return Response(403);
    return std::nullopt;
  };
  Passage passage(MiddlewareChain{request_log(hook("outer")), refuse, request_log(hook("inner"))});
  passage.composition.failure_hook = [](const Request&, const Failure&) {};
  passage.handler = [](Request& request) -> Response {
    if (request.field("throw")) throw HttpError(404);
    const auto begin = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(2)) {
    }
    return Response(201);
  };
  passage.get();
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].first, "inner / 201");
  EXPECT_EQ(calls[1].first, "outer / 201");
  EXPECT_GE(calls[0].second, 2000);
  EXPECT_GE(calls[1].second, calls[0].second);
  calls.clear();
  passage.get({{"throw", ""}});
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[1].first, "outer / 404");
  calls.clear();
  passage.get({{"refuse", ""}});
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].first, "outer / 403");
  EXPECT_THROW(static_cast<void>(request_log({})), std::invalid_argument);
}

TEST(ErrorPages, Table) {
  struct Row {
    std::string status;
    std::string accept;  // empty: none
    std::string type;
    std::string body;  // part of it
  };
  const std::string html = "text/html; charset=utf-8";
  const std::string problem = "application/problem+json";
  const std::vector<Row> rows = {
      {"404", "", html, "<p>lost"},
      {"404", "*/*", html, "<p>lost"},
      {"404", "text/html,application/xhtml+xml,*/*;q=0.8", html, "<p>lost"},
      {"404", "image/png", html, "<p>lost"},
      {"404", "\xff,;q=", html, "<p>lost"},
      {"404", "application/json", problem, "\"status\":404"},
      {"404", "application/json, text/html;q=0.9", problem, "\"title\":\"Not Found\""},
      {"404", "application/problem+json", problem, "\"status\":404"},
      {"418", "", html, "418"},
      {"503", "application/*", problem, "\"status\":503"},
  };
  const auto by_function = [](const Request&, int status) -> std::string {
    return status == 404 ? "<p>lost" : "";
  };
  const std::vector<ErrorHandler> kinds = {error_pages({{404, "<p>lost"}}),
                                           error_pages(by_function)};
  for (const ErrorHandler& kind : kinds) {
    Passage passage(Middleware([](Request&, Response&) {}));
    passage.composition.error_handler = kind;
    passage.composition.failure_hook = [](const Request&, const Failure&) {};
    passage.handler = [](Request& request) -> Response {
      const int status = std::stoi(std::string(*request.field("status")));
      if (status > 500) throw HttpError(status, "an inner secret");
      return Response(status).add("Retry-After", "1");
    };
    for (const Row& row : rows) {
      FieldRows fields = {{"status", row.status}};
      if (!row.accept.empty()) fields.emplace_back("accept", row.accept);
      const Response response = passage.get(fields);
      EXPECT_EQ(std::to_string(response.status()), row.status) << row.accept;
      EXPECT_EQ(response.find("Content-Type"), row.type) << row.accept;
      EXPECT_EQ(response.find("Vary"), "Accept");
      EXPECT_TRUE(tests::body_of(response).contains(row.body)) << tests::body_of(response);
      EXPECT_FALSE(tests::body_of(response).contains("secret"));
      EXPECT_EQ(response.find("Retry-After").has_value(), row.status < "500") << row.status;
    }
  }
  EXPECT_THROW(static_cast<void>(error_pages(ErrorPage())), std::invalid_argument);
}

}  // namespace standard_middleware_test
}  // namespace h2server
