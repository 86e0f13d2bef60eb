// For tests of resumable uploads: a temporary upload directory, its store, and its routes, which
// answer requests that are made by hand.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "content/support.h"
#include "content/uploads/resumable/local_uploads.h"
#include "content/uploads/resumable/resumable_routes.h"
#include "http/router.h"

namespace h2server::tests {

// Where routes are added without a server.
class RouterSink final : public RouteSink {
 public:
  void add_route(const std::string&, Method method, std::string_view pattern,
                 const Handler& handler, const MiddlewareChainRef&) override {
    const Result<void, std::string> added = router.add(method, pattern, handler);
    EXPECT_TRUE(added) << added.error();
  }
  http::Router router;
};

using FieldList = std::vector<std::pair<std::string, std::string>>;

struct Asking {
  FieldList fields = {};
  std::vector<std::string> body = {};           // pieces
  std::optional<Error> failure = std::nullopt;  // after them, in place of the end
  bool sized = true;                            // has Content-Length
};

class ResumableTest : public testing::Test {
 protected:
  ResumableTest() { restart(); }

  // As a new server would, which knows only the directory.
  void restart(UploadOptions options = {}, content::PendingLimits limits = {}) {
    service_.reset();
    store_.reset();
    directory_of_server_ = *content::UploadDirectory::open(directory_.fd());
    store_ = std::make_shared<content::PendingUploads>(directory_of_server_, options, limits);
    serve(content::local_uploads(store_));
  }

  void serve(std::shared_ptr<content::ResumableUploads> uploads) {
    sink_ = std::make_unique<RouterSink>();
    Routes routes(*sink_, "", nullptr);
    content::ResumableOptions with;
    with.stored = [this](const Request&, const StoredFile& file) { stored_.push_back(file.name); };
    service_ = content::add_resumable_routes(routes, std::move(uploads), std::move(with));
  }

  Response ask(Method method, const std::string& target, const Asking& asking = {}) {
    const std::size_t question = std::min(target.find('?'), target.size());
    const std::string path = target.substr(0, question);
    const std::string query = target.substr(std::min(question + 1, target.size()));
    Asked asked;
    asked.head.method = method;
    asked.head.path = path;
    asked.head.query = query;
    asked.head.authority = "here";
    for (const auto& [name, value] : asking.fields) asked.head.fields.add(name, value);
    FakeBody body(asking.body, asking.failure);
    if (asking.sized) {
      std::uint64_t size = 0;
      for (const std::string& piece : asking.body) size += piece.size();
      asked.head.content_length = size;
    }
    const http::Router::Match match = sink_->router.find(method, path, asked.params);
    if (match.handler == nullptr) return Response(405);
    return asked.answer(*match.handler, &body);
  }

  // The files that are not temporary, and their content.
  [[nodiscard]] std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> found;
    for (const std::string& name : directory_.names()) {
      if (!name.starts_with("h2_tmp_")) found[name] = directory_.read(name).value_or("(folder)");
    }
    return found;
  }
  // Temporary files with the bytes of uploads.
  [[nodiscard]] std::size_t pending() const {
    std::size_t count = 0;
    for (const std::string& name : directory_.names()) {
      if (name.starts_with("h2_tmp_") && !name.ends_with(".info")) ++count;
    }
    return count;
  }
  [[nodiscard]] std::string bytes_of(const std::string& url) const {
    return directory_.read("h2_tmp_upload_" + url.substr(url.rfind('/') + 1)).value_or("-");
  }

  TemporaryDirectory directory_;
  std::shared_ptr<content::UploadDirectory> directory_of_server_;
  std::shared_ptr<content::PendingUploads> store_;
  std::unique_ptr<RouterSink> sink_;
  content::ResumableServiceRef service_;
  std::vector<std::string> stored_;  // as the hook was told
};

}  // namespace h2server::tests
