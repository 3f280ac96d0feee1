#include "server/sim/behaviour.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace hotel::sim {
namespace {

/// What the placeholders of a pattern matched, in order, by kind.
struct Args {
  std::vector<int> numbers;
  std::vector<Millis> times;
  std::vector<std::string> texts;
};

/// What is being put together while a name is read.
struct Draft {
  Behaviour answer;
  Schedule schedule;
};

/// A detail goes with a fault and is none by itself.
enum class Kind { kShape, kFault, kDetail, kSchedule };

/// `N` a whole number, `T` a time (`250ms`, `2s`, `1m`), `NAME` and `VALUE` text up to '=' or '+';
/// the rest of a pattern is literal. `apply` returns false for values out of range.
struct Row {
  std::string_view pattern;
  Kind kind;
  std::string_view example;
  std::string_view help;
  bool (*apply)(Draft&, const Args&);
};

bool IsStatus(int n) { return n >= 200 && n <= 599; }
bool IsErrorStatus(int n) { return n >= 400 && n <= 599; }

bool SetBreak(Draft& d, Break::How how, int where) {
  d.answer.broken = {how, where};
  return true;
}

bool SetRefusal(Draft& d, Wording wording) {
  d.answer.status = 429;
  d.answer.wording = wording;
  return true;
}

constexpr int kMaxFrameBytes = 16 << 20;

const Row kRows[] = {
    {"ok", Kind::kShape, "ok", "answers \"Hello from hotel-sim.\"",
     [](Draft&, const Args&) { return true; }},
    {"echo", Kind::kShape, "echo",
     "the text is a JSON object: the request's path, model, headers, body_bytes and body_sha256",
     [](Draft& d, const Args&) { return d.answer.echo = true; }},
    {"tool-call", Kind::kShape, "tool-call",
     "the model calls get_weather with {\"city\": \"Paris\"} (the three dialects of chat)",
     [](Draft& d, const Args&) { return d.answer.tool_call = true; }},
    {"frames-N", Kind::kShape, "frames-20", "text in N frames",
     [](Draft& d, const Args& a) {
       d.answer.frames = a.numbers[0];
       return d.answer.sized = true;
     }},
    {"size-N", Kind::kShape, "size-1024",
     "N bytes of text a frame (16); an error body is filled up with blanks to the bytes of all "
     "frames",
     [](Draft& d, const Args& a) {
       d.answer.frame_bytes = a.numbers[0];
       d.answer.sized = true;
       return a.numbers[0] <= kMaxFrameBytes;
     }},
    {"gap-T", Kind::kShape, "gap-50ms", "waits T between frames",
     [](Draft& d, const Args& a) {
       d.answer.gap = a.times[0];
       return true;
     }},
    {"crlf", Kind::kShape, "crlf", "lines of a stream end with CR LF",
     [](Draft& d, const Args&) { return d.answer.crlf = true; }},
    {"until-close", Kind::kShape, "until-close",
     "no length and no chunks: the body ends where the connection ends",
     [](Draft& d, const Args&) { return d.answer.until_close = true; }},
    {"takes-T", Kind::kShape, "takes-300ms", "a good answer begins after T",
     [](Draft& d, const Args& a) {
       d.answer.takes = a.times[0];
       return true;
     }},
    {"gzip", Kind::kShape, "status-429+gzip", "what is no stream comes with Content-Encoding: gzip",
     [](Draft& d, const Args&) { return d.answer.gzip = true; }},

    {"status-N", Kind::kFault, "status-503",
     "answers with status N; from 300 on with an error body",
     [](Draft& d, const Args& a) {
       d.answer.status = a.numbers[0];
       return IsStatus(a.numbers[0]);
     }},
    {"busy", Kind::kFault, "busy+retry-after-1",
     "429 whose words say that too many requests run at a time",
     [](Draft& d, const Args&) { return SetRefusal(d, Wording::kBusy); }},
    {"spent", Kind::kFault, "spent", "429 whose words say that the account's quota is used up",
     [](Draft& d, const Args&) { return SetRefusal(d, Wording::kSpent); }},
    {"retry-after-N", Kind::kDetail, "status-429+retry-after-2", "adds the header Retry-After: N",
     [](Draft& d, const Args& a) {
       d.answer.headers.emplace_back("Retry-After", std::to_string(a.numbers[0]));
       return true;
     }},
    {"header-NAME=VALUE", Kind::kFault, "header-x-region=eu", "adds a header",
     [](Draft& d, const Args& a) {
       d.answer.headers.emplace_back(a.texts[0], a.texts[1]);
       return true;
     }},
    {"want-key-VALUE", Kind::kFault, "want-key-s3cret",
     "401 unless the request carries this key (Bearer or x-api-key)",
     [](Draft& d, const Args& a) {
       d.answer.want_key = a.texts[0];
       return true;
     }},
    {"delay-head-T", Kind::kFault, "delay-head-500ms", "waits T before the head",
     [](Draft& d, const Args& a) {
       d.answer.delay_head = a.times[0];
       return true;
     }},
    {"delay-first-T", Kind::kFault, "delay-first-2s", "waits T between the head and the first text",
     [](Draft& d, const Args& a) {
       d.answer.delay_first = a.times[0];
       return true;
     }},
    {"silence", Kind::kFault, "silence", "reads the request and never answers",
     [](Draft& d, const Args&) { return SetBreak(d, Break::How::kSilence, Break::kBeforeHead); }},
    {"silence-after-head", Kind::kFault, "silence-after-head", "sends the head, then nothing",
     [](Draft& d, const Args&) { return SetBreak(d, Break::How::kSilence, Break::kAfterHead); }},
    {"silence-after-N", Kind::kFault, "silence-after-3",
     "sends N frames of text (bytes of a plain answer), then nothing",
     [](Draft& d, const Args& a) { return SetBreak(d, Break::How::kSilence, a.numbers[0]); }},
    {"cut", Kind::kFault, "cut", "closes the connection instead of answering",
     [](Draft& d, const Args&) { return SetBreak(d, Break::How::kCut, Break::kBeforeHead); }},
    {"cut-after-head", Kind::kFault, "cut-after-head", "closes the connection after the head",
     [](Draft& d, const Args&) { return SetBreak(d, Break::How::kCut, Break::kAfterHead); }},
    {"cut-after-N", Kind::kFault, "cut-after-3",
     "closes the connection after N frames of text (bytes of a plain answer)",
     [](Draft& d, const Args& a) { return SetBreak(d, Break::How::kCut, a.numbers[0]); }},
    {"reset", Kind::kFault, "reset", "resets the connection (RST) instead of answering",
     [](Draft& d, const Args&) { return SetBreak(d, Break::How::kReset, Break::kBeforeHead); }},
    {"reset-after-head", Kind::kFault, "reset-after-head", "resets the connection after the head",
     [](Draft& d, const Args&) { return SetBreak(d, Break::How::kReset, Break::kAfterHead); }},
    {"reset-after-N", Kind::kFault, "reset-after-3",
     "resets the connection after N frames of text (bytes of a plain answer)",
     [](Draft& d, const Args& a) { return SetBreak(d, Break::How::kReset, a.numbers[0]); }},
    {"malformed", Kind::kFault, "malformed",
     "the second frame (the body of a plain answer) is not JSON",
     [](Draft& d, const Args&) {
       d.answer.malformed_at = 2;
       return true;
     }},
    {"malformed-at-N", Kind::kFault, "malformed-at-1", "frame N of the text is not JSON",
     [](Draft& d, const Args& a) {
       d.answer.malformed_at = a.numbers[0];
       return a.numbers[0] > 0;
     }},
    {"role-only", Kind::kFault, "role-only+delay-first-2s",
     "the opener without text leaves with the head, before any delay or break",
     [](Draft& d, const Args&) { return d.answer.role_only = true; }},
    {"keepalive-T", Kind::kFault, "keepalive-100ms+delay-first-1s",
     "a comment (Anthropic: a ping event) every T while a stream waits",
     [](Draft& d, const Args& a) {
       d.answer.keepalive = a.times[0];
       return a.times[0].count() > 0;
     }},
    {"error-frame-N", Kind::kFault, "error-frame-503",
     "a stream whose first event is an error that carries status N",
     [](Draft& d, const Args& a) {
       d.answer.error_frame = a.numbers[0];
       d.answer.error_after = 0;
       return IsErrorStatus(a.numbers[0]);
     }},
    {"error-frame-N-after-N", Kind::kFault, "error-frame-503-after-3",
     "the same behind that many frames of text",
     [](Draft& d, const Args& a) {
       d.answer.error_frame = a.numbers[0];
       d.answer.error_after = a.numbers[1];
       return IsErrorStatus(a.numbers[0]);
     }},
    {"hidden-error-N", Kind::kFault, "hidden-error-429",
     "status 200 with an error object in the body whose code is N",
     [](Draft& d, const Args& a) {
       d.answer.hidden_error = a.numbers[0];
       return IsErrorStatus(a.numbers[0]);
     }},
    {"trickle-Nb-T", Kind::kFault, "trickle-1b-50ms", "the body leaves N bytes at a time, every T",
     [](Draft& d, const Args& a) {
       d.answer.trickle_bytes = a.numbers[0];
       d.answer.trickle_gap = a.times[0];
       return a.numbers[0] > 0;
     }},
    {"no-done", Kind::kFault, "no-done",
     "a stream without its last event ([DONE], message_stop, response.completed)",
     [](Draft& d, const Args&) { return d.answer.no_done = true; }},
    {"no-finish", Kind::kFault, "no-finish",
     "as no-done, and without the event that states why the text ended",
     [](Draft& d, const Args&) { return d.answer.no_done = d.answer.no_finish = true; }},
    {"hang-after-done", Kind::kFault, "hang-after-done",
     "a whole stream, but the body and the connection stay open",
     [](Draft& d, const Args&) { return d.answer.hang_after_done = true; }},

    {"fail-first-N", Kind::kSchedule, "fail-first-3", "faults in the first N requests only",
     [](Draft& d, const Args& a) {
       d.schedule.first = a.numbers[0];
       return true;
     }},
    {"fail-first-T", Kind::kSchedule, "fail-first-2s", "faults during the first T only",
     [](Draft& d, const Args& a) {
       d.schedule.first_time = a.times[0];
       return true;
     }},
    {"fail-after-N", Kind::kSchedule, "fail-after-3", "faults in all but the first N requests",
     [](Draft& d, const Args& a) {
       d.schedule.after = a.numbers[0];
       return true;
     }},
    {"fail-after-T", Kind::kSchedule, "fail-after-2s", "faults once T has passed",
     [](Draft& d, const Args& a) {
       d.schedule.after_time = a.times[0];
       return true;
     }},
    {"fail-every-N", Kind::kSchedule, "fail-every-10", "faults in each Nth request only",
     [](Draft& d, const Args& a) {
       d.schedule.every = a.numbers[0];
       return a.numbers[0] > 0;
     }},
    {"fail-Npct", Kind::kSchedule, "fail-30pct", "faults in N of 100 requests, evenly spread",
     [](Draft& d, const Args& a) {
       d.schedule.percent = a.numbers[0];
       return a.numbers[0] <= 100;
     }},
    {"down-T-of-T", Kind::kSchedule, "down-60s-of-120s",
     "faults during the first time of each second time",
     [](Draft& d, const Args& a) {
       d.schedule.down = a.times[0];
       d.schedule.period = a.times[1];
       return a.times[1].count() > 0 && a.times[0] <= a.times[1];
     }},
    {"ceiling-N", Kind::kSchedule, "ceiling-3+takes-300ms",
     "faults (429 as `busy` when none is named) while N answers run at the path",
     [](Draft& d, const Args& a) {
       d.schedule.ceiling = a.numbers[0];
       return true;
     }},
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

/// Takes a number off the front of `text`.
std::optional<int> TakeNumber(std::string_view& text) {
  constexpr std::size_t kMaxDigits = 8;
  std::size_t digits = 0;
  int value = 0;
  while (digits < text.size() && IsDigit(text[digits])) {
    if (digits == kMaxDigits) return std::nullopt;
    value = value * 10 + (text[digits++] - '0');
  }
  if (digits == 0) return std::nullopt;
  text.remove_prefix(digits);
  return value;
}

std::optional<Millis> TakeTime(std::string_view& text) {
  const std::optional<int> number = TakeNumber(text);
  if (!number) return std::nullopt;
  for (const auto& [unit, factor] :
       {std::pair<std::string_view, int>{"ms", 1}, {"s", 1000}, {"m", 60000}}) {
    if (text.substr(0, unit.size()) != unit) continue;
    text.remove_prefix(unit.size());
    return Millis(std::int64_t{*number} * factor);
  }
  return std::nullopt;
}

std::optional<std::string> TakeText(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_of("=+"), text.size());
  std::string taken(text.substr(0, end));
  const bool printable =
      std::all_of(taken.begin(), taken.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  if (taken.empty() || !printable) return std::nullopt;
  text.remove_prefix(end);
  return taken;
}

/// Matches one row at the front of `text`. Returns how many characters it took.
std::optional<std::size_t> Match(std::string_view pattern, std::string_view text, Args* args) {
  const std::size_t before = text.size();
  while (!pattern.empty()) {
    const auto starts = [&](std::string_view word) {
      if (pattern.substr(0, word.size()) != word) return false;
      pattern.remove_prefix(word.size());
      return true;
    };
    if (starts("NAME") || starts("VALUE")) {
      std::optional<std::string> value = TakeText(text);
      if (!value) return std::nullopt;
      args->texts.push_back(*std::move(value));
    } else if (starts("N")) {
      const std::optional<int> value = TakeNumber(text);
      if (!value) return std::nullopt;
      args->numbers.push_back(*value);
    } else if (starts("T")) {
      const std::optional<Millis> value = TakeTime(text);
      if (!value) return std::nullopt;
      args->times.push_back(*value);
    } else {
      if (text.empty() || text.front() != pattern.front()) return std::nullopt;
      pattern.remove_prefix(1);
      text.remove_prefix(1);
    }
  }
  if (!text.empty() && text.front() != '+' && text.front() != '-') return std::nullopt;
  return before - text.size();
}

}  // namespace

std::optional<Plan> ParseModel(std::string_view model) {
  const std::size_t slash = model.rfind('/');
  std::string_view rest = slash == std::string_view::npos ? model : model.substr(slash + 1);
  if (rest.empty()) return std::nullopt;

  Draft all;
  Draft shape;
  bool scheduled = false;
  bool has_fault = false;
  while (!rest.empty()) {
    // The longest match wins, so `reset-after-head` is not `reset`.
    const Row* best = nullptr;
    std::size_t taken = 0;
    Args best_args;
    for (const Row& row : kRows) {
      Args args;
      const std::optional<std::size_t> size = Match(row.pattern, rest, &args);
      if (!size || *size <= taken) continue;
      best = &row;
      taken = *size;
      best_args = std::move(args);
    }
    if (best == nullptr || !best->apply(all, best_args)) return std::nullopt;
    if (best->kind == Kind::kShape) best->apply(shape, best_args);
    has_fault |= best->kind == Kind::kFault;
    scheduled |= best->kind == Kind::kSchedule;
    rest.remove_prefix(taken);
    if (rest.empty()) break;
    rest.remove_prefix(1);
    if (rest.empty()) return std::nullopt;
  }

  Plan plan;
  if (scheduled) {
    if (!has_fault && all.schedule.ceiling) {
      SetRefusal(all, Wording::kBusy);
    } else if (!has_fault) {
      all.answer.status = 503;
    }
    plan.schedule = all.schedule;
    plan.healthy = std::move(shape.answer);
  }
  plan.faulty = std::move(all.answer);
  return plan;
}

const Behaviour& Plan::For(std::uint64_t n, Millis since_start, std::uint64_t running) const {
  if (!schedule) return faulty;
  const Schedule& s = *schedule;
  const auto share = [&](std::uint64_t k) {
    return k * static_cast<std::uint64_t>(s.percent) / 100;
  };
  const bool fails = n <= static_cast<std::uint64_t>(s.first) || since_start < s.first_time ||
                     (s.after && n > static_cast<std::uint64_t>(*s.after)) ||
                     (s.after_time && since_start >= *s.after_time) ||
                     (s.ceiling && running >= static_cast<std::uint64_t>(*s.ceiling)) ||
                     (s.every > 0 && n % static_cast<std::uint64_t>(s.every) == 0) ||
                     share(n) != share(n - 1) ||
                     (s.period.count() > 0 && since_start % s.period < s.down);
  return fails ? faulty : healthy;
}

std::vector<std::string> ExampleModels() {
  std::vector<std::string> models;
  for (const Row& row : kRows) models.emplace_back(row.example);
  return models;
}

std::string TableText() {
  std::string out;
  for (const Row& row : kRows) out += fmt::format("  {:<22} {}\n", row.pattern, row.help);
  return out;
}

std::string TableMarkdown() {
  std::string out = "| name | what happens | example |\n|---|---|---|\n";
  for (const Row& row : kRows) {
    out += fmt::format("| `{}` | {} | `{}` |\n", row.pattern, row.help, row.example);
  }
  return out;
}

}  // namespace hotel::sim
