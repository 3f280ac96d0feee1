#include "libhotel/decide/refusal_parts.h"

#include <array>
#include <chrono>

namespace hotel::decide {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr hours kDay{24};

// In the languages providers write in.
constexpr std::array kUnits = std::to_array<UnitWord>({
    {"s", seconds(1)},
    {"m", minutes(1)},
    {"h", hours(1)},
    {"d", kDay},
    {"w", kDay * 7},
    {"second", seconds(1)},
    {"seconds", seconds(1)},
    {"sec", seconds(1)},
    {"secs", seconds(1)},
    {"minute", minutes(1)},
    {"minutes", minutes(1)},
    {"min", minutes(1)},
    {"mins", minutes(1)},
    {"hour", hours(1)},
    {"hours", hours(1)},
    {"hr", hours(1)},
    {"hrs", hours(1)},
    {"day", kDay},
    {"days", kDay},
    {"week", kDay * 7},
    {"weeks", kDay * 7},
    {"month", kDay * 30},
    {"months", kDay * 30},
    {"year", kDay * 365},
    {"ms", milliseconds(1)},
    {"millisecond", milliseconds(1)},
    {"milliseconds", milliseconds(1)},
    {"us", std::chrono::microseconds(1)},
    {"ns", std::chrono::nanoseconds(1)},
    {"sekunde", seconds(1)},
    {"sekunden", seconds(1)},
    {"stunde", hours(1)},
    {"stunden", hours(1)},
    {"tag", kDay},
    {"tage", kDay},
    {"tagen", kDay},
    {"woche", kDay * 7},
    {"monat", kDay * 30},
    {"minuten", minutes(1)},
    {"seconde", seconds(1)},
    {"secondes", seconds(1)},
    {"heure", hours(1)},
    {"heures", hours(1)},
    {"jour", kDay},
    {"jours", kDay},
    {"mois", kDay * 30},
    {"segundo", seconds(1)},
    {"segundos", seconds(1)},
    {"minuto", minutes(1)},
    {"minutos", minutes(1)},
    {"secondo", seconds(1)},
    {"secondi", seconds(1)},
    {"minuti", minutes(1)},
    {"ore", hours(1)},
    {"giorno", kDay},
    {"giorni", kDay},
    {"mese", kDay * 30},
    {"monate", kDay * 30},
    {"dias", kDay},
    {"d\xC3\xAD"
     "as",
     kDay},
    {"hora", hours(1)},
    {"horas", hours(1)},
    {"d\xC3\xAD"
     "a",
     kDay},
    {"dia", kDay},
    {"mes", kDay * 30},
    {"секунд", seconds(1)},
    {"секунды", seconds(1)},
    {"минуту", minutes(1)},
    {"минут", minutes(1)},
    {"минуты", minutes(1)},
    {"час", hours(1)},
    {"часа", hours(1)},
    {"часов", hours(1)},
    {"день", kDay},
    {"дня", kDay},
    {"дней", kDay},
    {"месяц", kDay * 30},
});

// Scripts without spaces: the unit starts the word.
constexpr std::array kPrefixUnits = std::to_array<UnitWord>({
    {"毫秒", milliseconds(1)},
    {"秒", seconds(1)},
    {"분", minutes(1)},
    {"초", seconds(1)},
    {"시간", hours(1)},
    {"分钟", minutes(1)},
    {"分鐘", minutes(1)},
    {"分", minutes(1)},
    {"小时", hours(1)},
    {"小時", hours(1)},
    {"时間", hours(1)},
    {"時間", hours(1)},
    {"个小时", hours(1)},
    {"天", kDay},
    {"日", kDay},
    {"일", kDay},
});

constexpr std::array kRoleRows = std::to_array<RoleRow>({
    // What a provider asks for begins with one of these.
    {"add upgrade upgrading visit contact see check refer consider increase reduce go purchase buy "
     "subscribe enable switch learn view manage need want unlock submit for to if get link set "
     "apply navigate email create recharge top register update move renew head adjust monitor note",
     kBeginsAdvice},
    {"for to if", kFrontAdvice},
    // These only behind "please": alone they begin statements too.
    {"request use try reach make wait limit review", kPoliteAdvice},
    {"please", kPlease},
    {"please or and", kJoins},
    {"can may to", kModal},
    {"per a an each every by one within last pro par por al в this rolling requests", kOpensWindow},
    {"allocated quota limit budget", kAllowanceWord},
    {"in after wait again about approximately another next least retry for en em dans tra fra "
     "через around "
     "resets",
     kOpensWait},
    {"again retry retrying retried wait waiting reset resets resetting available replenished "
     "refreshed refreshes refill refills renews renewed unlocks back resume resumes allowed lifted "
     "access erneut réessayer réessayez nouveau intente inténtelo novamente через nuevo novo "
     "riprova riprovare повторите regen",
     kWaitTrigger},
    {"in after for about approximately another at least the next of period within is approx around "
     "roughly only time be will until a an on dans en em tra fra and then window seconds through",
     kWaitFiller},
    {"before erneut and until then remaining", kAfterwards},
    {"try trying again sending making versuchen", kTriesAgain},
    {"limit requested afford", kNumbered},
    {"rpm rpd", kNamesRequests},
    {"tpm tpd", kNamesTokens},
    {"for", kForWord},
});

}  // namespace

std::span<const RoleRow> RoleRows() noexcept { return kRoleRows; }
std::span<const UnitWord> UnitWords() noexcept { return kUnits; }
std::span<const UnitWord> RunUnits() noexcept { return kPrefixUnits; }

}  // namespace hotel::decide
