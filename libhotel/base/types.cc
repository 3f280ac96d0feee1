#include "hotel/types.h"
