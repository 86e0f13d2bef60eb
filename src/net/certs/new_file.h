// Files of keys and certificates, written so that no reader sees a part of one.
//
// A file is written under an unfinished name in its folder and gets its own name when it is on the
// disk. Callers hold the lock of the folder (net/certs/folder_lock.h), because every writer of a
// file uses the same unfinished name. The functions return 0 or an errno value.
#pragma once

#include <fcntl.h>

#include <string>
#include <string_view>

namespace h2server::net {

// Returns the name under which a file is written before it gets its own.
std::string unfinished(const std::string& file);

// Returns the folder of a file, "." for a name without one.
std::string folder_of(const std::string& file);

// Writes a file under its unfinished name, makes its folder, and replaces what a killed run left.
int write_unfinished(const std::string& file, std::string_view content, mode_t mode);

// Gives a file its name. Fails with EEXIST if a file of that name exists.
int publish(const std::string& file);

// Gives a file its name. Replaces a file of that name in one step.
int publish_over(const std::string& file);

// Makes a folder which only this user can enter, and those above it that are missing, with mode
// 0700. Takes the permissions of others away if the folder exists. Fails with EPERM if it belongs
// to another user, who could replace the keys in it.
int make_private_folder(const std::string& folder);

}  // namespace h2server::net
