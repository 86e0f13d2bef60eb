#include "content/uploads/upload_page.h"

#include <cstddef>
#include <utility>

#include "content/names/markup.h"
#include "content/uploads/access/upload_access.h"

namespace h2server::content {

namespace {

void append_path(std::string& out, std::string_view path) {
  for (;;) {
    const std::size_t slash = path.find('/');
    append_segment(out, path.substr(0, slash));
    if (slash == path.npos) return;
    out += '/';
    path.remove_prefix(slash + 1);
  }
}

}  // namespace

ListingPage upload_page(const Request& request, const UploadPages& pages, std::string path) {
  ListingPage page{.root_name = "Uploads", .link_prefix = pages.base + "/", .types = pages.types};
  append_path(page.link_prefix, path);
  const bool uploads = pages.uploads && may(request, Right::upload);
  const bool lists = pages.list && may(request, Right::list);
  const bool manages = may(request, Right::manage);
  page.uploads = {.action = uploads ? pages.base : std::string(),
                  .files = pages.base + "/",
                  .folder = path,
                  .resumable_at = uploads ? pages.resumable_at : std::string(),
                  .folders = uploads && pages.folders,
                  .manage = pages.manage && manages,
                  .overwrite = pages.options.overwrite && manages,
                  .events = pages.events && lists,
                  .list = lists};
  page.path = std::move(path);
  return page;
}

Response redirect_to_folder(const Request& request, std::string_view base, std::string_view path) {
  std::string location(base);
  location += '/';
  append_path(location, path);
  location += '/';
  if (!request.query().empty()) location.append("?").append(request.query());
  return Response::redirect(location, 301);
}

// A document in the sandbox may not even fetch the rest of the video that it shows. Images, audio
// and video hold no scripts, unless they are XML, as SVG is: browsers show any type that ends in
// "+xml" as a document. nosniff keeps them from taking the others for a page.
bool may_have_scripts(std::string_view type) {
  type = type.substr(0, type.find(';'));
  if (type.contains("svg") || type.contains("xml")) return true;
  return !type.starts_with("image/") && !type.starts_with("audio/") && !type.starts_with("video/");
}

void make_harmless(Response& response, bool sandboxed) {
  response.replace("X-Content-Type-Options", "nosniff");  // errors have it already
  if (sandboxed) response.add("Content-Security-Policy", "sandbox");
}

}  // namespace h2server::content
