#include "h2server/negotiation.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace h2server {
namespace negotiation_test {

using Views = std::vector<std::string_view>;

struct Row {
  Views lines;  // the values of the field's lines
  Views offers;
  std::string best;  // "-" if there is none
};

using Choose = std::optional<std::size_t> (*)(const Request&, std::span<const std::string_view>);

void check(const std::vector<Row>& rows, std::string_view name, Choose choose) {
  for (const Row& row : rows) {
    RequestHead head;
    const PathParams params;
    head.fields.add("x-" + std::string(name), "*;q=0");
    for (const std::string_view line : row.lines) head.fields.add(name, line);
    const auto best = choose(Request(head, params, nullptr), row.offers);
    EXPECT_EQ(best ? row.offers[*best] : "-", row.best)
        << testing::PrintToString(row.lines) << " of " << testing::PrintToString(row.offers);
  }
}

TEST(Negotiation, MediaTypes) {
  const Views html_json = {"text/html", "application/json"};
  const std::string_view precise = "text/*;q=0.3, text/plain;q=0.7, text/plain;format=flowed, "
                                   "text/plain;format=fixed;q=0.4, */*;q=0.5";
  const std::vector<Row> rows = {
      {{}, html_json, "text/html"},
      {{""}, html_json, "text/html"},
      {{" , ,"}, html_json, "text/html"},
      {{}, {}, "-"},
      {{"*/*"}, html_json, "text/html"},
      {{"application/json"}, html_json, "application/json"},
      {{"Application/JSON"}, html_json, "application/json"},
      {{"application/*"}, html_json, "application/json"},
      {{"image/png"}, html_json, "-"},
      {{"image/*"}, html_json, "-"},
      {{"text/htm"}, html_json, "-"},
      // Quality.
      {{"text/html;q=0.5, application/json"}, html_json, "application/json"},
      {{"text/html; q=0.8, application/json; Q=0.9"}, html_json, "application/json"},
      {{"text/html;q=0.801,application/json;q=0.8"}, html_json, "text/html"},
      {{"text/html;q=0.001,application/json;q=0"}, {"application/json", "text/html"}, "text/html"},
      {{"application/json, text/html"}, html_json, "text/html"},  // equal: the server's preference
      {{"text/html;q=0"}, html_json, "-"},
      {{"text/html;q=0, */*"}, html_json, "application/json"},
      {{"text/html;q=0.000,*/*;q=0.1"}, html_json, "application/json"},
      {{"*/*;q=0"}, html_json, "-"},
      {{"*/*;q=0, text/*;q=0.1"}, html_json, "text/html"},
      // The most specific range decides, wherever it stands (RFC 9110, 12.5.1).
      {{"text/*;q=0.9, text/html;q=0.1, application/json;q=0.5"}, html_json, "application/json"},
      {{"*/*, text/*;q=0.2, application/json;q=0.1"}, html_json, "text/html"},
      {{"text/plain;q=0.2, text/plain;format=flowed, */*;q=0.5"},
       {"text/plain", "text/html", "text/plain;format=flowed"},
       "text/plain;format=flowed"},
      {{"text/plain;format=flowed;q=0.1, text/plain;q=0.7"},
       {"text/plain; Format=\"Flowed\"", "text/plain"},
       "text/plain"},
      {{"text/*, text/plain, text/plain;format=flowed, */*"},
       {"text/html", "text/plain;format=fixed"},
       "text/html"},
      {{"text/plain;format=flowed"}, {"text/plain", "text/plain;format=fixed"}, "-"},
      {{"text/html;a=\"1,2;3\";q=0.1, text/html;q=0.05"},
       {"text/html", "text/html;a=\"1,2;3\""},
       "text/html;a=\"1,2;3\""},
      {{"text/html;a=\"\\\",\";q=0.5, a/b"}, {"text/html", "a/b"}, "a/b"},
      {{"text/html;q=0.3, text/html;q=0.9, a/b;q=0.5"}, {"a/b", "text/html"}, "text/html"},
      {{"text/html;q=0.9, text/html;q=0.3, a/b;q=0.5"}, {"a/b", "text/html"}, "text/html"},
      {{"text/*;q=0.2, */*"}, html_json, "application/json"},
      {{"text/html;;q=0.4;ext=1, a/b;q=0.5"}, {"text/html", "a/b"}, "a/b"},
      // RFC 9110, 12.5.1.
      {{"audio/*; q=0.2, audio/basic"}, {"audio/ogg", "audio/basic"}, "audio/basic"},
      {{"audio/*; q=0.2, audio/basic"}, {"text/html", "audio/ogg"}, "audio/ogg"},
      {{"text/plain; q=0.5, text/html, text/x-dvi; q=0.8, text/x-c"},
       {"text/plain", "text/x-dvi", "text/x-c"},
       "text/x-c"},
      {{"text/plain; q=0.5, text/html, text/x-dvi; q=0.8, text/x-c"},
       {"text/plain", "text/x-dvi"},
       "text/x-dvi"},
      {{precise},
       {"image/jpeg", "text/plain;format=flowed", "text/plain"},
       "text/plain;format=flowed"},
      {{precise}, {"image/jpeg", "text/plain", "text/html"}, "text/plain"},
      {{precise}, {"text/plain;format=fixed", "image/jpeg", "text/html"}, "image/jpeg"},
      {{precise}, {"text/html;level=3", "text/plain;format=fixed"}, "text/plain;format=fixed"},
      // 8.3.1: these are equal.
      {{"text/html;charset=utf-8, */*;q=0.1"},
       {"a/b", "Text/HTML;Charset=\"utf-8\""},
       "Text/HTML;Charset=\"utf-8\""},
      {{"text/html; charset=\"utf-8\", */*;q=0.1"},
       {"a/b", "text/html;charset=UTF-8"},
       "text/html;charset=UTF-8"},
      // Several lines are one list (5.3).
      {{"text/html;q=0.4", "application/json"}, html_json, "application/json"},
      // What existing clients send: Java, Firefox, Chromium.
      {{"text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2"},
       {"application/json", "text/html"},
       "text/html"},
      {{"text/html, image/gif, *; q=.2"}, {"application/json"}, "application/json"},
      {{"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"},
       {"application/json", "application/xml", "text/html;charset=utf-8"},
       "text/html;charset=utf-8"},
      {{"a/b;q=0.12345, a/c;q=0.12399"}, {"a/b", "a/c"}, "a/b"},  // the fourth digit is ignored
      {{"a/b;q=1., a/c;q=1.000"}, {"a/b", "a/c"}, "a/b"},
      // Malformed elements.
      {{"text/html;q=2, application/json;q=0.1"}, html_json, "application/json"},
      {{"text/html;q=, application/json;q=0.1"}, html_json, "application/json"},
      {{"text/html;q, application/json;q=0.1"}, html_json, "application/json"},
      {{"text/html;q=., application/json;q=0.1"}, html_json, "application/json"},
      {{"text/html;q=-1, application/json;q=0.1"}, html_json, "application/json"},
      {{"text/html;q=1.001, application/json;q=0.1"}, html_json, "application/json"},
      {{"text/html;q=0.x, application/json;q=0.1"}, html_json, "application/json"},
      {{"text/html;q=10, application/json;q=0.1"}, html_json, "application/json"},
      {{"text, application/json"}, html_json, "application/json"},
      {{"*/html, application/json"}, html_json, "application/json"},
      {{"text/, /html, te xt/html, application/json"}, html_json, "application/json"},
      {{"text"}, html_json, "text/html"},  // nothing valid: as if absent
      {{"*/*"}, {"text", "text/html"}, "text/html"},
  };
  check(rows, "Accept", best_media_type);
}

TEST(Negotiation, Encodings) {
  const Views all = {"br", "gzip", "identity"};
  const std::vector<Row> rows = {
      {{}, all, "identity"},
      {{}, {"br", "gzip"}, "br"},
      {{""}, all, "identity"},
      {{""}, {"br", "gzip"}, "-"},
      {{"gzip"}, all, "gzip"},
      {{"gzip, br"}, all, "br"},
      {{"gzip, br;q=0.9"}, all, "gzip"},
      {{"GZIP"}, all, "gzip"},
      {{"x-gzip"}, all, "gzip"},
      {{"gzip"}, {"x-gzip"}, "x-gzip"},
      {{"X-Compress"}, {"compress"}, "compress"},
      {{"deflate"}, all, "identity"},
      {{"gzip;q=0.001"}, {"identity", "gzip"}, "gzip"},
      {{"gzip;q=0"}, all, "identity"},
      {{"gzip;q=0"}, {"gzip"}, "-"},
      {{"*"}, all, "br"},
      {{"*;q=0"}, all, "-"},
      {{"*;q=0, identity;q=0.1"}, all, "identity"},
      {{"*;q=0, gzip"}, all, "gzip"},
      {{"identity;q=0"}, {"identity"}, "-"},
      {{"identity;q=0, *"}, {"identity", "gzip"}, "gzip"},
      {{"identity"}, all, "identity"},
      // RFC 9110, 12.5.3.
      {{"compress, gzip"}, all, "gzip"},
      {{"compress, gzip"}, {"identity", "gzip", "compress"}, "gzip"},
      {{"compress;q=0.5, gzip;q=1.0"}, {"compress", "gzip"}, "gzip"},
      {{"compress;q=0.5, gzip;q=1.0"}, {"identity", "compress"}, "compress"},
      {{"gzip;q=1.0, identity; q=0.5, *;q=0"}, all, "gzip"},
      {{"gzip;q=1.0, identity; q=0.5, *;q=0"}, {"br", "identity"}, "identity"},
      {{"gzip;q=1.0, identity; q=0.5, *;q=0"}, {"br"}, "-"},
      {{"identity;q=0"}, {"identity", "gzip"}, "-"},
      {{"*;q=0"}, {"identity"}, "-"},
      {{"gzip;q=0.3, *;q=0.5"}, {"gzip", "identity"}, "identity"},
      {{"identity;q=0.2, gzip;q=0.1"}, {"gzip", "identity"}, "identity"},
      {{"gzip", "br"}, all, "br"},
      {{"gzip;q=x, br;q=0.1"}, {"gzip", "br"}, "br"},
  };
  check(rows, "accept-encoding", best_encoding);
}

TEST(Negotiation, Languages) {
  const Views en_de = {"en", "de"};
  const std::vector<Row> rows = {
      {{}, en_de, "en"},
      {{""}, en_de, "en"},
      {{"de"}, en_de, "de"},
      {{"DE"}, en_de, "de"},
      {{"fr"}, en_de, "-"},
      {{"*"}, en_de, "en"},
      {{"fr, *;q=0.1"}, en_de, "en"},
      {{"de;q=0.5, en;q=0.4"}, en_de, "de"},
      {{"en;q=0, *"}, en_de, "de"},
      {{"da, en-gb;q=0.8, en;q=0.7"}, {"en-US", "en-GB"}, "en-GB"},  // RFC 9110, 12.5.4
      {{"da, en-gb;q=0.8, en;q=0.7"}, {"de", "en"}, "en"},
      // RFC 4647, 3.3.1: a range matches longer tags, up to a hyphen.
      {{"de"}, {"de-CH"}, "de-CH"},
      {{"de"}, {"den", "de-Latn-DE-1996"}, "de-Latn-DE-1996"},
      {{"de-ch;q=0.1, de;q=0.9"}, {"de-CH", "de-AT"}, "de-AT"},
      {{"de, de-CH;q=0"}, {"de-CH"}, "-"},
      // 3.4: a tag falls back.
      {{"de-CH"}, en_de, "de"},
      {{"zh-Hant-CN-x-private1"}, {"zh-Hans", "zh-Hant"}, "zh-Hant"},
      {{"de-CH, en;q=0.7"}, en_de, "de"},
      {{"de-CH, en;q=0.7, de;q=0.5"}, en_de, "en"},
      {{"de-CH;q=0.3, de-AT;q=0.8, en;q=0.5"}, en_de, "de"},
      {{"de-CH;q=0"}, {"de"}, "-"},
      {{"de-CH;q=0, *;q=0.1"}, {"de"}, "de"},
      {{"de-CH, *;q=0"}, en_de, "de"},
      {{"deu-CH"}, {"de"}, "-"},
      // What browsers send.
      {{"en-US,en;q=0.9,de;q=0.8"}, {"de", "en"}, "en"},
      {{"de", "en;q=0.5"}, en_de, "de"},
      {{"de_CH, en;q=0.1"}, {"de", "en"}, "en"},
  };
  check(rows, "Accept-Language", best_language);
}

}  // namespace negotiation_test
}  // namespace h2server
