// What upstreams send and how it is measured, for tests of the flow of bytes.
#ifndef HOTEL_TESTS_NET_TRAFFIC_H_
#define HOTEL_TESTS_NET_TRAFFIC_H_

#include <atomic>
#include <cstddef>
#include <string>

#include "tests/net/scripted_server.h"

namespace hotel::net_test {

/// "0,1,2,..." of at least `size` bytes: a lost, doubled or swapped piece shows.
std::string Numbered(std::size_t size);

/// A stream of one piece, then silence until the client leaves.
void OneThenSilence(Peer& peer);

/// Answers with `body` as fast as it is taken; `*sent` = how much of it was. Both must outlive it.
ScriptedServer::Script SendCounted(const std::string& body, std::atomic<std::size_t>* sent);

/// Answers with `body` in chunks of 1,000 bytes, all at once. It must outlive the script.
ScriptedServer::Script InChunks(const std::string& body);

/// Waits until `sent` has not changed for 200 ms: the sockets between are full. Returns it.
std::size_t WaitStandsStill(const std::atomic<std::size_t>& sent);

}  // namespace hotel::net_test

#endif  // HOTEL_TESTS_NET_TRAFFIC_H_
