#include "hotel/defaults.h"
