// Properties of files and folders (RFC 4918, 15): those of the server ("live") and those that
// clients set ("dead"), as elements of a multistatus response.
//
// Immutable; any thread. What takes a descriptor may block on the disk.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "content/uploads/area/lock_table.h"
#include "content/webdav/webdav_files.h"
#include "content/webdav/webdav_requests.h"
#include "http/fields/media_type.h"

namespace h2server::content {

// Returns true if the server itself has that property, so that clients can't set it.
[[nodiscard]] bool is_live_property(const XmlName& name) noexcept;
// Returns true if the answer needs properties that clients set.
[[nodiscard]] bool needs_dead_properties(const Propfind& asked) noexcept;

// Appends an element D:lockdiscovery.
void append_lockdiscovery(std::string& out, std::string_view base, const std::vector<Lock>& locks,
                          std::int64_t now_ms);

struct PropertyContext {
  std::string base;  // of all URLs
  http::MediaTypesRef types;
  const LockTable& locks;
  int root;  // the upload directory, for its free space
};

struct DescribedFile {
  std::string path;
  FileState state;
  int file =
      -1;  // open for reading, if properties that clients set are needed; -1: they are left out
};

// Appends an element D:response with what is asked for.
void append_properties(std::string& out, const PropertyContext& context, const DescribedFile& file,
                       const Propfind& asked);

// Makes the changes in their order, all or none (9.2). Appends an element D:response. `file.file`
// is open for reading; -1: nothing can be set.
void change_properties(std::string& out, const PropertyContext& context, const DescribedFile& file,
                       const std::vector<PropertyUpdate>& updates);

}  // namespace h2server::content
