// TarFraming: a tar archive in the pax interchange format (POSIX.1-2017, pax, "pax Interchange
// Format").
//
// An extended header stands only in front of entries that ustar can't describe: a path that does
// not fit or is not ASCII, content of 8 GiB or more, a time before 1970 or after 2242. Entries have
// the mode 0644 or 0755, the user 0 and no names of owners. Memory is constant.
#pragma once

#include "content/archive/archive_framing.h"

namespace h2server::content {

class TarFraming final : public ArchiveFraming {
 public:
  // Never fails. A path that is not UTF-8 keeps its bytes (hdrcharset=BINARY).
  Result<void> begin(const ArchiveEntry& entry, std::string& out) override;
  void cover(std::string_view /*content*/) override {}
  void end(std::string& out) override;
  // Two blocks of zeros, at once.
  bool finish(std::string& out) override;

 private:
  std::uint64_t size_ = 0;  // of the current entry
};

}  // namespace h2server::content
