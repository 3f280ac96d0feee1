#include "hotel/router.h"
