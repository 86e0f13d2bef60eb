// Texts of options that have a grammar of their own: rules by path, hosts, networks, addresses.
//
// The error of a reader follows the value in a message, as in config/values.h.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "config/configuration.h"
#include "config/values.h"

namespace h2server::config {

// "gcode=text/plain": the extension in lower case, and the type.
Read<std::pair<std::string, std::string>> read_media_type(const std::string& text);

// "/**.css Cache-Control: max-age=3600".
Read<HeaderRule> read_header_rule(const std::string& text);
// "/assets/** 1h", "/live/** no-store", "/** no-cache".
Read<HeaderRule> read_cache_rule(const std::string& text);

// "/private=users.htpasswd".
Read<ProtectedPath> read_protected_path(const std::string& text);

// "/old/** /new/$1 301", of a redirect; 302 without a status.
Read<PathRule> read_redirect(const std::string& text);
// "/app/** /index.html".
Read<PathRule> read_rewrite(const std::string& text);

// Returns the name in lower case and without a dot at its end. "*.example.com" is one, too. An IPv6
// address gets brackets, as it has in Host.
Read<std::string> read_host(std::string_view text);

// "index.html", of one file.
Read<void> read_file_name(std::string_view text);

// "10.0.0.0/8", "2001:db8::1".
Read<void> read_network(const std::string& text);

// "127.0.0.1:9000", "[::1]:9000", "localhost:9000" or "unix:PATH".
Read<void> read_admin_address(std::string_view text);
// Returns true if only this machine reaches such an address.
bool is_local(std::string_view admin_address);

// "0660": the permissions of a socket.
Read<unsigned> read_mode(std::string_view text);

}  // namespace h2server::config
