#include "content/uploads/receive/upload_backend.h"

#include <utility>

#include "content/uploads/receive/directory_receiver.h"

namespace h2server::content {

namespace {

class DirectoryBackend final : public UploadBackend {
 public:
  explicit DirectoryBackend(std::shared_ptr<UploadDirectory> directory)
      : directory_(std::move(directory)) {}

  Task<Stored> receive(Request& request, UploadIntent intent) override {
    UploadPlace place{.directory = directory_, .path = {}};
    return receive_into(request, std::move(place), std::move(intent));
  }

 private:
  const std::shared_ptr<UploadDirectory> directory_;
};

}  // namespace

UploadBackendRef directory_backend(std::shared_ptr<UploadDirectory> directory) {
  return std::make_shared<DirectoryBackend>(std::move(directory));
}

Task<Stored> receive_into(Request& request, UploadPlace place, UploadIntent intent) {
  DirectoryReceiver receiver(std::move(intent), std::move(place));
  Stored stored = co_await receive_body(request, receiver);
  co_return stored;
}

}  // namespace h2server::content
