#include "server/ctl/classify.h"

#include <chrono>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "hotel/defaults.h"

#include "libhotel/base/time_text.h"
#include "libhotel/decide/refusal_instants.h"
#include "server/ctl/hidden.h"

namespace hotel::ctl {
namespace {

using Json = nlohmann::ordered_json;

struct Question {
  int status = 0;
  HeaderList headers;
  std::string body;
  std::string provider_type;
  std::optional<WallTime> now;
};

std::string Complaint(const Json& line, Question* question) {
  if (line.is_discarded()) return "not JSON";
  if (!line.is_object()) return "not a JSON object";
  const auto member = [&line](const char* name) { return line.value(name, Json()); };
  const Json status = member("status");
  if (!status.is_number_integer()) return "status: expected a number";
  const auto code = status.get<std::int64_t>();
  if (code < 100 || code > 999) return "status: expected 100 to 999";
  question->status = static_cast<int>(code);
  const Json body = member("body");
  if (!body.is_null() && !body.is_string()) return "body: expected a string";
  if (body.is_string()) question->body = body.get<std::string>();
  const Json type = member("provider_type");
  if (!type.is_null() && !type.is_string()) return "provider_type: expected a string";
  if (type.is_string()) question->provider_type = type.get<std::string>();
  const Json headers = member("headers");
  if (!headers.is_null() && !headers.is_object()) return "headers: expected an object";
  for (const auto& [name, value] : headers.items()) {
    if (!value.is_string()) return fmt::format("headers.{}: expected a string", name);
    question->headers.push_back({name, value.get<std::string>()});
  }
  const Json now = member("now");
  if (now.is_null()) return "";
  if (now.is_string()) question->now = base::ParseTime(now.get_ref<const std::string&>());
  return question->now ? "" : "now: expected a date such as 2026-09-01T10:00:00Z";
}

std::string Write(const Json& object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

bool ClassifyLine(const RateLimitClassifier& classifier, Duration max_wait, WallTime now,
                  std::string_view line, std::string* output) {
  Question question;
  const std::string complaint = Complaint(Json::parse(line, nullptr, false), &question);
  if (!complaint.empty()) {
    *output = Write(Json{{"error", complaint}});
    return false;
  }
  // A recorded answer is read at the time it was sent.
  if (!question.now) {
    question.now = decide::ParseHttpDate(FindHeader(question.headers, "date")).value_or(now);
  }
  std::optional<int> hidden;
  if (question.status == 200) hidden = HiddenStatus(question.body);
  RateLimitReading reading;
  if (question.status != 200 || hidden) {
    reading = classifier.ReadWords({hidden.value_or(question.status), &question.headers,
                                    question.body, *question.now, question.provider_type},
                                   max_wait);
  }
  Json answer;
  answer["class"] = RefusalClassName(reading.refusal_class);
  answer["account_wide"] = reading.account_wide;
  answer["needs_payment"] = reading.needs_payment;
  if (reading.wait) {
    answer["wait_ms"] = std::chrono::ceil<std::chrono::milliseconds>(*reading.wait).count();
  } else {
    answer["wait_ms"] = nullptr;
  }
  answer["phrase"] = reading.phrase;
  if (hidden) {
    answer["hidden_status"] = *hidden;
  } else {
    answer["hidden_status"] = nullptr;
  }
  *output = Write(answer);
  return true;
}

int Classify(Duration max_wait, std::istream& in, std::ostream& out, std::ostream& log) {
  const auto classifier = MakeRateLimitClassifier();
  const auto clock = MakeSystemClock();
  int exit_status = 0;
  std::string line;
  std::string output;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    if (!ClassifyLine(*classifier, max_wait, clock->WallNow(), line, &output)) {
      log << "hotelctl: line " << number << ": " << output << std::endl;
      exit_status = 1;
    }
    out << output << std::endl;
    // Nobody reads any more.
    if (!out) return 1;
  }
  return exit_status;
}

}  // namespace hotel::ctl
