#include "libhotel/decide/attempt_machine.h"
