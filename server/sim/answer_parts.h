// The pieces that whole answers and streams are put together from.
#ifndef HOTEL_SERVER_SIM_ANSWER_PARTS_H_
#define HOTEL_SERVER_SIM_ANSWER_PARTS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "server/sim/answers.h"

namespace hotel::sim {

inline constexpr std::int64_t kCreated = 1700000000;
/// The one function the simulated model calls.
inline constexpr std::string_view kFunction = "get_weather";

std::string_view ErrorType(Dialect dialect, int status);
std::string OutputItem(std::uint64_t id, std::string_view status, std::string_view content);
std::string OutputText(std::string_view text_json);
std::string ResponseBody(const AnswerContext& c, std::string_view status, std::string_view output,
                         std::string_view usage);
std::string ResponseUsage(const AnswerContext& c, int tokens);
std::string ChatUsage(const AnswerContext& c, int tokens);
std::string FunctionCall(const AnswerContext& c, std::string_view status,
                         std::string_view arguments_json);
std::string_view ChatFinish(const AnswerContext& c);
std::string ImageUsage(const AnswerContext& c, int tokens);

}  // namespace hotel::sim

#endif  // HOTEL_SERVER_SIM_ANSWER_PARTS_H_
