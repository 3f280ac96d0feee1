// What is kept from request to request: handles, checked URLs. Nothing else may be.
#include <memory>
#include <string>
#include <vector>

#include "hotel/defaults.h"
#include "hotel/dispatcher.h"

#include "libhotel/net/checked_urls.h"
#include "libhotel/net/curl_handles.h"
#include "libhotel/net/curl_options.h"
#include "tests/net/client.h"
#include "tests/net/scripted_server.h"
#include "tests/support/catch.h"

namespace hotel::net_test {
namespace {

using Outcome = ExchangeResult::Outcome;

std::vector<std::string> Lines(net::HeaderLines& lines) {
  std::vector<std::string> texts;
  for (const curl_slist* node = lines.list(); node != nullptr; node = node->next) {
    texts.emplace_back(node->data);
  }
  return texts;
}

net::CurlHandles Handles() { return net::CurlHandles(net::EasyCallbacks{}, ""); }

}  // namespace

TEST_CASE("nothing of a request is in the next one on the same handle") {
  ScriptedServer server([](Peer& peer) {
    while (peer.ReadRequest()) {
      const bool head_only = peer.head().rfind("HEAD ", 0) == 0;
      peer.Send(head_only ? "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" : Reply(200, "ok"));
    }
  });
  const std::string host = "Host: 127.0.0.1:" + std::to_string(server.port()) + "\r\n";
  Client client;
  std::string expected;
  const auto run = [&](const char* method, HeaderList headers, const std::string& body,
                       const std::string& wire) {
    UpstreamRequest request = Client::Post(server.Url("/x"), body);
    request.method = method;
    request.headers = std::move(headers);
    const Call& call = client.Run(std::move(request));
    CHECK(call.recorder.result().outcome == Outcome::kComplete);
    CHECK(call.recorder.body() == (std::string(method) == "HEAD" ? "" : "ok"));
    expected += wire;
    CHECK(server.received(0) == expected);
  };
  // Each method behind each other one.
  for (int round = 0; round < 2; ++round) {
    run("POST", {{"authorization", "Bearer secret"}}, "{\"a\":1}",
        "POST /x HTTP/1.1\r\n" + host +
            "authorization: Bearer secret\r\nContent-Length: 7\r\n\r\n{\"a\":1}");
    run("GET", {}, "", "GET /x HTTP/1.1\r\n" + host + "\r\n");
    run("PUT", {{"x-b", "1"}}, "yy",
        "PUT /x HTTP/1.1\r\n" + host + "x-b: 1\r\nContent-Length: 2\r\n\r\nyy");
    run("HEAD", {}, "", "HEAD /x HTTP/1.1\r\n" + host + "\r\n");
    run("POST", {}, "", "POST /x HTTP/1.1\r\n" + host + "Content-Length: 0\r\n\r\n");
    run("DELETE", {}, "", "DELETE /x HTTP/1.1\r\n" + host + "\r\n");
    run("HEAD", {}, "", "HEAD /x HTTP/1.1\r\n" + host + "\r\n");
    run("GET", {}, "", "GET /x HTTP/1.1\r\n" + host + "\r\n");
  }
  CHECK(server.connections() == 1);
}

TEST_CASE("a failure on a handle that has served is judged on its own") {
  int closed_port = 0;
  {
    ScriptedServer closed([](Peer&) {});
    closed_port = closed.port();
  }
  ScriptedServer server([](Peer& peer) {
    while (peer.ReadRequest()) peer.Send(Reply(200, "ok"));
  });
  Client client;
  for (int round = 0; round < 3; ++round) {
    CHECK(client.Run(Client::Post(server.Url())).recorder.result().outcome == Outcome::kComplete);
    const ExchangeResult refused =
        client.Run(Client::Post("http://127.0.0.1:" + std::to_string(closed_port) + "/"))
            .recorder.result();
    CHECK(refused.outcome == Outcome::kFailed);
    CHECK(refused.error == TransportError::kConnect);
    CHECK(refused.phase == TransportPhase::kNotSent);
    CHECK_FALSE(refused.reused_connection);
    const ExchangeResult unknown =
        client.Run(Client::Post("http://nowhere.invalid/")).recorder.result();
    CHECK(unknown.error == TransportError::kResolve);
    CHECK(unknown.phase == TransportPhase::kNotSent);
  }
  CHECK(server.connections() == 1);
}

TEST_CASE("handles are kept up to a bound, and only when their exchange ended well") {
  const std::unique_ptr<LoopThread> thread = StartEventLoop().value();
  const auto dispatcher = MakeCurlDispatcher(thread->loop(), CurlOptions{});  // readies libcurl
  REQUIRE(dispatcher.ok());
  thread->Stop();
  net::CurlHandles handles = Handles();
  std::vector<CURL*> taken;
  for (std::size_t i = 0; i < net::CurlHandles::kMaxIdle + 5; ++i) {
    taken.push_back(handles.Take());
    REQUIRE(taken.back() != nullptr);
  }
  CHECK(handles.idle() == 0);
  handles.Return(taken.back(), /*reusable=*/false);
  taken.pop_back();
  CHECK(handles.idle() == 0);
  CURL* const last = taken.back();
  handles.Return(last, /*reusable=*/true);
  taken.pop_back();
  CHECK(handles.idle() == 1);
  CHECK(handles.Take() == last);
  taken.push_back(last);
  for (CURL* easy : taken) handles.Return(easy, /*reusable=*/true);
  CHECK(handles.idle() == net::CurlHandles::kMaxIdle);
}

TEST_CASE("URLs are checked once each, refusals every time, in bounded memory") {
  AddressPolicy policy;
  policy.allowed_hosts = {"10.0.0.7"};
  const net::AddressRules rules = net::AddressRules::Create(policy).value();
  net::CheckedUrls urls(&rules);
  const auto first = urls.Check("https://api.example.com/v1");
  REQUIRE(first.ok());
  CHECK((*first)->host == "api.example.com");
  CHECK(urls.Check("https://api.example.com/v1").value() == *first);
  CHECK(urls.Check("https://10.0.0.7/v1").ok());
  CHECK(urls.size() == 2);
  for (int i = 0; i < 2; ++i) {
    CHECK(absl::IsPermissionDenied(urls.Check("https://10.0.0.8/v1").status()));
    CHECK(absl::IsPermissionDenied(urls.Check("http://api.example.com/v1").status()));
    CHECK(absl::IsInvalidArgument(urls.Check("api.example.com").status()));
  }
  CHECK(urls.size() == 2);
  for (std::size_t i = 0; i < 3 * net::CheckedUrls::kMaxUrls; ++i) {
    CHECK(urls.Check("https://api.example.com/" + std::to_string(i)).ok());
    CHECK(urls.size() <= net::CheckedUrls::kMaxUrls);
  }
  // Who holds one keeps it.
  CHECK((*first)->canonical == "https://api.example.com/v1");
}

TEST_CASE("header lines hold what was given, in order, whatever its size") {
  HeaderList headers = {{"Host", "evil"}, {"X-Empty", ""}};
  std::vector<std::string> expected = {"Expect:", "Accept:", "Content-Type:", "X-Empty;"};
  for (int i = 0; i < 100; ++i) {
    headers.push_back(
        {"X-" + std::to_string(i), std::string(static_cast<std::size_t>(i * 7), 'v')});
    expected.push_back(headers.back().name + (i == 0 ? ";" : ": ") + headers.back().value);
  }
  auto lines = net::HeaderLines::Build(headers);
  REQUIRE(lines.has_value());
  net::HeaderLines moved = *std::move(lines);
  CHECK(Lines(moved) == expected);
  CHECK_FALSE(net::HeaderLines::Build({{"A", "b\r\nC: d"}}).has_value());
  CHECK_FALSE(net::HeaderLines::Build({{"A b", "c"}}).has_value());
}

}  // namespace hotel::net_test
