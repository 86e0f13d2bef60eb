// Properties that clients set (RFC 4918, 4.1: "dead"), in one extended attribute of the file or
// folder: so one call replaces them all or none, and a rename keeps them.
//
// Any thread; blocks on the disk. Errors are errno values. Descriptors are not O_PATH ones.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "content/xml/xml.h"
#include "h2server/result.h"

namespace h2server::content {

struct DeadPropertyLimits {
  // Of a file: with all others of the file. Some file systems take less (ext4 a block of 4 KiB).
  static constexpr std::size_t bytes_max = 32 * 1024;
};

struct DeadProperty {
  XmlName name;
  std::string element;  // with its value, as XML
};

// Returns an empty list if there are none or the file system can't hold any.
std::vector<DeadProperty> read_dead_properties(int file);
// Fails with ENOSPC if they are too long, and with ENOTSUP if the file system can't hold them.
Result<void, int> write_dead_properties(int file, const std::vector<DeadProperty>& properties);

// The attribute's value as it is; empty: none.
std::string read_raw_properties(int file);
Result<void, int> write_raw_properties(int file, std::string_view value);

}  // namespace h2server::content
