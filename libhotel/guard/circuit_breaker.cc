#include "hotel/circuit_breaker.h"
