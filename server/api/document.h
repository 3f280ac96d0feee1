// What is said about the admin API, made from its table of routes.
#ifndef SERVER_API_DOCUMENT_H_
#define SERVER_API_DOCUMENT_H_

#include <string>

#include "server/api/route.h"

namespace hotel::server::api {

/// The OpenAPI 3.0 document.
Json OpenApiDocument();

/// The reference page (docs/api.md).
std::string ApiMarkdown();

}  // namespace hotel::server::api

#endif  // SERVER_API_DOCUMENT_H_
