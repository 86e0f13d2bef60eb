// For tests of store_files(): a site of a MemoryStore, and a table of conditional requests.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/memory/arena.h"
#include "content/files/store_files.h"
#include "content/memory_store.h"
#include "content/support.h"
#include "h2server/store.h"
#include "http/fields/target.h"

namespace h2server::tests {

using Calls = std::vector<std::string>;

inline constexpr std::string_view date = "Sun, 06 Nov 1994 08:49:37 GMT";
inline constexpr std::string_view earlier = "Sun, 06 Nov 1994 08:49:36 GMT";

class StoreFilesTest : public testing::Test {
 protected:
  StoreFilesTest() : handler_(store_files(store_, {.fresh = std::chrono::milliseconds(0)})) {
    put("index.html", "<h1>root");
    put("a.txt", "0123456789");
    put("sub/index.html", "<h1>sub");
    put("bare/x.txt", "x");
    put("a b/\xc3\xbc.bin", "ue");
    put(".hidden", "h");
    put("sub/.hidden/x", "h");
    put(".well-known/x", "w");
    put("empty", "");
  }

  void put(const std::string& key, std::string bytes, std::string tag = "\"t\"") {
    store_->objects[key] = {std::move(bytes), {.etag = std::move(tag), .modified_s = 784111777}};
  }

  // What the store is asked for shows best if nothing is kept.
  void use(FilesOptions options) {
    options.fresh = std::chrono::milliseconds(0);
    handler_ = store_files(store_, options);
  }
  void use_memory(FilesOptions options = {}) {
    options.fresh = std::chrono::hours(1);
    handler_ = store_files(store_, options);
  }

  // Answers a request for `target` as if routed by "/{path...}".
  Response ask(std::string_view target, const std::vector<Field>& fields = {},
               Method method = Method::GET) {
    return ask(handler_, target, fields, method);
  }
  Response ask(const Handler& handler, std::string_view target, const std::vector<Field>& fields,
               Method method) {
    asked_ = Asked();
    arena_.clear();
    store_->calls.clear();
    const std::optional<http::Target> parsed = http::parse_target(target, arena_);
    if (!parsed) return Response(400);
    asked_.head.method = method;
    asked_.head.target = target;
    asked_.head.path = parsed->path;
    asked_.head.query = parsed->query;
    asked_.params.add("path", parsed->path.substr(1));
    for (const Field& field : fields) asked_.head.fields.add(field.name, field.value);
    return asked_.answer(handler);
  }

  const std::shared_ptr<tests::MemoryStore> store_ = std::make_shared<tests::MemoryStore>();
  Handler handler_;
  Asked asked_;
  base::Arena arena_;
};

struct Conditional {
  std::vector<Field> fields;
  int status;
  std::string body;  // for 200 and 206
  std::string content_range = "-";
};

inline const std::vector<Conditional> conditional = {
    {{{"if-none-match", "\"t\""}}, 304, ""},
    {{{"if-none-match", " \"t\""}}, 304, ""},
    {{{"if-none-match", "W/\"t\""}}, 304, ""},
    {{{"if-none-match", "*"}}, 304, ""},
    {{{"if-none-match", "\"x\", \"t\""}}, 304, ""},
    {{{"if-none-match", "\"x\""}, {"if-none-match", "\"t\""}}, 304, ""},
    {{{"if-none-match", "\"x\""}}, 200, "0123456789"},
    {{{"if-none-match", "broken"}}, 200, "0123456789"},
    {{{"if-none-match", "\"t\""}, {"if-none-match", "broken"}}, 200, "0123456789"},
    {{{"if-none-match", "\"t\""}, {"if-match", "\"x\""}}, 412, ""},
    {{{"if-none-match", "\"t\""}, {"if-match", "\"t\""}}, 304, ""},
    {{{"if-none-match", "\"t\""}, {"if-unmodified-since", earlier}}, 412, ""},
    {{{"if-none-match", "\"x\""}, {"if-modified-since", date}}, 200, "0123456789"},
    {{{"if-modified-since", date}}, 304, ""},
    {{{"if-modified-since", earlier}}, 200, "0123456789"},
    {{{"if-match", "\"t\""}}, 200, "0123456789"},
    {{{"if-match", "*"}}, 200, "0123456789"},
    {{{"if-match", "\"x\""}}, 412, ""},
    {{{"if-match", "W/\"t\""}}, 412, ""},
    {{{"if-unmodified-since", earlier}}, 412, ""},
    {{{"if-unmodified-since", date}}, 200, "0123456789"},
    {{{"range", "bytes=2-4"}}, 206, "234", "bytes 2-4/10"},
    {{{"range", " bytes=2-4 "}}, 206, "234", "bytes 2-4/10"},
    {{{"range", "bytes=0-"}}, 206, "0123456789", "bytes 0-9/10"},
    {{{"range", "bytes=-3"}}, 206, "789", "bytes 7-9/10"},
    {{{"range", "bytes=-30"}}, 206, "0123456789", "bytes 0-9/10"},
    {{{"range", "bytes=9-99"}}, 206, "9", "bytes 9-9/10"},
    {{{"range", "bytes=10-"}}, 416, "", "bytes */10"},
    {{{"range", "bytes=-0"}}, 416, "", "bytes */10"},
    {{{"range", "bytes=4-2"}}, 200, "0123456789"},
    {{{"range", "bytes=-"}}, 200, "0123456789"},
    {{{"range", "bytes=x-2"}}, 200, "0123456789"},
    {{{"range", "bytes=2-4,6-7"}}, 200, "0123456789"},
    {{{"range", "lines=1-2"}}, 200, "0123456789"},
    {{{"range", "bytes=2-4"}, {"range", "bytes=2-4"}}, 200, "0123456789"},
    {{{"range", "bytes=2-4"}, {"if-range", "\"t\""}}, 206, "234", "bytes 2-4/10"},
    {{{"range", "bytes=2-4"}, {"if-range", "\"x\""}}, 200, "0123456789"},
    {{{"range", "bytes=2-4"}, {"if-range", "W/\"t\""}}, 200, "0123456789"},
    {{{"range", "bytes=2-4"}, {"if-range", earlier}}, 200, "0123456789"},
    {{{"range", "bytes=2-4"}, {"if-range", "\"t\""}, {"if-range", "\"t\""}}, 200, "0123456789"},
    {{{"range", "bytes=20-"}, {"if-range", "\"x\""}}, 200, "0123456789"},
    {{{"range", "bytes=20-"}, {"if-match", "\"x\""}}, 412, ""},
    {{{"range", "bytes=2-4"}, {"if-match", "\"x\""}}, 412, ""},
    {{{"range", "bytes=2-4"}, {"if-match", "\"t\""}}, 206, "234", "bytes 2-4/10"},
    {{{"range", "bytes=2-4"}, {"if-none-match", "\"t\""}}, 304, ""},
    {{{"range", "bytes=2-4"}, {"if-none-match", "\"x\""}}, 206, "234", "bytes 2-4/10"},
};

inline std::string name_of(const Conditional& row) {
  std::string name;
  for (const Field& field : row.fields) name.append(field.name).append(field.value) += ' ';
  return name;
}

}  // namespace h2server::tests
