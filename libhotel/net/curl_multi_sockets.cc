// Which sockets the loop watches for libcurl, and what it does about idle ones.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libhotel/net/curl_multi.h"

namespace hotel::net {
namespace {

// Makes libcurl see that an idle connection is dead: it calls one dead only when a read says "end",
// not when there is something to read or an error. Once both directions are shut, what still comes
// in is refused by the kernel, so this ends.
void Retire(int fd) {
  ::shutdown(fd, SHUT_RDWR);
  char dropped[4096];
  while (::recv(fd, dropped, sizeof(dropped), MSG_DONTWAIT) > 0) {
  }
  int error = 0;
  socklen_t size = sizeof(error);
  ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);  // takes a pending error away
}

}  // namespace

// libcurl 7.88 takes a kept connection that the provider has closed for a living one, and the next
// request is lost in it (F131); or, when bytes came first (a "408" some balancers send), they would
// pass for its answer. So the loop looks after idle sockets itself.
void CurlMulti::WatchIdle(const Transfer& transfer) {
  // Without a connection of its own a kept handle may still name that of the request before.
  if (!transfer.request_began()) return;
  // HTTP/2 has things to say between two requests; libcurl looks after it itself.
  if (transfer.http2()) return;
  // The connection may have been handed on while libcurl ran; then it is not idle.
  if (!shared_->taken.empty()) return;
  curl_socket_t fd = CURL_SOCKET_BAD;
  ::curl_easy_getinfo(transfer.easy(), CURLINFO_ACTIVESOCKET, &fd);
  if (fd == CURL_SOCKET_BAD) return;
  const auto known = watched_.find(fd);
  if (known != watched_.end() && known->second == Use::kWanted) return;
  // Closing ends this watch (OnCloseSocket). A refused one costs only the care.
  (void)Watch(fd, EPOLLIN, Use::kIdle);
}

// From here on the socket has this use; a watch it has already is kept, which on a connection that
// serves one request after the other spares the system calls.
bool CurlMulti::Watch(curl_socket_t fd, EventLoop::Events events, Use use) {
  const auto [it, added] = watched_.insert_or_assign(fd, use);
  if (!added) {
    loop_->Modify(fd, events);
    return true;
  }
  const bool ok = loop_->Watch(fd, events, [weak = weak_from_this(), fd](EventLoop::Events ready) {
    if (const std::shared_ptr<CurlMulti> multi = weak.lock()) multi->SocketReady(fd, ready);
  });
  if (!ok) watched_.erase(it);
  return ok;
}

void CurlMulti::Unwatch(curl_socket_t fd) {
  if (watched_.erase(fd) != 0) loop_->Unwatch(fd);
}

void CurlMulti::SocketReady(curl_socket_t fd, EventLoop::Events ready) {
  const auto known = watched_.find(fd);
  if (known == watched_.end()) return;
  if (known->second == Use::kIdle) {
    // The event may be left from the time before: what it told of has been read since.
    if (NothingToRead(fd)) return;
    Unwatch(fd);
    return Retire(fd);
  }
  int mask = 0;
  if ((ready & EPOLLIN) != 0) mask |= CURL_CSELECT_IN;
  if ((ready & EPOLLOUT) != 0) mask |= CURL_CSELECT_OUT;
  if ((ready & (EPOLLERR | EPOLLHUP)) != 0) mask |= CURL_CSELECT_ERR;
  Act(fd, mask);
}

// A connection that carries a request again is idle no more, also when libcurl says nothing of its
// socket: an answer that came at once and was paused in the same run leaves nothing to wait for.
void CurlMulti::NoteTaken() {
  for (const int fd : shared_->taken) {
    const auto known = watched_.find(fd);
    if (known == watched_.end() || known->second != Use::kIdle) continue;
    known->second = Use::kLoose;
    loose_.push_back(fd);
  }
}

void CurlMulti::DropLoose() {
  for (const curl_socket_t fd : loose_) {
    const auto known = watched_.find(fd);
    if (known != watched_.end() && known->second == Use::kLoose) Unwatch(fd);
  }
  loose_.clear();
}

int CurlMulti::OnCloseSocket(void* self, curl_socket_t fd) {
  auto* const multi = static_cast<CurlMulti*>(self);
  multi->Unwatch(fd);
  multi->shared_->sockets.Closed(fd);
  return ::close(fd);
}

int CurlMulti::OnSocket(CURL* easy, curl_socket_t fd, int what, void* self, void*) {
  return static_cast<CurlMulti*>(self)->SocketChanged(easy, fd, what);
}

int CurlMulti::SocketChanged(CURL* easy, curl_socket_t fd, int what) {
  EventLoop::Events events = 0;
  if (what == CURL_POLL_IN || what == CURL_POLL_INOUT) events |= EPOLLIN;
  if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT) events |= EPOLLOUT;
  if (events == 0) {
    // Nothing is wanted: a pause, or the end of a request, and then the connection may be wanted
    // again in this very run. Only a connection, because those are never closed without a word
    // (OnCloseSocket); the resolver's sockets are, and their numbers come back at once.
    const auto known = watched_.find(fd);
    if (known == watched_.end()) return 0;
    if (!in_curl_ || !shared_->sockets.Knows(fd)) {
      Unwatch(fd);
    } else {
      known->second = Use::kLoose;
      loose_.push_back(fd);
    }
    return 0;
  }
  if (Watch(fd, events, Use::kWanted)) return 0;
  // Reporting an error from here would end every exchange of the multi handle; end this one.
  char* context = nullptr;
  ::curl_easy_getinfo(easy, CURLINFO_PRIVATE, &context);
  const auto found = running_.find(reinterpret_cast<Transfer*>(context));
  if (found != running_.end()) {
    found->second->Fail(TransportError::kOther, "the system refuses to watch the socket");
    to_fail_.push_back(found->second);
  }
  return 0;
}

}  // namespace hotel::net
