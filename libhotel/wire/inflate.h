// Content codings of provider answers, decoded to be read: error bodies, usage (F147, F149).
#ifndef HOTEL_WIRE_INFLATE_H_
#define HOTEL_WIRE_INFLATE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace hotel::wire {

/// True for the codings Inflate reads: gzip, x-gzip, deflate (zlib or raw).
bool CanInflate(std::string_view content_encoding) noexcept;

/// The decoded bytes, at most `limit` of them: a body that grows beyond it is cut there, and so is
/// one that breaks off or turns bad, when something came before. nullopt when the coding is not
/// known or not even the start decodes; no bytes at all are an empty body. Memory is bounded by
/// `limit`.
std::optional<std::string> Inflate(std::string_view content_encoding, std::string_view bytes,
                                   std::size_t limit);

}  // namespace hotel::wire

#endif  // HOTEL_WIRE_INFLATE_H_
