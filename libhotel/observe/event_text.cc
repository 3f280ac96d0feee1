#include "hotel/events.h"
