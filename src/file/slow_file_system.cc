#include "file/slow_file_system.h"

#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace h2server::file {

namespace {

// Those on a disk of this machine or in its memory, which keep the attributes of open files in
// memory. The numbers never change; linux/magic.h has only some of them.
constexpr std::array<std::uint32_t, 31> local_types = {
    0x00009660,  // isofs
    0x01021994,  // tmpfs, memfd, devtmpfs
    0x858458f6,  // ramfs
    0x958458f6,  // hugetlbfs
    0x0000ef53,  // ext2, ext3, ext4
    0x58465342,  // xfs
    0x9123683e,  // btrfs
    0xca451a4e,  // bcachefs
    0x2fc12fc1,  // zfs
    0xf2f52010,  // f2fs
    0x00003434,  // nilfs2
    0x3153464a,  // jfs
    0x52654973,  // reiserfs
    0x5a4f4653,  // zonefs
    0x00004d44,  // vfat
    0x2011bab0,  // exfat
    0x7366746e,  // ntfs3
    0x00004244,  // hfs
    0x0000482b,  // hfsplus
    0x15013346,  // udf
    0x00011954,  // ufs
    0x73717368,  // squashfs
    0xe0f5e1e2,  // erofs
    0x28cd3d45,  // cramfs
    0x00007275,  // romfs
    0x24051905,  // ubifs
    0x000072b6,  // jffs2
    // Of layers, which are on local disks nearly always, as containers are.
    0x794c7630,  // overlayfs
    0x61756673,  // aufs
    // Made up by the kernel.
    0x00009fa0,  // proc
    0x62656572,  // sysfs
};

}  // namespace

// A type that is not known counts as slow. That costs a local one a thread's turn for a file that
// is not in memory; the other error would let one file system hold up all sites of a worker.
bool type_may_wait(std::uint32_t type) noexcept {
  return std::ranges::find(local_types, type) == local_types.end();
}

bool may_wait(int descriptor) noexcept {
  struct statfs found{};
  int result = -1;
  do result = ::fstatfs(descriptor, &found);
  while (result != 0 && errno == EINTR);
  return result != 0 || type_may_wait(static_cast<std::uint32_t>(found.f_type));
}

}  // namespace h2server::file
