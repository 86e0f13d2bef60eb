#include "content/uploads/area/upload_event.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "h2server/forwarded.h"

namespace h2server::content {

namespace {

struct Reporter {
  std::string directory;  // absolute, ends with a slash
  UploadSink sink;
};
using ReporterRef = std::shared_ptr<const Reporter>;

// The directory exists. A name that can't be found out stays as it is.
std::string absolute(const std::string& directory) {
  std::error_code failure;
  const std::filesystem::path full = std::filesystem::canonical(directory, failure);
  return (failure ? directory : full.string()) + '/';
}

std::string client_of(const Request& request) {
  const ForwardedClient* const forwarded = request.attached<ForwardedClient>();
  return forwarded != nullptr ? forwarded->address : request.connection().client().host;
}

}  // namespace

Middleware report_uploads(const std::string& directory, UploadSink sink) {
  return [reporter = std::make_shared<const Reporter>(Reporter{
              absolute(directory), std::move(sink)})](Request& request) -> std::optional<Response> {
    if (reporter->sink) request.attach(reporter);
    return std::nullopt;
  };
}

void report_stored(const Request& request, const StoredFile& file) {
  const ReporterRef* const reporter = request.attached<ReporterRef>();
  if (reporter == nullptr) return;
  (*reporter)->sink({.path = (*reporter)->directory + file.name,
                     .name = file.name,
                     .size = file.size,
                     .sha256 = file.sha256,
                     .client = client_of(request)});
}

}  // namespace h2server::content
