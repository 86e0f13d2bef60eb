#include "h2server/files.h"

#include <system_error>
#include <utility>

#include "content/files/static_files.h"
#include "file/folder.h"

namespace h2server {

Files::Files(const std::string& directory, const FilesOptions& options)
    : options_(options), types_(content::media_types(options)) {
  options_.types.clear();  // they are in types_
  auto folder = file::Folder::open(directory, content::folder_options(options, types_));
  if (!folder) {
    throw std::system_error(folder.error(), std::generic_category(), "can't open " + directory);
  }
  folder_ = *std::move(folder);
}

Files::Files(std::shared_ptr<const file::Folder> folder, FilesOptions options,
             std::shared_ptr<const http::MediaTypes> types) noexcept
    : folder_(std::move(folder)), options_(std::move(options)), types_(std::move(types)) {}

Files::operator Handler() const { return content::static_files(folder_, options_, types_); }

}  // namespace h2server
