// Memory for OpenSSL's record buffers.
//
// OpenSSL takes one of more than 16 KiB for each record that it reads or writes and gives it back,
// so that an idle connection has none. glibc keeps none of that size at hand for a thread: here a
// few are (of a small request's CPU time, 4 %). All else goes to malloc as before.
#pragma once

namespace h2server::net {

// For a program, at its start, before OpenSSL has allocated anything: a library must not take
// OpenSSL's memory from whoever else uses it.
void keep_tls_record_buffers();

}  // namespace h2server::net
