// Archives of folders, as bodies of responses: made while they are sent, in constant memory.
#pragma once

#include <memory>
#include <string>

#include "content/archive/archive_framing.h"
#include "file/folder.h"
#include "h2server/body.h"

namespace h2server::content {

struct ArchiveOptions {
  bool hidden = false;  // also names that begin with "."
};

// Returns the archive of the folder `path`, relative to `folder`; "" is the folder itself. `name`
// is what the top folder is called in the archive. The body has no size that is known before its
// end. It reads files on the engine's file threads and holds one descriptor at most between reads.
// What is archived, and what is left out, is described in content/archive/archive_walk.h.
//
// The first read() fails if there is no such folder, so the caller should look before it sends 200.
// A later one fails if a file can't be read as far as its size was at its beginning, if the system
// lacks descriptors or memory, or beyond a limit: an archive with wrong bytes must not look whole.
std::unique_ptr<BodySource> make_archive(std::shared_ptr<const file::Folder> folder,
                                         std::string path, std::string name, ArchiveFormat format,
                                         ArchiveOptions options = {});

}  // namespace h2server::content
