#include "content/uploads/store_upload_routes.h"

#include <memory>
#include <utility>

#include "content/files/file_requests.h"
#include "content/files/store_files.h"
#include "content/files/store_listings.h"
#include "content/store/store_refusals.h"
#include "content/uploads/access/upload_access.h"
#include "http/message.h"

namespace h2server::content {

namespace {

using Kind = StoreError::Kind;

class StorePages {
 public:
  StorePages(StoreUploadsRef uploads, UploadPages pages, DiskPlace disk)
      : uploads_(std::move(uploads)),
        pages_(std::move(pages)),
        // Aliases share the ownership of `uploads_`.
        store_(uploads_, &uploads_->store()),
        listings_(store_, false),
        files_(store_files(store_, FilesOptions{.index = {}}, pages_.types, std::move(disk))) {}

  Task<Response> serve(Request& request) {
    std::string path(request.param("path"));
    if (has_hidden_segment(path)) co_return request.reply_404();
    if (names_directory(path)) {
      Response page = co_await list(request, std::move(path));
      co_return page;
    }
    if (!pages_.list) co_return request.reply_404();
    if (!may(request, Right::read)) co_return http::error_response(403);
    Response response = co_await (*files_.coroutine())(request);
    make_harmless(response, may_have_scripts(type_of(response)));
    co_return response;
  }

 private:
  static std::string_view type_of(const Response& response) {
    for (const Response::Line& line : response.fields()) {
      if (line.name == "Content-Type") return line.value;
    }
    return {};
  }

  Task<Response> list(Request& request, std::string path) {
    FolderEntriesRef entries = std::make_shared<const FolderEntries>();
    if (pages_.list && may(request, Right::list)) {
      StoreResult<FolderEntriesRef> found = co_await listings_.find(path);
      const bool missing = !found && found.error().kind == Kind::absent;
      if (missing && !path.empty()) co_return http::error_response(404);
      if (!found && !missing) co_return refuse_store_error(found.error(), "a request for a list");
      if (found) entries = *std::move(found);
    }
    // Without folders in names, all is stored in the top folder.
    const bool takes = path.empty() || pages_.options.folders;
    ListingPage page = upload_page(request, pages_, std::move(path));
    if (!takes) page.uploads.action.clear();
    co_return listing_response(request, std::move(entries), std::move(page));
  }

  const StoreUploadsRef uploads_;
  const UploadPages pages_;
  const std::shared_ptr<Store> store_;
  StoreListings listings_;
  const Handler files_;
};

}  // namespace

// The handler owns the pages, and outlives what it answers.
Handler store_upload_pages(StoreUploadsRef uploads, UploadPages pages, DiskPlace disk) {
  auto shared = std::make_shared<StorePages>(std::move(uploads), std::move(pages), std::move(disk));
  return Handler([shared = std::move(shared)](Request& request) { return shared->serve(request); });
}

}  // namespace h2server::content
