#include "hotel/testing/recorders.h"
