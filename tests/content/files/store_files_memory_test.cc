// Objects of a store from memory, and the keys that are not served.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "content/store_files_support.h"
#include "content/support.h"
#include "h2server/files.h"
#include "http/file_head.h"

namespace h2server::content {
namespace store_files_memory_test {

using tests::body_of;
using tests::Calls;
using tests::Conditional;
using tests::conditional;
using tests::date;
using tests::earlier;
using tests::field_of;
using tests::name_of;

class KeptStoreFiles : public tests::StoreFilesTest {};

// Names and values in any order, without the validators, which differ.
std::vector<std::string> fields_of(const Response& response) {
  std::vector<std::string> lines;
  const auto add = [&lines](std::string_view name, std::string_view value) {
    const bool validator = name == "ETag" || name == "Last-Modified";
    const bool random = value.starts_with("multipart/byteranges");
    lines.push_back(std::string(name) + ": " + std::string(validator || random ? "" : value));
  };
  if (const File* const file = response.described_by()) {
    for (const http::FileField& field : file->head().fields) add(field.name, field.value);
  }
  for (const Response::Line& line : response.fields()) add(line.name, line.value);
  std::ranges::sort(lines);
  return lines;
}

// The same requests, to an object in memory and to a file on a disk.
TEST_F(KeptStoreFiles, ObjectsFromMemoryAreAnsweredAsFiles) {
  const tests::TemporaryDirectory directory;
  directory.write_settled("a.txt", "0123456789", 784111777);
  const Handler files = Files(directory.path(), {.compress = false});
  const std::string tag =
      field_of(ask(files, "/a.txt", {{"range", "bytes=0-0"}}, Method::GET), "ETag");
  put("a.txt", "0123456789", tag);
  use_memory();
  static_cast<void>(ask("/a.txt"));
  for (const Conditional& row : conditional) {
    std::vector<std::pair<std::string, std::string>> own;
    for (const Field& field : row.fields) {
      std::string value(field.value);
      const std::size_t at = value.find("\"t\"");
      if (at != value.npos) value.replace(at, 3, tag);
      own.emplace_back(field.name, std::move(value));
    }
    std::vector<Field> fields;
    for (const auto& [name, value] : own) fields.push_back({name, value});
    for (const Method method : {Method::GET, Method::HEAD}) {
      const Response of_file = ask(files, "/a.txt", fields, method);
      const Response of_object = ask(handler_, "/a.txt", fields, method);
      EXPECT_EQ(store_->calls, Calls()) << name_of(row);
      EXPECT_EQ(of_object.status(), of_file.status()) << name_of(row);
      EXPECT_EQ(of_object.size(), of_file.size()) << name_of(row);
      EXPECT_EQ(fields_of(of_object), fields_of(of_file)) << name_of(row);
      const bool several = field_of(of_file, "Content-Type").starts_with("multipart/");
      if (!several) {
        EXPECT_EQ(body_of(of_object), body_of(of_file)) << name_of(row);
      }
    }
  }
}

TEST_F(KeptStoreFiles, AnswersAtOnce) {
  struct Row {
    std::string_view target;
    int status;
    bool at_once = true;  // the second time
  };
  put("large", std::string(2'000'000, 'x'));
  const std::vector<Row> rows = {
      {"/", 200},        {"/a.txt", 200},          {"/sub/", 200},         {"/sub", 301},
      {"/bare", 301},    {"/bare/", 404},          {"/gone", 404},         {"/gone/", 404},
      {"/.hidden", 404}, {"/a.txt?download", 200}, {"/large", 200, false}, {"/empty", 200},
  };
  use_memory();
  for (const Row& row : rows) {
    for (const bool again : {false, true}) {
      const Response response = ask(row.target);
      EXPECT_EQ(response.status(), row.status) << row.target;
      if (again) {
        EXPECT_EQ(store_->calls.empty(), row.at_once) << row.target;
      }
    }
    Request request(asked_.head, asked_.params, nullptr);
    EXPECT_EQ((*handler_.attempt())(request).has_value(), row.at_once) << row.target;
  }
  EXPECT_EQ(field_of(ask("/a.txt?download"), "Content-Disposition"),
            "attachment; filename=\"a.txt\"");
  EXPECT_EQ(field_of(ask("/sub"), "Location"), "/sub/");
}

TEST_F(KeptStoreFiles, PagesFromMemory) {
  use_memory({.listing = true, .fallback = "index.html"});
  const Field html{"accept", "text/html"};
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(body_of(ask("/gone", {html})), "<h1>root");
    EXPECT_EQ(ask("/gone", {}).status(), 404);
    EXPECT_EQ(ask("/bare/", {html}).status(), 200);
  }
  EXPECT_EQ(store_->calls, Calls());
}

TEST_F(KeptStoreFiles, FieldsFromMemory) {
  store_->objects["a.txt"].info.fields = {{"Content-Encoding", "gzip"},
                                          {"Content-Disposition", "inline"},
                                          {"Cache-Control", "max-age=60"}};
  use_memory();
  const Response streamed = ask("/a.txt", {{"range", "bytes=0-"}});
  EXPECT_EQ(store_->calls, Calls{"get a.txt bytes=0-"}) << "parts of what is not kept";
  for (int i = 0; i < 2; ++i) {
    const std::vector<std::string> lines = {"Accept-Ranges: bytes",
                                            "Cache-Control: max-age=60",
                                            "Content-Disposition: inline",
                                            "Content-Encoding: gzip",
                                            "Content-Type: text/plain; charset=utf-8",
                                            "ETag: ",
                                            "Last-Modified: "};
    EXPECT_EQ(fields_of(ask("/a.txt")), lines);
    EXPECT_EQ(ask("/a.txt").find("ETag"), "\"t\"");
    EXPECT_EQ(ask("/a.txt").find("Last-Modified"), date);
  }
  EXPECT_EQ(store_->calls, Calls());
  const Response unchanged = ask("/a.txt", {{"if-none-match", "\"t\""}});
  EXPECT_EQ(unchanged.status(), 304);
  EXPECT_EQ(fields_of(unchanged),
            (std::vector<std::string>{"Cache-Control: max-age=60", "ETag: ", "Last-Modified: "}));
  EXPECT_EQ(ask("/a.txt?download").find("Content-Disposition"), "attachment; filename=\"a.txt\"");
  EXPECT_EQ(fields_of(ask("/a.txt?download")).size(), 7U) << "in place of the object's own";
}

TEST_F(KeptStoreFiles, ObjectsWithoutValidatorsFromMemory) {
  store_->objects["a.txt"].info = {};
  use_memory();
  EXPECT_FALSE(ask("/a.txt").find("ETag").has_value());
  EXPECT_FALSE(ask("/a.txt").find("Last-Modified").has_value());
  EXPECT_EQ(ask("/a.txt", {{"if-modified-since", date}}).status(), 200);
  EXPECT_EQ(ask("/a.txt", {{"if-unmodified-since", earlier}}).status(), 200);
  EXPECT_EQ(ask("/a.txt", {{"if-none-match", "*"}}).status(), 304);
  EXPECT_EQ(store_->calls, Calls());
}

// The client gets an error instead of a part.
TEST_F(KeptStoreFiles, BodiesThatBreakBeforeTheyAreKept) {
  store_->body_failure = Error{ECONNRESET, "test"};
  use_memory();
  EXPECT_EQ(ask("/a.txt").status(), 502);
  store_->body_failure.reset();
  EXPECT_EQ(body_of(ask("/a.txt")), "0123456789");
}

// --- the server's own keys --------------------------------------------------------------------

TEST_F(KeptStoreFiles, OwnKeysAreNobodysBusiness) {
  for (const std::string key : {".h2server/uploads/x", ".h2server/index.html", "a/.h2server/x",
                                ".h2server-not", ".h2server"}) {
    put(key, "x");
  }
  const auto status = [&](std::string_view target) { return ask(target).status(); };
  use({.listing = true, .hidden = true});
  for (int i = 0; i < 2; ++i) {
    for (const std::string_view target :
         {"/.h2server", "/.h2server/", "/.h2server/uploads/x", "/.h2server/uploads/",
          "/.h2server/uploads", "/%2eh2server/uploads/x", "/./.h2server/uploads/x",
          "/a/.h2server/x", "/a/.h2server"}) {
      EXPECT_EQ(status(target), 404) << target;
      EXPECT_EQ(store_->calls, Calls()) << target;
    }
    EXPECT_EQ(status("/.h2server-not"), 200);
    use_memory({.listing = true, .hidden = true});
  }
  store_->objects.erase("index.html");
  const std::string list = body_of(ask("/", {{"accept", "application/json"}}));
  EXPECT_EQ(list.find("\".h2server\""), list.npos) << list;
  EXPECT_NE(list.find("\".h2server-not\""), list.npos) << list;
  EXPECT_EQ(body_of(ask("/a/", {{"accept", "application/json"}})).find("\".h2server\""),
            std::string::npos);
}

}  // namespace store_files_memory_test
}  // namespace h2server::content
