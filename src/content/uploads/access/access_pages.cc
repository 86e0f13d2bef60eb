#include "content/uploads/access/access_pages.h"

#include <string>

#include "content/names/markup.h"

namespace h2server::content {

namespace {

constexpr std::string_view style =
    ":root{color-scheme:light dark;font:1rem/1.5 system-ui,sans-serif}"
    "body{max-width:32rem;margin:3rem auto;padding:0 1rem}"
    "input,button{font:inherit;padding:.4rem .6rem;margin:.3rem 0;max-width:100%}";

// `head` and `body` are HTML.
Response page(int status, std::string_view title, std::string_view head, std::string_view body) {
  std::string html = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                     "<meta name=\"viewport\" content=\"width=device-width\">";
  html.append(head).append("<title>").append(title).append("</title><style>").append(style);
  html.append("</style></head><body><main><h1>").append(title).append("</h1>").append(body);
  html += "</main></body></html>\n";
  Response response = Response::html(std::move(html), status);
  response.add("Content-Security-Policy",
               "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; "
               "frame-ancestors 'none'; base-uri 'none'");
  response.add("Referrer-Policy", "no-referrer");  // the URL may hold a secret
  response.add("Cache-Control", "no-store");
  response.add("X-Content-Type-Options", "nosniff");
  return response;
}

Response text(int status, std::string_view sentence) {
  Response response = Response::text(std::string(sentence) + "\n", status);
  response.add("Cache-Control", "no-store");
  return response;
}

}  // namespace

bool wants_page(const Request& request) {
  return (request.method() == GET || request.method() == HEAD) &&
         request.field("accept").value_or("").contains("text/html");
}

Response token_page(const Request& request, bool wrong) {
  if (!wants_page(request)) return text(401, wrong ? "the token is wrong" : "a token is needed");
  std::string body = wrong ? "<p role=\"alert\">That token is wrong.</p>" : "";
  body += "<form method=\"get\"><label for=\"token\">Token</label><br>"
          "<input id=\"token\" name=\"token\" type=\"password\" autocomplete=\"current-password\" "
          "required> <button>Continue</button></form>"
          "<p>It is in the URL that the server printed, behind <code>token=</code>.</p>";
  return page(401, "A token is needed", "", body);
}

Response refusal_page(const Request& request, int status, std::string_view sentence) {
  if (!wants_page(request)) return text(status, sentence);
  std::string body = "<p>";
  append_html(body, sentence);
  return page(status, "Not allowed", "", body += "</p>");
}

Response leading_page(std::string_view location) {
  std::string escaped;
  append_html(escaped, location);
  return page(200, "Continue", "<meta http-equiv=\"refresh\" content=\"0; url=" + escaped + "\">",
              "<p><a href=\"" + escaped + "\">Continue</a></p>");
}

}  // namespace h2server::content
