// The rows of `timeouts` and `stream` (decisions 2; facts b).
#include "libhotel/settings/option_rows.h"

namespace hotel::settings {
namespace {

using T = TimeoutSettings;
template <auto kField>
using Timeout = Field<&EngineSettings::timeouts, kField>;
template <auto kField>
using Stream = Field<&EngineSettings::stream, kField>;

}  // namespace

std::vector<Option> TimeoutRows() {
  return {
      Row::Of<Timeout<&T::request_timeout>>("timeouts.request_timeout", {"60s", "600s"},
                                            "How long one attempt at one candidate may take.")
          .Between(kAboveZero, kDay)
          .Flat("request_timeout"),
      Row::Of<Timeout<&T::long_factor>>(
          "timeouts.long_factor", {"10", "1"},
          "Multiplies `request_timeout` for streams and long-running endpoints.")
          .Between(1, 100),
      Row::Of<Timeout<&T::deadline_factor>>(
          "timeouts.deadline_factor", {"2", "0"},
          "The whole request may take this many (multiplied) request timeouts. 0 = no overall "
          "deadline.")
          .Between(0, 100)
          .GlobalOnly(),
      Row::Of<Timeout<&T::ttft_timeout>>(
          "timeouts.ttft_timeout", {"60s", "0s"},
          "Streams: how long the first frame that carries model output may take, from the try's "
          "start. 0 = commit at once.")
          .Between(0, kDay)
          .Flat("ttft_timeout"),
      Row::Of<Timeout<&T::stream_stall_timeout>>("timeouts.stream_stall_timeout", {"30s", "300s"},
                                                 "Silence on a stream that has begun to flow which "
                                                 "ends it. Time in which the client takes "
                                                 "nothing does not count. 0 = not watched.")
          .Between(0, kDay)
          .Flat("stream_stall_timeout"),
      Row::Of<Timeout<&T::stream_stall_factor>>(
          "timeouts.stream_stall_factor", {"3", "1"},
          "Multiplies `stream_stall_timeout` after the 50th frame.")
          .Between(1, 100),
      Row::Of<Timeout<&T::upstream_header_timeout>>(
          "timeouts.upstream_header_timeout", {"120s", "600s"},
          "How long the upstream's response head may take, from the try's start. 0 = not limited.")
          .Between(0, kDay),
      Row::Of<Timeout<&T::connect_timeout>>("timeouts.connect_timeout", {"10s", "10s"},
                                            "Name lookup, TCP connect and TLS handshake together.")
          .Between(kAboveZero, kHour),
      Row::Of<Stream<&StreamSettings::commit_on>>(
          "stream.commit_on", {"first_output", "first_event"},
          "When a stream's answer begins to flow, after which no other candidate is asked: with "
          "the "
          "first frame that carries model output, or with the first data event of any kind that is "
          "no error.")
          .Words({"first_output", "first_event"}),
  };
}

}  // namespace hotel::settings
