#include "http/middleware/cross_site.h"

#include <gtest/gtest.h>

#include <vector>

namespace h2server::http {
namespace cross_site_test {

struct Row {
  bool encrypted;
  std::string_view authority;
  std::vector<Field> fields;
  bool cross_site;
};

std::vector<Row> rows() {
  const bool plain = false;
  const bool tls = true;
  return {
      // Neither field: not sent by a web page.
      {plain, "a", {}, false},
      {tls, "a", {{"referer", "http://evil/"}}, false},
      // Sec-Fetch-Site.
      {tls, "a", {{"sec-fetch-site", "same-origin"}}, false},
      {tls, "a", {{"Sec-Fetch-Site", "none"}}, false},
      {tls, "a", {{"sec-fetch-site", "same-site"}}, true},
      {tls, "a", {{"sec-fetch-site", "cross-site"}}, true},
      {tls, "a", {{"sec-fetch-site", "Same-Origin"}}, true},
      {tls, "a", {{"sec-fetch-site", "new-word"}}, true},
      {tls, "a", {{"sec-fetch-site", ""}}, true},
      {tls, "a", {{"sec-fetch-site", "same-origin"}, {"sec-fetch-site", "cross-site"}}, true},
      {tls, "a", {{"sec-fetch-site", "same-origin"}, {"Sec-Fetch-Site", "same-origin"}}, true},
      // Sec-Fetch-Site overrides Origin, which is "null" after some redirects.
      {plain, "a", {{"origin", "null"}, {"sec-fetch-site", "same-origin"}}, false},
      {plain, "a", {{"origin", "http://a"}, {"sec-fetch-site", "cross-site"}}, true},
      // Origin: scheme, host and port.
      {plain, "a", {{"origin", "http://a"}}, false},
      {plain, "a:80", {{"Origin", "http://a"}}, false},
      {plain, "a", {{"origin", "http://a:80"}}, false},
      {plain, "a:8080", {{"origin", "http://a:8080"}}, false},
      {plain, "A.Example:8080", {{"origin", "HTTP://a.eXample:8080"}}, false},
      {plain, "127.0.0.1:8080", {{"origin", "http://127.0.0.1:8080"}}, false},
      {plain, "[::1]:8080", {{"origin", "http://[::1]:8080"}}, false},
      {tls, "a", {{"origin", "https://a"}}, false},
      {tls, "a:443", {{"origin", "https://a"}}, false},
      {tls, "a:8443", {{"origin", "https://a:8443"}}, false},
      {plain, "a:8080", {{"origin", "http://a"}}, true},
      {plain, "a:8080", {{"origin", "http://a:8081"}}, true},
      {plain, "a", {{"origin", "http://b"}}, true},
      {plain, "a", {{"origin", "http://a.b"}}, true},
      {plain, "b.a", {{"origin", "http://a"}}, true},
      {plain, "127.0.0.1:80", {{"origin", "http://localhost"}}, true},
      {plain, "a", {{"origin", "https://a"}}, true},
      {plain, "a:443", {{"origin", "https://a"}}, true},
      {tls, "a", {{"origin", "http://a"}}, true},
      {tls, "a:80", {{"origin", "http://a"}}, true},
      // Not an origin, or not one that can be compared.
      {plain, "a", {{"origin", "null"}}, true},
      {plain, "a", {{"origin", ""}}, true},
      {plain, "a", {{"origin", "a"}}, true},
      {plain, "a", {{"origin", "http://"}}, true},
      {plain, "a", {{"origin", "http:/a"}}, true},
      {plain, "a", {{"origin", "http://a/"}}, true},
      {plain, "a", {{"origin", "http://a b"}}, true},
      {plain, "a", {{"origin", "http://a:80:80"}}, true},
      {plain, "a", {{"origin", "http://user@a"}}, true},
      {plain, "a", {{"origin", "http://a, http://a"}}, true},
      {plain, "a", {{"origin", "http://a http://b"}}, true},
      {plain, "", {{"origin", "http://a"}}, true},
      {plain, "", {{"origin", "http://"}}, true},
      {plain, "a", {{"origin", "http://a"}, {"origin", "http://a"}}, true},
      {plain, "a", {{"origin", "http://a"}, {"Origin", "http://b"}}, true},
  };
}

TEST(CrossSite, Table) {
  for (const Row& row : rows()) {
    RequestHead head;
    head.method = Method::POST;
    head.encrypted = row.encrypted;
    head.authority = row.authority;
    for (const Field& field : row.fields) head.fields.add(field.name, field.value);
    EXPECT_EQ(is_cross_site(head), row.cross_site)
        << (row.encrypted ? "TLS " : "cleartext ") << row.authority << " "
        << (row.fields.empty() ? "" : row.fields.back().value);
  }
}

}  // namespace cross_site_test
}  // namespace h2server::http
